"""The tables of docs/results.py about starts: how long they take, and what they are made of."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from statistics import fmean, median, stdev

from results_cells import each_value, median_cell, number_text, short_name
from results_releases import compared, judged
from results_summary import Document, Groups, by_machine, median_of, release_of
from scipy import stats

STARTS = ("cold", "warm", "restored")
PHASES = ("dynamo", "aot", "inductor", "triton")
IN_TURN = ("cold", "warm")  # of those, what was measured in turn
LEAST_PAIRS = 3  # to say how much they differ
PLANNED = {  # the GPUs whose pairs were planned beforehand
    "GPU-ab13bd55-9d63-0aa2-4f89-5647a18c08ab",
    "GPU-7ac71a5f-eb5b-7274-ab70-b62bbbcf678d",
}


def starts(groups: Groups) -> Iterator[Sequence[str]]:
    """The processes that had all three starts."""
    yield "benchmark", "config", "torch", "cold", "warm", "restored", "artifacts, MB"
    for (benchmark, config), by_release in groups.items():
        for release, processes in sorted(by_release.items()):
            complete = [each for each in processes if set(STARTS) <= each.get("starts", {}).keys()]
            if complete:
                yield (
                    short_name(benchmark),
                    config,
                    release,
                    *(median_cell(complete, f"{kind}_start_s", 3) for kind in STARTS),
                    median_cell(complete, "artifact_size_mb", 3),
                )


def starts_in_turn(groups: Groups, every: Groups) -> Iterator[Sequence[str]]:
    """The starts in seconds of each process, of the machines where a case was measured in every
    release, and the cold start's change, as the site judges it of all that is recorded. A case that
    no machine measured in every release has no row.
    """
    old, new = releases = sorted(set(chain(*groups.values())))
    times = [f"{kind}, {release}" for kind in IN_TURN for release in releases]
    yield "benchmark", *times, "cold start", "longer pairs", "the pairs alone"
    rows = compared(every, old, new, "cold_start_s")
    changes = {row.case.benchmark: judged(row) for row in rows}
    for (benchmark, _), by_release in groups.items():
        machines = _machines_of_all(by_release, releases)
        if not machines:
            continue
        cells = []
        for kind, release in product(IN_TURN, releases):
            processes = list(chain(*(machine[release] for machine in machines)))
            cells.append(each_value(processes, f"{kind}_start_s", 3))
        pairs = [list(zip(machine[old], machine[new], strict=False)) for machine in machines]
        yield short_name(benchmark), *cells, changes[benchmark], *pairs_alone(pairs)


def planned_pairs(groups: Groups) -> Iterator[Sequence[str]]:
    """The pairs that were planned before they were measured."""
    old, new = sorted(set(chain(*groups.values())))
    yield "benchmark", f"cold, {old}", f"cold, {new}", "longer pairs", "the pairs alone"
    for (benchmark, _), by_release in groups.items():
        sides = []
        for release in (old, new):
            sides.append([each for each in by_release[release] if _gpu_of(each) in PLANNED])
        if all(sides):
            cells = (each_value(side, "cold_start_s", 3) for side in sides)
            yield short_name(benchmark), *cells, *pairs_alone([list(zip(*sides, strict=True))])


def _gpu_of(process: Document) -> str:
    device: str = process["environment"]["machine"]["device_id"]
    return device


def _machines_of_all(
    by_release: Mapping[str, Sequence[Document]], releases: Sequence[str]
) -> list[dict[str, list[Document]]]:
    """The processes by release of each machine that measured every one."""
    machines = []
    for processes in by_machine(chain(*by_release.values())):
        machine: dict[str, list[Document]] = defaultdict(list)
        for process in processes:
            machine[release_of(process)].append(process)
        if len(machine) == len(releases):
            machines.append(machine)
    return machines


def pairs_alone(machines: Sequence[Sequence[tuple[Document, Document]]]) -> tuple[str, str]:
    """In how many pairs of processes, the older release first, the cold start is longer in the
    newer one, and the mean of their logarithms with its t interval, which knows of no other case.
    """
    logs = []
    for old, new in chain(*machines):
        logs.append(math.log(_cold_s(new) / _cold_s(old)))
    longer = f"{sum(log > 0 for log in logs)} of {len(logs)}"
    on = f"{len(machines)} machine{'' if len(machines) == 1 else 's'}"
    if len(logs) < LEAST_PAIRS:
        return f"{longer}, {on}", "–"
    t = stats.t.ppf(0.975, len(logs) - 1)
    reach = t * stdev(logs) / math.sqrt(len(logs))
    mean = fmean(logs)
    middle, low, high = (round(100 * math.expm1(log)) for log in (mean, mean - reach, mean + reach))
    return f"{longer}, {on}", f"{middle:+d}% ({low:+d} to {high:+d}%)"


def _cold_s(process: Document) -> float:
    seconds: float = process["metrics"]["cold_start_s"]["value"]
    return seconds


def phases(groups: Groups) -> Iterator[Sequence[str]]:
    """Medians of what cold starts are made of, in seconds, of the cases of `starts_in_turn`."""
    parts = "dynamo", "AOTAutograd", "Inductor", "kernels", "the rest"
    yield "benchmark", "torch", "processes", "cold start", *parts
    releases = sorted(set(chain(*groups.values())))
    for (benchmark, _), by_release in groups.items():
        machines = _machines_of_all(by_release, releases)
        if not machines:
            continue
        for release in releases:
            processes = list(chain(*(machine[release] for machine in machines)))
            metrics = "cold_start_s", *(f"compile_{phase}_s" for phase in PHASES)
            medians = *(median_of(processes, metric) for metric in metrics), _rest(processes)
            cells = (number_text(value, 3) for value in medians)
            yield short_name(benchmark), release, str(len(processes)), *cells


def first_runs(groups: Groups) -> Iterator[Sequence[str]]:
    """Medians of what is left of the cold start outside the compiler's timers, how much of it went
    into timing launches, and how many were timed, of the processes that recorded it.
    """
    old, new = sorted(set(chain(*groups.values())))
    parts = "the rest", "timing", "timed"
    headers = (f"{part}, {release}" for part in parts for release in (old, new))
    yield "benchmark", "processes a side", *headers
    for (benchmark, _), by_release in groups.items():
        sides = [list(filter(_timed_launches, by_release[release])) for release in (old, new)]
        if not all(sides):
            continue
        rests = (_rest(side) for side in sides)
        timings = (median(_phases_s(each)["autotune"] for each in side) for side in sides)
        counts = (str(round(median(map(_launches, side)))) for side in sides)
        seconds = (number_text(value, 2) for value in (*rests, *timings))
        yield short_name(benchmark), str(len(sides[0])), *seconds, *counts


def _phases_s(process: Document) -> dict[str, float]:
    seconds: dict[str, float] = process["compile"]["phases_s"]
    return seconds


def _timed_launches(process: Document) -> bool:
    return "autotune" in _phases_s(process)


def _launches(process: Document) -> float:
    """How many launches of Triton kernels Inductor timed."""
    counters: dict[str, float] = process["compile"]["counters"]
    return counters["inductor.benchmarking.InductorBenchmarker.benchmark"]


def _rest(processes: Iterable[Document]) -> float:
    """The median of what is left of the cold start outside the compiler's timers, in seconds."""
    left: list[float] = [
        process["metrics"]["cold_start_s"]["value"] - _phases_s(process)["total"]
        for process in processes
    ]
    return median(left)
