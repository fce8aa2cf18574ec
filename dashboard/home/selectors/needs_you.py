"""Matters that somebody should decide: open alerts of a machine, and slower steps without one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.alerts.core.costs import STEPS
from dashboard.alerts.selectors import alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.facts import cause_in_words
from dashboard.alerts.selectors.reversals import reversal_in_list, with_later_changes
from dashboard.alerts.selectors.variants import settings_of_variant
from dashboard.catalog.core.versions import short_label
from dashboard.comparisons.selectors.model_rows import MoreRuns, model_table, more_runs
from dashboard.comparisons.selectors.newest_release import NewestRelease
from dashboard.home.core.change_map import MARKS
from dashboard.home.core.needs_you import Need, in_order, needs_of_map
from dashboard.home.selectors.change_map import ChangeMap
from dashboard.language.metrics import METRICS
from dashboard.models import Alert, AlertGroup, Cause

_SHOWN = 6
_READ = 100  # of the machine's open alerts, the most severe


@dataclass(frozen=True, slots=True)
class NeedsYou:
    """needs: what costs most first. total: of them. here, elsewhere: open alerts of the machine,
    and of the others. unassigned: of all, the high ones that nobody took.
    """

    needs: list[Need]
    total: int
    here: int
    elsewhere: int
    unassigned: int

    @property
    def more(self) -> int:
        return self.total - len(self.needs)


def needs_you(machine: str, shown: ChangeMap | None, starred: Collection[str]) -> NeedsYou:
    """Three queries."""
    counts = AlertGroup.objects.filter(alerts.OPEN)
    by_machine: dict[str, int] = {}
    unassigned = 0
    for key, severity, workflow, assignee in counts.values_list(
        "machine__key", "severity", "workflow_state", "assignee"
    ):
        by_machine[key] = by_machine.get(key, 0) + 1
        unassigned += (severity, workflow) == ("high", "new") and assignee is None
    listed = alerts.listing({"machine": machine}) if machine else alerts.listing({})
    needs = _of_alerts(list(listed[:_READ]))
    if shown and not shown.track:
        needs += needs_of_map(shown.columns, shown.rows, needs)
    needs = in_order(needs, starred)
    here = by_machine.get(machine, 0)
    elsewhere = sum(by_machine.values()) - here if machine else 0
    return NeedsYou(needs[:_SHOWN], len(needs), here, elsewhere, unassigned)


def _of_alerts(groups: Sequence[AlertGroup]) -> list[Need]:
    by_group: dict[int, list[AlertSummary]] = {group.pk: [] for group in groups}
    if groups:
        of_groups = Alert.objects.filter(group__in=by_group)
        for summary in alerts.summaries_of(with_later_changes(of_groups)):
            by_group[summary.alert.group_id].append(summary)
    return [_of_group(group, by_group[group.pk]) for group in groups]


def _of_group(group: AlertGroup, summaries: Sequence[AlertSummary]) -> Need:
    """By its dearest alert: a step before a start."""
    main = alerts.main_of(summaries)
    setting = settings_of_variant(group)
    new = short_label(group.new.label) if group.new else ""
    if main is None:
        return Need("else", group.title, "", new, False, 0.0, alert=group.pk)
    for summary in summaries:
        if summary.metric.key in STEPS and summary.alert.direction == "regression":
            main = summary
            break
    cost = main.cost
    benchmark = main.alert.series.benchmark
    return Need(
        "setting" if setting else cost.paid,
        " ".join(filter(None, (benchmark.model, _mode(benchmark.mode), _metric(main)))),
        cost.size,
        new,
        main.alert.confirmation == "confirmed",
        cost.weight,
        cost.text,
        f"With {setting}." if setting else _note(group, main),
        benchmark.model,
        benchmark.mode,
        cost.share,
        group.pk,
        group.workflow_state,
    )


def _mode(mode: str) -> str:
    return "" if mode == "inference" else mode


def _metric(main: AlertSummary) -> str:
    """Name what changed, where it is not the step."""
    key = main.metric.key
    if main.words or key == "latency_ms":
        return ""
    return MARKS.get(key) or METRICS[key].label.lower() if key in METRICS else key


def _note(group: AlertGroup, main: AlertSummary) -> str:
    if reversal_in_list(main.alert):
        return "Gone on a later build."
    return "" if group.cause == Cause.UNKNOWN else f"Likely cause: {cause_in_words(group).lower()}."


@dataclass(frozen=True, slots=True)
class OpenSteps:
    """Models of the newest release that more runs would decide. query: of the form for them."""

    runs: MoreRuns
    base: str
    query: str


def open_steps(release: NewestRelease | None) -> OpenSteps | None:
    """None where nothing is open. One query, where something is."""
    if release is None or not release.report.overall.shortfall:
        return None
    choice = release.choice
    (source, base), (_, new) = choice.base.measured, choice.new.measured
    runs = more_runs(model_table(release.report, [], source.machine, ()).rows)
    if runs is None:
        return None
    query = urlencode({"base": base, "new": new, "machine": source.machine})
    return OpenSteps(runs, short_label(choice.base.names["build"]), f"{query}&{runs.query}")
