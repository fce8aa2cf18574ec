"""What was not run yet: each benchmark with Inductor, each config on one benchmark that fits it.

The lines are a list for ``batch``: benchmarks in registry order, the most informative first;
then configs; then what spans several devices.
"""

from collections.abc import Collection, Iterator

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness.recorded import Case
from benchmarks_suite.registry import SUITE

_FITTING = {  # config -> model, mode, shapes; of the others: fitting
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
    usual, distributed = list[Case](), list[Case]()
    for benchmark in SUITE.values():
        if benchmark.size != size:
            continue
        if benchmark.family == "distributed":
            distributed.append((benchmark.name, "inductor"))
        elif benchmark.family == "machine":
            usual.append((benchmark.name, "eager"))
        else:
            usual.append((benchmark.name, "inductor"))  # eager is its control
    configs_run = set[str]()
    for name, config_name in run:
        if name in SUITE and SUITE[name].size == size:
            configs_run.add(config_name)
    fit = list[Case]()
    for config in CONFIGS.values():
        if config.compiles and config.name not in configs_run:
            fit.append((fitting(config, size).name, config.name))
    cases = dict.fromkeys([*usual, *fit, *distributed])
    return (case for case in cases if case not in run)


def fitting(config: Config, size: str) -> Benchmark:
    """The first benchmark of ``size`` on which the config can show what it does."""
    # A language model, in the mode that the config is for
    usual_mode = "training" if config.modes == ("training",) else "inference"
    model, mode, shapes = _FITTING.get(config.name, ("gpt2", usual_mode, "static"))
    for benchmark in SUITE.values():
        if benchmark.size != size or benchmark.model != model:
            continue
        if benchmark.mode == mode and benchmark.shapes == shapes:
            return benchmark
    raise LookupError(f"no benchmark of size {size} fits {config.name}")
