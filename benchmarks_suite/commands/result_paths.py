"""RESULTS, as ``coverage`` and ``lists`` take them: the argument, and what it holds."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="+", type=Path, help="result files, .jsonl(.gz) of them, or folders"
    )


def read(options: Namespace) -> list[Document]:
    """Every result at these paths. Raises WrongInput."""
    documents = list[Document]()
    for path in options.results:
        documents += recorded.read(path)
    return documents
