"""Bisections: measure the middle build in turn with both ends until it is known which it is like,
and go on there.

docs/versions.md draws it. Everything that decides is in the database, so that any process may
advance a search: the beat task every half minute, or a command that follows it.
"""

import math
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from dashboard.catalog.core.plan import Case, PlanError
from dashboard.catalog.core.versions import version_order
from dashboard.catalog.selectors.lookups import find_machine, find_named, named_build
from dashboard.comparisons.selectors.bisections import builds_of, measured_rounds
from dashboard.comparisons.services.comparisons import (
    common_libraries,
    ensure_versions_track,
    measure_in_turn,
)
from dashboard.judgement.changes import threshold_of
from dashboard.judgement.confirmation import Bounds
from dashboard.judgement.search import Step, step
from dashboard.language.finite_json import finite
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import effect, metric_of
from dashboard.models import Benchmark, Bisection, Config, Job, Machine, Purpose, Run, TorchBuild
from dashboard.runs.services.isolation import isolated
from dashboard.runs.services.run_state import is_over
from dashboard.runs.services.runs import cancel_run

REPEATS = 2  # processes of each of the three builds in one round
MAX_ROUNDS = 5  # for one build, before it is left as not known and its neighbour is tried
State = Bisection.State

logger = structlog.get_logger(__name__)


def start_bisection(
    *,
    base: str,
    new: str,
    machine: str,
    benchmark: str,
    config: str,
    metric: str = "latency_ms",
    user: AbstractBaseUser | None = None,
) -> Bisection:
    """Begin to search between two builds where one case changed. Raises PlanError: unknown names,
    nothing between.
    """
    on = find_machine(machine)
    bisection = Bisection(
        base=named_build(base, on),
        new=named_build(new, on),
        machine=on,
        metric=metric,
        benchmark=find_named(Benchmark.objects.all(), "benchmark", "name", benchmark),
        config=find_named(Config.objects.all(), "config", "name", config),
        created_by_id=user.pk if user else None,
    )
    bisection.low, bisection.high = bisection.base, bisection.new
    if problem := why_not(bisection):
        raise PlanError(problem)
    begin(bisection=bisection)
    return bisection


def begin(*, bisection: Bisection) -> None:
    """Save a search that `why_not` has nothing against, and plan its first round."""
    with transaction.atomic():
        bisection.save()
        _measure(bisection)


def is_over_budget(*, machine: Machine, now: datetime) -> bool:
    """Test whether searches that alerts started have had their jobs of a day on the machine."""
    own = Job.objects.filter(
        run__machine=machine,
        run__bisection__group__isnull=False,
        run__created_at__gt=now - timedelta(days=1),
    )
    return own.count() >= int(settings.BISECTION_JOBS_A_DAY)


def why_not(bisection: Bisection) -> str:
    """Explain why this search cannot begin; empty if it can. It need not be saved; low and high
    stand at its ends.
    """
    base, new = bisection.base, bisection.new
    if version_order(base.version) >= version_order(new.version):
        return f"{base} is not older than {new}: give the older build first."
    if bisection.metric not in METRICS:
        return f"Unknown metric {bisection.metric!r}: one of {', '.join(METRICS)}."
    if not between(bisection):
        return f"No build lies between {base} and {new}: add some with `manage.py add_build`."
    return ""


def between(bisection: Bisection) -> list[TorchBuild]:
    """The builds that may be measured next, oldest first: of the ends' own flavour, without
    variants, and without those that could not be decided.
    """
    given_up = {step["build"] for step in bisection.steps if step.get("given_up")}
    inside = []
    for build in builds_of(bisection):
        if build.label not in given_up and _lies_inside(bisection, build.version):
            inside.append(build)
    return inside


def _lies_inside(bisection: Bisection, version: str) -> bool:
    low, high = version_order(bisection.low.version), version_order(bisection.high.version)
    return low < version_order(version) < high


def advance_all() -> int:
    """Advance every search whose last round has ended; how many there are."""
    running = list(Bisection.objects.filter(state=State.RUNNING).values_list("pk", flat=True))
    for bisection_id in running:
        with isolated("bisection could not be advanced", bisection=bisection_id):
            advance(bisection_id=bisection_id)
    return len(running)


def advance(*, bisection_id: int) -> Bisection | None:
    """One step, where the last round has ended: decide, narrow, measure more, or end. None: another
    process has it.
    """
    with transaction.atomic():
        locked = Bisection.objects.select_for_update(skip_locked=True, of=("self",))
        related = ("base", "new", "low", "high", "machine", "benchmark", "config")
        bisection = locked.select_related(*related).filter(pk=bisection_id).first()
        if bisection is None or bisection.state != State.RUNNING:
            return bisection
        if all(is_over(state) for state in bisection.runs.values_list("state", flat=True)):
            if bisection.group_id and is_over_budget(machine=bisection.machine, now=timezone.now()):
                return bisection  # it goes on when there is room again
            _step(bisection)
            bisection.save()
        return bisection


def cancel_bisection(*, bisection: Bisection) -> None:
    """Stop the search; what was measured stays."""
    with transaction.atomic():
        _end(bisection, State.CANCELLED, "Cancelled by a person.")
        bisection.save()
        for run in bisection.runs.all():
            cancel_run(run=run)


def _step(bisection: Bisection) -> None:
    """1. Did all three bring anything? 2. Is there a change to search for? 3. Which end is the
    middle build like? 4. What is left?
    """
    candidate = _last_candidate(bisection)
    measured = measured_rounds(bisection)
    for end in (bisection.base, bisection.new):
        if not measured.processes.get(end.pk):
            _end(bisection, State.FAILED, f"{end} brought no {bisection.metric}: its run says why.")
            return
    metric = metric_of(bisection.metric)
    threshold = threshold_of(metric) if measured.is_log else 0.0
    rounds = {candidate.pk: [], **measured.rounds}
    seen = step(rounds, candidate.pk, threshold)
    change = _words(metric, seen.ends, is_log=measured.is_log)
    brought = measured.processes.get(candidate.pk, 0)
    if seen.differ or not brought:
        stored = _stored(bisection, candidate, seen, brought, is_log=measured.is_log)
        _narrow(bisection, candidate, stored, change)
    elif seen.differ is False:
        _end(bisection, State.INCONCLUSIVE, f"The ends do not differ: {change}.")
    elif _rounds(bisection, candidate) >= MAX_ROUNDS:
        why = f"It is unclear whether the ends differ: {change}."
        _end(bisection, State.INCONCLUSIVE, why)
    else:
        _measure(bisection)


def _last_candidate(bisection: Bisection) -> TorchBuild:
    """The build between the ends that the last round measured. The middle one may be another by
    now, which was added since and has brought nothing.
    """
    inside = bisection.runs.exclude(build__in=[bisection.base_id, bisection.new_id])
    return inside.select_related("build").latest("pk").build


def _narrow(
    bisection: Bisection, candidate: TorchBuild, stored: dict[str, Any], change: str
) -> None:
    """Record what a candidate is like, move an end to it, and go on with what is left.

    change: from end to end, in words.
    """
    others = [other for other in bisection.steps if other["build"] != stored["build"]]
    bisection.steps = [*others, stored]
    if stored["verdict"] == "like_base":
        bisection.low = candidate
    elif stored["verdict"] == "like_new":
        bisection.high = candidate
    if between(bisection):
        _measure(bisection)
        return
    message = f"It changed between {bisection.low} and {bisection.high}: {change} from end to end."
    given_up = [step["build"] for step in bisection.steps if step.get("given_up")]
    skipped = [label for label in given_up if _lies_inside(bisection, label)]
    if skipped:
        message += f" {', '.join(skipped)} between them could not be decided."
    _end(bisection, State.FOUND, message)


def _stored(
    bisection: Bisection, candidate: TorchBuild, seen: Step, brought: int, *, is_log: bool
) -> dict[str, Any]:
    """Return what is stored of one build: the end that it is like, and how it differs from base."""
    is_open = seen.likeness == "unclear"
    is_known = is_log and math.isfinite(seen.change.high)
    percents = [100 * math.expm1(end) if is_known else None for end in seen.change]
    return {
        "build": candidate.label,
        "verdict": seen.likeness,
        "given_up": not brought or (is_open and _rounds(bisection, candidate) >= MAX_ROUNDS),
        "repeats": brought,
        "share": finite(seen.share.mean),
        **dict(zip(("effect", "low", "high"), percents, strict=True)),
    }


def _words(metric: Metric, seen: Bounds, *, is_log: bool) -> str:
    """A change with its interval in words."""
    if is_log:
        mean, low, high = (100 * math.expm1(min(end, 500)) for end in seen)
        change = effect(metric, mean, low, high, "percent")
    else:
        change = effect(metric, seen.mean, None, None, "difference")
    return change.text if change else ""


def _end(bisection: Bisection, state: State, message: str) -> None:
    bisection.state = state
    bisection.message = message
    bisection.finished_at = timezone.now()
    logger.info("bisection ended", bisection=bisection.pk, state=str(state), why=message)


def _rounds(bisection: Bisection, candidate: TorchBuild) -> int:
    return int(bisection.runs.filter(build=candidate).count())


def _measure(bisection: Bisection) -> None:
    """One round: both ends and the middle build in turn, under the newest libraries that the ends
    take.
    """
    machine: Machine = bisection.machine
    inside = between(bisection)
    # The middle one halves what is left, whichever way it goes
    builds = [bisection.base, inside[len(inside) // 2], bisection.new]
    libraries = common_libraries([bisection.base, bisection.new], machine)
    request = {
        "families": [],
        "benchmarks": [bisection.benchmark.name],
        "configs": [bisection.config.name],
        "measure": {},
    }
    runs = []
    for build in builds:
        run = Run(
            label=f"Bisection of {bisection.benchmark} {bisection.config}: {build}",
            purpose=Purpose.BISECTION,
            build=build,
            machine=machine,
            track=ensure_versions_track(),
            bisection=bisection,
            request=request,
            libraries=libraries,
            created_by_id=bisection.created_by_id,
        )
        runs.append(run)
    case = Case(bisection.benchmark.name, bisection.config.name)
    seed = bisection.pk * 1000 + bisection.runs.count()
    measure_in_turn(runs, [case], REPEATS, now=timezone.now(), seed=seed, measure={})
