"""Differences in the generated code of two builds."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client, override_settings

from dashboard.language.contracts import Refused
from dashboard.models import Artifact, Job
from dashboard.results.core.code_diff import (
    ARCHIVE,
    file_diffs,
    normalized,
    normalized_files,
)
from tests.builders import alerting
from tests.builders.archives import packed
from tests.builders.people import viewer

KERNEL = "def kernel(x):\n    a = load(x)\n    b = a + 1\n    store(b)\n"


def test_differences_between_two_compilations_of_one_thing_are_left_out() -> None:
    one = "# from /tmp/a\ncall('/root/cache/ab/x.py', 0x7f00deadbeef)\n"
    other = "# from /tmp/b\ncall('/home/ada/cache/cd/y.py', 0x7f00deadbee0)\n"
    assert normalized(one) == normalized(other)


def test_equal_files_under_other_names_do_not_differ() -> None:
    old = {"kernels/0000.py": "a", "kernels/0001.py": "b"}
    new = {"kernels/0000.py": "b", "kernels/0007.py": "a"}
    assert file_diffs(old, new) == []


def test_changed_file_is_compared_with_the_most_similar_one() -> None:
    old = {"kernels/0000.py": "something\nelse\nentirely", "kernels/0001.py": KERNEL}
    new = {
        "kernels/0000.py": KERNEL.replace("+ 1", "+ 2"),
        "kernels/0001.py": "something\nelse\nentirely",
    }
    (diff,) = file_diffs(old, new)
    assert diff.what == "changed"
    assert [line for line in diff.lines if line[0] in "+-"] == ["-    b = a + 1", "+    b = a + 2"]


def test_new_and_gone_files_come_after_changed_ones() -> None:
    old = {"kernels/0.py": KERNEL, "ptx/0.ptx": "x"}
    new = {"kernels/0.py": KERNEL.replace("1", "2"), "wrapper/0.py": "call()"}
    diffs = file_diffs(old, new)
    assert [diff.kind for diff in diffs] == ["kernels", "wrapper", "ptx"]
    assert [diff.what for diff in diffs] == ["changed", "new", "gone"]


def test_long_difference_is_cut_and_counted() -> None:
    old = "\n".join(f"a {number}" for number in range(900))
    new = old.replace("a", "b")
    (diff,) = file_diffs({"kernels/0": old}, {"kernels/0": new})
    assert len(diff.lines) == 400
    assert diff.left_out > 0


def test_lines_that_are_compared_are_limited_in_all() -> None:
    old, new = (
        {
            f"{kind}/{number}": f"{kind} {number} {side}\n" + "\n".join(map(str, range(5000)))
            for kind in ("kernels", "ptx")
            for number in range(24)
        }
        for side in ("old", "new")
    )
    diffs = file_diffs(old, new)
    assert [diff.kind for diff in diffs if diff.lines] == ["kernels"] * 24
    assert [diff.left_out for diff in diffs if diff.kind == "ptx"] == [2 * 24 * 5000]


@pytest.mark.parametrize("archive", [b"", b"no archive", packed({"a": KERNEL})[:100]])
def test_damaged_archive_is_unreadable(archive: bytes) -> None:
    with pytest.raises(Refused):
        normalized_files(archive)


def test_archive_that_unpacks_to_too_much_is_refused() -> None:
    with pytest.raises(Refused, match="more than 32 MiB"):
        normalized_files(packed({"kernels/0": "0" * (33 * 2**20)}))


# The page
@pytest.fixture
def reader(client: Client, tmp_path: Any) -> Any:
    client.force_login(viewer("reader"))
    with override_settings(MEDIA_ROOT=tmp_path):
        yield client


def keep(job: Job, text: str) -> None:
    content = packed({"kernels/0000.py": text})
    Artifact.objects.create(
        job=job,
        name=ARCHIVE,
        file=ContentFile(content, "x"),
        size_bytes=len(content),
        digest="0",
    )


def shown(client: Client, *texts: str) -> str:
    """The page of an alert between two jobs that left these files."""
    series = alerting.measured([2.0, 2.2])
    jobs = [datum.job for datum in series.data.select_related("job").order_by("planned_at")]
    for job, text in zip(jobs, texts, strict=False):
        keep(job, text)
    group = alerting.group()
    alerting.alert(group, planned_at=series.last_at)
    response = client.get(f"/alerts/{group.pk}/code/")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.django_db
def test_page_shows_what_changed_escaped(reader: Client) -> None:
    page = shown(reader, KERNEL, KERNEL.replace("+ 1", "< 2"))
    assert '<td class="removed">    b = a + 1</td><td class="added">    b = a &lt; 2</td>' in page


@pytest.mark.django_db
def test_page_says_that_the_code_is_equal(reader: Client) -> None:
    assert "The generated code is the same" in shown(reader, KERNEL, KERNEL)


@pytest.mark.django_db
def test_page_says_that_there_is_no_code(reader: Client) -> None:
    assert "There is no code to compare" in shown(reader, KERNEL)
