"""Why Llama decodes more slowly with int8 weights: each matmul alone, in bfloat16 and in int8.

    python -m tests.perf.int8_parts [--device cuda]

Rows are the Linear layers of the suite's Llama at a decode step (batch 8, one token each), by
shape, with how many of them a step runs; milliseconds of one call: bfloat16, int8 in eager, int8
compiled, and by which operators the compiled one is done. The last line is a whole step's. Needs
torchao (named on PYTHONPATH, or installed). Medians.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable

import torch
from torch import nn
from torch._inductor.utils import run_and_get_code
from torch.utils.benchmark import Timer
from torchao.quantization import Int8WeightOnlyConfig, quantize_

from benchmarks_suite.models.llama import CONFIGS

BATCH, SECONDS = 8, 0.5
OPERATORS = re.compile(
    r"extern_kernels\.(\w+)\(|torch\.ops\.aten\.(\w+)[.\w]*\(|(triton_\w+)\.run\("
)
COLUMNS = ("shape", "a step", "bfloat16", "int8", "int8 compiled", "operators")


def linears(size: str) -> Counter[tuple[int, int]]:
    """(inputs, outputs) of each Linear -> how many a step runs."""
    config = CONFIGS[size]
    layers = config["num_hidden_layers"]
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"] * config["head_dim"]
    shared = config["num_key_value_heads"] * config["head_dim"]
    counts = Counter[tuple[int, int]]()
    counts[hidden, heads] += layers
    counts[hidden, shared] += 2 * layers
    counts[hidden, wide] += 2 * layers
    counts[wide, hidden] += layers
    counts[heads, hidden] += layers
    counts[hidden, config["vocab_size"]] += 1
    return counts


def milliseconds(call: Callable[[], object]) -> float:
    timer = Timer("call()", globals={"call": call})
    return float(timer.blocked_autorange(min_run_time=SECONDS).median * 1000)


@torch.no_grad()
def row(inputs: int, outputs: int, device: str) -> tuple[float, float, float, str]:
    """Milliseconds of one call in bfloat16, in int8, and compiled; the operators of the last."""
    tokens = torch.randn(BATCH, 1, inputs, device=device, dtype=torch.bfloat16)
    linear = nn.Linear(
        inputs,
        outputs,
        bias=False,
        device=device,
        dtype=torch.bfloat16,
    )
    bfloat16 = milliseconds(lambda: linear(tokens))
    quantize_(linear, Int8WeightOnlyConfig())
    torch._dynamo.reset()
    compiled = torch.compile(linear)
    _, code = run_and_get_code(compiled, tokens)
    operators = set[str]()
    for source in code:
        for match in OPERATORS.finditer(source):
            operators.add(match[match.lastindex or 0])
    in_eager = milliseconds(lambda: linear(tokens))
    in_inductor = milliseconds(lambda: compiled(tokens))
    return bfloat16, in_eager, in_inductor, ", ".join(sorted(operators))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=CONFIGS, default="standard")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    step = [0.0, 0.0, 0.0]
    for (inputs, outputs), count in linears(options.size).items():
        *times, operators = row(inputs, outputs, options.device)
        step = [total + count * each for total, each in zip(step, times, strict=True)]
        cells = " | ".join(f"{ms:.4f}" for ms in times)
        print(f"| {inputs} → {outputs} | {count} | {cells} | {operators} |")
    cells = " | ".join(f"{ms:.2f}" for ms in step)
    print(f"| a step | {linears(options.size).total()} | {cells} | |")


if __name__ == "__main__":
    main()
