"""RESULTS, as ``coverage`` and ``lists`` take them: the argument, and what it holds."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks_suite.harness import progress, recorded


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="+", type=Path, help="result files, .jsonl(.gz) of them, or folders"
    )


def read(options: Namespace) -> list[recorded.Document] | None:
    """Every result at these paths; None where one cannot be read, and stderr says which."""
    documents = list[recorded.Document]()
    try:
        for path in options.results:
            documents += recorded.read(path)
    except ValueError as error:
        progress.note(f"benchmarks_suite: {error}")
        return None
    return documents
