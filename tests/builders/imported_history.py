"""Histories of another system, imported to a track of their own."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dashboard.alerts.services import detection
from dashboard.results.services.import_existing import ImportReport, ImportSource
from dashboard.results.services.imports import import_results

TRACK = "theirs"
SUITE = "Nightly benchmarks"


def entry(number: int, at: datetime, values: dict[str, float]) -> dict[str, Any]:
    """One commit as github-action-benchmark keeps it: milliseconds by name of the benchmark."""
    benches = [{"name": name, "value": value, "unit": "ms"} for name, value in values.items()]
    commit = {"id": f"{number:012x}".ljust(40, "0"), "message": f"commit {number}"}
    return {"commit": commit, "date": at.timestamp() * 1000, "tool": "pytest", "benches": benches}


def file_of(entries: Sequence[dict[str, Any]]) -> ImportSource:
    document = {"lastUpdate": 0, "repoUrl": "", "entries": {SUITE: list(entries)}}
    body = f"window.BENCHMARK_DATA = {json.dumps(document)}"
    return ImportSource("data.js", body.encode())


def history(
    values: Sequence[float], *, newest: datetime | None = None, name: str = "bench.py::test_fib"
) -> list[dict[str, Any]]:
    """One commit an hour, of which the newest was measured a minute ago, or at another moment."""
    end = newest or timezone.now() - timedelta(minutes=1)
    first = end - timedelta(hours=len(values) - 1)
    entries = []
    for number, value in enumerate(values):
        entries.append(entry(number, first + timedelta(hours=number), {name: value}))
    return entries


def imported(entries: Sequence[dict[str, Any]], *, track: str = TRACK) -> ImportReport:
    """Import a file with these commits, and let detection judge what is due."""
    report = import_results(sources=[file_of(entries)], track=track)
    while detection.detect_due():
        pass
    return report
