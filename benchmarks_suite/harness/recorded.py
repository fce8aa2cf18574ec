"""Results that were kept: a result file, JSON Lines of results (also .gz), or a folder of these."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks_suite.harness.contract import Document, WrongInput

Case = tuple[str, str]  # benchmark, config


def read(path: Path) -> Iterator[Document]:
    """Every result at ``path``, folders in the order of their names; other JSON is passed over.

    Raises WrongInput for what is not JSON, or is not there, naming the file.
    """
    files = [path]
    if path.is_dir():
        kept = (".json", ".jsonl", ".jsonl.gz")
        files = sorted(file for file in path.rglob("*") if file.name.endswith(kept))
    for file in files:
        try:
            documents = list(_documents(file))
        except (OSError, EOFError, ValueError) as error:
            raise WrongInput(f"{file} cannot be read as a result: {error}") from error
        for document in documents:
            if isinstance(document, dict) and document.get("schema") == "result.v1":
                yield document


def case(document: Document) -> Case:
    return document["benchmark"]["name"], document["job"]["config"]


def _documents(file: Path) -> Iterator[Any]:
    body = file.read_bytes()
    if file.suffix == ".gz":
        body = gzip.decompress(body)
    texts = [body] if file.suffix == ".json" else body.splitlines()
    return (json.loads(text) for text in texts if text.strip())
