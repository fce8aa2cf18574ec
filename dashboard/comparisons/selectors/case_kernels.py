"""Which kernels account for a case's change: of each side one job, and what differs in its profile.

A side has many jobs and each has a profile. Compared are those that case_jobs.py chooses by their
device time. Next to them stands what is left of the change in all of them when the launches that
Inductor chose in each process are evened out; also for an undecided case.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from dashboard.comparisons.core.matching import ComparisonRow, Key
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.case_jobs import CaseJobs, jobs_of_cases
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.kernel_profile import ArmProfile
from dashboard.results.core.kernel_words import sentence
from dashboard.results.core.known_changes import costs_in_kernels, in_kernels
from dashboard.results.core.launches import LEAST_PROCESSES, EvenedChange, evened_change
from dashboard.results.selectors.kernels import Profiles, diffs_of, profiles_of

MOST_SENTENCES = 40  # each reads the profiles of MOST_PROCESSES a side on MOST_DEVICES
MOST_PROCESSES, MOST_DEVICES = 6, 2  # the newest, and those with most
_METRICS = ("latency_ms", "device_ms")  # of a report, those that kernels can explain


def sentences(report: UpgradeReport, base: MeasuredSide, new: MeasuredSide) -> list[CaseKernels]:
    """Which kernels account for the change of each case whose step or device time changed, and of
    each whose device time is not decided and whose launches differ: what is significant first, at
    most MOST_SENTENCES cases. Two or three queries.
    """
    rows = _rows(report)
    jobs = jobs_of_cases(rows, base, new, "device_ms")
    compared = {key: _devices(of_case) for key, of_case in jobs.items()}
    profiled = set[UUID]()
    for key, of_case in jobs.items():
        profiled |= {of_case.base, of_case.new}
        for base_jobs, new_jobs in compared[key]:
            profiled.update(base_jobs, new_jobs)
    profiles = profiles_of(profiled)
    # Another machine or config may run other kernels whichever the release
    is_one_place = (base[0].machine, base[0].config) == (new[0].machine, new[0].config)
    kernels = []
    for row in rows:
        if row.case.key not in jobs:
            continue
        of_case = jobs[row.case.key]
        diffs = diffs_of(profiles.get(of_case.base, {}), profiles.get(of_case.new, {}))
        change = _evened(compared[row.case.key], profiles)
        if diffs and (row.effect.is_changed or change):
            names = str(of_case.base), str(of_case.new)
            known_changes = in_kernels(diffs[0]) if is_one_place else []
            costs = costs_in_kernels(diffs[0].base, diffs[0].new)
            said = sentence(diffs[0])
            kernels.append(CaseKernels(row, *names, said, change, known_changes, costs))
    return kernels


def _devices(of_case: CaseJobs) -> list[tuple[Sequence[UUID], Sequence[UUID]]]:
    devices = of_case.devices[:MOST_DEVICES]
    return [(base[:MOST_PROCESSES], new[:MOST_PROCESSES]) for base, new in devices]


def _evened(
    devices: Iterable[tuple[Sequence[UUID], Sequence[UUID]]], profiles: Mapping[UUID, Profiles]
) -> EvenedChange | None:
    """None where there was nothing to even out."""
    on_devices = [(_compiled(base, profiles), _compiled(new, profiles)) for base, new in devices]
    change = evened_change(on_devices)
    return change if change and change.is_evened else None


def _compiled(jobs: Iterable[UUID], profiles: Mapping[UUID, Profiles]) -> list[ArmProfile]:
    of_jobs = (profiles.get(job, {}) for job in jobs)
    compiled = (each["compiled"] for each in of_jobs if "compiled" in each)
    return [profile for profile in compiled if profile.total_ms]


def _rows(report: UpgradeReport) -> list[ComparisonRow]:
    rows: dict[Key, ComparisonRow] = {}
    for metric in _METRICS:
        for row in report.tables[metric].rows:
            if row.effect.is_changed:
                rows.setdefault(row.case.key, row)
    for row in report.tables["device_ms"].rows:
        if row.effect.verdict == "unknown" and row.effect.processes >= LEAST_PROCESSES:
            rows.setdefault(row.case.key, row)
    return sorted(rows.values(), key=_importance)[:MOST_SENTENCES]


def _importance(row: ComparisonRow) -> tuple[bool, bool]:
    return not row.effect.is_significant, not row.effect.is_changed
