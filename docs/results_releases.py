"""The tables of docs/results.py that compare two releases, as the site does."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from results_cells import arrow, short_name, table
from results_summary import Groups

from dashboard.comparisons.core.matching import (
    CaseMeasurements,
    ComparisonRow,
    Key,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import Effect
from dashboard.comparisons.core.sides import side_from_results
from dashboard.language.metrics import METRICS
from dashboard.results.core.result_format import parse_result

VERDICTS = {"better": "faster", "worse": "slower", "same": "the same", "unknown": "not known"}
SUSPECTED = {"better": "faster (suspected)", "worse": "slower (suspected)"}
LEAST_SINGLE_PERCENT = 10.0  # of a change between one process a side, to be listed


def by_upgrade(
    rows_of: Callable[[Groups, str, str], Iterator[Sequence[str]]], groups: Groups
) -> dict[str, str]:
    """The table from the oldest release to each newer one, by the newer one's name.

    The oldest was measured in turn with each of them; two newer ones never were.
    """
    old, *newer = sorted(set(chain(*groups.values())))
    return {new: table(rows_of(groups, old, new)) for new in newer}


def releases(groups: Groups, old: str, new: str) -> Iterator[Sequence[str]]:
    """Cases of two releases whose change has an interval: the steps, and the change as the site
    judges it.
    """
    yield (
        "benchmark",
        "config",
        "step, ms",
        "change (95% interval)",
        "verdict",
        "eager step, ms",
        "speedup",
    )
    sides = _side(groups, old), _side(groups, new)
    for row in filter(_has_interval, compare_latency(*sides, any_libraries=True).rows):
        by_release = groups[row.case.benchmark, row.case.config]
        processes = by_release[old], by_release[new]
        yield (
            short_name(row.case.benchmark),
            row.case.config,
            arrow(*processes, "latency_ms", 4),
            row.effect.change.text,
            f"{_verdict(row.effect)} {row.changed_part}".strip(),
            arrow(*processes, "eager_latency_ms", 4),
            arrow(*processes, "speedup", 3),
        )


def device_times(groups: Groups, old: str, new: str) -> Iterator[Sequence[str]]:
    """The same of the GPU's own time, with eager's next to it."""
    yield "benchmark", "config", "device time, ms", "change (95% interval)", "verdict", "eager, ms"
    for row in filter(_has_interval, _compared_device_times(groups, old, new)):
        by_release = groups[row.case.benchmark, row.case.config]
        processes = by_release[old], by_release[new]
        yield (
            short_name(row.case.benchmark),
            row.case.config,
            arrow(*processes, "device_ms", 5),
            row.effect.change.text,
            _verdict(row.effect),
            arrow(*processes, "eager_device_ms", 5),
        )


def singles(groups: Groups, old: str, new: str) -> Iterator[Sequence[str]]:
    """The largest changes of the GPU's time among those that one process a side leaves without
    an interval.
    """
    yield "benchmark", "config", "device time, ms", "change", "eager, ms"
    for row in _compared_device_times(groups, old, new):
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


def _compared_device_times(groups: Groups, old: str, new: str) -> Sequence[ComparisonRow]:
    sides = _side(groups, old), _side(groups, new)
    return compare(*sides, METRICS["device_ms"], any_libraries=True).rows


def _has_interval(row: ComparisonRow) -> bool:
    return row.effect.ratio is not None and row.effect.ratio.is_known


def _side(groups: Groups, release: str) -> dict[Key, CaseMeasurements]:
    """What was measured in one release."""
    documents = chain(*(by_release.get(release, ()) for by_release in groups.values()))
    return side_from_results(map(parse_result, documents))


def _verdict(effect: Effect) -> str:
    return SUSPECTED.get(effect.suspected or "", VERDICTS[effect.verdict])
