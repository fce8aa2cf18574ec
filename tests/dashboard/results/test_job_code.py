"""The generated code of one job, to read."""

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from dashboard.models import Artifact, Job
from dashboard.results.core.code_diff import ARCHIVE
from tests.builders import site
from tests.builders.archives import packed
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db


def leave(content: bytes) -> Job:
    """A job that left an archive."""
    job = site.queued_job()
    Artifact.objects.create(
        job=job,
        name=ARCHIVE,
        file=ContentFile(content, "x"),
        size_bytes=len(content),
        digest="0",
    )
    return job


def test_first_file_is_shown_as_the_compiler_wrote_it(reader: Client) -> None:
    job = leave(packed({"wrapper/0000.py": "# from /tmp/a\ncall()", "kernels/0000.py": "kernel()"}))
    page = page_text(reader.get(f"/jobs/{job.pk}/code/"))
    assert "kernel()" in page
    assert "wrapper/0000.py, 2 lines" in page


def test_another_file_is_chosen_in_the_address(reader: Client) -> None:
    job = leave(packed({"wrapper/0000.py": "# from /tmp/a\ncall()", "kernels/0000.py": "kernel()"}))
    assert "# from /tmp/a" in reader.get(f"/jobs/{job.pk}/code/?file=wrapper/0000.py").text


def test_code_is_text_and_never_runs(reader: Client) -> None:
    job = leave(packed({"wrapper/0000.py": "<script>alert(1)</script>"}))
    assert "&lt;script&gt;alert(1)" in reader.get(f"/jobs/{job.pk}/code/").text


def test_job_leads_to_its_code(reader: Client) -> None:
    job = leave(packed({"wrapper/0000.py": "call()"}))
    Job.objects.filter(pk=job.pk).update(state="done")
    assert f"/jobs/{job.pk}/code/" in reader.get(f"/jobs/{job.pk}/").text


def test_archive_that_cannot_be_read_says_so(reader: Client) -> None:
    assert "cannot be read" in reader.get(f"/jobs/{leave(b'garbage').pk}/code/").text


def test_job_without_code_says_so(reader: Client) -> None:
    assert "left no generated code" in reader.get(f"/jobs/{site.queued_job().pk}/code/").text
