"""Two jobs next to each other: chosen on a trend, in its table, or by their address."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.changes.core.headline import Headline, case_title, sentence
from dashboard.changes.selectors.shown_change import ShownChange, Subject, explain
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import change, quiet
from dashboard.models import Job
from dashboard.results.core import job_pairs
from dashboard.results.core.environments import environment_differences


def shown(jobs: Sequence[Job], metric: Metric | None) -> ShownChange:
    """The second job against the first, in a metric; of none, their steps. Four queries."""
    first, second = jobs
    old, new = _document(first), _document(second)
    metric = metric or _main_metric(old, new)
    before, after = (_value(document, metric) for document in (old, new))
    subject = Subject(
        title=case_title(first.benchmark.model, first.benchmark.mode),
        benchmark=first.benchmark.name,
        config=first.config.name,
        metric=metric,
        machine=first.run.machine.key,
        sides=(Side("base", first.run.build, [first]), Side("new", second.run.build, [second])),
        levels=(before, after) if before is not None and after is not None else None,
        is_imported=first.benchmark.imported,
    )
    kernels, drawn, unit = explain(subject)
    size = quiet(change(metric, before, after), metric)
    said = sentence(
        subject.title, metric, subject.levels, size.text if size else "not measured in both", ""
    )
    is_one_case = (first.benchmark_id, first.config_id) == (second.benchmark_id, second.config_id)
    details = {
        "jobs": jobs,
        "is_one_case": is_one_case,
        "other_builds": first.run.build_id != second.run.build_id,
        "metric_pairs": job_pairs.metric_pairs(old, new),
        "code_kinds": job_pairs.code_kinds(old, new),
        "reasons": [(job, job_pairs.break_reasons(_document(job))) for job in jobs],
        "differences": environment_differences(
            old.get("environment", {}), new.get("environment", {})
        ),
    }
    order = "older" if first.planned_at <= second.planned_at else "newer"
    headline = Headline(said, "unclear", None, size, f"one process each, the {order} first")
    return ShownChange(subject, headline, kernels, drawn, unit, (), None, details)


def _main_metric(old: Mapping[str, Any], new: Mapping[str, Any]) -> Metric:
    for key in ("latency_ms", "eager_latency_ms"):
        if _value(old, METRICS[key]) is not None and _value(new, METRICS[key]) is not None:
            return METRICS[key]
    return METRICS["latency_ms"]


def _value(document: Mapping[str, Any], metric: Metric) -> float | None:
    value: float | None = document.get("metrics", {}).get(metric.key, {}).get("value")
    return value


def _document(job: Job) -> Mapping[str, Any]:
    result = getattr(job, "result", None)
    return result.document if result else {}
