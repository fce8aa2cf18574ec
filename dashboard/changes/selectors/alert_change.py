"""The change that an alert is about: one of its series, with what triage needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.alerts.selectors import alert_data, alert_page, alerts, evidence_jobs, facts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.evidence import suspicion_of
from dashboard.changes.core.headline import Headline, case_title, sentence
from dashboard.changes.selectors.shown_change import ShownChange, Subject, Tile, clause, explain
from dashboard.judgement.changes import Grade, SetVerdict
from dashboard.language import states
from dashboard.language.wording import levels, plural
from dashboard.models import AlertGroup, Direction, EvidenceState

_VERDICTS: Mapping[str, SetVerdict] = {
    Direction.REGRESSION: "worse",
    Direction.IMPROVEMENT: "better",
}
_MOST_TILES = 4


def subject_of(main: AlertSummary) -> Subject:
    """Eight queries."""
    alert = main.alert
    benchmark = alert.series.benchmark
    return Subject(
        title=case_title(benchmark.model, benchmark.mode),
        benchmark=benchmark.name,
        config=alert.series.config.name,
        metric=main.metric,
        machine=alert.series.machine.key,
        sides=evidence_jobs.sides(alert),
        levels=suspicion_of(alert).levels or alert.levels,
        is_imported=benchmark.imported,
    )


def shown(
    group: AlertGroup, rows: Sequence[AlertSummary], main: AlertSummary, tab: str
) -> ShownChange:
    """One change of a group, of which `rows` are all. Points are read where a tab shows them."""
    subject = subject_of(main)
    kernels, drawn, unit = explain(subject)
    _, _, setting = facts.cause_in_words(group).partition("setting: ")
    cause = clause(subject, kernels, drawn)
    if setting:
        cause = f", with {setting}" if "," not in setting else ", with other settings"
    tiles = [_tile(row, main) for row in rows if _is_same_case(row, main)]
    return ShownChange(
        subject,
        _headline(subject, main, cause),
        kernels,
        drawn,
        unit,
        tiles[:_MOST_TILES] if len(tiles) > 1 else (),
        group,
        _details(group, rows, main, tab),
    )


def _headline(subject: Subject, main: AlertSummary, cause: str) -> Headline:
    alert = main.alert
    grade: Grade = "certain" if alert.confirmation == EvidenceState.CONFIRMED else "likely"
    verdict = _VERDICTS.get(alert.direction, "unclear")
    if main.words:
        before, after = map(states.label, main.words)
        said = f"{subject.title}: {after}" + (f", {before} before" if before else "")
        details = _rounds(main) if alert.base_id else "it has never passed on this build"
        return Headline(said, verdict, grade, None, details)
    text = main.estimate.text if main.estimate else "changed"
    said = sentence(subject.title, main.metric, subject.levels, text, cause)
    between = levels(main.metric, *subject.levels) if subject.levels else ""
    details = ", ".join(filter(None, (main.interval, between, _rounds(main))))
    return Headline(said, verdict, grade, main.estimate, details)


def _rounds(main: AlertSummary) -> str:
    return plural(main.rounds, "pair") if main.rounds else "not measured in turn"


def _is_same_case(row: AlertSummary, main: AlertSummary) -> bool:
    series, of_main = row.alert.series, main.alert.series
    same = (series.benchmark_id, series.config_id) == (of_main.benchmark_id, of_main.config_id)
    return same and not row.alert.is_withdrawn


def _tile(row: AlertSummary, main: AlertSummary) -> Tile:
    levels = suspicion_of(row.alert).levels or row.alert.levels
    key = "" if row.alert.pk == main.alert.pk else str(row.alert.pk)
    return Tile(row.metric, levels, row.estimate, key)


def _details(
    group: AlertGroup, rows: Sequence[AlertSummary], main: AlertSummary, tab: str
) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if tab == "proof":
        details["gain"] = alerts.gain_of(rows, main)
    if tab in ("proof", "trend"):
        seen = alert_data.around(main.alert)
        details["seen"] = seen
        details["recovered_with"] = alert_page.recovered_with(main.alert, seen)
    if tab == "trend":
        details["points"] = alert_page.points(seen)
        control = alert_data.control_around(main.alert, seen.step)
        details["has_control"] = control is not None
    return details
