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

OK, WRONG_INPUT = 0, 2
NOT_COMPARED = frozenset({"passed", "toolchain_s"})

Processes = Sequence[recorded.Document]
Results = dict[recorded.Case, Processes]


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("before", type=Path, help="a result file, or a folder of them")
    parser.add_argument("after", type=Path, help="the same, to compare with it")


def run(options: Namespace) -> int:
    try:
        before, after = read(options.before), read(options.after)
        matched = sorted(before.keys() & after.keys())
        if not matched:
            raise ValueError(
                f"{options.before} and {options.after} have no case (benchmark and config) in "
                "common"
            )
    except ValueError as error:
        progress.note(f"benchmarks_suite: {error}")
        return WRONG_INPUT
    lines = [line for case in matched for line in (*_case(case, before[case], after[case]), "")]
    lines += _geomeans(matched, before, after)
    lines += [f"only before: {' '.join(case)}" for case in sorted(before.keys() - after.keys())]
    lines += [f"only after: {' '.join(case)}" for case in sorted(after.keys() - before.keys())]
    print("\n".join(lines))  # noqa: T201 - the answer to the person who asked
    return OK


def read(path: Path) -> Results:
    """The results at ``path`` by (benchmark, config). Raises ValueError for what is not one, naming
    the file, and for a case of several builds.
    """
    found: dict[recorded.Case, list[recorded.Document]] = defaultdict(list)
    for document in recorded.read(path):
        found[recorded.case(document)].append(document)
    if not found and not path.is_dir():
        raise ValueError(f"{path} is not a result file: its schema is not result.v1")
    for case, processes in found.items():
        if len(builds := sorted(set(map(_build, processes)))) > 1:
            told = f"{path} has {' '.join(case)} in {len(builds)} builds: {', '.join(builds)}"
            raise ValueError(f"{told}; put the results of each into a folder of its own")
    return dict(found)


def _build(document: recorded.Document) -> str:
    """The torch release and what a variant sets, as text."""
    torch, variant = document["environment"].get("torch", {}), document["job"].get("variant")
    return f"torch {torch.get('version', 'unknown')}{f' with {json.dumps(variant, sort_keys=True)}' if variant else ''}"


def _case(case: recorded.Case, before: Processes, after: Processes) -> Iterator[str]:
    yield f"{case[0]}  {case[1]}: {_statuses(before)} → {_statuses(after)}"
    yield from (
        f"  {name}: {old} → {new}"
        for name, old, new in differences(before[-1]["environment"], after[-1]["environment"])
    )
    yield f"  {'metric':<26} {'before':>10} {'after':>10} {'change':>9}"
    within = len(before) == len(after) == 1
    for key in dict.fromkeys(key for each in before for key in each["metrics"]):
        old, new = entry(before, key), entry(after, key)
        if old and new and key not in NOT_COMPARED:
            yield _metric(
                key, old, new, "the intervals within the processes" if within else "the processes"
            )


def _statuses(processes: Processes) -> str:
    """ "pass", or of several processes "pass ×2, oom ×1"."""
    if len(processes) == 1:
        return str(processes[0]["status"])
    return ", ".join(
        f"{status} ×{count}"
        for status, count in Counter(one["status"] for one in processes).items()
    )


def entry(processes: Processes, key: str) -> dict[str, Any] | None:
    """A metric of one process as it is; of several their median, with the least and the greatest as
    its interval.
    """
    entries = [one["metrics"][key] for one in processes if key in one["metrics"]]
    if len(entries) < 2:
        return entries[0] if entries else None
    values = [each["value"] for each in entries]
    return {"value": median(values), "low": min(values), "high": max(values)}


def _metric(key: str, before: dict[str, Any], after: dict[str, Any], what: str) -> str:
    old, new = before["value"], after["value"]
    change = f"{(new / old - 1) * 100:+.1f} %" if old else ""
    apart = f" {what} are apart" if intervals_apart(before, after) else ""
    return f"  {key:<26} {table.number(old):>10} {table.number(new):>10} {change:>9}{apart}"


def intervals_apart(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether both have an interval and these do not touch."""
    ends = [
        entry[end]
        for entry in (before, after)
        for end in ("low", "high")
        if entry.get(end) is not None
    ]
    if len(ends) < 4:
        return False
    low, high, other_low, other_high = ends
    return bool(high < other_low or other_high < low)


def differences(
    before: dict[str, Any], after: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """(name, before, after) of each value of two environments that differs, the fingerprint
    apart.
    """
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{prefix}{key}.")
        elif old != new and key != "fingerprint":
            yield f"{prefix}{key}", old, new


def _geomeans(matched: list[recorded.Case], before: Results, after: Results) -> Iterator[str]:
    """The geometric mean of after / before over the matched cases, for what is above zero in
    both.
    """
    if len(matched) < 2:
        return
    yield f"geometric mean over {len(matched)} matched cases, after / before"
    for key in ("latency_ms", "speedup", "cold_start_s", "peak_memory_gb"):
        pairs = [(entry(before[case], key), entry(after[case], key)) for case in matched]
        logs = [
            math.log(new["value"] / old["value"])
            for old, new in pairs
            if old and new and old["value"] > 0 < new["value"]
        ]
        if logs:
            yield f"  {key:<26} {math.exp(sum(logs) / len(logs)):>10.4f}  n={len(logs)}"
