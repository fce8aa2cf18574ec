"""What has not been run yet: each benchmark with Inductor, and each config on one benchmark that
fits it.

The lines are a list for ``batch``: benchmarks in the order of the registry, the most telling first;
then configs; then what spans several devices.
"""

from collections.abc import Collection, Iterator

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness.recorded import Case
from benchmarks_suite.registry import BENCHMARKS

_FITTING = {  # config -> model, mode, shapes; what is not here: _usual
    "inductor_dynamic": ("gpt2", "inference", "dynamic"),
    "inductor_mark_dynamic": ("gpt2", "inference", "dynamic"),
    "inductor_buckets": ("gpt2", "training", "bucketed"),
    "regional": ("gpt2", "training", "static"),
    "modular": ("captioning", "inference", "static"),
    "inductor_fusion_limit": ("softmax", "inference", "static"),
    "inductor_freezing": ("resnet50", "inference", "static"),
    "aot_inductor": ("resnet50", "inference", "static"),
    "inductor_float8": ("mlp_wide", "training", "static"),
}


def missing(run: Collection[Case], size: str) -> Iterator[Case]:
    """The cases of ``size`` that ``run`` lacks."""
    benchmarks = [benchmark for benchmark in BENCHMARKS.values() if benchmark.size == size]
    wanted = [
        (benchmark.name, _always(benchmark))
        for benchmark in benchmarks
        if benchmark.family != "distributed"
    ]
    wanted += [(fitting(config, size).name, config.name) for config in _not_run(run, size)]
    wanted += [
        (benchmark.name, "inductor")
        for benchmark in benchmarks
        if benchmark.family == "distributed"
    ]
    return (case for case in dict.fromkeys(wanted) if case not in run)


def _always(benchmark: Benchmark) -> str:
    """The config that every benchmark is run in; eager is its control."""
    return "eager" if benchmark.family == "machine" else "inductor"


def _not_run(run: Collection[Case], size: str) -> Iterator[Config]:
    known = {config for name, config in run if name in BENCHMARKS and BENCHMARKS[name].size == size}
    return (config for config in CONFIGS.values() if config.compiles and config.name not in known)


def fitting(config: Config, size: str) -> Benchmark:
    """The first benchmark of ``size`` on which the config can show what it does."""
    model, mode, shapes = _FITTING.get(config.name, _usual(config))
    return next(
        benchmark
        for benchmark in BENCHMARKS.values()
        if (benchmark.model, benchmark.size, benchmark.mode, benchmark.shapes)
        == (model, size, mode, shapes)
    )


def _usual(config: Config) -> tuple[str, str, str]:
    """A language model; where it is compiled is where most of the time is."""
    mode = "training" if config.modes == ("training",) else "inference"
    return "gpt2", mode, "static"
