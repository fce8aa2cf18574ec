"""An independent yardstick: five models in plain PyTorch with torch.utils.benchmark, and no code of
ours.

    python tests/perf/yardstick.py [--size standard] [--device cuda] [--only mlp] [RESULTS...]

RESULTS are result files of the suite (or folders of them) from the same session; their latencies
and speedups stand beside those found here. A turn is one block of steps, as long as a sample of the
suite: a block begins with an idle GPU however long it is, and under a power cap an arm's clock
depends on what ran just before it. Run it on a machine that does nothing else, with as many threads
as the results had. On a CPU it takes CPU time and one thread: wall-clock time would count what else
runs there.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.utils.benchmark import Timer, timer
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
)

ROUNDS, TURN_S = 20, 0.1
Made = tuple[nn.Module, tuple[torch.Tensor, ...]]  # a model, and what it is called with
SIZES = {"smoke": "the same with small sizes", "standard": "what GPUs are measured with"}


def mlp(big: bool) -> Made:
    width, depth, batch = (1024, 16, 1024) if big else (256, 4, 64)
    hidden = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*hidden, nn.Linear(width, 10)), (torch.randn(batch, width),)


def gpt2(big: bool) -> Made:
    small = {"vocab_size": 1000, "n_positions": 64, "n_embd": 128, "n_layer": 4, "n_head": 4}
    config = GPT2Config(
        **({} if big else small), use_cache=False, bos_token_id=None, eos_token_id=None
    )
    return GPT2LMHeadModel(config), (
        torch.randint(1, config.vocab_size, (16 if big else 2, config.n_positions)),
    )


def resnet50(big: bool) -> Made:
    small = {
        "embedding_size": 16,
        "hidden_sizes": [32, 64, 128, 256],
        "depths": [1, 2, 2, 1],
        "num_labels": 100,
    }
    model = ResNetForImageClassification(ResNetConfig(**({"num_labels": 1000} if big else small)))
    return model, (torch.randn(128, 3, 224, 224) if big else torch.randn(4, 3, 64, 64),)


def vit_b16(big: bool) -> Made:
    small = {"image_size": 64, "hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 4}
    settings = (
        {"num_labels": 1000} if big else {**small, "num_attention_heads": 4, "num_labels": 100}
    )
    model = ViTForImageClassification(ViTConfig(**settings))
    return model, (torch.randn(128, 3, 224, 224) if big else torch.randn(4, 3, 64, 64),)


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight).to(
            x.dtype
        )


def rms_norm(big: bool) -> Made:
    rows, width = (16384, 4096) if big else (256, 256)
    return RmsNorm(width), (torch.randn(rows, width),)


# What makes it, dtype and batch at standard size, smoke
MODELS: dict[str, tuple[Callable[[bool], Made], str, str]] = {
    "mlp": (mlp, "bfloat16.static.b1024", "float32.static.b64"),
    "gpt2": (gpt2, "bfloat16.static.b16", "float32.static.b2"),
    "resnet50": (resnet50, "float16.static.b128", "float32.static.b4"),
    "vit_b16": (vit_b16, "bfloat16.static.b128", "float32.static.b4"),
    "rms_norm": (rms_norm, "bfloat16.static.b16384", "float32.static.b256"),
}


def settings(name: str, size: str) -> str:
    """Dtype, shapes and batch, as a benchmark's name ends."""
    _, standard, smoke = MODELS[name]
    return standard if size == "standard" else smoke


@torch.no_grad()
def measure(name: str, size: str, device: str) -> tuple[float, float]:
    """Milliseconds of an eager and of a compiled forward pass: medians of turns, taken one after
    the other.
    """
    make, *_ = MODELS[name]
    dtype = getattr(torch, settings(name, size).partition(".")[0])
    torch.manual_seed(0)
    model, inputs = make(size == "standard")
    model = model.to(device, dtype).eval()
    given = tuple(
        each.to(device, dtype if each.is_floating_point() else each.dtype) for each in inputs
    )
    arms = (model, torch.compile(model))
    clock = time.process_time if device == "cpu" else timer
    threads = torch.get_num_threads()
    timers = [
        Timer("run(*given)", globals={"run": arm, "given": given}, timer=clock, num_threads=threads)
        for arm in arms
    ]
    for each in timers:
        each.timeit(10)
    steps = [max(1, round(TURN_S / each.timeit(10).median)) for each in timers]
    turns = [
        [each.timeit(count).median * 1000 for each, count in zip(timers, steps, strict=True)]
        for _ in range(ROUNDS)
    ]
    eager, compiled = (statistics.median(turn[arm] for turn in turns) for arm in (0, 1))
    return eager, compiled


def of_the_suite(paths: list[Path], clock: str) -> dict[str, tuple[float, float]]:
    """Benchmark -> eager and compiled ms a step of the `inductor` results there: medians of their
    processes' medians.

    clock: "values" (wall-clock time) or "cpu_ms" of the samples.
    """
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])
    ]
    found: dict[str, list[tuple[float, float]]] = {}
    for document in (json.loads(file.read_text()) for file in files):
        if document.get("schema") == "result.v1" and document["job"]["config"] == "inductor":
            arms = document["samples"]["eager"], document["samples"]["compiled"]
            eager, compiled = (statistics.median(arm[clock]) for arm in arms)
            found.setdefault(document["benchmark"]["name"], []).append((eager, compiled))
    return {
        name: (
            statistics.median(one[0] for one in steps),
            statistics.median(one[1] for one in steps),
        )
        for name, steps in found.items()
    }


def row(name: str, here: tuple[float, float], suite: tuple[float, float] | None) -> str:
    """A line of the table: eager, compiled and speedup, here, in the suite, and how far the suite
    is off.
    """
    pairs = zip(_with_speedup(here), _with_speedup(suite) if suite else [None] * 3, strict=True)
    cells = [
        f"{ours:.4g}" + (f" / {its:.4g} ({100 * (its / ours - 1):+.1f} %)" if its else "")
        for ours, its in pairs
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _with_speedup(eager_and_compiled: tuple[float, float]) -> list[float]:
    eager, compiled = eager_and_compiled
    return [eager, compiled, eager / compiled]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="*", type=Path)
    parser.add_argument("--size", choices=SIZES, default="standard")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--only", choices=MODELS, action="append")
    given = parser.parse_args()
    torch.set_num_threads(1 if given.device == "cpu" else given.threads)
    suite = of_the_suite(given.results, "cpu_ms" if given.device == "cpu" else "values")
    print(
        f"torch {torch.__version__}; each cell: this script / the suite (the suite's difference)\n"
    )
    print("| benchmark, inference | eager, ms | inductor, ms | speedup |\n|---|---|---|---|")
    for name in given.only or MODELS:
        benchmark = f"{name}.{given.size}.inference.{settings(name, given.size)}"
        print(
            row(benchmark, measure(name, given.size, given.device), suite.get(benchmark)),
            flush=True,
        )


if __name__ == "__main__":
    main()
