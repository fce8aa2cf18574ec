"""What is said of a case whose processes differ by how the compiler launched its kernels."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pytest
from django.test import Client

from dashboard.results.services.imports import ImportSource, import_results
from tests.builders import releases
from tests.builders.kernels import row, section
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
EXPORT = "/compare/export.json?base=2.11.0&new=2.13.0&machine=h100"
SAME = releases.Release("vision")
FAST, SLOW = (128, 2.0), (256, 6.0)  # threads a block, ms of the kernel


def documents(matmul_ms: float, build: str, *launches: tuple[int, float]) -> Iterator[Any]:
    """One process for each launch of a step's only generated kernel."""
    rng = np.random.default_rng(1)
    for repeat, (threads, ms) in enumerate(launches):
        document = releases.document(rng, build, "resnet50", "training", "inductor", SAME, repeat)
        grid, block = [98304, 1, 1], [threads, 1, 1]
        relu = row("triton_poi_relu", ms, source="relu", grid=grid, block=block)
        profile = section(row("nvjet", matmul_ms, "matmul"), relu)
        document["metrics"]["device_ms"] = {"value": matmul_ms + ms, "n": 1}
        document["metrics"]["device_share_percent"] = {"value": 98.0, "n": 1}
        document["environment"]["machine"]["device_id"] = "GPU-here"
        yield {**document, "profile": {"compiled": profile}}


def import_all(*measured: dict[str, Any]) -> None:
    sources = [ImportSource(f"{n}", orjson.dumps(one)) for n, one in enumerate(measured)]
    report = import_results(sources=sources, machine=releases.MACHINE)
    assert not report.refused, report.refused[0]


def evened_changes(reader: Client) -> list[str]:
    return [each["evened"] for each in reader.get(EXPORT).json()["kernels"]]


def test_undecided_case_says_what_is_left_without_its_launches(reader: Client) -> None:
    base = documents(50.0, releases.BASE, FAST, SLOW, FAST)
    new = documents(51.3, releases.NEW, SLOW, FAST, SLOW)
    import_all(*base, *new)
    assert evened_changes(reader) == ["2.5% slower"]
    page = page_text(reader.get(EXPORT.replace("export.json", "")))
    assert (
        "launches evened out</a>: 2.5% slower, 3 processes a side" in page
    )  # next to the device time
    assert (
        "with launches evened out, of 3 processes a side: 2.5% slower." in page
    )  # and among the reasons


def test_suspicion_says_what_is_left_without_launches_where_the_answer_is(reader: Client) -> None:
    base = documents(50.0, releases.BASE, FAST, SLOW, FAST)
    new = documents(55.0, releases.NEW, SLOW, FAST, SLOW)
    import_all(*base, *new)
    [left] = evened_changes(reader)
    page = page_text(reader.get(EXPORT.replace("export.json", "")))
    answer = page.partition("</section>")[0]
    assert "Suspected" in answer
    assert f"inductor {left}." in answer.partition("With launches evened out</a>, device time:")[2]


def test_undecided_case_with_one_launch_is_not_explained(reader: Client) -> None:
    base = documents(50.0, releases.BASE, FAST, FAST)
    new = documents(50.1, releases.NEW, FAST, FAST)
    import_all(*base, *new)
    assert evened_changes(reader) == []
