"""Recorded results of GPUs, by case and release, and the pairs of processes among them."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from packaging.version import Version
from scipy import stats

from benchmarks_suite.harness import recorded
from benchmarks_suite.registry import BENCHMARKS

RECORDED = Path(__file__).resolve().parents[1] / "data"
STUDIES = "*_h[12]00"  # those of GPUs
OLDEST, NEWEST = "2.11.0", "2.15.0"
LEAST_PAIRS = 3  # to give an interval
LEAST_FREEDOM = 3  # degrees of it, to say how much processes differ

Document = dict[str, Any]
ByRelease = dict[str, list[Document]]
"""Processes, the oldest first."""
Groups = dict[tuple[str, str], ByRelease]
"""By benchmark and config."""


def read_all() -> list[Document]:
    """What GPUs measured in a release as it is installed, with no setting changed and the
    benchmarks as the suite has them today.
    """
    folders = [*sorted(RECORDED.glob(STUDIES)), RECORDED / "histories" / "gpu_history"]
    documents = list[Document]()
    for folder in folders:
        documents += filter(_is_of_release, recorded.read(folder))
    return documents


def _is_of_release(document: Document) -> bool:
    # 2.13.0 was first measured on the cuDNN of 2.11.0 instead of its own
    other_cudnn = (release_of(document), document["environment"]["torch"]["cudnn"])
    if document["job"].get("variant") or other_cudnn == ("2.13.0", "91900"):
        return False
    measured = document["benchmark"]
    benchmark = BENCHMARKS.get(measured["name"])
    return benchmark is None or benchmark.version == measured["version"]


def release_of(document: Document) -> str:
    """The torch release, without the label of its build."""
    return str(document["environment"]["torch"]["version"]).partition("+")[0]


def gpu_of(document: Document) -> str:
    return str(document["environment"]["machine"]["gpu"])


def grouped(documents: Iterable[Document]) -> Groups:
    groups: Groups = defaultdict(lambda: defaultdict(list))
    for document in sorted(documents, key=lambda document: str(document["started_at"])):
        groups[recorded.case(document)][release_of(document)].append(document)
    return groups


def by_device(processes: Iterable[Document]) -> dict[str, list[Document]]:
    devices: dict[str, list[Document]] = defaultdict(list)
    for process in processes:
        devices[process["environment"]["machine"]["device_id"]].append(process)
    return devices


def values(processes: Iterable[Document], metric: str) -> list[float]:
    """The value of each process that has one."""
    metrics = [process["metrics"] for process in processes]
    return [float(each[metric]["value"]) for each in metrics if metric in each]


def median_of(processes: Iterable[Document], metric: str) -> float | None:
    present = values(processes, metric)
    return median(present) if present else None


def pairs(by_release: ByRelease, old: str, new: str) -> Iterator[tuple[Document, Document]]:
    """The first process of either release on one GPU, the second ones, and so on."""
    news = by_device(by_release.get(new, ()))
    for device, olds in by_device(by_release.get(old, ())).items():
        yield from zip(olds, news.get(device, ()), strict=False)


def changes(by_release: ByRelease, old: str, new: str, metric: str) -> list[float]:
    """Logarithm of new / old, pair by pair."""
    logs = []
    for before, after in pairs(by_release, old, new):
        both = values([before, after], metric)
        if len(both) == 2:
            logs.append(math.log(both[1] / both[0]))
    return logs


def mean_change(logs: Sequence[float]) -> str:
    """In percent, with its 95% t interval."""
    if not logs:
        return "–"
    mean = fmean(logs)
    if len(logs) < LEAST_PAIRS:
        return percent(mean)
    reach = stats.t.ppf(0.975, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return f"{percent(mean)} ({percent(mean - reach)} to {percent(mean + reach)})"


def percent(log: float) -> str:
    return f"{100 * math.expm1(log):+.1f}%"


def variation_percent(groups: Iterable[Sequence[Document]], metric: str) -> float | None:
    """Standard deviation of the logarithm within groups, pooled; None of too few differences."""
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [math.log(value) for value in values(group, metric)]
        if logs:
            squares += sum((value - fmean(logs)) ** 2 for value in logs)
            freedom += len(logs) - 1
    return 100 * math.sqrt(squares / freedom) if freedom >= LEAST_FREEDOM else None


def counts_one_model(process: Document) -> bool:
    """Whether eager's peak memory holds neither the suite's copy of the model, nor the model that
    it was made from, as older versions of the suite did.
    """
    return Version(process["suite_version"]) >= Version("0.3.0")
