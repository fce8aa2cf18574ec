"""The calls of two compilations: by function, as a flame graph, on a page."""

import lzma
import re
from itertools import product
from random import Random
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.language.contracts import Refused
from dashboard.models import Artifact, Job
from dashboard.results.core.compile_diff import (
    CALLS,
    CallChange,
    CallSite,
    call_sites,
    callee_changes,
    caller_changes,
    function_changes,
    read_calls,
)
from dashboard.results.core.compile_flame import WIDTH, Frame, frames
from tests.builders import alerting
from tests.builders.call_tables import compilation, packed_calls
from tests.builders.reading import page_text

COMPILE = "torch/_dynamo/eval_frame.py:compile"
RUN, MATCH = "torch/_inductor/passes.py:run", "torch/_inductor/passes.py:match"
GUARDS = "torch/_dynamo/guards.py:build"
SIMPLIFY, SYMBOL = "sympy/simplify/simplify.py:simplify", "sympy/core/symbol.py:Symbol.__new__"
OLD, NEW = read_calls(compilation(20)), read_calls(compilation(20, extra=60))


def frame_of(name: str, drawn: list[Frame]) -> Frame:
    (frame,) = [frame for frame in drawn if frame.change.name == name]
    return frame


def test_function_with_the_largest_difference_comes_first() -> None:
    (change,) = function_changes(OLD, NEW)
    assert change.function == CallChange(MATCH, 200, 260)
    assert change.caller == CallChange(RUN, 200, 260)


def simplifying(*, simplifies: bool) -> bytes:
    """A pass that matches, and has an index simplified or not."""
    functions, edges = {RUN: (10, 40), MATCH: (30, 30)}, {(RUN, MATCH): (30, 30)}
    if simplifies:
        functions |= {RUN: (10, 1040), SIMPLIFY: (10, 1000), SYMBOL: (990, 990)}
        edges |= {(RUN, SIMPLIFY): (10, 1000), (SIMPLIFY, SYMBOL): (990, 990)}
    return packed_calls(functions, edges)


def test_function_that_ceased_to_call_another_is_where_the_work_went() -> None:
    old, new = read_calls(simplifying(simplifies=True)), read_calls(simplifying(simplifies=False))
    assert call_sites(old, new) == [
        CallSite(CallChange(RUN, 10, 10), [CallChange(SIMPLIFY, 10, 0)], CallChange(RUN, 1000, 0))
    ]


def test_function_that_merely_runs_more_often_began_to_call_nothing() -> None:
    assert call_sites(OLD, NEW) == []


def test_callee_under_another_name_is_no_work_that_came() -> None:
    before = packed_calls({RUN: (10, 60), MATCH: (50, 50)}, {(RUN, MATCH): (50, 50)})
    after = packed_calls({RUN: (10, 60), GUARDS: (50, 50)}, {(RUN, GUARDS): (50, 50)})
    assert call_sites(read_calls(before), read_calls(after)) == []


def test_what_lies_within_work_that_went_is_not_listed_again() -> None:
    functions = {RUN: (10, 1010), SIMPLIFY: (10, 1000), SYMBOL: (990, 990), GUARDS: (1, 1)}
    all_the_way = {(RUN, SIMPLIFY): (10, 1000), (SIMPLIFY, SYMBOL): (990, 990)}
    other_caller = {(GUARDS, SIMPLIFY): (10, 10)}
    old = read_calls(packed_calls(functions, all_the_way))
    new = read_calls(packed_calls(functions, other_caller))
    assert [site.caller.name for site in call_sites(old, new)] == [RUN, GUARDS]


def test_difference_is_said_in_words() -> None:
    assert CallChange("f", 1, 1501).text == "1,500 more"
    assert CallChange("f", 3, 1).text == "2 fewer"
    assert CallChange("f", 3, 3).text == "none"


def test_callees_and_callers_that_differ_are_listed() -> None:
    assert callee_changes(OLD, NEW, RUN) == [CallChange(MATCH, 200, 260)]
    assert caller_changes(OLD, NEW, MATCH) == [CallChange(RUN, 200, 260)]
    assert callee_changes(OLD, NEW, COMPILE) == []


def test_function_that_is_new_was_called_never_before() -> None:
    new = read_calls(packed_calls({"f": (1, 6), "g": (5, 5)}, {("f", "g"): (5, 5)}))
    old = read_calls(packed_calls({"f": (1, 1)}, {}))
    assert function_changes(old, new)[0].function == CallChange("g", 0, 5)


def test_frames_are_as_wide_as_the_calls_below_them() -> None:
    drawn = frames(OLD, OLD)
    assert frame_of(COMPILE, drawn).width == WIDTH
    assert frame_of(GUARDS, drawn).width == pytest.approx(WIDTH * 400 / 621, abs=0.01)
    assert frame_of(MATCH, drawn).y > frame_of(COMPILE, drawn).y


def test_frames_that_differ_are_shaded_and_others_are_not() -> None:
    drawn = frames(OLD, NEW)
    assert frame_of(MATCH, drawn).shade_class == "more-3"
    assert frame_of(GUARDS, drawn).shade_class == "same"
    assert frame_of(MATCH, frames(NEW, OLD)).shade_class == "fewer-3"


def test_flame_graph_begins_at_any_function() -> None:
    drawn = frames(OLD, NEW, RUN)
    assert {frame.change.name for frame in drawn} == {RUN, MATCH}


def test_recursion_ends() -> None:
    edges = {
        ("f", "g"): (5, 9),
        ("g", "f"): (4, 8),
        ("g", "g"): (2, 2),
    }
    table = read_calls(
        packed_calls(
            {
                "top": (1, 12),
                "f": (5, 10),
                "g": (6, 9),
            },
            edges,
        )
    )
    assert frames(table, table, "f")


def test_calls_below_a_recursion_are_drawn_once() -> None:
    """f calls w, which calls f, which calls g: the table alone says that f calls both w and g."""
    functions = {
        "f": (2, 703),
        "w": (1, 702),
        "g": (600, 600),
        "k": (100, 100),
    }
    from_f = {("f", "w"): (1, 702), ("f", "g"): (600, 600)}
    from_w = {("w", "f"): (1, 601), ("w", "k"): (100, 100)}
    table = read_calls(packed_calls(functions, from_f | from_w))
    drawn = frames(table, table, "f")
    assert [frame.change.name for frame in drawn] == ["w", "g", "k"]  # f hands on all to w
    assert frame_of("g", drawn).change.before == 600


@given(st.randoms(use_true_random=False))
def test_every_table_has_a_flame_graph_from_every_function(random: Random) -> None:
    def counts() -> tuple[int, int]:
        return random.randint(0, 50), random.randint(0, 50)

    edges = {edge: counts() for edge in product("fghk", "fghk")}
    table = read_calls(packed_calls({name: counts() for name in "fghk"}, edges))
    for name in table.calls:
        assert all(frame.width >= 0 for frame in frames(table, table, name))


def test_labels_are_cut_to_their_frames() -> None:
    narrow = Frame(CallChange("a.py:Class.method", 1, 1), 0, 0, 60, 0)
    assert narrow.label == "Class.m…"
    wide = Frame(CallChange("a.py:Class.method", 1, 1), 0, 0, 600, 0)
    assert wide.label == "Class.method"


@pytest.mark.parametrize(
    "packed", [b"", b"garbage", lzma.compress(b"{}"), lzma.compress(b"[1]"), compilation(1)[:80]]
)
def test_damaged_table_is_unreadable(packed: bytes) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        read_calls(packed)


# The pages
def leave(job: Job, content: bytes) -> None:
    Artifact.objects.create(
        job=job,
        name=CALLS,
        file=ContentFile(content, "x"),
        size_bytes=len(content),
        digest="0",
    )


def measured(*tables: bytes, metric: str = "cold_start_s") -> tuple[Any, list[Job]]:
    """A series of two jobs, which left these tables."""
    series = alerting.measured([2.0, 2.2], metric=metric)
    jobs = [datum.job for datum in series.data.select_related("job").order_by("planned_at")]
    for job, content in zip(jobs, tables, strict=False):
        leave(job, content)
    return series, jobs


def query(jobs: list[Job]) -> str:
    return "&".join(f"job={job.pk}" for job in jobs)


@pytest.mark.django_db
def test_page_names_the_function_and_draws_it_for_the_keyboard(reader: Client) -> None:
    _, jobs = measured(compilation(20), compilation(20, extra=60))
    response = reader.get(f"/change/compile/?{query(jobs)}")
    assert "60 more" in page_text(response)
    (frame,) = re.findall(rf'<a class="more-3"[^>]*aria-label="{MATCH}[^>]*>', response.text)
    assert "tabindex" not in frame


@pytest.mark.django_db
def test_page_of_one_function_lists_its_callers_and_callees(reader: Client) -> None:
    _, jobs = measured(compilation(20), compilation(20, extra=60))
    page = page_text(reader.get(f"/change/compile/?{query(jobs)}&at={RUN}"))
    assert "From the top" in page
    assert "Calls" in page


@pytest.mark.django_db
def test_page_says_where_the_work_went(reader: Client) -> None:
    _, jobs = measured(simplifying(simplifies=True), simplifying(simplifies=False))
    page = page_text(reader.get(f"/change/compile/?{query(jobs)}"))
    assert "Where work came or went" in page
    assert "1,000 fewer" in page


@pytest.mark.django_db
def test_page_says_which_change_is_known(reader: Client) -> None:
    reindex = "torch/_inductor/scheduler.py:Scheduler._try_reindex_pointwise_for_reduction"
    jobs = []
    for hour, (build, functions) in enumerate({"2.11.0": {}, "2.15.0": {reindex: (9, 9)}}.items()):
        jobs.append(alerting.measure({"cold_start_s": 2.0}, hour, build=build))
        leave(jobs[-1], packed_calls({RUN: (10, 10), **functions}, {}))
    page = page_text(reader.get(f"/change/compile/?{query(jobs)}"))
    assert "A known change: since 2.13 Inductor reindexes loops" in page
    assert '<a href="/docs/loop-reindexing/">More about it</a>' in page


@pytest.mark.django_db
def test_names_are_text(reader: Client) -> None:
    table = packed_calls({"<script>alert(1)</script>": (1000, 1000)}, {})
    _, jobs = measured(table, compilation(1))
    assert "<script>alert" not in reader.get(f"/change/compile/?{query(jobs)}").text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("tables", "text"),
    [([compilation(1)], "has no counted start"), ([b"x", b"x"], "cannot be read")],
)
def test_page_says_why_there_is_nothing_to_compare(
    reader: Client, tables: list[bytes], text: str
) -> None:
    _, jobs = measured(*tables)
    assert text in reader.get(f"/change/compile/?{query(jobs)}").text


@pytest.mark.django_db
def test_page_without_two_jobs_asks_for_them(reader: Client) -> None:
    assert "Choose two jobs first" in reader.get("/change/compile/").text


@pytest.mark.django_db
def test_alert_shows_the_calls_of_both_sides(reader: Client) -> None:
    series, _ = measured(compilation(1), compilation(2), metric="cold_start_s")
    group = alerting.group()
    alerting.alert(group, metric="cold_start_s", planned_at=series.last_at)
    assert "Down the call tree" in reader.get(f"/alerts/{group.pk}/compile/").text
