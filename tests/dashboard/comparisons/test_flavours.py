"""Builds for CPUs and for CUDA, in adopted interpreters and in environments of their own: a page
that compares them says that more than torch differs.
"""

from zlib import crc32

import pytest
from django.test import Client

from dashboard.catalog.core.versions import flavour_note
from dashboard.catalog.selectors.flavours import measured_flavour
from dashboard.models import Comparison, Job, JobState, Machine
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.comparisons import comparison_jobs, started_comparison
from tests.builders.reading import page_text, text

NOTE = "are builds of different flavours (cpu and cu130)"


@pytest.mark.parametrize(
    ("flavours", "words"),
    [
        (("cpu", "cu130"), NOTE),
        (("cpu", ""), "is not known"),
        (("cu130", "cu130"), ""),
        (("", ""), ""),
    ],
)
def test_two_flavours_are_said_to_differ_in_more_than_torch(
    flavours: tuple[str, str], words: str
) -> None:
    note = flavour_note("2.13.0", "2.14.1", flavours)
    assert words in note
    assert bool(words) == bool(note)


def _deliver(job: Job, torch_version: str) -> None:
    """Its result, in an environment that states this version of torch."""
    environment = site.environment(f"{crc32(torch_version.encode()):016x}")
    environment["torch"]["version"] = torch_version
    worker = job.run.machine.workers.get()
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    job = site.claim(job, worker)
    body = site.delivery(job, site.result(job, environment=environment))
    ingest(job_id=job.pk, worker=worker, body=body)


@pytest.fixture
def comparison(db: None) -> Comparison:
    """Two builds named by their versions, of which one was installed for CPUs."""
    comparison = started_comparison(repeats=1)
    for build, label in ((comparison.base, "2.13.0"), (comparison.new, "2.14.1")):
        build.label = label
        build.save()
    for job in comparison_jobs(comparison):
        is_base = job.run.build_id == comparison.base_id
        _deliver(job, "2.13.0+cpu" if is_base else "2.14.1+cu130")
    return comparison


def test_flavour_that_the_label_lacks_is_read_from_the_results(
    comparison: Comparison, reader: Client
) -> None:
    machine = Machine.objects.get().pk
    assert measured_flavour("2.13.0", machine) == "cpu"
    assert NOTE in text(reader, comparison.get_absolute_url())
    assert NOTE in text(reader, "/compare/?base=2.13.0&new=2.14.1")
    assert NOTE in text(reader, "/")


def test_api_and_markdown_say_so_too(comparison: Comparison, operator: Client) -> None:
    address = f"/api/v1/comparisons/{comparison.uuid}/report"
    assert NOTE in operator.get(address).json()["differences"]
    assert NOTE in page_text(operator.get(f"{address}.md"))


@pytest.mark.parametrize(
    ("adopted", "is_said"), [((True, False), True), ((False, True), True), ((True, True), False)]
)
def test_one_adopted_interpreter_is_said_to_change_starts(
    comparison: Comparison, adopted: tuple[bool, bool], is_said: bool, reader: Client
) -> None:
    builds = [comparison.base, comparison.new]
    for build, is_adopted in zip(builds, adopted, strict=True):
        build.adopted = is_adopted
        build.save()
    builds.sort(key=lambda build: not build.adopted)
    words = "{} is an interpreter that the worker found, {} has an environment of its own."
    note = words.format(*builds)
    for address in (comparison.get_absolute_url(), "/compare/?base=2.13.0&new=2.14.1"):
        assert (note in text(reader, address)) is is_said
