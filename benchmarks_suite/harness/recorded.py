"""Results that were kept: a result file, JSON Lines of results (also .gz), or a folder with any of
these.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Document = dict[str, Any]
Case = tuple[str, str]  # benchmark, config


def read(path: Path) -> Iterator[Document]:
    """Every result at ``path``, folders in the order of their names; JSON of another kind is passed
    over.

    Raises ValueError for what is not JSON, or is not there, naming the file.
    """
    for file in sorted(filter(_is_kept, path.rglob("*"))) if path.is_dir() else [path]:
        try:
            documents = list(_documents(file))
        except (OSError, EOFError, ValueError) as error:
            raise ValueError(f"{file} cannot be read as a result: {error}") from error
        yield from (
            found
            for found in documents
            if isinstance(found, dict) and found.get("schema") == "result.v1"
        )


def case(document: Document) -> Case:
    return document["benchmark"]["name"], document["job"]["config"]


def keep(documents: Iterable[Document], path: Path) -> None:
    """Writes results as compressed JSON Lines, without their samples; equal results make equal
    bytes.
    """
    lines = (json.dumps({**document, "samples": {}}, ensure_ascii=False) for document in documents)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def _is_kept(path: Path) -> bool:
    return path.name.endswith((".json", ".jsonl", ".jsonl.gz"))


def _documents(file: Path) -> Iterator[Any]:
    body = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    texts = [body] if file.suffix == ".json" else body.splitlines()
    return (json.loads(text) for text in texts if text.strip())
