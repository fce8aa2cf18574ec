"""Archives from others: limited in bytes, headers and depth, whatever is in them."""

import io
import lzma
import tarfile
import tracemalloc
from collections.abc import Iterable

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.language.contracts import Refused
from dashboard.models import AlertGroup, Artifact, Job
from dashboard.results.core.code_diff import ARCHIVE, code_files, normalized
from dashboard.results.core.compile_diff import CALLS, read_calls
from dashboard.results.core.compile_flame import frames
from dashboard.results.core.structured_trace import LOG, TRACE
from dashboard.results.core.untrusted import HEADERS, MOST_FILES, tar_files
from tests.builders import alerting
from tests.builders.archives import leave, packed
from tests.builders.call_tables import packed_calls

MIB = 2**20


def tar(*entries: tuple[bytes, str, bytes], size: int | None = None) -> bytes:
    """A tar of entries (type, name, content), each of which claims this size."""
    blocks = []
    for kind, name, content in entries:
        entry = tarfile.TarInfo(name)
        entry.type, entry.size = kind, len(content) if size is None else size
        padding = b"\0" * (-len(content) % tarfile.BLOCKSIZE)
        blocks.append(entry.tobuf(tarfile.GNU_FORMAT) + content + padding)
    return b"".join(blocks) + b"\0" * 2 * tarfile.BLOCKSIZE


def read(archive: bytes) -> dict[str, bytes]:
    return dict(tar_files(io.BytesIO(archive), 4 * MIB, MIB))


def test_bomb_takes_as_much_memory_as_may_be_unpacked() -> None:
    bomb = lzma.compress(
        tar((tarfile.GNUTYPE_LONGNAME, "././@LongLink", b"a" * 200 * MIB)), preset=0
    )
    tracemalloc.start()
    with pytest.raises(Refused, match="more than 32 MiB"):
        code_files(bomb)
    assert tracemalloc.get_traced_memory()[1] < 80 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize("kind", HEADERS)
def test_large_header_is_refused_before_it_is_read(kind: bytes) -> None:
    with pytest.raises(Refused, match="a header in it has 100000 bytes"):
        read(tar((kind, "x", b"a" * 100_000), (tarfile.REGTYPE, "kernels/0.py", b"pass")))


@pytest.mark.parametrize("kind", HEADERS)
def test_thousands_of_headers_before_a_file_are_no_recursion(kind: bytes) -> None:
    headers = [(kind, "x", b"a\0")] * 1500
    assert b"pass" in read(tar(*headers, (tarfile.REGTYPE, "kernels/0.py", b"pass"))).values()


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("name", ["kernels/0.py", "a" * 60 + "/" + "b" * 90])
def test_files_have_the_names_that_tar_gave_them(format: int, name: str) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as archive:
        for each in (name, "second"):
            entry = tarfile.TarInfo(each)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"pass"))
    assert read(file.getvalue()) == {name: b"pass", "second": b"pass"}


@pytest.mark.parametrize("size", [-512, 2**40])
def test_size_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(Refused):
        read(tar((tarfile.REGTYPE, "a", b""), size=size))


def test_archive_of_too_many_files_is_refused() -> None:
    files = [(tarfile.REGTYPE, f"{number}", b"") for number in range(MOST_FILES + 1)]
    with pytest.raises(Refused, match="more than 10000 files"):
        dict(tar_files(io.BytesIO(tar(*files)), 16 * MIB, MIB))


def test_larger_file_of_an_archive_is_cut_one_byte_beyond_its_limit() -> None:
    archive = tar((tarfile.REGTYPE, "a", b"x" * 2000), (tarfile.REGTYPE, "b", b"y"))
    assert dict(tar_files(io.BytesIO(archive), MIB, 10)) == {"a": b"x" * 11, "b": b"y"}


@pytest.mark.parametrize("text", ["\n" * 300_000 + "x", "\n \t" * 100_000, "/a" * 100_000])
def test_noise_of_generated_code_is_removed_in_linear_time(text: str) -> None:
    normalized(text)  # with the square of its length it would take hours


def test_long_chain_of_calls_is_drawn_in_time() -> None:
    functions = {f"f{number}": (1, 1000) for number in range(3000)}
    edges = {(f"f{number}", f"f{number + 1}"): (1, 1000) for number in range(2999)}
    assert frames(table := read_calls(packed_calls(functions, edges)), table)


# --- Pages
NUMBERS = ("1e999", "-1e999", "NaN", "1e300", "-1", "0.5", "true", "null", "9" * 5000, '"1"', "[]")
JSON = (
    st.sampled_from(NUMBERS).map(lambda value: f'{{"functions": [["f", {value}, 2]], "edges": []}}')
    | st.sampled_from(NUMBERS).map(
        lambda value: f'{{"functions": [["f", 1, 2]], "edges": [[{value}, 0, {value}, 1]]}}'
    )
    | st.sampled_from((900, 100_000)).map(lambda deep: "[" * deep + "]" * deep)
    | st.sampled_from((900, 100_000)).map(lambda deep: '{"functions":' * deep)
    | st.text()
)
TRACES = st.sampled_from(
    [
        f'V1124 22:40:01.1 1 f.py:1] {{"aot_forward_graph": {value}, "has_payload": "x", '
        f'"frame_id": {value}}}\n\tgraph\n'
        for value in NUMBERS
    ]
)
KINDS = st.sampled_from([*HEADERS, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, b"S", b"?"])
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
TARS = st.lists(
    st.tuples(KINDS, NAMES, st.binary(max_size=600) | TRACES.map(str.encode)), max_size=4
).map(lambda entries: lzma.compress(tar(*entries), preset=0))
ARCHIVES = TARS | st.dictionaries(NAMES, st.text() | TRACES, max_size=3).map(packed)
HOSTILE = (
    st.binary(max_size=100)
    | JSON.map(lambda text: lzma.compress(text.encode(errors="replace"), preset=0))
    | ARCHIVES
    | ARCHIVES.map(lambda archive: archive[:-10])
)


@pytest.fixture
def group(reader: Client) -> AlertGroup:
    series = alerting.measured([2.0, 2.2])
    group = alerting.group()
    alerting.alert(group, planned_at=series.last_at)
    return group


def pages(jobs: Iterable[Job], group: AlertGroup) -> list[str]:
    """Every address that reads what jobs left."""
    pair = "&".join(f"job={job.pk}" for job in jobs)
    of_jobs = [f"/jobs/{job.pk}/{page}" for job in jobs for page in ("", "code/")]
    of_group = [f"/alerts/{group.pk}/{page}" for page in ("", "code/", "report.zip", "report/")]
    of_pair = [f"/change/?{pair}", f"/change/compile/?{pair}", f"/change/compile/?{pair}&at=f"]
    return [*of_jobs, *of_group, *of_pair]


@pytest.mark.django_db
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_pages_answer_whatever_jobs_left(
    reader: Client, group: AlertGroup, code: bytes, calls: bytes, trace: bytes, log: bytes
) -> None:
    reader.raise_request_exception = False
    jobs = Job.objects.order_by("planned_at")
    for job in jobs:
        for name, content in {ARCHIVE: code, CALLS: calls, TRACE: trace, LOG: log}.items():
            leave(job, name, content)
    for address in pages(jobs, group):
        answer = reader.get(address)
        assert answer.status_code < 500, address
        assert answer.getvalue() is not None
    Artifact.objects.all().delete()
