"""Changes of PyTorch recognized in recorded kernels and calls, and where they are stated."""

from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks_suite.harness import recorded
from dashboard.models import Job
from dashboard.results.core.compile_diff import CallTable, read_calls
from dashboard.results.core.kernel_diff import KernelDiff, kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile, arm_profiles
from dashboard.results.core.known_changes import (
    KNOWN_CHANGES,
    KnownChange,
    costs_in_kernels,
    in_calls,
    in_kernels,
)
from dashboard.site import documentation
from tests.builders import alerting, releases
from tests.builders.golden_files import GOLDEN
from tests.builders.kernels import AFTER, BEFORE
from tests.builders.reading import page_text

OLD, NEW = "2.11.0+cu130", "2.15.0+cu132"
NEWER = ("2.13.0+cu130", "2.14.1+cu130", NEW)
H200 = GOLDEN.parent / "releases_h200" / "four_releases"
OWN_LAUNCHES = H200.with_name("own_launches")
COUNTED = GOLDEN.parent / "compiling_h200" / "counted"
TRAINING = "gpt2.standard.training"

Processes = dict[str, list[ArmProfile]]
"""Profiles of one case and arm, by torch's version."""


def recorded_cases(folder: Path) -> dict[tuple[str, str, str], Processes]:
    """By benchmark, config and arm."""
    cases: dict[tuple[str, str, str], Processes] = {}
    for document in recorded.read(folder):
        for arm, profile in arm_profiles(document).items():
            processes = cases.setdefault((*recorded.case(document), arm), {})
            processes.setdefault(profile.torch, []).append(profile)
    return cases


def diffs(processes: Processes, base: str, new: str) -> Iterator[KernelDiff]:
    for old, fresh in product(processes.get(base, ()), processes.get(new, ())):
        diff = kernel_diff(old, fresh)
        assert diff is not None
        yield diff


def pages(processes: Processes, base: str, new: str) -> set[str]:
    """Collect the pages of the changes that any two of these processes show."""
    changes = chain.from_iterable(in_kernels(diff) for diff in diffs(processes, base, new))
    return {change.page for change in changes}


@pytest.mark.parametrize("new", NEWER)
def test_mask_while_traced_is_recognized_in_vits_compiled_steps_alone(new: str) -> None:
    for (benchmark, _, arm), processes in recorded_cases(H200).items():
        costs = [costs_in_kernels(diff.base, diff.new) for diff in diffs(processes, OLD, new)]
        is_shown = benchmark.startswith("vit_b16") and arm == "compiled"
        for each in costs:
            assert [cost.page for cost in each] == (["attention-mask"] if is_shown else [])


@pytest.mark.parametrize("new", NEWER)
def test_attention_that_left_cudnn_is_recognized_in_either_arm(new: str) -> None:
    for (benchmark, _, _), processes in recorded_cases(H200).items():
        if benchmark.startswith(TRAINING):
            for diff in diffs(processes, OLD, new):
                assert [change.page for change in in_kernels(diff)] == ["attention-dropout"]


def test_no_other_recorded_case_shows_it() -> None:
    """Among them those whose attention drops nothing and stays in cuDNN's kernel."""
    others = {
        benchmark
        for (benchmark, _, _), processes in recorded_cases(H200).items()
        if any(pages(processes, OLD, new) for new in NEWER)
    }
    assert {benchmark.partition(".auto")[0] for benchmark in others} == {TRAINING}


def test_neither_the_way_back_nor_two_releases_that_have_it_show_it() -> None:
    for processes in recorded_cases(H200).values():
        assert not pages(processes, NEW, OLD)
        assert not pages(processes, NEWER[0], NEW)


def test_part_of_the_attention_is_enough() -> None:
    """The captioning model has attention without dropout as well, which stays in cuDNN's kernel."""
    cases = recorded_cases(OWN_LAUNCHES)
    processes = cases[
        "captioning.standard.training.autocast_bf16.static.b64", "regional", "compiled"
    ]
    assert any("cudnn" in kernel.name for kernel in processes[NEW][0].kernels)
    assert pages(processes, OLD, NEW) == {"attention-dropout"}


@pytest.mark.parametrize(
    ("base", "new", "count"),
    [
        ("2.11.0", "2.12.0rc2", 1),
        ("2.11.0.dev20260101", "2.12.0.dev20260501+cu130", 1),
        ("2.10.0", "2.11.0", 0),
        ("2.12.0", "2.13.0", 0),
        ("", "2.13.0", 0),
        ("2.11.0", "my own", 0),
    ],
)
def test_the_builds_lie_on_either_side_of_the_release(base: str, new: str, count: int) -> None:
    sides = []
    for torch, kernels in ((base, BEFORE), (new, AFTER)):
        document = {"profile": {"compiled": kernels}, "environment": {"torch": {"version": torch}}}
        sides.append(arm_profiles(document)["compiled"])
    diff = kernel_diff(*sides)
    assert diff is not None
    assert len(in_kernels(diff)) == count


def calls(case: str, process: str) -> CallTable:
    return read_calls((COUNTED / case / process / "artifacts/compile-calls.json.xz").read_bytes())


def test_function_that_reindexes_loops_is_recognized_in_the_calls() -> None:
    old, new = calls("swin", "2.11.0"), calls("swin", "2.15.0")
    (change,) = in_calls(OLD, old, NEW, new)
    assert change.page == "loop-reindexing"
    assert change.text.startswith("A known change: since 2.13 Inductor")


@pytest.mark.parametrize(("case", "process"), [("swin", "2.15.0_off"), ("mlp", "2.15.0")])
def test_compile_without_much_of_it_does_not_show_it(case: str, process: str) -> None:
    assert not in_calls(OLD, calls(case, "2.11.0"), NEW, calls(case, process))


@pytest.mark.parametrize("change", KNOWN_CHANGES, ids=lambda change: change.page)
def test_each_leads_to_a_page_of_what_was_found_in_pytorch(change: KnownChange) -> None:
    assert change.page in documentation.SECTIONS["Found in PyTorch"]
    assert change.page in documentation.pages()


def trained(build: str, hour: int, **fields: Any) -> Job:
    """A job of this build with the kernels of its release."""
    profile = {"compiled": BEFORE if build == OLD else AFTER}
    environment = releases.environment(build)
    return alerting.measure(
        {"latency_ms": 50.0}, hour, build=build, profile=profile, environment=environment, **fields
    )


def pair_page(reader: Client, *jobs: Job) -> str:
    return page_text(reader.get("/change/", {"job": [str(job.pk) for job in jobs]}))


@pytest.mark.django_db
def test_two_jobs_say_it_once_and_lead_to_its_page(reader: Client) -> None:
    page = pair_page(reader, trained(OLD, 0), trained(NEW, 1))
    assert page.count("Likely a known change, by its kernels: since 2.12 PyTorch no longer") == 1
    assert '<a href="/docs/attention-dropout/">More about it</a>' in page


@pytest.mark.django_db
def test_two_jobs_that_differ_by_more_than_their_builds_do_not_say_it(reader: Client) -> None:
    page = pair_page(reader, trained(OLD, 0), trained(NEW, 1, config="eager"))
    assert "kernels take 23.3 ms more" in page
    assert "known change" not in page
