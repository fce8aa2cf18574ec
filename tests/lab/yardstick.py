"""An independent yardstick: five models in plain PyTorch with torch.utils.benchmark.

It uses no code of ours.

    python tests/lab/yardstick.py [--size standard] [--device cuda] [--only mlp] [RESULTS...]
    python tests/lab/yardstick.py --device-time [RESULTS...]

RESULTS are result files of the suite (or folders of them) from the same session; their latencies
and speedups are printed next to those measured here. A turn is one block of steps, as long as a
sample of the suite: a block begins with an idle GPU however long it is, and under a power cap an
arm's clock depends on what ran just before it. Run it on a machine that does nothing else, with as
many threads as the results had. On a CPU it takes CPU time and one thread: wall-clock time would
count what else runs there.

With --device-time it adds up what torch.profiler says of each kernel in as many steps as the suite
profiled, begun with an idle GPU as there: under a power cap a GPU that has worked for a second has
another clock, and with it each kernel another time. The suite takes the time in which any of them
ran. Inductor chooses each kernel's launch by timing, in each process again, unless it finds what
another chose: with TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR set to the caches that the suite's
job used (`batch --ahead`) both run the same launches. --kernels FILE keeps what was added up, to
find out where the two differ.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
PROFILED_STEPS, IDLE_S = 5, 0.5
PROFILERS_OWN = ("Activity Buffer", "Command Buffer", "Buffer Flush")  # beside kernels in its table
Model = tuple[nn.Module, tuple[torch.Tensor, ...]]  # with what it is called with
Steps = tuple[float, float]  # milliseconds of an eager and of a compiled step
Kernels = dict[str, float]  # milliseconds of a step, by the kernel's name
Arm = Callable[..., object]
SIZES = {"smoke": "the same with small sizes", "standard": "what GPUs are measured with"}


def mlp(big: bool) -> Model:
    width, depth, batch = (1024, 16, 1024) if big else (256, 4, 64)
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.GELU()]
    layers.append(nn.Linear(width, 10))
    return nn.Sequential(*layers), (torch.randn(batch, width),)


def gpt2(big: bool) -> Model:
    small = {
        "vocab_size": 1000,
        "n_positions": 64,
        "n_embd": 128,
        "n_layer": 4,
        "n_head": 4,
    }
    sizes = {} if big else small
    config = GPT2Config(
        **sizes,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    batch = 16 if big else 2
    ids = torch.randint(1, config.vocab_size, (batch, config.n_positions))
    return GPT2LMHeadModel(config), (ids,)


def resnet50(big: bool) -> Model:
    sizes = {
        "embedding_size": 16,
        "hidden_sizes": [32, 64, 128, 256],
        "depths": [1, 2, 2, 1],
        "num_labels": 100,
    }
    if big:
        sizes = {"num_labels": 1000}
    return ResNetForImageClassification(ResNetConfig(**sizes)), (images(big),)


def vit_b16(big: bool) -> Model:
    sizes = {
        "image_size": 64,
        "hidden_size": 128,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_labels": 100,
    }
    if big:
        sizes = {"num_labels": 1000}
    return ViTForImageClassification(ViTConfig(**sizes)), (images(big),)


def images(big: bool) -> torch.Tensor:
    return torch.randn(128, 3, 224, 224) if big else torch.randn(4, 3, 64, 64)


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (wide * scale * self.weight).to(x.dtype)


def rms_norm(big: bool) -> Model:
    rows, width = (16384, 4096) if big else (256, 256)
    return RmsNorm(width), (torch.randn(rows, width),)


# What makes it, dtype and batch at standard size, smoke
MODELS: dict[str, tuple[Callable[[bool], Model], str, str]] = {
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


def arms(name: str, size: str, device: str) -> tuple[Arm, Arm, list[torch.Tensor]]:
    """The model in eager, compiled, and what both are called with."""
    make, *_ = MODELS[name]
    dtype = getattr(torch, settings(name, size).partition(".")[0])
    torch.manual_seed(0)
    model, inputs = make(size == "standard")
    model = model.to(device, dtype).eval()
    moved = [
        each.to(device, dtype) if each.is_floating_point() else each.to(device) for each in inputs
    ]
    return model, torch.compile(model), moved


@torch.no_grad()
def measure(name: str, size: str, device: str) -> Steps:
    """Of a forward pass: medians of turns, which the arms take one after the other."""
    model, compiled_model, inputs = arms(name, size, device)
    eager, compiled = _timer(model, inputs, device), _timer(compiled_model, inputs, device)
    eager_steps, compiled_steps = _steps_of_a_turn(eager), _steps_of_a_turn(compiled)
    eager_ms, compiled_ms = [], []
    for _ in range(ROUNDS):
        eager_ms.append(eager.timeit(eager_steps).median * 1000)
        compiled_ms.append(compiled.timeit(compiled_steps).median * 1000)
    return statistics.median(eager_ms), statistics.median(compiled_ms)


@torch.no_grad()
def kernels_of(name: str, size: str, steps: tuple[int, int]) -> dict[str, Kernels]:
    """What the GPU does in a step of each arm. steps: to profile, of eager and compiled."""
    eager, compiled, inputs = arms(name, size, "cuda")
    of_eager, of_compiled = steps
    return {
        "eager": _kernels(eager, inputs, of_eager),
        "inductor": _kernels(compiled, inputs, of_compiled),
    }


def _kernels(arm: Arm, inputs: list[torch.Tensor], steps: int) -> Kernels:
    for _ in range(3):  # the first compiles
        arm(*inputs)
    torch.cuda.synchronize()
    time.sleep(IDLE_S)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(steps):
            arm(*inputs)
        torch.cuda.synchronize()
    return {
        event.key: float(event.self_device_time_total) / 1000 / steps
        for event in profile.key_averages()
        if not event.key.startswith(PROFILERS_OWN)
    }


def _timer(arm: Arm, inputs: list[torch.Tensor], device: str) -> Timer:
    """A timer that has run the arm."""
    arm_timer = Timer(
        "run(*inputs)",
        globals={"run": arm, "inputs": inputs},
        timer=time.process_time if device == "cpu" else timer,
        num_threads=torch.get_num_threads(),
    )
    arm_timer.timeit(10)
    return arm_timer


def _steps_of_a_turn(arm_timer: Timer) -> int:
    return max(1, round(TURN_S / arm_timer.timeit(10).median))


def of_the_suite(paths: list[Path], clock: str) -> dict[str, Steps]:
    """Benchmark -> steps of the `inductor` results there: medians of their processes' medians.

    clock: "values" (wall-clock time) or "cpu_ms" of the samples, or "device_ms".
    """
    eager, compiled = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for document in _inductor_results(paths):
        name = document["benchmark"]["name"]
        eager_ms, compiled_ms = _steps_of(document, clock)
        eager[name].append(eager_ms)
        compiled[name].append(compiled_ms)
    return {
        name: (statistics.median(eager[name]), statistics.median(compiled[name])) for name in eager
    }


def profiled_steps(paths: list[Path]) -> dict[str, tuple[int, int]]:
    """Benchmark -> how many steps the suite profiled of its eager and its compiled arm."""
    return {
        document["benchmark"]["name"]: (
            document["profile"]["eager"]["steps"],
            document["profile"]["compiled"]["steps"],
        )
        for document in _inductor_results(paths)
    }


def _inductor_results(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            document = json.loads(file.read_text())
            if document.get("schema") == "result.v1" and document["job"]["config"] == "inductor":
                yield document


def _steps_of(document: dict[str, Any], clock: str) -> Steps:
    if clock == "device_ms":
        metrics = document["metrics"]
        return metrics["eager_device_ms"]["value"], metrics["device_ms"]["value"]
    samples = document["samples"]
    return statistics.median(samples["eager"][clock]), statistics.median(samples["compiled"][clock])


def row(name: str, here: Steps, suite: Steps | None) -> str:
    """A line of the table: eager, compiled, speedup; here, in the suite, and how far it is off."""
    cells = [f"{value:.5g}" for value in _with_speedup(here)]
    if suite:
        pairs = zip(_with_speedup(here), _with_speedup(suite), strict=True)
        cells = [f"{ours:.5g} / {its:.5g} ({100 * (its / ours - 1):+.2f}%)" for ours, its in pairs]
    return f"| {name} | {' | '.join(cells)} |"


def _with_speedup(steps: Steps) -> list[float]:
    eager, compiled = steps
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
    parser.add_argument("--device-time", action="store_true", help="of the kernels, on a GPU")
    parser.add_argument("--kernels", type=Path, help="with it: each kernel's time goes here")
    options = parser.parse_args()
    on_cpu = options.device == "cpu"
    torch.set_num_threads(1 if on_cpu else options.threads)
    clock = "device_ms" if options.device_time else "cpu_ms" if on_cpu else "values"
    suite = of_the_suite(options.results, clock)
    profiled = profiled_steps(options.results) if options.device_time else {}
    cell = "this script / the suite (the suite's difference)"
    print(f"torch {torch.__version__}; each cell: {cell}\n")
    print("| benchmark, inference | eager, ms | inductor, ms | speedup |\n|---|---|---|---|")
    kernels = dict[str, dict[str, Kernels]]()
    for name in options.only or MODELS:
        benchmark = f"{name}.{options.size}.inference.{settings(name, options.size)}"
        if options.device_time:
            steps_of_arms = profiled.get(benchmark, (PROFILED_STEPS, PROFILED_STEPS))
            kernels[benchmark] = kernels_of(name, options.size, steps_of_arms)
            eager_ms, compiled_ms = (sum(arm.values()) for arm in kernels[benchmark].values())
            steps = eager_ms, compiled_ms
        else:
            steps = measure(name, options.size, options.device)
        print(row(benchmark, steps, suite.get(benchmark)), flush=True)
    if options.kernels:
        options.kernels.write_text(json.dumps(kernels, indent=1))


if __name__ == "__main__":
    main()
