"""Contents of the tabs of a change: each is read only where it is chosen."""

from typing import Any

from dashboard.alerts.selectors import alert_page, ready_issue, since_which_build
from dashboard.alerts.selectors.pairs import paired
from dashboard.changes.core.marks import Marks, marks
from dashboard.changes.core.side_by_side import CodeRow, side_by_side
from dashboard.changes.selectors.shown_change import PHASES, ShownChange, phase_means
from dashboard.language.contracts import Refused
from dashboard.language.metrics import METRICS
from dashboard.language.wording import quantity
from dashboard.models import Alert, Artifact, Datum
from dashboard.results.core.code_diff import ARCHIVE, FileDiff, file_diffs, normalized_files
from dashboard.results.core.compile_diff import CALLS
from dashboard.results.selectors import compile_calls
from dashboard.results.selectors.generated_code import archive_bytes

TABS = {
    "proof": "Proof",
    "code": "Code",
    "compile": "Compile",
    "trend": "Trend",
    "reproduce": "Reproduce",
    "report": "Report",
}
NO_CODE = "One side has no generated code. Measure it again, with `measure.keep_code`."
_MOST_PROCESSES = 400  # of both builds
_MOST_ROWS = 1000  # of code: after the file that reaches them, none is shown


def context(shown: ShownChange, tab: str, function: str, alert: Alert | None) -> dict[str, Any]:
    """function: of the compiler, from which the flame graph begins."""
    if tab == "proof":
        return {"marks": _marks(shown, alert)}
    if tab == "code":
        return _code(shown)
    if tab == "compile":
        return _compile(shown, function)
    if tab == "reproduce":
        return _reproduce(shown, alert)
    return {}


def _marks(shown: ShownChange, alert: Alert | None) -> Marks | None:
    """The pairs, and all processes of both builds. Seven queries at most."""
    pairs = [(pair[0], pair[1]) for pair in shown.details.get("pairs", ())]
    if alert:
        confirmation = getattr(shown.group, "confirmation", None)
        pairs = paired(confirmation, alert) if confirmation else []
    subject = shown.subject
    data = Datum.objects.filter(
        series__benchmark__name=subject.benchmark,
        series__config__name=subject.config,
        series__machine__key=subject.machine,
        series__metric=subject.metric.key,
        value__isnull=False,
    )
    names = {}
    for name, side in zip(subject.names, subject.sides, strict=True):
        if side.build:
            names[side.build.pk] = name
    processes: dict[str, list[float]] = {name: [] for name in names.values()}
    of_builds = data.filter(build__in=names).order_by("-planned_at")
    for build, value in of_builds.values_list("build", "value")[:_MOST_PROCESSES]:
        if value is not None:
            processes[names[build]].append(value)
    return marks(pairs, processes.items())


def _artifacts(shown: ShownChange, name: str) -> list[Artifact]:
    """One of each side; empty where a side left none."""
    artifacts = [artifact for side in shown.subject.sides if (artifact := side.artifact(name))]
    return artifacts if len(artifacts) == len(shown.subject.sides) else []


def _code(shown: ShownChange) -> dict[str, Any]:
    artifacts = _artifacts(shown, ARCHIVE)
    if not artifacts:
        return {"problem": NO_CODE}
    try:
        old, new = (normalized_files(archive_bytes(artifact)) for artifact in artifacts)
    except (Refused, OSError) as error:
        return {"problem": str(error), "archives": artifacts}
    diffs = file_diffs(old, new)
    files: list[tuple[FileDiff, list[CodeRow]]] = []
    rows = 0
    for diff in diffs:
        if rows < _MOST_ROWS:
            files.append((diff, side_by_side(diff.lines)))
            rows += len(files[-1][1])
    return {"files": files, "number": len(diffs), "archives": artifacts}


def _compile(shown: ShownChange, function: str) -> dict[str, Any]:
    """Phases of the start in one sentence, and the calls of the compiler, function by function."""
    base, new = shown.subject.sides
    artifacts = _artifacts(shown, CALLS)
    if not artifacts:
        return {"start": _start(shown), "problem": compile_calls.NOT_KEPT}
    jobs = [
        next(job for job in side.jobs if job.pk == artifact.job_id)
        for side, artifact in zip((base, new), artifacts, strict=True)
    ]
    return {"start": _start(shown), **compile_calls.of_jobs(jobs, artifacts, function)}


def _start(shown: ShownChange) -> str:
    """ "27.6 s → 28.1 s: Inductor +0.40, Dynamo +0.10"; empty where a side has no cold start."""
    before, after = phase_means(*shown.subject.sides)
    if "cold_start_s" not in before or "cold_start_s" not in after:
        return ""
    phases = []
    for key in sorted(PHASES, key=lambda key: before.get(key, 0) - after.get(key, 0)):
        if key in before and key in after:
            phases.append(f"{PHASES[key]} {after[key] - before[key]:+.2f} s".replace("-", "−"))
    ends = (quantity(METRICS["cold_start_s"], side["cold_start_s"]) for side in (before, after))
    return f"{' → '.join(ends)}: {', '.join(phases)}."


def _reproduce(shown: ShownChange, alert: Alert | None) -> dict[str, Any]:
    sides = shown.subject.sides
    documents, _ = ready_issue.documents_of(sides)
    context: dict[str, Any] = {}
    if any(side.build for side in sides):
        context["commands"] = "\n".join(ready_issue.commands(sides, documents))
    if alert and shown.group:
        command = alert_page.reproduce(alert)
        context.setdefault("commands", command)
        context["searches"] = since_which_build.searches(shown.group)
        context["can_bisect"] = since_which_build.can_bisect(alert, command)
    return context
