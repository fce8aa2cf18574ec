"""The tables of docs/results.py about the compiler's own work: calls of a cold compile."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from statistics import median

from results_cells import number_text, short_name
from results_figures import Figures
from results_summary import RECORDED, Groups, grouped, median_of, values

from benchmarks_suite.harness import recorded
from dashboard.results.core.compile_diff import CALLS as CALL_TABLE
from dashboard.results.core.compile_diff import CallTable, call_sites, read_calls

CALLS = "compile_calls"
COUNTED = RECORDED / "releases_on_cpu"
COUNTED_ON_GPU = RECORDED / "h200_counted"


def read_counted() -> Groups:
    """The compilations counted on a CPU, by case and release."""
    return grouped(recorded.read(COUNTED))


def compile_work(groups: Groups) -> Iterator[Sequence[str]]:
    """Calls in millions in each release, with the change from the one before; the largest fall from
    the oldest to the newest first.
    """
    releases = sorted(set(chain(*groups.values())))
    of_several = len(releases) > 2  # else the one change is in its cell
    yield "benchmark", *releases, *[f"{releases[0]} → {releases[-1]}"] * of_several
    counts = {}
    for (benchmark, _), by_release in groups.items():
        counts[benchmark] = [median_of(by_release[release], CALLS) for release in releases]
    for benchmark, (first, *later) in sorted(counts.items(), key=lambda case: _ratio(case[1])):
        steps = pairwise((first, *later))
        cells = [f"{_millions(new)} ({_percent(old, new)})" for old, new in steps]
        name = short_name(benchmark).replace(", smoke", "")
        yield name, _millions(first), *cells, *[_percent(first, later[-1])] * of_several


def work_figures() -> dict[str, Figures]:
    """Of two releases' compile calls, in millions.

    work: how much of ResNet-50's, on a CPU, came or went at and below what a function calls, as the
    site names it: `OLD NEW FUNCTION`. below: how much of a case's, on a GPU, lay below a function,
    its own calls among them: `CASE RELEASE FUNCTION`.
    """
    return {"work": Figures(_work), "below": Figures(_below)}


def _work(words: Sequence[str]) -> str:
    old, new, function = words
    for site in call_sites(_call_table(old), _call_table(new)):
        if site.caller.name.endswith(function):
            return f"{abs(site.work.difference) / 1e6:.2f}"
    raise LookupError(f"{' '.join(words)}: the site names no such function")


def _below(words: Sequence[str]) -> str:
    case, release, function = words
    table = _call_table(release, COUNTED_ON_GPU / case)
    named = [below for name, below in table.below.items() if name.endswith(function)]
    if len(named) > 1:
        raise LookupError(f"{' '.join(words)}: several functions have that name")
    return f"{sum(named) / 1e6:.2f}"


def _call_table(release: str, case: Path = COUNTED / "resnet50") -> CallTable:
    return read_calls((case / release / "artifacts" / CALL_TABLE).read_bytes())


def between_processes(groups: Groups, metric: str) -> str:
    """How far the processes of one case and release are apart, in the median and at most."""
    ranges = []
    for processes in chain(*(by_release.values() for by_release in groups.values())):
        measured = values(processes, metric)
        if len(measured) > 1:
            ranges.append(100 * (max(measured) / min(measured) - 1))
    typical, largest = number_text(median(ranges), 2), number_text(max(ranges), 2)
    return f"{typical}% in the median and {largest}% at most"


def _ratio(counts: Sequence[float | None]) -> float:
    first, last = counts[0], counts[-1]
    return last / first if first and last else 1


def _millions(count: float | None) -> str:
    return number_text(count / 1e6 if count else None, 3)


def _percent(old: float | None, new: float | None) -> str:
    return f"{100 * (new / old - 1):+.1f}%" if old and new else "–"
