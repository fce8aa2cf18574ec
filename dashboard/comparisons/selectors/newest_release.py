"""How the newest release does against an older one (side_choice.py), family by family."""

from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.side_choice import (
    Choice,
    NotMeasuredError,
    RequestedSide,
    choose_sides,
    other_differences_of,
)
from dashboard.comparisons.selectors.stored_reports import stored_report
from dashboard.judgement.words import ORDER
from dashboard.language.metrics import METRICS
from dashboard.models import TorchBuild

_SHOWN = ("latency_ms", "device_ms", "cold_start_s", "peak_memory_gb")


@dataclass(frozen=True, slots=True)
class NewestRelease:
    """choice: the two builds. groups: families by mode that both measured, what needs a decision
    first. differences: between the builds besides torch's version, in words.
    """

    choice: Choice
    report: UpgradeReport
    groups: list[CaseGroup]
    differences: str

    @property
    def means(self) -> list[MetricMean]:
        """Of all cases, in the metrics that are shown."""
        return [mean for mean in self.report.overall.means if mean.key in _SHOWN]

    @property
    def query(self) -> str:
        """The two builds as a part of the address of their comparison."""
        base, new = self.choice.base.names, self.choice.new.names
        return urlencode({"base": base["build"], "new": new["build"], "machine": new["machine"]})


def newest_release(machine: str) -> NewestRelease | None:
    """On that machine; None where it measured fewer than two builds. Eleven queries at most."""
    side = RequestedSide("", machine, "", "")
    # Not release candidates, which candidates.py compares
    released = [build for build in measured_builds() if build.channel != TorchBuild.Channel.TEST]
    try:
        choice = choose_sides(side, side, released)
    except NotMeasuredError:
        return None
    if choice is None:
        return None
    report = stored_report(choice, METRICS["latency_ms"], any_libraries=False).report
    groups = [group for group in report.families if group.answers]
    groups.sort(key=lambda group: ORDER.index(group.answer.verdict))
    return NewestRelease(choice, report, groups, other_differences_of(choice))
