"""The triage report: what is new, what is late, who has what, how often we were wrong. Pure.

One value, shown three times: as a page, as a mail, and as Markdown (`markdown`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from dashboard.alerts.core.rates import Rates
from dashboard.language import states
from dashboard.language.exports import markdown_table
from dashboard.language.moments import day, stamp
from dashboard.language.wording import plural

UNASSIGNED = "unassigned"
MOST_LINES = 40  # of one section of the Markdown
RATES_NOTE = (
    "A change is one series at one build; an alert has one or more. Right: reproduced when "
    "measured again, or marked fixed or won't fix. Wrong: not reproduced, or marked as not a "
    "regression. Undecided changes count as neither. Counted by month: a week has too few."
)


@dataclass(frozen=True, slots=True)
class ReportedAlert:
    """path: of its page. state: both of the next two in one word, as AlertGroup.state. days_late:
    0 where it is not late.
    """

    number: int
    path: str
    title: str
    severity: str
    state: str
    evidence_state: str
    workflow_state: str
    assignee: str
    opened_at: datetime
    due_at: datetime | None
    days_late: float = 0.0

    @property
    def late_text(self) -> str:
        """ "3 days", "5 h"."""
        if self.days_late >= 1:
            return plural(round(self.days_late), "day")
        return f"{max(1, round(24 * self.days_late))} h"


@dataclass(frozen=True, slots=True)
class Workload:
    """What one person has: open alerts, how many of them are late, since when the oldest is open.
    Last one line for what nobody has.
    """

    assignee: str
    open: int
    late: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class MonthRates:
    first: date
    rates: Rates


@dataclass(frozen=True, slots=True)
class TriageReport:
    """Of the time from start to end; late, people and open are as they were at `end`.

    new: opened in that time and still open. gone: opened and closed in that time, by state.
    closed: closed in that time, whenever they were opened, by state. open: all that are.
    Improvements and what is judged from imports are left out everywhere.
    """

    start: datetime
    end: datetime
    open: int
    new: list[ReportedAlert]
    gone: list[tuple[str, int]]
    late: list[ReportedAlert]
    closed: list[tuple[str, int]]
    people: list[Workload]
    months: list[MonthRates] = field(default_factory=list)

    @property
    def headline(self) -> str:
        """ "4 new, 2 late, 11 open"."""
        return f"{len(self.new)} new, {len(self.late)} late, {self.open} open"

    @property
    def gone_sentence(self) -> str:
        """What else was opened in that time; empty for nothing."""
        return f"Opened and closed again: {_counts(self.gone)}." if self.gone else ""

    @property
    def closed_sentence(self) -> str:
        """ "3 fixed, 1 recovered."."""
        return f"{_counts(self.closed)}." if self.closed else "Nothing was closed."


def _counts(by_state: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{number} {states.label(state)}" for state, number in by_state)


def markdown(report: TriageReport, site: str) -> str:
    """The report for a chat, an issue or a wiki. site: the address that links begin with."""
    parts = [
        f"# Triage, {day(report.start)} to {day(report.end)}: {report.headline}",
        "## Late",
        _late_lines(report.late, site),
        "## New",
        _lines(report.new, site, "Nothing new is open."),
        report.gone_sentence,
        "## Who has what",
        _workloads(report.people),
        "## Closed",
        report.closed_sentence,
        "## How often we were wrong",
        _rates(report.months),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _lines(alerts: Sequence[ReportedAlert], site: str, nothing: str) -> str:
    rows = []
    for alert in alerts[:MOST_LINES]:
        due = f", due {stamp(alert.due_at)}" if alert.due_at else ""
        about = (
            f"{alert.severity}, {states.label(alert.state)}, {alert.assignee or UNASSIGNED}{due}"
        )
        rows.append(f"- {_link(alert, site)}: {about}")
    return _with_rest(rows, len(alerts)) or nothing


def _late_lines(alerts: Sequence[ReportedAlert], site: str) -> str:
    rows = []
    for alert in alerts[:MOST_LINES]:
        about = f"{alert.severity}, {alert.assignee or UNASSIGNED}, {alert.late_text} late"
        rows.append(f"- {_link(alert, site)}: {about}")
    return _with_rest(rows, len(alerts)) or "Nothing is late."


def _with_rest(rows: list[str], total: int) -> str:
    if total > len(rows):
        rows.append(f"- and {total - len(rows)} more")
    return "\n".join(rows)


def _link(alert: ReportedAlert, site: str) -> str:
    title = alert.title.replace("[", "(").replace("]", ")")
    return f"[{alert.number}: {title}]({site}{alert.path})"


def _workloads(people: Sequence[Workload]) -> str:
    if not people:
        return "No alert is open."
    rows = []
    for load in people:
        name = load.assignee or UNASSIGNED
        rows.append((name, str(load.open), str(load.late), day(load.oldest)))
    return markdown_table(("Who", "Open", "Late", "Oldest from"), rows)


def _rates(months: Sequence[MonthRates]) -> str:
    if not months:
        return "No alert has been raised in the last months."
    rows = []
    for month in months:
        rates = month.rates
        rows.append(
            (
                f"{month.first:%B %Y}",
                str(rates.raised),
                str(rates.right),
                str(rates.wrong),
                str(rates.undecided),
                rates.false_share.text,
                rates.missed_share.text,
            )
        )
    header = ("Month", "Changes", "Right", "Wrong", "Undecided", "Wrong of the decided", "Missed")
    return f"{markdown_table(header, rows)}\n\n{RATES_NOTE}"
