"""Names of what the site has."""

from typing import Annotated

from pydantic import Field

from compilewatch_client.agents.answers import SearchAnswer, SearchHit
from compilewatch_client.agents.shortening import cut
from compilewatch_client.client import Client

TEXT_CHARACTERS = 240


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
