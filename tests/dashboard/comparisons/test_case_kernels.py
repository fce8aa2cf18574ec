"""Kernels that account for the changes of a comparison."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import orjson
import pytest
from django.test import Client

from dashboard.models import Job
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from tests.builders import releases
from tests.builders.committed_data import ShareData
from tests.builders.kernels import AFTER, BEFORE
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"
SLOWER = releases.Release("llm", compiled=1.4)
SAME = releases.Release("vision")


def documents() -> Iterator[dict[str, Any]]:
    """GPT-2, which gets slower, and ResNet-50, which does not; six processes of each release."""
    rng = np.random.default_rng(1)
    for build, profile, effect in (
        (releases.BASE, BEFORE, SAME),
        (releases.NEW, AFTER, SLOWER),
    ):
        for model, own in (("gpt2", effect), ("resnet50", SAME)):
            for repeat in range(6):
                document = releases.document(rng, build, model, "training", "inductor", own, repeat)
                device_ms = 50.0 + repeat if build == releases.BASE else 75.0 - repeat
                document["metrics"]["device_ms"] = {"value": device_ms, "n": 1}
                yield {**document, "profile": {"compiled": profile}}


@pytest.fixture(scope="module")
def profiled(share: ShareData) -> None:
    sources = [ImportSource(f"{n}", orjson.dumps(one)) for n, one in enumerate(documents())]
    report = share(lambda: import_results(sources=sources, machine=releases.MACHINE))
    assert not report.refused, report.refused[0]


def nearest_median(build: str) -> Job:
    """52 and 53 are nearest the base's median, 72 and 73 the new side's: both above it are taken,
    whose difference is that of the medians.
    """
    jobs = Job.objects.filter(run__build__label=build, benchmark__model="gpt2")
    return jobs.order_by("planned_at")[3 if build == releases.BASE else 2]


def test_row_of_a_changed_case_leads_to_its_kernels(profiled: None, reader: Client) -> None:
    [change] = re.findall(r'href="(/change/[^"]*)">Kernel by kernel', reader.get(COMPARE).text)
    page = reader.get(html.unescape(change))
    kernels = page.context["shown"].kernels
    assert "kernels take 23.3 ms more" in page_text(page)
    both = nearest_median(releases.BASE), nearest_median(releases.NEW)
    assert (kernels.base, kernels.new) == both


def test_base_comes_first_whichever_is_older(profiled: None, reader: Client) -> None:
    base, new = nearest_median(releases.BASE), nearest_median(releases.NEW)
    pair = f"/change/?job={new.pk}&job={base.pk}&chosen=device_ms"
    assert "kernels take 23.3 ms less" in page_text(reader.get(pair))


def test_markdown_says_which_kernels(profiled: None, reader: Client) -> None:
    report = reader.get(COMPARE.replace("/?", "/export.md?")).text
    assert "## Which kernels" in report
    of_two = "In one job of each side, a compiled step's kernels take 23.3 ms more (37.9 → 61.2 ms)"
    assert f"{of_two}: 99% of the 24.8 ms added" in report
    assert "near its median device time. One profile of each side" in report


def test_why_of_a_row_says_which_change_is_known(profiled: None, reader: Client) -> None:
    page = page_text(reader.get(COMPARE))
    assert "likely since 2.12: attention with dropout left cuDNN" in page  # beside the verdict
    _, _, kernels = page.partition("Kernel by kernel</a>")
    said = kernels.partition("</li>")[0]
    assert "Likely a known change, by its kernels: since 2.12 PyTorch no longer uses cuDNN" in said
    assert '<a href="/docs/attention-dropout/">More about it</a>' in said


def test_markdown_says_which_change_is_known(profiled: None, reader: Client) -> None:
    report = reader.get(COMPARE.replace("/?", "/export.md?")).text
    assert report.count("Likely a known change, by its kernels: since 2.12") == 1


def test_export_for_programs_names_the_jobs(profiled: None, reader: Client) -> None:
    exported = reader.get(COMPARE.replace("/?", "/export.json?")).json()
    (kernels,) = exported["kernels"]
    assert kernels["benchmark"].startswith("gpt2")
    assert kernels["base_job"] == str(nearest_median(releases.BASE).pk)
    assert kernels["new_job"] == str(nearest_median(releases.NEW).pk)


def test_pages_and_files_need_few_queries(
    profiled: None, reader: Client, django_assert_max_num_queries: MaxQueries
) -> None:
    with django_assert_max_num_queries(14):
        reader.get(COMPARE)
    with django_assert_max_num_queries(10):  # the report is kept
        reader.get(COMPARE)
    with django_assert_max_num_queries(10):
        reader.get(COMPARE.replace("/?", "/export.json?"))


def test_comparison_without_profiles_says_nothing_of_kernels(
    two_releases: None, reader: Client
) -> None:
    assert "Which kernels" not in reader.get(COMPARE.replace("/?", "/export.md?")).text
    assert reader.get(COMPARE.replace("/?", "/export.json?")).json()["kernels"] == []
