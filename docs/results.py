"""Writes the pages of results in docs/ from what was recorded: python docs/results.py [FOLDER].

A test checks that they are current. The tables are made from the studies in tests/data of
H100s and H200s, the drill and releases_cpu. The texts are in the templates of PAGES, and ask for
their figures by name (results_figures.py); their words have to be read again when the figures
change.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import geometric_mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from results_cells import each_value, median_cell, memory, number_text, short_name, table  # noqa: E402
from results_compile_work import (  # noqa: E402
    read_counted,
    work_figures,
)
from results_fair import fair_eager  # noqa: E402
from results_figures import figures  # noqa: E402
from results_releases import (  # noqa: E402
    LEAST_SINGLE_PERCENT,
    LIMIT_PERCENT,
    evened_in_turn,
    launch_spread,
    names_changed,
    overhead_grown,
    singles,
    upgrades,
)
from results_sentences import (  # noqa: E402
    accurate,
    capped,
    cost,
    device_goal,
    gpus,
    newest_share,
    ramp,
    single_processes,
    summary,
    unreferenced,
    within,
)
from results_spread import spread  # noqa: E402
from results_starts import (  # noqa: E402
    first_runs,
    phases,
    planned_pairs,
    starts,
    starts_in_turn,
)
from results_summary import (  # noqa: E402
    RECORDED,
    ByRelease,
    Document,
    Groups,
    gpu_of,
    grouped,
    median_of,
    read_sessions,
    uses_other_cudnn,
)

from benchmarks_suite.registry import BENCHMARKS  # noqa: E402
from dashboard.language.metrics import METRICS  # noqa: E402

# Four releases took turns there
IN_TURN = ("releases_h200/four_releases", "releases_h200/own_launches")
# The oldest and the newest of them took turns there
TWO_OF_THEM = ("releases_h200/decided", "releases_h200/answered", "releases_h200/host_bound")
STARTS_IN_TURN = "compiling_h200/starts"  # they did, too, with cold and warm starts alone
GPU = "H100"  # of the tables that show values: those of two kinds of GPU have no common median
FIRST_RELEASE, NAMES_RELEASE = "2.11.0", "2.15.0"  # in which PyTorch's own lists were measured
DISTRIBUTED = "distributed"  # the family that spans GPUs
NAMES_CONFIGS = ("inductor", "inductor_reduce_overhead")  # with which all of them were
FIELD = "field-"  # families of PyTorch's own lists begin so
GOAL_PERCENT = 2.0  # within which the suite and the yardstick should agree

PAGES = ("results", "results-compiling", "results-suite")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    texts = fields(read_sessions(), read_counted())
    for name in PAGES:
        template = (ROOT / "docs" / f"{name}.template").read_text()
        (folder / f"{name}.md").write_text(template.format(**texts))


def fields(sessions: Mapping[str, Sequence[Document]], counted: Groups) -> dict[str, Any]:
    """What the templates ask for, from each recording, the newest last, and from the
    counted compilations.
    """
    documents = list(chain(*sessions.values()))
    plain = [each for each in documents if _is_of_release(each)]
    every_gpu = grouped(each for each in plain if each["benchmark"]["family"] != DISTRIBUTED)
    groups, on_h200s = _of_gpu(every_gpu, GPU), _of_gpu(every_gpu, "H200")
    several_gpus = grouped(each for each in plain if each["benchmark"]["family"] == DISTRIBUTED)
    took_turns, two_of_them = _of(sessions, IN_TURN), _of(sessions, TWO_OF_THEM)
    return dict(
        **figures(places(groups, grouped(took_turns), sessions)),
        **work_figures(counted),
        summary=summary(documents),
        accurate=accurate(documents),
        gpus=gpus(documents),
        fair_eager=table(fair_eager(RECORDED)),
        evened=table(evened_in_turn(took_turns, two_of_them)),
        device_times_h200=table(upgrades(on_h200s, "device_ms")),
        launch_spread=launch_spread(sessions[IN_TURN[1]]),
        agree=f"{LIMIT_PERCENT:g}%",
        device_times=table(upgrades(groups, "device_ms")),
        device_threshold=f"{METRICS['device_ms'].threshold_percent:g}%",
        **_of_two_releases(groups, on_h200s),
        names_listed=len(listed_names()),
        least_single=f"{LEAST_SINGLE_PERCENT:.0f}%",
        choices=table(choices(groups)),
        names=table(names(groups)),
        starts=table(starts(groups)),
        **_of_starts_in_turn(grouped(_of(sessions, [STARTS_IN_TURN])), on_h200s),
        spread=table(spread(groups)),
        distributed=table(distributed(several_gpus)),
        ramp=ramp(plain),
        cost=cost(documents),
        newest_share=newest_share(sessions.values()),
        single_processes=single_processes(groups),
        capped=capped(documents),
        unreferenced=unreferenced(plain),
        **_of_yardstick((RECORDED / "configs_h100" / "yardstick.md").read_text().strip()),
        **device_goal(),
        drill=(RECORDED / "drill" / "h100" / "drill.md").read_text().strip(),
    )


def _of_starts_in_turn(groups: Groups, every: Groups) -> dict[str, str]:
    """What is said of the cold and warm starts of two releases that took turns."""
    return {
        "starts_in_turn": table(starts_in_turn(groups, every)),
        "planned_pairs": table(planned_pairs(groups)),
        "phases": table(phases(groups)),
        "first_runs": table(first_runs(groups)),
    }


def _of_yardstick(printed: str) -> dict[str, str]:
    """What the yardstick printed, and how much of it is within the goal."""
    goal = f"{GOAL_PERCENT:.0f}%"
    return {"yardstick": printed, "goal": goal, "within_goal": within(printed, GOAL_PERCENT)}


def _of_two_releases(groups: Groups, on_h200s: Groups) -> dict[str, Any]:
    """What changed between the releases in which PyTorch's own lists were measured."""
    releases = FIRST_RELEASE, NAMES_RELEASE
    return {
        "singles": table(singles(groups, *releases)),
        **names_changed(_of_lists(groups), *releases),
        "overhead_grown": overhead_grown(on_h200s, *releases),
    }


def _of(sessions: Mapping[str, Sequence[Document]], names: Sequence[str]) -> list[Document]:
    return list(chain(*(sessions[name] for name in names)))


def places(
    groups: Groups, took_turns: Groups, sessions: Mapping[str, Sequence[Document]]
) -> dict[str, Groups]:
    """Where the figures in the text may be from: see results_figures.py.

    A recording is as it was then, with benchmarks that have changed since.
    """
    named = {"H100": groups, "H200": took_turns, "lists": _of_lists(groups)}
    plain: dict[str, list[Document]] = defaultdict(list)
    for name, documents in sessions.items():
        study = name.partition("/")[0]
        for place in (study, name):
            plain[place] += (each for each in documents if not each["job"].get("variant"))
    return {**named, **{place: grouped(documents) for place, documents in plain.items()}}


def _of_lists(groups: Groups) -> Groups:
    """The models of PyTorch's own lists."""
    return {case: by_release for case, by_release in groups.items() if _library(by_release)}


def listed_names() -> set[str]:
    """The models of PyTorch's own lists."""
    return {each.model for each in BENCHMARKS.values() if each.family.startswith(FIELD)}


def _is_of_release(document: Document) -> bool:
    """Whether it measured a release as it is installed, with no setting changed, and a benchmark as
    the suite has it today.
    """
    if document["job"].get("variant") or uses_other_cudnn(document):
        return False
    measured = document["benchmark"]
    benchmark = BENCHMARKS.get(measured["name"])
    return benchmark is None or benchmark.version == measured["version"]


def _of_gpu(groups: Groups, name: str) -> Groups:
    """What was measured on GPUs of this kind."""
    documents = chain(*(chain(*by_release.values()) for by_release in groups.values()))
    return grouped(each for each in documents if name in gpu_of(each))


def choices(groups: Groups) -> Iterator[Sequence[str]]:
    """The compiled config with the largest speedup over eager of each of the suite's own
    benchmarks, and the others' speedups.

    Each in the newest release that has it; its cold start may be of an older one. What is of
    another release than the row says so.
    """
    yield (
        "benchmark",
        "config with the largest speedup",
        "torch",
        "speedup",
        "by the GPU's time",
        "cold start, s",
        "break-even, steps",
        "peak memory, GB (eager)",
        "the others' speedups",
    )
    for benchmark, by_config in sorted(_by_benchmark(groups).items()):
        fastest, *others = sorted(by_config, key=lambda config: -_speedup(by_config[config]))
        by_release = by_config[fastest]
        release = max(by_release)
        newest = by_release[release]
        texts = []
        for config in others:
            speedup = number_text(_speedup(by_config[config]), 3)
            texts.append(f"{config} {speedup}{_unless(release, max(by_config[config]))}")
        yield (
            short_name(benchmark),
            fastest,
            release,
            number_text(_speedup(by_release), 3),
            median_cell(newest, "device_speedup", 3),
            _newest_cold_start(by_release),
            median_cell(newest, "break_even_steps", 2),
            memory(newest),
            ", ".join(texts),
        )


def _newest_cold_start(by_release: ByRelease) -> str:
    """In seconds, of the newest release that has one."""
    for release in sorted(by_release, reverse=True):
        cold_s = median_of(by_release[release], "cold_start_s")
        if cold_s is not None:
            return f"{number_text(cold_s, 3)}{_unless(max(by_release), release)}"
    return number_text(None, 3)


def _unless(expected: str, release: str) -> str:
    return "" if release == expected else f" ({release})"


def _by_benchmark(groups: Groups) -> dict[str, dict[str, ByRelease]]:
    """Of the suite's own benchmarks the compiled configs that have a speedup."""
    benchmarks: dict[str, dict[str, ByRelease]] = defaultdict(dict)
    for (benchmark, config), by_release in groups.items():
        if _library(by_release) is None and _speedup(by_release):
            benchmarks[benchmark][config] = by_release
    return benchmarks


def _speedup(by_release: ByRelease) -> float:
    """In the newest release, the median of the processes; 0 where none has one."""
    return median_of(by_release[max(by_release)], "speedup") or 0.0


def names(groups: Groups) -> Iterator[Sequence[str]]:
    """The names of PyTorch's own lists, by library, config and release."""
    speedups: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    for (benchmark, config), by_release in groups.items():
        library = _library(by_release)
        for release, processes in by_release.items():
            by_device = median_of(processes, "device_speedup")
            by_clock = median_of(processes, "speedup")
            if library and config in NAMES_CONFIGS and by_device and by_clock:
                speedups[library, config, release][benchmark] = by_device, by_clock
    means = "speedup by the GPU's time", "by the wall clock"
    yield "library", "config", "torch", "names", *means, "slower than eager by the GPU's time"
    for (library, config, release), by_name in sorted(speedups.items()):
        slower = [_model(name) for name, (by_device, _) in by_name.items() if by_device < 1]
        yield (
            library,
            config,
            release,
            str(len(by_name)),
            *(number_text(geometric_mean(each), 3) for each in zip(*by_name.values(), strict=True)),
            ", ".join(sorted(slower)) or "none",
        )


def _library(by_release: ByRelease) -> str | None:
    """Whose list has the benchmark; None for one of the suite's own."""
    family: str = next(iter(by_release.values()))[0]["benchmark"]["family"]
    return family.removeprefix(FIELD) if family.startswith(FIELD) else None


def _model(benchmark: str) -> str:
    return benchmark.partition(".")[0]


def distributed(groups: Groups) -> Iterator[Sequence[str]]:
    """Memory is that of one GPU."""
    yield (
        "benchmark",
        "eager step, ms",
        "compiled step, ms",
        "speedup",
        "cold start, s",
        "peak memory, GB (eager)",
    )
    for (benchmark, _), by_release in groups.items():
        for processes in by_release.values():
            yield (
                short_name(benchmark),
                each_value(processes, "eager_latency_ms", 4),
                each_value(processes, "latency_ms", 4),
                each_value(processes, "speedup", 3),
                median_cell(processes, "cold_start_s", 3),
                memory(processes),
            )


if __name__ == "__main__":
    main()
