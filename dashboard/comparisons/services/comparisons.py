"""Comparisons of two builds: both measured in turn, process by process, under one library set."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from dashboard.catalog.core.pins import ALWAYS, PinError, needs_bridge, newest_set, shared_set
from dashboard.catalog.core.plan import Case, PlanError, Selection, budget
from dashboard.catalog.selectors.lookups import find_machine, named_build
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors import comparisons as read
from dashboard.judgement.looks import CERTAIN_PAIRS
from dashboard.models import (
    Benchmark,
    Comparison,
    Config,
    InstalledEnvironment,
    Job,
    Machine,
    Purpose,
    Run,
    RunState,
    TorchBuild,
    Track,
)
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.isolation import isolated
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import is_over
from dashboard.runs.services.runs import cancel_run, plan_job, plan_run

TRACK = "versions"
REPEATS = 3  # processes per case and build, unless given
# Between two jobs' planned times, which order them (services/dispatch.py)
STEP = timedelta(microseconds=1)

logger = structlog.get_logger(__name__)


def start_comparison(
    *,
    base: str,
    new: str,
    machine: str,
    selection: Selection,
    repeats: int = REPEATS,
    user: AbstractBaseUser | None = None,
    libraries: Mapping[str, str] | None = None,
    label: str = "",
) -> Comparison:
    """Plan both builds' runs and send their jobs once the transaction is through.

    base, new: labels of builds; a version is enough where one build has it. libraries: None for the
    newest set that both builds take. Raises PlanError: unknown names, one build twice, nothing to
    measure.
    """
    comparison = _comparison(base, new, machine, selection, repeats, libraries)
    comparison.label = label
    comparison.created_by_id = user.pk if user else None
    cases = _planned(comparison)
    with transaction.atomic():
        comparison.save()
        _measure(comparison, cases, repeats)
    return comparison


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """Plan of what `start_comparison` would measure, and roughly how long that takes one worker."""

    comparison: Comparison  # not saved
    cases: list[Case]
    jobs: int
    expected_s: float


def plan_comparison(
    *, base: str, new: str, machine: str, selection: Selection, repeats: int = REPEATS
) -> PlannedComparison:
    """Without measuring it. Raises PlanError, as `start_comparison`."""
    comparison = _comparison(base, new, machine, selection, repeats, None)
    cases = _planned(comparison)
    runs = 3 if own_libraries(comparison) else 2
    cost = budget(cases, {})
    times = runs * repeats
    return PlannedComparison(comparison, cases, cost.jobs * times, cost.expected_s * times)


def _comparison(
    base: str,
    new: str,
    machine: str,
    selection: Selection,
    repeats: int,
    libraries: Mapping[str, str] | None,
) -> Comparison:
    """Not saved. Raises PlanError."""
    on = find_machine(machine)
    old, fresh = named_build(base, on), named_build(new, on)
    if old == fresh:
        raise PlanError(f"Both sides are {old}: choose two builds.")
    _require_repeats(repeats)
    return Comparison(
        base=old,
        new=fresh,
        machine=on,
        repeats=repeats,
        libraries=common_libraries([old, fresh], on) if libraries is None else dict(libraries),
        request={**selection.names(), "measure": {}},
    )


def measure_more(*, comparison: Comparison, repeats: int) -> None:
    """Measure every case again on both builds, so that what is unclear is decided. Raises
    PlanError.
    """
    _require_repeats(repeats)
    with transaction.atomic():
        # Of two requests at once both count
        comparison.refresh_from_db(from_queryset=Comparison.objects.select_for_update(of=("self",)))
        _measure(comparison, _planned(comparison), repeats)
        comparison.repeats += repeats
        comparison.is_settled = False
        comparison.save(update_fields=["repeats", "is_settled"])


def settle_all() -> None:
    """Measure again what likely changed in every comparison whose runs have ended."""
    open_ones = Comparison.objects.filter(is_settled=False)
    for comparison_id in list(open_ones.values_list("pk", flat=True)):
        with isolated("comparison could not be settled", comparison=comparison_id):
            settle(comparison_id=comparison_id)


def settle(*, comparison_id: int) -> None:
    """Measure again, a single time after all runs have ended, each case with a likely change, until
    it has the pairs that make the change certain or refute it.
    """
    with transaction.atomic():
        locked = Comparison.objects.select_for_update(skip_locked=True, of=("self",))
        comparison = (
            locked.select_related("base", "new", "machine").filter(pk=comparison_id).first()
        )
        if comparison is None or comparison.is_settled:
            return
        states = set(comparison.runs.values_list("state", flat=True))
        if not all(map(is_over, states)):
            return
        comparison.is_settled = True
        comparison.save(update_fields=["is_settled"])
        if RunState.CANCELLED in states:
            return
        try:
            planned = _planned(comparison)
        except PlanError as problem:  # a benchmark is retired, say: what is likely stays so
            logger.warning("not measured again", comparison=comparison_id, why=str(problem))
            return
        keys = read.report(comparison).overall.judgement.to_measure_again()
        cases = [case for case in planned if Key(case.benchmark, case.config) in keys]
        if cases:
            _measure(comparison, cases, max(1, CERTAIN_PAIRS - comparison.repeats))


def _planned(comparison: Comparison) -> list[Case]:
    request = comparison.request
    selection = Selection(
        families=tuple(request.get("families", ())),
        benchmarks=tuple(request.get("benchmarks", ())),
        configs=tuple(request.get("configs", ())),
    )
    return plan_run(machine=comparison.machine.key, selection=selection)


def _require_repeats(repeats: int) -> None:
    if not 1 <= repeats <= MAX_REPEATS:
        raise PlanError(f"{repeats} repeats: choose 1 to {MAX_REPEATS}.")


def cancel_comparison(*, comparison: Comparison) -> int:
    """Cancel what has not ended, and measure nothing again; how many jobs."""
    Comparison.objects.filter(pk=comparison.pk).update(is_settled=True)
    return sum(cancel_run(run=run) for run in comparison.runs.all())


def common_libraries(builds: Sequence[TorchBuild], machine: Machine) -> dict[str, str]:
    """The newest library set that these builds take, so that only torch differs.

    An adopted environment of the machine is what it is: the others are made with its libraries.
    Empty (each build's own) where adopted ones differ, or the table of pins knows no set.
    """
    bases = [build.base or build for build in builds]
    adopted = InstalledEnvironment.objects.filter(
        build__in=bases, worker__machine=machine, adopted=True
    )
    sets = []
    for installed in adopted.values_list("libraries", flat=True):
        sets.append({name: installed[name] for name in ALWAYS if name in installed})
    if any(libraries != sets[0] for libraries in sets):
        return {}
    if sets:
        return sets[0]
    try:
        return shared_set(*(build.version for build in builds))
    except PinError:
        return {}


def own_libraries(comparison: Comparison) -> dict[str, str]:
    """The new build's own newest libraries where they are not those of the comparison: what a
    bridge is measured under.

    Empty where there is nothing to bridge: they are the same, or an adopted environment is what it
    is.
    """
    if not comparison.libraries:
        return {}
    new = comparison.new.base or comparison.new
    adopted = InstalledEnvironment.objects.filter(
        build=new, worker__machine=comparison.machine, adopted=True
    )
    if adopted.exists():
        return {}
    try:
        own = newest_set(new.version)
    except PinError:
        return {}
    return own if needs_bridge(comparison.libraries, own) else {}


def ensure_versions_track() -> Track:
    """The track of builds side by side: no schedule follows it, detection does not read it."""
    defaults = {"kind": Track.Kind.VERSIONS, "label": "Builds side by side"}
    return Track.objects.get_or_create(key=TRACK, defaults=defaults)[0]


def _measure(comparison: Comparison, cases: Sequence[Case], repeats: int) -> None:
    """A run for each build, their jobs in turn; a third one bridges a change of libraries
    (`own_libraries`).
    """
    runs = [
        _run(comparison, comparison.base, comparison.libraries),
        _run(comparison, comparison.new, comparison.libraries),
    ]
    if own := own_libraries(comparison):
        runs.append(_run(comparison, comparison.new, own, ", its own libraries"))
    measure_in_turn(
        runs,
        cases,
        repeats,
        now=timezone.now(),
        seed=comparison.uuid.int,
        measure=comparison.request["measure"],
    )


def _run(
    comparison: Comparison, build: TorchBuild, libraries: dict[str, str], remark: str = ""
) -> Run:
    return Run(
        label=f"{comparison}: {build}{remark}"[:200],
        purpose=Purpose.MANUAL,
        build=build,
        machine=comparison.machine,
        track=ensure_versions_track(),
        comparison=comparison,
        request=comparison.request,
        libraries=libraries,
        created_by_id=comparison.created_by_id,
    )


def measure_in_turn(
    runs: Sequence[Run],
    cases: Sequence[Case],
    repeats: int,
    *,
    now: datetime,
    seed: int,
    measure: Mapping[str, Any],
) -> None:
    """Save `runs` with their jobs, each case's in turn, as one session, and send them on commit.
    Call it within a transaction.
    """
    benchmarks = Benchmark.objects.in_bulk({case.benchmark for case in cases}, field_name="name")
    configs = Config.objects.in_bulk({case.config for case in cases}, field_name="name")
    session = uuid4().hex
    for run in runs:
        run.session = session
        run.save()
    ensure_partitions(moments=[now])
    jobs = []
    rng = random.Random(seed)  # noqa: S311 - no secret
    for place, (case, side) in enumerate(in_turn(cases, len(runs), repeats, rng)):
        benchmark, config = benchmarks[case.benchmark], configs[case.config]
        planned_at = now + place * STEP
        jobs.append(plan_job(runs[side], place, benchmark, config, planned_at, measure))
    Job.objects.bulk_create(assign_queue_order(jobs), batch_size=500)
    transaction.on_commit(dispatch)


def in_turn(
    cases: Sequence[Case], sides: int, repeats: int, rng: random.Random
) -> Iterator[tuple[Case, int]]:
    """(case, number of the side), repeat by repeat, the sides of a case next to each other.

    Which side goes first is drawn for each case and alternates from repeat to repeat: what drifts
    with time (a machine that warms up, other load) meets both sides alike.
    """
    orders = [rng.sample(range(sides), sides) for _ in cases]
    for repeat in range(repeats):
        for case, order in zip(cases, orders, strict=True):
            for side in order if repeat % 2 == 0 else reversed(order):
                yield case, side
