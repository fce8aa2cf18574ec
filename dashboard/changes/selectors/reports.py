"""The report of any change upstream: the ready issue and its files, from the jobs of its page."""

from dataclasses import dataclass

from dashboard.alerts.core.ready_issue import IssueFacts, ReadyIssue, write
from dashboard.alerts.core.report_files import ReportPart
from dashboard.alerts.selectors import alerts, collected_evidence, ready_issue
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.collected_evidence import CollectedEvidence
from dashboard.alerts.selectors.report_files import parts
from dashboard.changes.selectors.shown_change import ShownChange
from dashboard.language.metrics import EAGER
from dashboard.results.core.environments import environment_differences


@dataclass(frozen=True, slots=True)
class Report:
    """files: are read when they are packed. collected: the diagnostic rerun of an alert."""

    issue: ReadyIssue
    files: list[ReportPart]
    collected: CollectedEvidence | None = None


def report_of(shown: ShownChange, main: AlertSummary | None) -> Report:
    """The report of a change. main: the alert that the change is of."""
    sides = shown.subject.sides
    collected = None
    if main and shown.group:
        rows = alerts.of_group(shown.group)
        standing = alerts.standing(rows)
        issue = write(ready_issue.issue_facts(shown.group, standing, main, sides))
        collected = collected_evidence.of_group(shown.group, [row.alert for row in rows])
    else:
        issue = write(_facts(shown))
    return Report(issue, parts(sides, f"# {issue.title}\n\n{issue.body}"), collected)


def _facts(shown: ShownChange) -> IssueFacts:
    """Facts of a change without an alert: nobody has attributed it."""
    subject, headline = shown.subject, shown.headline
    base, new = subject.sides
    documents, environments = ready_issue.documents_of(subject.sides)
    measured = ", ".join(
        filter(None, (headline.size.text if headline.size else "", headline.details))
    )
    compiled = EAGER if subject.config == EAGER else "torch.compile"
    kernels = shown.kernels.tables if shown.kernels else ()
    known_changes = shown.kernels.known_changes if shown.kernels else ()
    same = []
    if all(environments):
        differences = environment_differences(*environments)
        text = "; ".join(f"`{each.text}`" for each in differences)
        same.append(f"The environments differ in {f'nothing but {text}' if text else 'nothing'}.")
    return IssueFacts(
        title=f"[{compiled}] {headline.sentence} ({base.label} → {new.label})",
        summary=f"`{subject.benchmark}` with config `{subject.config}` on {subject.machine}, "
        f"torch {base.label} → {new.label}:\n\n**{headline.sentence}**",
        page="",
        how_sure=[f"{subject.metric.label}: {measured}."],
        others=[],
        cause=[*(table.sentence for table in kernels), *(change.text for change in known_changes)],
        ruled_out=same,
        since=[],
        commands=ready_issue.commands(subject.sides, documents),
        error=ready_issue.error_of(documents[1]),
        versions=ready_issue.versions(environments),
        links=[],
        missing=ready_issue.missing(base, new),
    )
