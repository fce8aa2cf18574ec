"""What there is, and what it is called."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from compilewatch_client.agents.answers import CatalogAnswer, SearchAnswer, SearchHit
from compilewatch_client.agents.shortening import MOST_ROWS, cut, first
from compilewatch_client.client import Client
from compilewatch_client.connection import Document

TEXT_CHARACTERS = 240

Kind = Literal["machines", "builds", "tracks", "benchmarks", "configs", "metrics"]


class FindingTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def search(
        self, words: Annotated[str, Field(min_length=1, max_length=200, description="Of a name.")]
    ) -> SearchAnswer:
        """Models, benchmarks, configs, builds, alerts and runs whose names have every word; five of
        each kind at most. Where a tool needs a name, this finds it.
        """
        hits: list[SearchHit] = []
        for hit in self._client.search(words):
            text = cut(hit["text"], TEXT_CHARACTERS)
            hits.append({"kind": hit["kind"], "key": hit["key"], "text": text})
        return {"hits": hits}

    def catalog(
        self,
        kind: Kind,
        contains: Annotated[str, Field(description="Part of the name; empty: all.")] = "",
        most: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20,
    ) -> CatalogAnswer:
        """What there is of one kind: machines, builds (added last first), tracks, benchmarks,
        configs, or metrics with their units.
        """
        read, key, about = _KINDS[kind]
        fitting = (row for row in read(self._client) if contains.lower() in str(row[key]).lower())
        listed, is_cut = first(fitting, most)
        answer: CatalogAnswer = {
            "items": [
                {"key": str(row[key]), "about": cut(about(row), TEXT_CHARACTERS)} for row in listed
            ]
        }
        if is_cut:
            answer["left_out"] = f"There are more: contains narrows, most is up to {MOST_ROWS}."
        return answer


def _machine(row: Document) -> str:
    return f"{row['label'] or row['key']}, {row['device_kind']}, size {row['default_size']}"


def _build(row: Document) -> str:
    parts = [row["channel"]]
    if row["released_on"]:
        parts.append(f"released {row['released_on']}")
    if row["cuda"]:
        parts.append(f"CUDA {row['cuda']}")
    if row["base"]:
        parts.append(f"variant of {row['base']}")
    return ", ".join(parts)


def _track(row: Document) -> str:
    return f"{row['kind']}, at {row['build'] or 'no build'}"


def _benchmark(row: Document) -> str:
    retired = ", retired" if row["retired"] else ""
    return f"{row['family']}, {row['mode']}, configs {', '.join(row['default_configs'])}{retired}"


def _config(row: Document) -> str:
    return str(row["about"])


def _metric(row: Document) -> str:
    better = "lower" if row["lower_is_better"] else "higher"
    return f"unit {row['unit'] or 'none'}, {better} is better: {row['about']}"


Reader = Callable[[Client], Iterable[Any]]
# kind -> (how it is read, its key, what is said of it)
_KINDS: dict[Kind, tuple[Reader, str, Callable[[Document], str]]] = {
    "machines": (Client.machines, "key", _machine),
    "builds": (Client.builds, "label", _build),
    "tracks": (Client.tracks, "key", _track),
    "benchmarks": (Client.benchmarks, "name", _benchmark),
    "configs": (Client.configs, "name", _config),
    "metrics": (Client.metrics, "key", _metric),
}
