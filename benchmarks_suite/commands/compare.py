"""``compare``: two results, or two folders of results, case by case; matched cases only.

A folder may hold several processes of a case, as `interleave` leaves them: then the median of each
side is compared, and what lies between its least and its greatest value is its interval. A median
over several builds would say nothing of any: such a folder is refused.
"""

import json
import math
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks_suite.harness import progress, recorded, table
from benchmarks_suite.harness.contract import Document, WrongInput
from benchmarks_suite.harness.recorded import Case

OK = 0
NOT_COMPARED = frozenset({"passed", "toolchain_s"})
AVERAGED = ("latency_ms", "speedup", "cold_start_s", "peak_memory_gb")

Processes = Sequence[Document]
ProcessesByCase = dict[Case, Processes]


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("before", type=Path, help="a result file, or a folder of them")
    parser.add_argument("after", type=Path, help="the same, to compare with it")


def run(options: Namespace) -> int:
    before, after = read(options.before), read(options.after)
    matched = sorted(before.keys() & after.keys())
    if not matched:
        raise WrongInput(
            f"{options.before} and {options.after} have no case (benchmark and config) in common"
        )
    lines = list[str]()
    for case in matched:
        lines += [*_case(case, before[case], after[case]), ""]
    lines += _geomeans(matched, before, after)
    for case in sorted(before.keys() - after.keys()):
        lines.append(f"only before: {' '.join(case)}")
    for case in sorted(after.keys() - before.keys()):
        lines.append(f"only after: {' '.join(case)}")
    progress.answer("\n".join(lines))
    return OK


def read(path: Path) -> ProcessesByCase:
    """The results at ``path`` by (benchmark, config).

    Raises WrongInput for what is not a result, naming the file, and for a case of several builds.
    """
    by_case: dict[Case, list[Document]] = defaultdict(list)
    for document in recorded.read(path):
        by_case[recorded.case(document)].append(document)
    if not by_case and not path.is_dir():
        raise WrongInput(f"{path} is not a result file: its schema is not result.v1")
    for case, processes in by_case.items():
        builds = sorted(set(map(_build, processes)))
        if len(builds) > 1:
            raise WrongInput(
                f"{path} has {' '.join(case)} in {len(builds)} builds: {', '.join(builds)}; "
                "put the results of each into a folder of its own"
            )
    return dict(by_case)


def _build(document: Document) -> str:
    """The torch release and what a variant sets, as text."""
    version = document["environment"].get("torch", {}).get("version", "unknown")
    variant = document["job"].get("variant")
    if not variant:
        return f"torch {version}"
    return f"torch {version} with {json.dumps(variant, sort_keys=True)}"


def _case(case: Case, before: Processes, after: Processes) -> Iterator[str]:
    yield f"{case[0]}  {case[1]}: {_statuses(before)} → {_statuses(after)}"
    for name, old, new in differences(before[-1]["environment"], after[-1]["environment"]):
        yield f"  {name}: {old} → {new}"
    yield f"  {'metric':<26} {'before':>10} {'after':>10} {'change':>9}"
    what = "the processes"
    if len(before) == len(after) == 1:
        what = "the intervals within the processes"
    keys = dict.fromkeys(key for document in before for key in document["metrics"])
    for key in keys:
        old, new = entry(before, key), entry(after, key)
        if old and new and key not in NOT_COMPARED:
            yield _metric(key, old, new, what)


def _statuses(processes: Processes) -> str:
    """ "pass", or of several processes "pass ×2, oom ×1"."""
    if len(processes) == 1:
        return str(processes[0]["status"])
    counts = Counter(document["status"] for document in processes)
    return ", ".join(f"{status} ×{count}" for status, count in counts.items())


def entry(processes: Processes, key: str) -> Document | None:
    """A metric of one process as it is; of several their median, with the least and the greatest as
    its interval.
    """
    entries = list[Document]()
    for document in processes:
        if key in document["metrics"]:
            entries.append(document["metrics"][key])
    if not entries:
        return None
    if len(entries) == 1:
        return entries[0]
    values = [each["value"] for each in entries]
    return {"value": median(values), "low": min(values), "high": max(values)}


def _metric(key: str, before: Document, after: Document, what: str) -> str:
    old, new = before["value"], after["value"]
    change = f"{(new / old - 1) * 100:+.1f}%" if old else ""
    apart = f" {what} are apart" if intervals_apart(before, after) else ""
    return f"  {key:<26} {table.number(old):>10} {table.number(new):>10} {change:>9}{apart}"


def intervals_apart(before: Document, after: Document) -> bool:
    """Test whether both have an interval and these do not touch."""
    for each in (before, after):
        if each.get("low") is None or each.get("high") is None:
            return False
    return bool(before["high"] < after["low"] or after["high"] < before["low"])


def differences(
    before: Document, after: Document, prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """(name, before, after) of each value of two environments that differs, except the
    fingerprint.
    """
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{prefix}{key}.")
        elif old != new and key != "fingerprint":
            yield f"{prefix}{key}", old, new


def _geomeans(
    matched: list[Case], before: ProcessesByCase, after: ProcessesByCase
) -> Iterator[str]:
    """The geometric mean of after / before over the matched cases; both above zero."""
    if len(matched) < 2:
        return
    yield f"geometric mean over {len(matched)} matched cases, after / before"
    for key in AVERAGED:
        logs = []
        for case in matched:
            old, new = entry(before[case], key), entry(after[case], key)
            if old and new and old["value"] > 0 and new["value"] > 0:
                logs.append(math.log(new["value"] / old["value"]))
        if logs:
            geomean = math.exp(sum(logs) / len(logs))
            yield f"  {key:<26} {geomean:>10.4f}  n={len(logs)}"
