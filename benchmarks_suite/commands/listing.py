"""``list``: every benchmark and config. Imports no torch.

Own models are read, not run; each of their files is then imported once, in a process of its own, to
show what fails.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks_suite import __version__, configs, own
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.commands.run import declare_sources
from benchmarks_suite.harness import progress
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.registry import BENCHMARKS


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="for machines: benchmarks, configs, suite_version, sources",
    )
    parser.add_argument("--out", type=Path, help="write it to this file")
    declare_sources(parser)


def run(options: Namespace) -> int:
    sources = own.every(options.sources)
    for source in sources:
        if source.benchmarks and (problem := own.problem_of_import(source.module)):
            source.problems.append(problem)
    text = json.dumps(catalog(sources), indent=1) if options.json else _text(sources)
    if options.out:
        options.out.write_text(text)
    else:
        progress.answer(text)
    return 0


def catalog(sources: Sequence[own.Source] = ()) -> Document:
    """List what this suite can do, for the worker to report to the site."""
    offered = list(BENCHMARKS.values())
    own_sources = []
    for source in sources:
        offered += source.benchmarks
        own_sources.append(
            {
                "source": source.module,
                "benchmarks": len(source.benchmarks),
                "problem": "\n".join(source.problems)[-4000:],
            }
        )
    return {
        "benchmarks": [_entry(benchmark, position) for position, benchmark in enumerate(offered)],
        "configs": list(configs.listed()),
        "suite_version": __version__,
        "sources": own_sources,
    }


def _entry(benchmark: Benchmark, position: int) -> Document:
    entry = {
        **benchmark.described(),
        "position": position,
        "default_configs": list(benchmark.default_configs),
        "about": benchmark.about,
    }
    return {**entry, "source": benchmark.source} if benchmark.source else entry


def _text(sources: Sequence[own.Source]) -> str:
    columns = "(model.size.mode.dtype.shapes.batch), family, default configs"
    lines = [f"{len(BENCHMARKS)} benchmarks {columns}", ""]
    lines += _table(list(BENCHMARKS.values()))
    for source in sources:
        lines += ["", f"{len(source.benchmarks)} own benchmarks in {source.module}", ""]
        lines += _table(source.benchmarks)
        problems = "\n".join(source.problems)
        lines += [f"  problem: {line}" for line in problems.splitlines()]
    count = len(configs.CONFIGS)
    lines += ["", f"{count} configs, and backend_<name> for any other registered backend", ""]
    width = max(map(len, configs.CONFIGS))
    for config in configs.CONFIGS.values():
        lines.append(f"  {config.name:<{width}}  {config.about}")
    return "\n".join(lines)


def _table(benchmarks: Sequence[Benchmark]) -> list[str]:
    width = max((len(benchmark.name) for benchmark in benchmarks), default=0)
    lines = []
    for benchmark in benchmarks:
        default_configs = ", ".join(benchmark.default_configs)
        line = f"  {benchmark.name:<{width}}  {benchmark.family:<12} {default_configs}"
        lines.append(line.rstrip())
    return lines
