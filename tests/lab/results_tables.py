"""The tables of docs/results.md. Each yields its header, then its rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import geometric_mean, median

from benchmarks_suite.harness import recorded
from tests.lab.recordings import (
    NEWEST,
    OLDEST,
    RECORDED,
    ByRelease,
    Document,
    Groups,
    by_device,
    changes,
    counts_one_model,
    mean_change,
    median_of,
    pairs,
    values,
    variation_percent,
)

Rows = Iterator[Sequence[str]]
FIELD = "field-"  # families of PyTorch's own lists begin so
LISTS_CONFIGS = ("inductor", "inductor_reduce_overhead")  # with which all of them were measured
FAIR = {  # the config -> what is fair about it
    "eager_channels_last": "channels last",
    "eager_library": "library call",
    "eager_fused_optimizer": "fused Adam",
}
# (lengths, config) -> the article's gain over its baseline on an A100, torch 2.7; none: not there
ARTICLE = {
    ("static", "inductor"): 1.66,
    ("static", "inductor_reduce_overhead"): None,
    ("static", "inductor_shape_padding"): None,
    ("static", "inductor_optimizer"): 1.78,
    ("static", "foreach_map_optimizer"): 5.28 / 5.54 * 1.78,  # steps a second against the one above
    ("static", "inductor_static_optimizer"): 5.32 / 5.54 * 1.78,
    ("static", "regional"): None,
    ("dynamic", "inductor_mark_dynamic"): 7.78 / 4.73,
}
STARTS = ("cold", "warm", "restored")
AGAINST = {"device_ms": "GPU's time", "latency_ms": "step", "cold_start_s": "cold start"}
LEAST_CASES = 2  # of a config, to say how it compares
LEAST_LISTED = 0.1  # of a change between two processes, to be listed
LEAST_PROCESSES = 4  # of a case, to say how much they differ


def markdown(rows: Iterable[Sequence[str]]) -> str:
    header, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([header, "|---" * (header.count("|") - 1) + "|", *body])


def number_text(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{float(f'{value:.{digits}g}'):,.6g}"


def short_name(benchmark: str) -> str:
    """gpt2.standard.inference.bfloat16.static.b16 -> gpt2 inference bfloat16 b16."""
    usual = ("standard", "smoke", "static")
    return " ".join(word for word in benchmark.split(".") if word not in usual)


def fair_eager() -> Rows:
    """Milliseconds of the GPU's time of a step, and compiled against both eagers."""
    yield "benchmark", "eager", "fair eager", "compiled", "against eager", "against fair eager"
    by_case: dict[str, dict[str, list[Document]]] = {}
    for result in recorded.read(RECORDED / "fair_eager"):
        job = result["job"]
        by_case.setdefault(job["benchmark"], {}).setdefault(job["config"], []).append(result)
    for benchmark, by_config in by_case.items():
        fair = next((config for config in FAIR if config in by_config), None)
        if fair is None or "inductor" not in by_config:
            continue
        compiled_ms = median(values(by_config["inductor"], "device_ms"))
        fair_ms = median(values(by_config[fair], "device_ms"))
        eager_ms = median_of(by_config["inductor"], "eager_device_ms")
        yield (
            short_name(benchmark),
            number_text(eager_ms) if eager_ms else "out of memory",
            f"{number_text(fair_ms)} ({FAIR[fair]})",
            number_text(compiled_ms),
            f"{eager_ms / compiled_ms:.2f}×" if eager_ms else "–",
            f"{fair_ms / compiled_ms:.2f}×",
        )


def article() -> Rows:
    """Gains over eager of the article's captioning model, theirs next to ours."""
    yield (
        "lengths, config",
        "article, A100",
        "GPU's time of a step, ms",
        "against eager",
        "step, ms",
        "against eager",
    )
    by_row: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for result in recorded.read(RECORDED / "fair_eager"):
        benchmark = result["benchmark"]
        if benchmark["name"].startswith("captioning_article"):
            by_row[benchmark["shapes"], result["job"]["config"]].append(result)
    for (lengths, config), gain in ARTICLE.items():
        processes = by_row[lengths, config]
        row = [f"{lengths}, `{config}`", f"{gain:.2f}×" if gain else "–"]
        for metric in ("device_ms", "latency_ms"):
            own_ms = median(values(processes, metric))
            eager_ms = median(values(processes, f"eager_{metric}"))
            row += [number_text(own_ms), f"{eager_ms / own_ms:.2f}×"]
        yield row


def speedups(groups: Groups) -> Rows:
    """Newest release of each of the suite's own cases."""
    header = "benchmark", "config", "torch", "speedup", "by the GPU's time"
    yield *header, "cold start, s", "peak memory, GB", "eager's"
    for (benchmark, config), by_release in sorted(groups.items()):
        release = max(by_release)
        processes = by_release[release]
        if _library(by_release) or not median_of(processes, "speedup"):
            continue
        counted = list(filter(counts_one_model, processes))
        yield (
            short_name(benchmark),
            config,
            release,
            number_text(median_of(processes, "speedup")),
            number_text(median_of(processes, "device_speedup")),
            number_text(median_of(processes, "cold_start_s")),
            number_text(median_of(processes, "peak_memory_gb")),
            number_text(median_of(counted, "eager_peak_memory_gb")),
        )


def lists(groups: Groups) -> Rows:
    """The names of PyTorch's own lists, by library, config and release."""
    ratios: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    for (benchmark, config), by_release in groups.items():
        library = _library(by_release)
        for release, processes in by_release.items():
            by_gpu = median_of(processes, "device_speedup")
            by_clock = median_of(processes, "speedup")
            if library and config in LISTS_CONFIGS and by_gpu and by_clock:
                name = benchmark.partition(".")[0]
                ratios[library, config, release][name] = by_gpu, by_clock
    yield (
        *("library", "config", "torch", "names", "by the GPU's time", "speedup"),
        "slower than eager by the GPU's time",
    )
    for (library, config, release), by_name in sorted(ratios.items()):
        means = [number_text(geometric_mean(each)) for each in zip(*by_name.values(), strict=True)]
        slower = sorted(name for name, (by_gpu, _) in by_name.items() if by_gpu < 1)
        yield library, config, release, str(len(by_name)), *means, ", ".join(slower) or "none"


def _library(by_release: ByRelease) -> str | None:
    """Whose list has the benchmark; None for one of the suite's own."""
    family: str = next(iter(by_release.values()))[0]["benchmark"]["family"]
    return family.removeprefix(FIELD) if family.startswith(FIELD) else None


def lists_changes(groups: Groups) -> Rows:
    """Names whose GPU time changed by a tenth or more with `inductor`, the largest change first."""
    yield "name", f"{OLDEST}, ms", f"{NEWEST}, ms", "change", "eager's change"
    rows = []
    for (benchmark, config), by_release in groups.items():
        old, new = by_release.get(OLDEST, ()), by_release.get(NEWEST, ())
        old_ms, new_ms = median_of(old, "device_ms"), median_of(new, "device_ms")
        if config != "inductor" or not _library(by_release) or not old_ms or not new_ms:
            continue
        growth = new_ms / old_ms - 1
        if abs(growth) < LEAST_LISTED:
            continue
        eager = median(values(new, "eager_device_ms")) / median(values(old, "eager_device_ms")) - 1
        name = benchmark.partition(".")[0]
        cells = name, number_text(old_ms), number_text(new_ms), f"{growth:+.0%}", f"{eager:+.0%}"
        rows.append((-abs(growth), cells))
    yield from (cells for _, cells in sorted(rows))


def against_inductor(studies: Iterable[Groups]) -> Rows:
    """Changes of other configs against `inductor`, over the cases and releases that have both.

    studies: a case and release of one study is of one kind of GPU, with one set of libraries.
    """
    yield "config", "cases", *(f"{name}, median (least to most)" for name in AGAINST.values())
    changed: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    benchmarks = defaultdict[str, set[str]](set)
    for groups in studies:
        for (benchmark, config), by_release in groups.items():
            if config.startswith(("inductor", "regional")) and config != "inductor":
                for metric, change in _changes_against(groups, benchmark, by_release):
                    changed[config][metric].append(change)
                    benchmarks[config].add(benchmark)
    for config, by_metric in sorted(changed.items()):
        if len(benchmarks[config]) < LEAST_CASES:
            continue
        cells = []
        for metric in AGAINST:
            ratios = by_metric[metric]
            is_known = len(ratios) >= LEAST_CASES
            ends = f"{min(ratios):+.0%} to {max(ratios):+.0%}" if is_known else ""
            cells.append(f"{median(ratios):+.0%} ({ends})" if is_known else "–")
        yield f"`{config}`", str(len(benchmarks[config])), *cells


def _changes_against(
    groups: Groups, benchmark: str, by_release: Mapping[str, list[Document]]
) -> Iterator[tuple[str, float]]:
    """Yield (metric, relative change against `inductor`) of each release that has both."""
    for release, processes in by_release.items():
        plain = groups.get((benchmark, "inductor"), {}).get(release, [])
        for metric in AGAINST:
            of_config, of_plain = median_of(processes, metric), median_of(plain, metric)
            if of_config and of_plain:
                yield metric, of_config / of_plain - 1


def releases(groups: Groups) -> Rows:
    """Changes of the GPU's time against the oldest release, by pairs of processes on one GPU."""
    newer = sorted(set(chain(*groups.values())) - {OLDEST})
    yield "benchmark, config", f"{OLDEST}, ms", *newer, "pairs"
    rows = []
    for (benchmark, config), by_release in groups.items():
        logs = {new: changes(by_release, OLDEST, new, "device_ms") for new in newer}
        if not logs[NEWEST]:
            continue
        counts = ", ".join(str(len(each)) for each in logs.values())
        old_ms = number_text(median_of(by_release[OLDEST], "device_ms"))
        cells = [old_ms, *(mean_change(logs[new]) for new in newer), counts]
        rows.append((-abs(median(logs[NEWEST])), [_named(benchmark, config), *cells]))
    yield from (cells for _, cells in sorted(rows))


def _named(benchmark: str, config: str) -> str:
    return short_name(benchmark) if config == "inductor" else f"{short_name(benchmark)}, `{config}`"


def starts(groups: Groups) -> Rows:
    """Medians of the processes that had all three starts, in seconds."""
    yield "benchmark, config", "torch", *STARTS, "artifacts, MB"
    for (benchmark, config), by_release in sorted(groups.items()):
        for release, processes in sorted(by_release.items()):
            complete = [each for each in processes if set(STARTS) <= each.get("starts", {}).keys()]
            if complete:
                seconds = [number_text(median_of(complete, f"{kind}_start_s")) for kind in STARTS]
                size_mb = number_text(median_of(complete, "artifact_size_mb"))
                yield _named(benchmark, config), release, *seconds, size_mb


def starts_in_turn(groups: Groups) -> Rows:
    """Cold and warm starts of two releases that took turns, medians in seconds."""
    sides = [f"{kind}, {release}" for kind in STARTS[:2] for release in (OLDEST, NEWEST)]
    yield "benchmark, config", *sides, "cold start", "longer pairs"
    for (benchmark, config), by_release in groups.items():
        logs = changes(by_release, OLDEST, NEWEST, "cold_start_s")
        both = list(zip(*pairs(by_release, OLDEST, NEWEST), strict=True))
        seconds = []
        for kind in STARTS[:2]:
            seconds += [number_text(median_of(side, f"{kind}_start_s")) for side in both]
        longer = f"{sum(log > 0 for log in logs)} of {len(logs)}"
        yield _named(benchmark, config), *seconds, mean_change(logs), longer


def compile_calls(groups: Groups) -> Rows:
    """Python calls of a cold compile in millions, with the change from the oldest release."""
    every = sorted(set(chain(*groups.values())))
    yield "benchmark, config", *every
    rows = []
    for (benchmark, config), by_release in groups.items():
        counts = [median_of(by_release.get(release, ()), "compile_calls") for release in every]
        first = counts[0]
        cells = [number_text(first / 1e6 if first else None)]
        for count in counts[1:]:
            change = f" ({count / first - 1:+.1%})" if count and first else ""
            cells.append(f"{number_text(count / 1e6 if count else None)}{change}")
        growth = (counts[-1] or 0) / first if first else 1
        rows.append((growth, [_named(benchmark, config), *cells]))
    yield from (cells for _, cells in sorted(rows))


def spread(groups: Groups) -> Rows:
    """Half the interval within one process, and the variation between processes, in percent."""
    yield (
        *("benchmark, config", "torch", "processes (GPUs)", "within one, ±"),
        *("step, one GPU", "step, all", "GPU's time, all"),
    )
    for (benchmark, config), by_release in groups.items():
        for release, processes in sorted(by_release.items()):
            if len(processes) < LEAST_PROCESSES:
                continue
            devices = by_device(processes).values()
            halves = []
            for process in processes:
                step = process["metrics"]["latency_ms"]
                if step.get("high") is not None:
                    halves.append(50 * (step["high"] - step["low"]) / step["value"])
            spreads = (
                median(halves) if halves else None,
                variation_percent(devices, "latency_ms"),
                variation_percent([processes], "latency_ms"),
                variation_percent([processes], "device_ms"),
            )
            cells = ["–" if each is None else f"{each:.1f}%" for each in spreads]
            count = f"{len(processes)} ({len(devices)})"
            yield _named(benchmark, config), release, count, *cells


def two_gpus(groups: Groups) -> Rows:
    """Steps in milliseconds, of each process; the memory of one GPU."""
    yield "benchmark", "eager step", "compiled step", "speedup", "cold start, s", "peak memory, GB"
    for (benchmark, _), by_release in groups.items():
        for processes in by_release.values():
            steps = []
            for metric in ("eager_latency_ms", "latency_ms", "speedup"):
                each = (number_text(value) for value in values(processes, metric))
                steps.append(", ".join(each))
            cold_s = number_text(median_of(processes, "cold_start_s"))
            yield (
                short_name(benchmark),
                *steps,
                cold_s,
                number_text(median_of(processes, "peak_memory_gb")),
            )
