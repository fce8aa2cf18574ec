"""torch.compile makes a matmul with int8 weights slower on a GPU: it calls a slow kernel.

    python int8_decode.py                needs torch; a CUDA GPU for the verdict

y = linear(x, weight.to(bfloat16)) * scale is how weight-only int8 is written (torchao's, too).
Inductor rewrites it to aten._weight_int8pack_mm where the scale is bfloat16. This times the
shapes of a 1.2 B parameter Llama that decodes eight sequences: a bfloat16 linear, the int8 one in
eager, compiled, and compiled with the scale in float32, which is not rewritten. Prints a verdict;
exits with 1 where the compiled head takes more than 1.5 times as long as in eager, with 0 where it
does not, and with 2 on a CPU, where it tells only whether Inductor rewrites the matmul (that
kernel is a good one there).
"""

import sys

import torch
from torch._dynamo.utils import counters
from torch.nn.functional import linear
from torch.utils.benchmark import Timer

TOKENS = 8
SHAPES = (
    (2048, 2048),
    (2048, 8192),
    (8192, 2048),
    (2048, 128256),
)  # inputs, outputs; the last: head
SLOWER = 1.5


def int8_linear(x, weight, scale):
    return (linear(x, weight.to(x.dtype)) * scale).to(x.dtype)


def milliseconds(call, *arguments):
    timer = Timer("call(*arguments)", globals={"call": call, "arguments": arguments})
    return timer.blocked_autorange(min_run_time=0.5).median * 1000


def is_rewritten(x, weight, scale):
    """Compiles it again and says whether Inductor's pattern matched."""
    torch._dynamo.reset()
    counters.clear()
    torch.compile(int8_linear)(x, weight, scale)
    return counters["inductor"]["woq_matcher_count"] > 0


@torch.no_grad()
def row(inputs, outputs, device):
    """Prints a shape's milliseconds; returns those of eager and compiled."""
    x = torch.randn(TOKENS, 1, inputs, device=device, dtype=torch.bfloat16)
    weight = torch.randint(-128, 127, (outputs, inputs), device=device, dtype=torch.int8)
    scale = torch.rand(outputs, device=device, dtype=torch.bfloat16) / inputs
    plain = milliseconds(linear, x, weight.to(x.dtype))
    eager = milliseconds(int8_linear, x, weight, scale)
    times = [plain, eager]
    for each in (scale, scale.float()):
        rewritten = is_rewritten(x, weight, each)
        times.append(milliseconds(torch.compile(int8_linear), x, weight, each))
        times.append("rewritten" if rewritten else "not rewritten")
    cells = "  ".join(f"{cell:9.4f}" if isinstance(cell, float) else cell for cell in times)
    print(f"{inputs} -> {outputs:<8}{cells}", flush=True)
    return times[1], times[2]


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(
        f"torch {torch.__version__}, {device}; ms: bfloat16, int8, compiled, with a float32 scale"
    )
    for inputs, outputs in SHAPES if device == "cuda" else SHAPES[:1]:
        eager, compiled = row(inputs, outputs, device)
    if device == "cpu":
        print("verdict: cannot be told without a CUDA GPU")
        sys.exit(2)
    print(f"verdict: the head takes {compiled / eager:.2f} times as long compiled as in eager")
    sys.exit(compiled / eager > SLOWER)
