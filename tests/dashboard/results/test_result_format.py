"""Whatever a worker sends is read as a checked value, or refused with the reason."""

import gzip
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.language.contracts import Refused
from dashboard.models import Status, Worker
from dashboard.results.core.result_format import parse_delivery, parse_result
from dashboard.results.core.untrusted import unpack
from dashboard.results.services.ingest import ingest
from dashboard.runs.selectors.runs import ACTIVE
from tests.builders import site

FOLDER = Path(__file__).parents[2] / "data" / "golden"
GOLDEN = sorted(FOLDER.glob("result.*.json"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text()
    | st.sampled_from(["2016-12-31T23:59:60Z", "0001-01-01T00:00:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List where things stand in a JSON document, at most 40 below each."""
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(document, dict):
        inside = document.items()
    elif isinstance(document, list):
        inside = enumerate(document)
    paths: list[tuple[Any, ...]] = []
    for key, value in inside:
        here = (*path, key)
        paths += [here, *places(value, here)[:40]]
    return paths


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the document with `value` at that place."""
    copy = json.loads(json.dumps(document))
    there = copy
    for step in path[:-1]:
        there = there[step]
    there[path[-1]] = value
    return copy


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_document_of_the_suite_is_read(path: Path) -> None:
    document = json.loads(path.read_text())
    result = parse_result(document)
    assert result.status == document["status"]
    assert set(result.metrics) == set(document["metrics"])


@settings(max_examples=300)
@given(st.data())
def test_result_with_anything_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    document = json.loads(data.draw(st.sampled_from(GOLDEN)).read_text())
    place = data.draw(st.sampled_from(places(document)))
    spoilt = replaced(document, place, data.draw(VALUES))
    try:
        result = parse_result(orjson.loads(json.dumps(spoilt)))
    except (Refused, orjson.JSONDecodeError):
        return
    assert result.status in Status.values
    assert result.document["benchmark"] == result.benchmark


@pytest.mark.django_db
@settings(max_examples=40)
@given(st.data())
def test_delivery_with_anything_anywhere_ends_its_job(data: st.DataObject) -> None:
    """Done, or failed with the reason; no error over what the database cannot store."""
    worker = Worker.objects.first() or site.worker()
    job = site.running_job(worker)
    body = site.delivery(job, site.result(job))
    delivery = json.loads(gzip.decompress(body))
    # Another attempt is stale, and changes nothing
    inside = [path for path in places(delivery) if path != ("attempt",)]
    place = data.draw(st.sampled_from(inside))
    spoilt = replaced(delivery, place, data.draw(VALUES))
    with suppress(Refused):
        ingest(job_id=job.pk, worker=worker, body=json.dumps(spoilt).encode())
    assert site.reload(job).state not in ACTIVE


@settings(max_examples=200)
@given(st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(Refused, match=r"."):
        parse_delivery(unpack(body, 1000))


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=300))
def test_body_within_the_limit_is_unpacked_and_one_over_it_is_not(
    content: bytes, limit: int
) -> None:
    if len(content) <= limit:
        assert unpack(gzip.compress(content), limit) == content
    else:
        with pytest.raises(Refused, match="more than"):
            unpack(gzip.compress(content), limit)


def test_document_nested_without_end_is_refused() -> None:
    document = json.loads(GOLDEN[0].read_text())
    nested = orjson.loads("[" * 500 + "]" * 500)
    document["starts"] = {"cold": {"deep": nested}}
    with pytest.raises(Refused, match="Recursion"):
        parse_result(document)


@pytest.mark.parametrize(
    "moment", ["2016-12-31T23:59:60Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"]
)
def test_impossible_time_is_refused(moment: str) -> None:
    document = {**json.loads(GOLDEN[0].read_text()), "started_at": moment}
    with pytest.raises(Refused, match=r"result\.(job\.planned_at|started_at)"):
        parse_result(document)


def test_records_of_the_compiler_without_their_sizes_are_refused() -> None:
    document = json.loads((FOLDER / "result.pass.json").read_text())
    document["starts"]["diagnostic"]["files"] = {"compiler.log": {"artifact": "log"}}
    with pytest.raises(Refused, match="cut_bytes"):
        parse_result(document)
