"""One factorial: how far its runs are, and what its arms measured."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from dashboard.comparisons.core.factorial import ArmProcess, MetricAnalysis, analyse, judge
from dashboard.comparisons.core.factorial_design import Cell, Factor
from dashboard.comparisons.core.factorial_table import STEP_METRICS
from dashboard.comparisons.core.factorial_words import FactorialAnswer, answer, cell_text
from dashboard.comparisons.core.failure_words import describe
from dashboard.comparisons.core.judgement import DEVICE_SHARE
from dashboard.comparisons.core.sides import INTERVAL_WIDTH
from dashboard.comparisons.selectors.comparisons import PairProgress, jobs_so_far, progress_of
from dashboard.language.metrics import METRICS
from dashboard.language.wording import plural
from dashboard.models import Factorial, Job, JobState, Status
from dashboard.results.core.level_sql import COUNTED
from dashboard.runs.selectors.runs import ENDED

FACTORIAL_METRICS = (
    *STEP_METRICS,
    "eager_latency_ms",
    "speedup",
    "cold_start_s",
    "peak_memory_gb",
)
# A round measures each arm once: a job's place in its session, divided by the arms, is its round
_PROCESSES = f"""
    SELECT run.arm, series.metric, datum.benchmark_version, coalesce(result.device, ''),
           run.session, job.position, datum.value, datum.low, datum.high
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    JOIN dashboard_series AS series ON series.id = datum.series_id
    LEFT JOIN dashboard_result AS result ON result.job_id = job.uuid
    WHERE run.factorial_id = %(factorial)s AND run.arm IS NOT NULL
          AND series.metric = ANY(%(metrics)s) AND {COUNTED} AND datum.value > 0
    ORDER BY job.planned_at
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A combination of levels that has no value, and why."""

    arm: str
    why: str


@dataclass(frozen=True, slots=True)
class FactorialResults:
    """What has been measured so far.

    analyses: by metric; those that no arm measured are absent. answer: of the step; None until an
        arm has measured it. runs: by cell, the id of the newest run of the arm. so_far: how much
        has ended, while it is measured.
    """

    factors: list[Factor]
    analyses: dict[str, MetricAnalysis]
    answer: FactorialAnswer | None
    left_out: list[LeftOut]
    runs: dict[Cell, int]
    so_far: str

    @property
    def step(self) -> MetricAnalysis | None:
        return self.analyses.get("latency_ms")


def listing() -> QuerySet[Factorial]:
    """Factorials, newest first."""
    return Factorial.objects.select_related("machine", "benchmark", "config", "created_by")


def factors_of(of: Factorial) -> list[Factor]:
    return [Factor(each["name"], tuple(each["levels"])) for each in of.factors]


def cells_of(of: Factorial) -> list[Cell]:
    """The cell of each arm, in the order of the arms."""
    return [tuple(arm["cell"]) for arm in of.arms]


def progress(of: Factorial, now: datetime) -> PairProgress:
    """How far it is. Six queries."""
    return progress_of(of.runs.all(), of.machine_id, now, is_settled=True)


def results(of: Factorial) -> FactorialResults:
    """Every effect in every metric, judged together. Three queries, four where an arm lacks a
    value.
    """
    factors = factors_of(of)
    processes = _processes(of)
    if of.machine.device_kind != "cuda" or DEVICE_SHARE not in processes:
        # Of a CPU it is the process's own CPU time, which its latency decides
        processes.pop("device_ms", None)
    keys = [key for key in FACTORIAL_METRICS if key in processes]
    judged = judge([analyse(factors, processes[key], METRICS[key]) for key in keys])
    analyses = dict(zip(keys, judged, strict=True))
    step, so_far = analyses.get("latency_ms"), jobs_so_far(Job.objects.filter(run__factorial=of))
    return FactorialResults(
        factors,
        analyses,
        answer(factors, step, is_over=not so_far) if step else None,
        _left_out(of, factors, analyses),
        _runs(of),
        so_far,
    )


def _runs(of: Factorial) -> dict[Cell, int]:
    """By cell, the id of the newest run."""
    cells = cells_of(of)
    runs: dict[Cell, int] = {}
    for arm, pk in of.runs.order_by("pk").values_list("arm", "pk"):
        assert arm is not None  # every run of a factorial is an arm's
        runs[cells[arm]] = pk
    return runs


def _processes(of: Factorial) -> dict[str, list[ArmProcess]]:
    """What each process measured, by metric; of an own model that changed, the newest version."""
    cells = cells_of(of)
    metrics = [*FACTORIAL_METRICS, DEVICE_SHARE]
    with connection.cursor() as cursor:
        cursor.execute(_PROCESSES, {"factorial": of.pk, "metrics": metrics})
        rows = cursor.fetchall()
    newest = max((version for _, _, version, *_ in rows), default=0)
    processes: dict[str, list[ArmProcess]] = {}
    for arm, metric, version, device, session, position, value, low, high in rows:
        if version == newest:
            block = (device, session, position // len(cells))
            error = _error(low, high)
            process = ArmProcess(cells[arm], block, math.log(value), error)
            processes.setdefault(metric, []).append(process)
    return processes


def _error(low: float | None, high: float | None) -> float:
    """The standard error of ln(value) that a 95% interval says."""
    if not low or not high or low <= 0 or high <= low:
        return math.nan
    return math.log(high / low) / INTERVAL_WIDTH


def _left_out(
    of: Factorial, factors: Sequence[Factor], analyses: dict[str, MetricAnalysis]
) -> list[LeftOut]:
    """Combinations that could not be measured, and arms without a step."""
    left_out = []
    for out in of.excluded:
        left_out.append(LeftOut(cell_text(factors, tuple(out["cell"])), out["why"]))
    step = analyses.get("latency_ms")
    measured = {arm.cell for arm in step.arms} if step else set()
    missing = {place: cell for place, cell in enumerate(cells_of(of)) if cell not in measured}
    if not missing:
        return left_out
    failures = _failures(of)
    for place, cell in missing.items():
        if why := failures.get(place):
            left_out.append(LeftOut(cell_text(factors, cell), why))
    return left_out


def _failures(of: Factorial) -> dict[int, str]:
    """How the jobs of each arm failed, in words, with the newest message."""
    ended = Job.objects.filter(run__factorial=of, state__in=ENDED).exclude(state=JobState.CANCELLED)
    failed = ended.exclude(state=JobState.DONE, status=Status.PASS).order_by("planned_at")
    counts: dict[int, Counter[str]] = {}
    messages: dict[int, dict[str, str]] = {}
    newest: dict[int, str] = {}
    fields: Any = failed.values_list("run__arm", "status", "state", "message")
    for arm, status, state, message in fields:
        outcome = status or state
        counts.setdefault(arm, Counter())[outcome] += 1
        messages.setdefault(arm, {})[outcome] = message
        newest[arm] = message or newest.get(arm, "")
    words = {}
    for arm, outcomes in counts.items():
        how = describe(outcomes, messages[arm])
        detail = f": {newest[arm][:300]}" if newest[arm] else ""
        words[arm] = f"{plural(outcomes.total(), 'job')} failed, {how}{detail}"
    return words
