"""The tables of docs/results.py that compare releases, as the site does."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from statistics import fmean, median

from results_cells import arrow, short_name
from results_summary import (
    Document,
    Groups,
    gpu_of,
    grouped,
)

from dashboard.comparisons.core.judgement import judge_sides
from dashboard.comparisons.core.matching import ComparisonRow, Side, compare
from dashboard.comparisons.core.sides import side_from_results
from dashboard.language.metrics import METRICS
from dashboard.results.core.kernel_profile import ArmProfile, arm_profiles
from dashboard.results.core.launches import EvenedChange, evened_change, evened_ms
from dashboard.results.core.result_format import parse_result

UNDECIDED = {"same": "the same", "unknown": "not known"}  # of a change, its words say the verdict
LIMIT_PERCENT = 0.3  # half the range of processes that agree
LEAST_SINGLE_PERCENT = 10.0  # of a change between one process a side, to be listed


def evened_in_turn(
    documents: Iterable[Document], further: Iterable[Document]
) -> Iterator[Sequence[str]]:
    """Each release's change from the one before, launches evened out, and that of the newest from
    the oldest, with what was measured further of these two; the largest first.
    """
    in_turn = list(documents)
    groups, every = grouped(in_turn), grouped([*in_turn, *further])
    oldest, *later = sorted(set(chain(*groups.values())))
    newest = later[-1]
    yield "benchmark", *later, f"{oldest} → {newest}"
    rows: list[tuple[float, list[str]]] = []
    for case, by_release in groups.items():
        steps = pairwise((oldest, *later))
        changes = [_evened(by_release[old], by_release[new]) for old, new in steps]
        changes.append(_evened(every[case][oldest], every[case][newest]))
        largest = max(max(abs(each.least), abs(each.most)) for each in changes)
        rows.append((-largest, [short_name(case[0]), *(each.words for each in changes)]))
    for _, cells in sorted(rows):
        yield cells


def _evened(olds: Sequence[Document], news: Sequence[Document]) -> EvenedChange:
    by_gpu: dict[str, tuple[list[ArmProfile], list[ArmProfile]]] = {}
    for side, documents in enumerate((olds, news)):
        for document in documents:
            gpu = document["environment"]["machine"]["device_id"]
            by_gpu.setdefault(gpu, ([], []))[side].append(arm_profiles(document)["compiled"])
    change = evened_change([*by_gpu.values()])
    assert change is not None
    return change


def launch_spread(documents: Iterable[Document]) -> str:
    """In how many cases and releases two processes on one GPU agree, as measured and evened out."""
    within, evened_within, groups = 0, 0, 0
    for by_release in grouped(documents).values():
        for processes in by_release.values():
            profiles = [arm_profiles(each)["compiled"] for each in processes]
            groups += 1
            within += _agree([profile.total_ms for profile in profiles])
            evened_within += _agree(evened_ms(profiles))
    return f"{within} of {groups} cases and releases as measured, and in {evened_within} evened out"


def _agree(times: Sequence[float]) -> bool:
    return len(times) > 1 and 50 * (max(times) - min(times)) / fmean(times) <= LIMIT_PERCENT


def upgrades(groups: Groups, metric: str) -> Iterator[Sequence[str]]:
    """Cases whose change from the oldest release to a newer one has an interval: the changes as the
    site judges them, the largest first.

    The oldest was measured in turn with each of the others; two newer ones never were.
    """
    old, *newer = sorted(set(chain(*groups.values())))
    yield "benchmark", "config", *newer
    cells: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    largest: dict[tuple[str, str], float] = defaultdict(float)
    for new in newer:
        for row in compared(groups, old, new, metric):
            ratio = row.effect.ratio
            if ratio is None or not ratio.is_known:
                continue
            case = row.case.benchmark, row.case.config
            cells[case][new] = judged(row)
            if row.effect.is_changed:
                largest[case] = max(largest[case], abs(ratio.percent))
    for case in sorted(cells, key=lambda case: (-largest[case], case)):
        benchmark, config = case
        yield short_name(benchmark), config, *(cells[case].get(new, "–") for new in newer)


def singles(groups: Groups, old: str, new: str) -> Iterator[Sequence[str]]:
    """The largest changes of the GPU's time among those that one process a side leaves without
    an interval.
    """
    yield "benchmark", "config", "device time, ms", "change", "eager, ms"
    for row in compared(groups, old, new, "device_ms"):
        ratio = row.effect.ratio
        if ratio is None or ratio.is_known or abs(ratio.percent) < LEAST_SINGLE_PERCENT:
            continue
        by_release = groups[row.case.benchmark, row.case.config]
        processes = by_release[old], by_release[new]
        yield (
            short_name(row.case.benchmark),
            row.case.config,
            arrow(*processes, "device_ms", 4),
            row.effect.change.text,
            arrow(*processes, "eager_device_ms", 4),
        )


def names_changed(groups: Groups, old: str, new: str) -> dict[str, dict[str, str]]:
    """By config: of how many names the GPU's time fell, as the table of single processes counts a
    change, and by how much it changed in the median.
    """
    percents: dict[str, list[float]] = defaultdict(list)
    for row in compared(groups, old, new, "device_ms"):
        if row.effect.ratio is not None:
            percents[row.case.config].append(row.effect.ratio.percent)
    less = {config: str(sum(each < 0 for each in percents[config])) for config in percents}
    medians = {config: f"{median(percents[config]):.2g}%" for config in percents}
    return {"names_less": less, "names_median": medians}


def overhead_grown(groups: Groups, old: str, new: str) -> str:
    """In how many cases calling the compiled code became slower for certain, and by how much."""
    rows = compare(*_sides(groups, old, new), METRICS["overhead_us"], any_libraries=True).rows
    changes = [row.effect.ratio for row in rows if row.effect.verdict == "worse"]
    worse = [ratio.percent for ratio in changes if ratio is not None]
    return f"{len(worse)} of {len(rows)} cases, by {min(worse):.0f} to {max(worse):.0f}%"


def compared(groups: Groups, old: str, new: str, metric: str) -> Sequence[ComparisonRow]:
    """Judged with all metrics that a page judges."""
    return judge_sides(*_sides(groups, old, new), any_libraries=True).tables[metric].rows


def _sides(groups: Groups, old: str, new: str) -> tuple[Side, Side]:
    """Both releases on the kinds of GPU on which the newer one was measured, as a page is of one
    kind.
    """
    olds, news = _documents(groups, old), _documents(groups, new)
    gpus = set(map(gpu_of, news))
    return _side(each for each in olds if gpu_of(each) in gpus), _side(news)


def judged(row: ComparisonRow) -> str:
    """The change with its interval, and what the site says of it."""
    verdict = "suspected" if row.effect.suspected else UNDECIDED.get(row.effect.verdict, "")
    return ", ".join(filter(None, (row.effect.change.text, verdict, row.changed_part)))


def _documents(groups: Groups, release: str) -> list[Document]:
    return list(chain(*(by_release.get(release, ()) for by_release in groups.values())))


def _side(documents: Iterable[Document]) -> Side:
    return side_from_results(map(parse_result, documents))
