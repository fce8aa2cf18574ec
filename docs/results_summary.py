"""The numbers of docs/results.py: recorded sessions, their groups, and statistics of a group."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks_suite.commands.batch import measurement_s
from benchmarks_suite.harness import recorded

RECORDED = Path(__file__).resolve().parent.parent / "tests" / "data"
KEPT = ".jsonl.gz"  # results, one a line
Document = dict[str, Any]
ByRelease = dict[str, list[Document]]  # processes, the oldest first
Groups = dict[tuple[str, str], ByRelease]  # by benchmark and config
LEAST_FREEDOM = 3  # degrees of it, to say how much processes differ


def read_sessions() -> dict[str, list[Document]]:
    """The results of each recording, named as `compiling_h200/starts`, the newest last."""
    paths = [RECORDED / "histories" / "gpu_history"]
    for study in (*RECORDED.glob("*_h[12]00"), RECORDED / "drill"):
        paths += (path for path in study.iterdir() if path.is_dir() or path.name.endswith(KEPT))
    sessions = []
    for path in paths:
        name = f"{path.parent.name}/{path.name.removesuffix(KEPT)}"
        sessions.append((name, list(recorded.read(path))))
    sessions.sort(key=lambda session: max(document["started_at"] for document in session[1]))
    return dict(sessions)


def grouped(documents: Iterable[Document]) -> Groups:
    """The documents by case and release."""
    groups: Groups = defaultdict(lambda: defaultdict(list))
    for document in sorted(documents, key=lambda document: str(document["started_at"])):
        groups[recorded.case(document)][release_of(document)].append(document)
    return groups


def by_machine(processes: Iterable[Document]) -> Collection[list[Document]]:
    """The processes of each machine."""
    machines: dict[str, list[Document]] = defaultdict(list)
    for process in processes:
        machines[process["environment"]["machine"]["device_id"]].append(process)
    return machines.values()


def release_of(document: Document) -> str:
    """The torch release, without the label of its build."""
    return str(document["environment"]["torch"]["version"]).partition("+")[0]


def uses_other_cudnn(document: Document) -> bool:
    """Whether 2.13.0 ran on the cuDNN of 2.11.0 instead of its own, as it was first measured."""
    return (release_of(document), document["environment"]["torch"]["cudnn"]) == ("2.13.0", "91900")


def gpu_of(document: Document) -> str:
    return str(document["environment"]["machine"]["gpu"])


def values(processes: Iterable[Document], metric: str) -> list[float]:
    """The value of each process that has one."""
    metrics = [process["metrics"] for process in processes]
    return [float(values[metric]["value"]) for values in metrics if metric in values]


def median_of(processes: Iterable[Document], metric: str) -> float | None:
    """The median over processes; None when none has a value."""
    present = values(processes, metric)
    return median(present) if present else None


def variation_percent(
    groups: Iterable[Sequence[Document]], metric: str = "latency_ms"
) -> float | None:
    """Coefficient of variation of a metric: the standard deviation of its logarithm, pooled; None
    of fewer than three differences, which say next to nothing of it.
    """
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [math.log(value) for value in values(group, metric)]
        if logs:
            mean = fmean(logs)
            squares += sum((value - mean) ** 2 for value in logs)
            freedom += len(logs) - 1
    return 100 * math.sqrt(squares / freedom) if freedom >= LEAST_FREEDOM else None


def interval_percent(processes: Sequence[Document]) -> float | None:
    """Half the interval of the step, in the median process; None where no process has one."""
    halves = []
    for process in processes:
        step = process["metrics"]["latency_ms"]
        if step.get("high") is not None:
            halves.append(50 * (step["high"] - step["low"]) / step["value"])
    return median(halves) if halves else None


def wall_s(documents: Iterable[Document]) -> float:
    """What all jobs took, in seconds."""
    return float(sum(sum(document["wall_s"].values()) for document in documents))


def measuring_share(documents: Sequence[Document]) -> float:
    """The share of the jobs' time that was compile, warm-up and samples."""
    return sum(map(measurement_s, documents)) / wall_s(documents)


def idle_starts(documents: Iterable[Document]) -> Iterator[tuple[float, float]]:
    """What the beginning of a sample costs in each result: in ms, and in percent of a step.

    Estimated from steps timed one by one, where the GPU kept its clock.
    """
    for document in documents:
        samples = document["samples"]
        compiled, single = samples.get("compiled", {}), samples.get("compiled_single", {})
        if document["marks"] or not single.get("values") or compiled["inner"] == 1:
            continue
        inner = compiled["inner"]
        step_ms, single_ms = median(compiled["values"]), median(single["values"])
        idle_ms = (single_ms - step_ms) * inner / (inner - 1)
        yield idle_ms, 100 * idle_ms / inner / step_ms
