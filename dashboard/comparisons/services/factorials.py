"""Factorials: one case in every combination of some factors, in rounds, each in a random order."""

import random
from collections.abc import Iterator, Mapping, Sequence

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from dashboard.catalog.core.plan import Case, PlanError
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors.factorial_plan import FactorialPlan
from dashboard.comparisons.services.comparisons import ensure_versions_track, measure_in_turn
from dashboard.models import Factorial, Purpose, Run, TorchBuild, Track
from dashboard.runs.services.runs import cancel_run

REPEATS = 3  # rounds, unless given: with two factors of two levels six processes a side


def start_factorial(
    *, plan: FactorialPlan, label: str = "", user: AbstractBaseUser | None = None
) -> Factorial:
    """Save what was planned with its runs, and send their jobs once the transaction is through."""
    arms = []
    for arm in plan.arms:
        arms.append({"cell": arm.cell, "build": arm.build.label, "libraries": arm.libraries})
    factorial = Factorial(
        label=label,
        machine=plan.machine,
        benchmark=plan.benchmark,
        config=plan.config,
        repeats=plan.repeats,
        factors=[factor._asdict() for factor in plan.factors],
        arms=arms,
        excluded=[{"cell": out.cell, "why": out.why} for out in plan.excluded],
        created_by_id=user.pk if user else None,
    )
    with transaction.atomic():
        factorial.save()
        _measure(factorial, plan.repeats)
    return factorial


def measure_rounds(*, factorial: Factorial, repeats: int) -> None:
    """Measure every arm in further rounds, as a session of their own. Raises PlanError."""
    if not 1 <= repeats <= MAX_REPEATS:
        raise PlanError(f"{repeats} rounds: choose 1 to {MAX_REPEATS}.")
    with transaction.atomic():
        # Of two requests at once both count
        factorial.refresh_from_db(from_queryset=Factorial.objects.select_for_update(of=("self",)))
        _measure(factorial, repeats)
        factorial.repeats += repeats
        factorial.save(update_fields=["repeats"])


def cancel_factorial(*, factorial: Factorial) -> int:
    """Cancel what has not ended; how many jobs."""
    return sum(cancel_run(run=run) for run in factorial.runs.all())


def in_random_rounds(
    cases: Sequence[Case], arms: int, repeats: int, rng: random.Random
) -> Iterator[tuple[Case, int]]:
    """(case, place of the arm): every arm once a round, in an order drawn for each round."""
    for _ in range(repeats):
        for case in cases:
            for arm in rng.sample(range(arms), arms):
                yield case, arm


def _measure(factorial: Factorial, repeats: int) -> None:
    labels = {arm["build"] for arm in factorial.arms}
    builds = TorchBuild.objects.in_bulk(labels, field_name="label")
    track = ensure_versions_track()
    runs = []
    for place, arm in enumerate(factorial.arms):
        runs.append(_run(factorial, place, builds[arm["build"]], arm["libraries"], track))
    case = Case(factorial.benchmark.name, factorial.config.name)
    seed = factorial.uuid.int + factorial.runs.count()
    measure_in_turn(
        runs,
        [case],
        repeats,
        now=timezone.now(),
        seed=seed,
        measure={},
        order=in_random_rounds,
    )


def _run(
    factorial: Factorial,
    place: int,
    build: TorchBuild,
    libraries: Mapping[str, str],
    track: Track,
) -> Run:
    request = {
        "families": [],
        "benchmarks": [factorial.benchmark.name],
        "configs": [factorial.config.name],
        "measure": {},
    }
    return Run(
        label=f"{factorial}: arm {place + 1}"[:200],
        purpose=Purpose.MANUAL,
        build=build,
        machine=factorial.machine,
        track=track,
        factorial=factorial,
        arm=place,
        request=request,
        libraries=dict(libraries),
        created_by_id=factorial.created_by_id,
    )
