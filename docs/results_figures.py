"""The figures in the texts of docs/results*.template, from the recorded results.

``{ms[softmax inference 2.15.0 H200]}`` is looked up when the page is made. The words name a case:
model, mode and whatever else of the benchmark's name tells it from others; a config, if it is not
`inductor`; a release, if it is not the newest; and a place, which is where it was measured: a kind
of GPU, a study or one of its recordings. A figure that no result, or more than one benchmark, fits
is an error.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from results_summary import Document, Groups, median_of, values

from benchmarks_suite.configs import CONFIGS

RELEASE = re.compile(r"\d+\.\d+\.\d+")
SIZE = "standard"  # of the models that GPUs are measured with
Places = Mapping[str, Groups]
Format = Callable[[float], str]


class Figures(dict[str, str]):
    """Words -> the figure as it stands in the text."""

    def __init__(self, text_of: Callable[[Sequence[str]], str]) -> None:
        super().__init__()
        self._text_of = text_of

    def __missing__(self, words: str) -> str:
        return self._text_of(words.split())


def three_digits(value: float) -> str:
    return format(value, ".3g")


def two_digits(value: float) -> str:
    return format(value, ".2g")


def whole(value: float) -> str:
    return format(value, ".0f")


def times_text(value: float) -> str:
    """A speedup: in hundredths below one, where they decide, and whole from ten on."""
    decimals = 2 if value < 0.995 else 1 if value < 9.95 else 0
    return format(value, f".{decimals}f")


VALUES: Mapping[str, tuple[str, Format]] = {
    "ms": ("device_ms", three_digits),  # the GPU's own time of a compiled step
    "eager_ms": ("eager_device_ms", three_digits),
    "step_ms": ("latency_ms", three_digits),  # by the wall clock, as the speedup
    "eager_step_ms": ("eager_latency_ms", three_digits),
    "speedup": ("speedup", times_text),
    "device_speedup": ("device_speedup", times_text),
    "cold_s": ("cold_start_s", three_digits),
    "triton_s": ("compile_triton_s", three_digits),  # of it, making the kernels
    "memory_gb": ("peak_memory_gb", three_digits),
    "eager_memory_gb": ("eager_peak_memory_gb", three_digits),
    "graphs": ("unique_graphs", whole),
    "matmul_percent": ("matmul_share_percent", whole),  # of what the machine can do
    "call_us": ("overhead_us", whole),  # of the host, to call the graphs of a step
    "recompiles": ("sweep_recompiles", whole),  # of a walk through shapes
    "recompile_s": ("sweep_recompile_s", three_digits),
}


def figures(places: Places) -> dict[str, Figures]:
    """What the template may ask for: those of VALUES, which are medians of processes, and

    processes: a metric's least and largest value of all processes, `METRIC WORDS`.
    samples: an arm's shortest and longest sample in ms, of all processes, `ARM WORDS`.
    change: by how much less the GPU works in the second of the last two words; more: by how much
    more. The two are releases, configs, or whatever else tells two cases apart.
    kernels: the time in ms of those whose names contain the last word, or one of several: `A|B`.
    share: how much of the change of the GPU's time between two releases theirs is, in percent,
    `WORDS OLD NEW NAME`.
    across: of all benchmarks of a place with both of two configs, or releases, a statistic of the
    change in percent, `METRIC PLACE WORDS OLD NEW STATISTIC`; apart: of the difference instead.
    """

    def value(metric: str, form: Format) -> Figures:
        return Figures(lambda words: form(_median(places, words, metric)))

    return {
        **{name: value(*each) for name, each in VALUES.items()},
        "processes": Figures(lambda words: _processes_range(places, words)),
        "samples": Figures(lambda words: _samples_range(places, words)),
        "change": Figures(lambda words: whole(-_change_percent(places, words)) + "%"),
        "more": Figures(lambda words: whole(_change_percent(places, words)) + "%"),
        "kernels": Figures(lambda words: three_digits(_kernels_ms(places, words[:-1], words[-1]))),
        "share": Figures(lambda words: whole(_share_percent(places, words)) + "%"),
        "across": Figures(lambda words: _across(places, words, _percent)),
        "apart": Figures(lambda words: _across(places, words, float.__sub__)),
    }


def _median(places: Places, words: Sequence[str], metric: str) -> float:
    median_value = median_of(_processes(places, words), metric)
    if median_value is None:
        raise LookupError(f"{' '.join(words)}: no result has {metric}")
    return median_value


def _range(numbers: Sequence[float]) -> str:
    return f"{three_digits(min(numbers))} to {three_digits(max(numbers))}"


def _processes_range(places: Places, words: Sequence[str]) -> str:
    metric, *case = words
    return _range(values(_processes(places, case), metric))


def _samples_range(places: Places, words: Sequence[str]) -> str:
    arm, *case = words
    processes = _processes(places, case)
    return _range([ms for process in processes for ms in process["samples"][arm]["values"]])


def _percent(new: float, old: float) -> float:
    return 100 * (new / old - 1)


def _change_percent(places: Places, words: Sequence[str]) -> float:
    *case, old, new = words
    before, after = (_median(places, [*case, each], "device_ms") for each in (old, new))
    return _percent(after, before)


def _kernels_ms(places: Places, words: Sequence[str], names: str) -> float:
    totals: list[float] = []
    for process in _processes(places, words):
        kernels = process["profile"]["compiled"]["kernels"]
        named = [each for each in kernels if any(name in each["name"] for name in names.split("|"))]
        totals.append(sum(each["ms"] for each in named))
    return median(totals)


def _share_percent(places: Places, words: Sequence[str]) -> float:
    *case, old, new, names = words
    before, after = [*case, old], [*case, new]
    kernels_ms = _kernels_ms(places, after, names) - _kernels_ms(places, before, names)
    step_ms = _median(places, after, "device_ms") - _median(places, before, "device_ms")
    return 100 * kernels_ms / step_ms


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "least": min,
    "median": median,
    "most": max,
    "count": len,  # the benchmarks that have both
}


def _across(places: Places, words: Sequence[str], change: Callable[[float, float], float]) -> str:
    metric, place, *case, old, new, statistic = words
    changes = [
        change(after, before) for before, after in _pairs(places[place], case, old, new, metric)
    ]
    if not changes:
        raise LookupError(f"{' '.join(words)}: no benchmark has both")
    return two_digits(STATISTICS[statistic](changes))


def _pairs(
    groups: Groups, case: Sequence[str], old: str, new: str, metric: str
) -> Iterator[tuple[float, float]]:
    """The medians of both sides, in each benchmark that has them."""
    sides = [_config_and_release([*case, side]) for side in (old, new)]
    for benchmark in sorted({benchmark for benchmark, _ in groups}):
        medians = []
        for config, release in sides:
            by_release = groups.get((benchmark, config), {})
            medians.append(median_of(by_release.get(release, ()), metric))
        before, after = medians
        if before and after:
            yield before, after


def _config_and_release(words: Sequence[str]) -> tuple[str, str]:
    config = next((word for word in words if word in CONFIGS), "inductor")
    release = next((word for word in words if RELEASE.fullmatch(word)), "")
    return config, release


def _processes(places: Places, words: Sequence[str]) -> list[Document]:
    """Raises LookupError where no result fits, or those of several benchmarks."""
    groups = next((places[word] for word in words if word in places), None)
    if groups is None:
        raise LookupError(f"{' '.join(words)}: name a place, of {', '.join(places)}")
    config, release = _config_and_release(words)
    parts = {word for word in words if word not in {config, release, *places}}
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
    release = release or max(by_release)
    if release not in by_release:
        measured = ", ".join(sorted(by_release))
        raise LookupError(
            f"{' '.join(words)}: {benchmark} was measured in {measured}, not in {release}"
        )
    return by_release[release]
