"""On which GPU the kernels of a changed case are compared."""

import html
import re

import orjson
import pytest
from django.test import Client

from dashboard.models import Job
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from tests.builders import releases
from tests.dashboard.comparisons.test_case_kernels import COMPARE, documents

CHANGE_LINK = re.compile(r'href="(/change/[^"]*)"')


def jobs_behind(page: str, reader: Client) -> list[Job]:
    """The two jobs that stand for the page's first change, base first."""
    address = CHANGE_LINK.findall(page)[0]
    shown = reader.get(html.unescape(address)).context["shown"]
    return [side.jobs[0] for side in shown.subject.sides]


@pytest.mark.django_db
@pytest.mark.parametrize("elsewhere", [range(1, 5), range(0)])
def test_kernels_are_compared_on_a_gpu_that_both_sides_have(
    elsewhere: range, reader: Client
) -> None:
    """The base's times nearest the median are of another GPU, where there is one; of the newer
    build a job ran there, too.
    """
    given = []
    for number, document in enumerate(documents()):
        is_base = document["environment"]["torch"]["version"] == releases.BASE
        moved = number % 6 in elsewhere if is_base else elsewhere and number % 6 == 0
        place = "elsewhere" if moved else "here"
        document["environment"]["machine"]["device_id"] = f"GPU-{place}"
        given.append(ImportSource(str(number), orjson.dumps(document)))
    report = import_results(sources=given, machine=releases.MACHINE)
    assert not report.refused

    base, new = jobs_behind(reader.get(COMPARE).text, reader)
    assert (base.result.device, new.result.device) == ("GPU-here", "GPU-here")
    base_ms = base.result.document["metrics"]["device_ms"]["value"]
    assert base_ms == (55 if elsewhere else 53)  # of 50 and 55, or of 50 … 55


@pytest.mark.django_db
def test_pair_of_a_case_is_of_a_gpu_that_both_sides_have_and_base_comes_first(
    reader: Client,
) -> None:
    """The newest job of each side ran on a GPU of its own; the base was measured last."""
    given = []
    for number, document in enumerate(documents()):
        is_base = document["environment"]["torch"]["version"] == releases.BASE
        repeat = number % 6
        own_device = "GPU-of-base" if is_base else "GPU-of-new"
        device = own_device if repeat == 5 else "GPU-of-both"
        document["environment"]["machine"]["device_id"] = device
        if is_base:
            document["job"]["planned_at"] = f"2026-11-22T1{repeat}:00:00+00:00"
        given.append(ImportSource(str(number), orjson.dumps(document)))
    report = import_results(sources=given, machine=releases.MACHINE)
    assert not report.refused

    page = reader.get(f"{COMPARE}&metric=cold_start_s").text  # which kernels do not explain
    base, new = jobs_behind(page, reader)
    assert (base.run.build.label, new.run.build.label) == (releases.BASE, releases.NEW)
    assert (base.result.device, new.result.device) == ("GPU-of-both", "GPU-of-both")
