"""The tables of docs/results.py about the compiler's own work: calls of a cold compile."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from statistics import median

from results_cells import number_text, short_name, table
from results_figures import Figures
from results_summary import RECORDED, Groups, grouped, median_of, values

from benchmarks_suite.harness import recorded
from dashboard.results.core.compile_diff import CALLS as CALL_TABLE
from dashboard.results.core.compile_diff import CallTable, call_sites, read_calls

CALLS = "compile_calls"
COUNTED = RECORDED / "releases_cpu"
COUNTED_ON_GPU = RECORDED / "compiling_h200/counted"
GPU_RELEASES = ("2.11.0", "2.15.0")
REINDEXING = "Scheduler._try_reindex_pointwise_for_reduction"
# What looks up files and imports modules: how much depends on where an environment lies
OF_ENVIRONMENT = (
    "<frozen posixpath>",
    "<frozen importlib",
    "<frozen zipimport",
    "inspect.py",
    "torch/package/package_importer.py",
)


def read_counted() -> Groups:
    """The compilations counted on a CPU, by case and release."""
    return grouped(recorded.read(COUNTED))


def _compile_work(groups: Groups) -> Iterator[Sequence[str]]:
    """Calls in millions in each release, with the change from the one before; the largest fall from
    the oldest to the newest first.
    """
    releases = sorted(set(chain(*groups.values())))
    yield "benchmark", *releases, f"{releases[0]} → {releases[-1]}"
    counts = {}
    for (benchmark, _), by_release in groups.items():
        counts[benchmark] = [median_of(by_release[release], CALLS) for release in releases]
    for benchmark, (first, *later) in sorted(counts.items(), key=lambda case: _ratio(case[1])):
        steps = pairwise((first, *later))
        cells = [f"{_millions(new)} ({_percent(old, new)})" for old, new in steps]
        name = short_name(benchmark).replace(", smoke", "")
        yield name, _millions(first), *cells, _percent(first, later[-1])


def _compile_work_on_gpu() -> Iterator[Sequence[str]]:
    """Calls in millions in two releases, the growth without those that depend on the environment,
    and the second's calls below the function that is new in it; the largest growth first.
    """
    without = "without files and imports"
    yield (
        "benchmark, config",
        *GPU_RELEASES,
        without,
        f"of {GPU_RELEASES[1]}'s below the reindexing",
    )
    for case, (old, new) in sorted(_on_gpu().items(), key=lambda each: -_growth(*each[1])):
        before, after = old.calls.total(), new.calls.total()
        cell = f"{_millions(after)} ({_percent(before, after)})"
        of_compiler = _percent(_of_compiler(old), _of_compiler(new))
        below = _millions(_below_function(new, REINDEXING))
        yield case, _millions(before), cell, of_compiler, below


def _of_compiler(table_of_calls: CallTable) -> int:
    """Calls but for those of functions that look up files and import."""
    calls = table_of_calls.calls.items()
    return sum(count for name, count in calls if not name.startswith(OF_ENVIRONMENT))


def _growth_on_gpu() -> str:
    """How much all of these cases together grew."""
    old, new = (
        sum(each.calls.total() for each in tables)
        for tables in zip(*_on_gpu().values(), strict=True)
    )
    return _percent(old, new).removeprefix("+")


def _reindexed_share() -> str:
    """How much of their growth lies below the function that is new."""
    pairs = _on_gpu().values()
    added = sum(new.calls.total() - old.calls.total() for old, new in pairs)
    return f"{sum(_below_function(new, REINDEXING) for _, new in pairs) / added:.0%}"


def _counted_on_gpu() -> Groups:
    """What was counted on a GPU with nothing switched off, by case and release."""
    documents = recorded.read(COUNTED_ON_GPU)
    return grouped(each for each in documents if not each["job"].get("variant"))


@cache
def _on_gpu() -> dict[str, tuple[CallTable, CallTable]]:
    """Of each case its tables of the two releases."""
    tables = {}
    for folder in sorted(path for path in COUNTED_ON_GPU.iterdir() if path.is_dir()):
        (document,) = recorded.read(folder / GPU_RELEASES[0])
        case = f"{short_name(document['benchmark']['name'])}, {document['job']['config']}"
        old, new = (_call_table(release, folder) for release in GPU_RELEASES)
        tables[case] = old, new
    return tables


def _growth(old: CallTable, new: CallTable) -> float:
    return new.calls.total() / old.calls.total()


def _below_function(calls: CallTable, function: str) -> int:
    return sum(below for name, below in calls.below.items() if name.endswith(function))


def work_figures(on_cpu: Groups) -> dict[str, Figures | str]:
    """Of two releases' compile calls, in millions, and how those of a GPU's cases grew.

    work: how much of ResNet-50's, on a CPU, came or went at and below what a function calls, as the
    site names it: `OLD NEW FUNCTION`. below: how much of a case's, on a GPU, lay below a function,
    its own calls among them: `CASE RELEASE FUNCTION`. counted: all of a case's there: `CASE
    RELEASE`. counted_range: how far two processes of one case and release are apart there.
    """
    return {
        "compile_work": table(_compile_work(on_cpu)),
        "calls_range": _between_processes(on_cpu, CALLS),
        "cold_range": _between_processes(on_cpu, "cold_start_s"),
        "work": Figures(_work),
        "below": Figures(_below),
        "counted": Figures(_counted),
        "compile_work_on_gpu": table(_compile_work_on_gpu()),
        "counted_range": _between_processes(_counted_on_gpu(), CALLS),
        "growth_on_gpu": _growth_on_gpu(),
        "reindexed_share": _reindexed_share(),
    }


def _work(words: Sequence[str]) -> str:
    old, new, function = words
    for site in call_sites(_call_table(old), _call_table(new)):
        if site.caller.name.endswith(function):
            return f"{abs(site.work.difference) / 1e6:.2f}"
    raise LookupError(f"{' '.join(words)}: the site names no such function")


def _below(words: Sequence[str]) -> str:
    case, release, function = words
    calls = _call_table(release, COUNTED_ON_GPU / case)
    named = [below for name, below in calls.below.items() if name.endswith(function)]
    if len(named) != 1:
        raise LookupError(f"{' '.join(words)}: {len(named)} functions have that name")
    return f"{named[0] / 1e6:.2f}"


def _counted(words: Sequence[str]) -> str:
    case, release = words
    return f"{_call_table(release, COUNTED_ON_GPU / case).calls.total() / 1e6:.1f}"


def _call_table(release: str, case: Path = COUNTED / "resnet50") -> CallTable:
    return read_calls((case / release / "artifacts" / CALL_TABLE).read_bytes())


def _between_processes(groups: Groups, metric: str) -> str:
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
