"""``list``: every benchmark and config. Imports no torch."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from benchmarks_suite import __version__, configs
from benchmarks_suite.registry import BENCHMARKS

_FIELDS = ("name", "model", "family", "size", "mode", "dtype", "shapes", "batch_size", "version", "item")


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for machines: benchmarks, configs, suite_version")


def run(options: Namespace) -> int:
    print(json.dumps(catalog(), indent=1) if options.json else _text())  # noqa: T201
    return 0


def catalog() -> dict[str, Any]:
    """What the worker tells the site that this suite can do."""
    benchmarks = [
        {field: getattr(benchmark, field) for field in _FIELDS}
        | {"position": position, "default_configs": list(benchmark.default_configs)}
        for position, benchmark in enumerate(BENCHMARKS.values())
    ]
    return {"benchmarks": benchmarks, "configs": list(configs.listed()), "suite_version": __version__}


def _text() -> str:
    width = max(map(len, BENCHMARKS))
    lines = [
        f"{len(BENCHMARKS)} benchmarks (model.size.mode.dtype.shapes.batch), family, default configs",
        "",
    ]
    lines += [
        f"  {name:<{width}}  {benchmark.family:<12} {', '.join(benchmark.default_configs)}".rstrip()
        for name, benchmark in BENCHMARKS.items()
    ]
    lines += ["", f"{len(configs.CONFIGS)} configs, and backend_<name> for any other registered backend", ""]
    width = max(map(len, configs.CONFIGS))
    return "\n".join([*lines, *(f"  {config.name:<{width}}  {config.about}" for config in configs.CONFIGS.values())])
