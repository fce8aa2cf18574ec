"""On which GPU the kernels of a changed case are compared."""

import html
import re

import orjson
import pytest
from django.test import Client

from dashboard.models import Job
from dashboard.results.services.imports import ImportSource, import_results
from tests.builders import releases
from tests.dashboard.comparisons.test_case_kernels import COMPARE, documents

PAIR_LINK = re.compile(r'<a[^>]*href="(/jobs/pair/[^"]*)"[^>]*>([^<]*)</a>')


def jobs_behind(words: str, page: str, reader: Client) -> list[Job]:
    """The two jobs that are shown where the page's first link with these words leads, in order."""
    for address, shown in PAIR_LINK.findall(page):
        if shown == words:
            jobs: list[Job] = reader.get(html.unescape(address)).context["jobs"]
            return jobs
    raise AssertionError(f"no link to two jobs says {words}")


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

    base, new = jobs_behind("Which kernels?", reader.get(COMPARE).text, reader)
    assert (base.result.device, new.result.device) == ("GPU-here", "GPU-here")
    base_ms = base.result.document["metrics"]["device_ms"]["value"]
    assert base_ms == (55 if elsewhere else 53)  # of 50 and 55, or of 50 … 55
