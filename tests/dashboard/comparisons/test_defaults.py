"""On which machine and builds the release pages open."""

from typing import Literal

import numpy as np
import pytest
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from dashboard.comparisons.selectors.measured_builds import (
    default_machine,
    measured_builds,
    processes_in_turn,
)
from dashboard.judgement.pairs import Process, in_turn, pairs_of_block
from dashboard.models import (
    BuildLevel,
    Job,
    JobState,
    Machine,
    Purpose,
    Run,
    RunState,
    Series,
    TorchBuild,
    Track,
)
from tests.builders import releases

pytestmark = pytest.mark.django_db


def _run(machine: str, build: str, state: RunState = RunState.CANCELLED) -> Run:
    """A later run of one case; nothing of it was measured."""
    imported = Run.objects.order_by("pk").first()
    assert imported is not None
    row, _ = Machine.objects.get_or_create(key=machine, defaults={"device_kind": "cpu"})
    torch_build, _ = TorchBuild.objects.get_or_create(label=build, defaults={"version": build})
    run = Run.objects.create(
        machine=row,
        build=torch_build,
        track=imported.track,
        state=state,
    )
    first = imported.jobs.first()
    assert first is not None
    Job.objects.create(
        run=run,
        benchmark=first.benchmark,
        config=first.config,
        state=JobState.CANCELLED,
        planned_at=timezone.now(),
        finished_at=timezone.now(),
    )
    return run


def _machine_becomes_own(machine: str) -> None:
    """As if its results had been measured here."""
    Run.objects.filter(machine__key=machine).update(purpose=Purpose.MANUAL)


def _compared(client: Client, query: str = "") -> tuple[str, str]:
    choice = client.get(f"/compare/{query}").context["choice"]
    return choice.base.tested.label, choice.new.tested.label


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED])
def test_run_that_measured_nothing_changes_no_default(
    two_releases: None, reader: Client, state: RunState
) -> None:
    _run("cpu-1c", releases.BASE, state)
    _run("cpu-1c", releases.NEW, state)
    assert {tested.machine_key for tested in measured_builds()} == {"h100"}
    assert _compared(reader) == (releases.BASE, releases.NEW)


def test_imported_machine_is_no_default_next_to_an_own_one(two_releases: None) -> None:
    _machine_becomes_own("h100")
    releases.import_two_releases(machine="a100", repeats=1, seed=2)
    assert default_machine(measured_builds()) == "h100"


def test_default_is_the_machine_with_the_most_matched_cases(two_releases: None) -> None:
    releases.import_two_releases(
        machine="a100",
        models=["gpt2"],
        repeats=1,
        seed=2,
    )
    assert default_machine(measured_builds()) == "h100"


def test_default_is_a_machine_that_measured_in_turn_before_one_with_more_cases(
    two_releases: None,
) -> None:
    releases.import_two_releases(machine="a100", models=["gpt2"], repeats=3, seed=2)
    BuildLevel.objects.filter(series__machine__key="h100").update(count=1)
    assert default_machine(measured_builds()) == "a100"


def test_hidden_machine_is_no_default_but_has_its_address(
    two_releases: None, reader: Client
) -> None:
    releases.import_two_releases(machine="a100", repeats=1, seed=2)
    Machine.objects.filter(key="h100").update(hidden=True)
    assert reader.get("/").context["machines"] == ["a100"]
    assert reader.get("/?machine=h100").status_code == 200


def test_newest_build_with_few_cases_is_no_default(two_releases: None, reader: Client) -> None:
    newest, _ = TorchBuild.objects.get_or_create(
        label="2.14.1+cu130", defaults={"version": "2.14.1"}
    )
    old = Run.objects.filter(build__label=releases.NEW).first()
    level = BuildLevel.objects.filter(build__label=releases.NEW, metric="latency_ms").first()
    assert old is not None
    assert level is not None
    run = _run("h100", newest.label, RunState.COMPLETED)
    run.jobs.update(state=JobState.DONE, status="pass")
    BuildLevel.objects.filter(
        series=level.series_id, build=level.build_id, libraries=level.libraries
    ).update(build=newest)
    assert _compared(reader) == (releases.BASE, releases.NEW)


@pytest.mark.parametrize("side", ["base", "new"])
@pytest.mark.parametrize("build", [releases.BASE, releases.NEW])
def test_other_side_is_never_the_named_build(
    two_releases: None, reader: Client, side: str, build: str
) -> None:
    base, new = _compared(reader, f"?{side}={build.replace('+', '%2B')}&machine=h100")
    assert base != new
    assert build in {base, new}


def test_import_is_dated_by_what_was_measured(two_releases: None) -> None:
    run = Run.objects.filter(build__label=releases.BASE).first()
    assert run is not None
    assert run.finished_at is not None
    assert f"{run.created_at:%Y-%m-%d %H}" == "2026-11-21 10"
    assert f"{run.finished_at:%Y-%m-%d %H}" == "2026-11-21 15"


def _also_measured(
    version: str, session: str | None = None, processes: int = 6, like: str = releases.BASE
) -> str:
    """One more build with the values of another; session: None for the other's own."""
    build = TorchBuild.objects.create(label=f"{version}+cu130", version=version)
    _run("h100", build.label, RunState.COMPLETED).jobs.update(state=JobState.DONE, status="pass")
    levels = BuildLevel.objects.filter(build__label=like)
    for level in levels:
        level.build = build
        level.session = level.session if session is None else session
        level.count = processes
    BuildLevel.objects.bulk_create(levels)
    return build.label


@pytest.mark.parametrize("session", ["", "another day"])
def test_base_is_a_build_that_was_measured_in_turn_with_the_newest(
    two_releases: None, reader: Client, session: str
) -> None:
    between = _also_measured("2.12.1", session)
    assert _compared(reader) == (releases.BASE, releases.NEW)
    # A person's own choice stays
    assert _compared(reader, f"?base={between.replace('+', '%2B')}&machine=h100")[0] == between


def test_base_is_the_newest_of_those_measured_in_turn_as_well(
    two_releases: None, reader: Client
) -> None:
    between = _also_measured("2.12.1")
    assert _compared(reader) == (between, releases.NEW)


@pytest.mark.parametrize(
    ("processes", "is_certain"), [(1, False), (2, False), (5, False), (6, True)]
)
def test_base_of_which_changes_can_be_certain_comes_before_a_newer_one(
    two_releases: None, reader: Client, processes: int, is_certain: bool
) -> None:
    between = _also_measured("2.12.1", processes=processes)
    assert _compared(reader) == (between if is_certain else releases.BASE, releases.NEW)


@pytest.mark.parametrize("seed", range(12))
def test_processes_in_turn_are_the_pairs_of_blocks_that_took_turns(
    two_releases: None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    base, new = TorchBuild.objects.filter(label__in=[releases.BASE, releases.NEW]).order_by("pk")
    like = BuildLevel.objects.filter(build=base, metric="latency_ms").first()
    assert like is not None
    BuildLevel.objects.all().delete()
    blocks = {}
    for session in range(int(rng.integers(1, 5))):
        sides: list[Literal["base", "new"]] = ["base", "new"] * int(rng.integers(1, 4))
        if rng.random() < 0.5:
            rng.shuffle(sides)
        blocks[session] = [Process(at, side, 1.0) for at, side in enumerate(sides)]
        for build in (base, new):
            like.build, like.session, like.count = build, str(session), len(sides) // 2
            BuildLevel.objects.bulk_create([like])

    counted = processes_in_turn(measured_builds(), [], "")
    [most] = counted.get((like.machine_id, base.pk, new.pk), [0])
    places = in_turn(blocks)
    pairs = sum(len(pairs_of_block(blocks[place])) for place in places)
    assert pairs == most if places == blocks.keys() else pairs < most or not places


def test_build_before_is_the_base_where_none_was_measured_in_turn(
    two_releases: None, reader: Client
) -> None:
    between = _also_measured("2.12.1", session="")
    BuildLevel.objects.filter(build__label=releases.BASE).update(session="another day")
    assert _compared(reader) == (between, releases.NEW)


def test_side_next_to_a_named_base_is_one_that_was_measured_in_turn_with_it(
    two_releases: None, reader: Client
) -> None:
    newer = _also_measured("2.14.1", session="", like=releases.NEW)
    named = f"?base={releases.BASE.replace('+', '%2B')}&machine=h100"
    assert _compared(reader, named) == (releases.BASE, releases.NEW)
    assert _compared(reader) == (releases.NEW, newer)


def _copy_to_track(build: str, key: str = "nightly", session: str | None = None) -> None:
    """Copy what a build has on the imports' track to another track."""
    track, _ = Track.objects.get_or_create(key=key)
    run = _run("h100", build, RunState.COMPLETED)
    Run.objects.filter(pk=run.pk).update(track=track)
    run.jobs.update(state=JobState.DONE, status="pass")
    levels = list(BuildLevel.objects.filter(build__label=build).select_related("series"))
    for level in levels:
        level.series, _ = Series.objects.get_or_create(
            track=track,
            machine_id=level.machine_id,
            benchmark_id=level.benchmark_id,
            config_id=level.config_id,
            metric=level.metric,
        )
        level.track_id = track.pk
        level.session = level.session if session is None else session
    BuildLevel.objects.bulk_create(levels)


def _in_other_configs(build: str, config: str) -> QuerySet[BuildLevel]:
    return BuildLevel.objects.filter(build__label=build).exclude(series__config__name=config)


def test_build_that_passed_nothing_on_the_track_of_the_address_is_no_default(
    two_releases: None, reader: Client
) -> None:
    newest = _also_measured("2.14.1", like=releases.NEW)
    _copy_to_track(releases.BASE)
    _copy_to_track(releases.NEW)
    failed = _run("h100", newest, RunState.COMPLETED)
    failed.jobs.update(state=JobState.DONE, status="fail_to_run")
    Run.objects.filter(pk=failed.pk).update(track=Track.objects.get(key="nightly"))
    assert _compared(reader)[1] == newest
    assert _compared(reader, "?track=nightly") == (releases.BASE, releases.NEW)


def test_build_measured_in_turn_on_another_track_counts_as_any(
    two_releases: None, reader: Client
) -> None:
    between = _also_measured("2.12.1")
    _copy_to_track(releases.BASE)
    _copy_to_track(releases.NEW)
    _copy_to_track(between, session="")
    assert _compared(reader, "?track=import")[0] == between
    assert _compared(reader, "?track=nightly")[0] == releases.BASE


def test_build_that_passed_in_another_config_alone_is_no_default(
    two_releases: None, reader: Client
) -> None:
    newest = _also_measured("2.14.1", like=releases.NEW)
    _in_other_configs(newest, "eager").delete()
    assert _compared(reader, "?config=eager")[1] == newest
    assert _compared(reader, "?config=inductor") == (releases.BASE, releases.NEW)


def test_build_measured_in_turn_in_another_config_counts_as_any(
    two_releases: None, reader: Client
) -> None:
    between = _also_measured("2.12.1")
    _in_other_configs(between, "eager").update(session="")
    assert _compared(reader, "?config=eager")[0] == between
    assert _compared(reader, "?config=inductor")[0] == releases.BASE


def test_one_build_in_two_configs_is_one_that_passed_in_both(
    two_releases: None, reader: Client
) -> None:
    newest = _also_measured("2.14.1", like=releases.NEW)
    assert _compared(reader, "?config=eager&new_config=inductor") == (newest, newest)
    _in_other_configs(newest, "eager").delete()
    assert _compared(reader, "?config=eager&new_config=inductor")[0] == releases.NEW


def test_machine_is_one_that_measured_the_track_of_the_address(
    two_releases: None, reader: Client
) -> None:
    releases.import_two_releases(machine="a100", models=["gpt2"], repeats=1, seed=2)
    nightly = Track.objects.create(key="nightly")
    Run.objects.filter(machine__key="a100").update(track=nightly)
    assert reader.get("/compare/?track=nightly").status_code == 200
    assert default_machine(measured_builds(), "nightly") == "a100"
    assert default_machine(measured_builds()) == "h100"


def test_unknown_track_of_the_address_is_named(two_releases: None, reader: Client) -> None:
    answer = reader.get("/compare/?track=nightyl")
    assert answer.status_code == 404
    assert "for a track “nightyl”" in answer.text


def _measured_on(*machines: str) -> None:
    for seed, machine in enumerate(machines, start=2):  # the same results count once
        releases.import_two_releases(machine=machine, models=["gpt2"], repeats=1, seed=seed)


@pytest.mark.parametrize("query", ["machine=gpu", "machine=h100&new_machine=gpu"])
def test_first_words_of_a_machines_key_are_enough(
    two_releases: None, reader: Client, query: str
) -> None:
    _measured_on("gpu-80gb-hbm3")
    choice = reader.get(f"/compare/?{query}").context["choice"]
    assert choice.new.tested.machine_key == "gpu-80gb-hbm3"


def test_whole_key_of_a_machine_comes_before_one_that_begins_with_it(
    two_releases: None, reader: Client
) -> None:
    _measured_on("h100-80gb-hbm3")
    choice = reader.get("/compare/?machine=h100").context["choice"]
    assert choice.base.tested.machine_key == "h100"


def test_name_of_two_machines_is_refused_with_both(two_releases: None, reader: Client) -> None:
    _measured_on("gpu-1", "gpu-2")
    answer = reader.get("/compare/?machine=gpu")
    assert answer.status_code == 404
    assert "“gpu” may be gpu-1 or gpu-2: write one of them." in answer.text


def test_hidden_machine_has_no_shorter_name(two_releases: None, reader: Client) -> None:
    _measured_on("gpu-1", "gpu-2")
    Machine.objects.filter(key="gpu-2").update(hidden=True)
    choice = reader.get("/compare/?machine=gpu").context["choice"]
    assert choice.base.tested.machine_key == "gpu-1"


def test_part_of_a_word_is_no_machine(two_releases: None, reader: Client) -> None:
    answer = reader.get("/compare/?machine=h10")
    assert answer.status_code == 404
    assert "Nothing was measured on a machine “h10”" in answer.text
