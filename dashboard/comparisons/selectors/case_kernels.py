"""Which kernels account for a case's change: of each side one job, and what differs in its profile.

A side has many jobs and each has a profile. Compared are those that case_jobs.py chooses by their
device time. Next to them stands what is left of the change in all of them when the launches that
Inductor chose in each process are evened out; so it does for a case that is not decided.
"""

from collections.abc import Mapping
from uuid import UUID

from dashboard.comparisons.core.matching import ComparisonRow, Key
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.case_jobs import CaseJobs, jobs_of_cases
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.kernel_words import evened, sentence
from dashboard.results.core.launches import evened_change
from dashboard.results.selectors.kernels import Profiles, diffs_of, profiles_of

MOST_SENTENCES = 40  # each reads the profiles of MOST_PROCESSES a side
MOST_PROCESSES = 6  # the newest
_METRICS = ("latency_ms", "device_ms")  # of a report, those that kernels can explain


def sentences(report: UpgradeReport, base: MeasuredSide, new: MeasuredSide) -> list[CaseKernels]:
    """Which kernels account for the change of each case whose step or device time changed, and of
    each whose device time is not decided and whose launches differ: what is significant first, at
    most MOST_SENTENCES cases. Two or three queries.
    """
    rows = _rows(report)
    jobs = jobs_of_cases(rows, base, new, "device_ms")
    wanted = set[UUID]()
    for each in jobs.values():
        wanted |= {each.base, each.new, *each.bases[:MOST_PROCESSES], *each.news[:MOST_PROCESSES]}
    profiles = profiles_of(wanted)
    kernels = []
    for row in rows:
        of_case = jobs.get(row.case.key)
        if of_case is None:
            continue
        text = _text(row, of_case, profiles)
        if text:
            kernels.append(CaseKernels(row, str(of_case.base), str(of_case.new), text))
    return kernels


def _rows(report: UpgradeReport) -> list[ComparisonRow]:
    rows: dict[Key, ComparisonRow] = {}
    for metric in _METRICS:
        for row in report.tables[metric].rows:
            if row.effect.is_changed:
                rows.setdefault(row.case.key, row)
    for row in report.tables["device_ms"].rows:
        if row.effect.verdict == "unknown":
            rows.setdefault(row.case.key, row)
    return sorted(rows.values(), key=_importance)[:MOST_SENTENCES]


def _importance(row: ComparisonRow) -> tuple[bool, bool]:
    return not row.effect.is_significant, not row.effect.is_changed


def _text(row: ComparisonRow, of_case: CaseJobs, profiles: Mapping[UUID, Profiles]) -> str:
    """Empty where neither side's profile is known, and of an undecided case with one launch."""
    diffs = diffs_of(profiles.get(of_case.base, {}), profiles.get(of_case.new, {}))
    if not diffs:
        return ""
    sides = []
    for jobs in (of_case.bases[:MOST_PROCESSES], of_case.news[:MOST_PROCESSES]):
        of_side = (profiles.get(job, {}).get("compiled") for job in jobs)
        sides.append([profile for profile in of_side if profile is not None])
    change = evened_change(*sides)
    if change is None:
        return sentence(diffs[0]) if row.effect.is_changed else ""
    return f"{sentence(diffs[0])} {evened(change)}"
