"""On which GPU the kernels of a changed case are compared."""

import re

import orjson
import pytest
from django.test import Client

from dashboard.models import Job
from dashboard.results.services.imports import ImportSource, import_results
from tests.builders import releases
from tests.dashboard.comparisons.test_case_kernels import COMPARE, documents


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
    found = re.search(r"/jobs/pair/\?job=(\S+?)&amp;job=(\S+?)&amp;", reader.get(COMPARE).text)
    assert found is not None
    jobs = [Job.objects.get(pk=uuid) for uuid in found.groups()]
    assert {job.result.device for job in jobs} == {"GPU-here"}
    base_job = jobs[0].result.document["metrics"]["device_ms"]["value"]
    assert base_job == (55 if elsewhere else 53)  # of 50 and 55, or of 50 … 55
