"""Comparison of the newest release with an older one (side_choice.py)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild
from dashboard.comparisons.selectors.side_choice import (
    Choice,
    NotMeasuredError,
    RequestedSide,
    choose_sides,
    other_differences_of,
)
from dashboard.comparisons.selectors.stored_reports import stored_report
from dashboard.language.metrics import METRICS
from dashboard.models import TorchBuild


@dataclass(frozen=True, slots=True)
class NewestRelease:
    """choice: the two builds."""

    choice: Choice
    report: UpgradeReport

    @property
    def differences(self) -> str:
        """Differences between the builds besides torch's version, in words."""
        return other_differences_of(self.choice)

    @property
    def query(self) -> str:
        """The two builds as a part of the address of their comparison."""
        base, new = self.choice.base.names, self.choice.new.names
        return urlencode({"base": base["build"], "new": new["build"], "machine": new["machine"]})


def newest_release(
    machine: str,
    measured: Sequence[MeasuredBuild],
    report_of: Callable[[Choice], UpgradeReport | None] | None = None,
) -> NewestRelease | None:
    """On that machine, of these builds; None where it measured fewer than two. Ten queries at most.

    report_of: a report that is there already; of None it is read.
    """
    side = RequestedSide("", machine, "", "")
    # Not release candidates, which candidates.py compares
    released = [build for build in measured if build.channel != TorchBuild.Channel.TEST]
    try:
        choice = choose_sides(side, side, released)
    except NotMeasuredError:
        return None
    if choice is None:
        return None
    report = report_of(choice) if report_of else None
    if report is None:
        report = stored_report(choice, METRICS["latency_ms"], any_libraries=False).report
    return NewestRelease(choice, report)
