"""The figures in the text of docs/results.template, from the recorded results.

``{ms[softmax inference 2.15.0 H200]}`` is looked up when the page is made. The words name a case:
model, mode and whatever else of the benchmark's name tells it from others; a config, if it is not
`inductor`; a release, if it is not the newest; and where it was measured. A figure that no result,
or more than one benchmark, fits is an error.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from results_summary import Document, Groups, median_of

from benchmarks_suite.configs import CONFIGS

RELEASE = re.compile(r"\d+\.\d+\.\d+")
SIZE = "standard"  # of the models that GPUs are measured with
Places = Mapping[str, Groups]


class Figures(dict[str, str]):
    """Words -> the figure as it stands in the text."""

    def __init__(self, text_of: Callable[[Sequence[str]], str]) -> None:
        super().__init__()
        self._text_of = text_of

    def __missing__(self, words: str) -> str:
        return self._text_of(words.split())


def figures(places: Places) -> dict[str, Figures]:
    """What the template may ask for; medians of processes.

    ms: the GPU's own time of a compiled step, eager_ms of an eager one. speedup: by the wall clock.
    change: by how much less the GPU works in the second of two releases. kernels: the time of those
    whose names contain the last word.
    """

    def value(metric: str, form: str) -> Figures:
        return Figures(lambda words: format(_median(places, words, metric), form))

    return {
        "ms": value("device_ms", ".3g"),
        "eager_ms": value("eager_device_ms", ".3g"),
        "speedup": value("speedup", ".1f"),
        "change": Figures(lambda words: _change(places, words)),
        "kernels": Figures(lambda words: _kernels(_processes(places, words[:-1]), words[-1])),
    }


def _median(places: Places, words: Sequence[str], metric: str) -> float:
    median_value = median_of(_processes(places, words), metric)
    if median_value is None:
        raise LookupError(f"{' '.join(words)}: no result has {metric}")
    return median_value


def _change(places: Places, words: Sequence[str]) -> str:
    *case, old, new = words
    before, after = (_median(places, [*case, each], "device_ms") for each in (old, new))
    return f"{100 * (1 - after / before):.0f}%"


def _kernels(processes: Sequence[Document], name: str) -> str:
    totals = []
    for process in processes:
        kernels = process["profile"]["compiled"]["kernels"]
        totals.append(sum(each["ms"] for each in kernels if name in each["name"]))
    return format(median(totals), ".3g")


def _processes(places: Places, words: Sequence[str]) -> list[Document]:
    """Raises LookupError where no result fits, or those of several benchmarks."""
    groups = next((places[word] for word in words if word in places), None)
    if groups is None:
        raise LookupError(f"{' '.join(words)}: name a place, of {', '.join(places)}")
    config = next((word for word in words if word in CONFIGS), "inductor")
    releases = [word for word in words if RELEASE.fullmatch(word)]
    parts = {word for word in words if word not in {config, *releases, *places}}
    fitting = {}
    for (benchmark, its_config), by_release in groups.items():
        if its_config == config and {*parts, SIZE} <= set(benchmark.split(".")):
            fitting[benchmark] = by_release
    if not fitting:
        raise LookupError(f"{' '.join(words)}: none was measured that fits, in {config}")
    if len(fitting) > 1:
        names = ", ".join(sorted(fitting))
        raise LookupError(f"{' '.join(words)}: name more of the benchmark, these fit: {names}")
    ((benchmark, by_release),) = fitting.items()
    release = releases[0] if releases else max(by_release)
    if release not in by_release:
        measured = ", ".join(sorted(by_release))
        raise LookupError(
            f"{' '.join(words)}: {benchmark} was measured in {measured}, not in {release}"
        )
    return by_release[release]
