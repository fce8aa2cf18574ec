"""Attention with a dropout of 0.1 left cuDNN's kernel on an H100, and is slower for it.

    python attention_dropout.py          needs torch and a CUDA GPU

Times scaled_dot_product_attention, forward and backward, in the sizes of GPT-2's training (batch
16, 12 heads, 1,024 positions, bfloat16), in eager and compiled, with a causal mask as a tensor (as
transformers passes it to a compiled model) and with is_causal. Each line names the kernels that
ran. `kept` is the mean of the output where every value is 1: 1.000 when dropout removes as many
weights as it was asked to. Prints a verdict; exits with 1 where 0.1 does not run in cuDNN's kernel
and 0.125 (2/16) does, with 0 where both do, with 2 where neither does or there is no GPU.
"""

import sys

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

SHAPE = (16, 12, 1024, 64)
KINDS = {"cudnn": "cuDNN", "fmha_cutlass": "memory-efficient", "pytorch_flash": "flash"}


def kernels(step):
    """Whose attention kernels ran in one step."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    names = " ".join(event.key for event in profiler.key_averages())
    return ", ".join(kind for part, kind in KINDS.items() if part in names) or "math"


def measure(compiled, masked, dropout):
    """Prints one line; returns whose kernels ran."""
    query, key, value = (
        torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    )
    gradient = torch.randn_like(query)
    ones = torch.ones(SHAPE[2], SHAPE[2], device="cuda", dtype=torch.bool)
    mask = ones.tril() if masked else None

    def attend(value):
        return scaled_dot_product_attention(query, key, value, mask, dropout, not masked)

    run = torch.compile(attend) if compiled else attend

    def step():
        torch.autograd.grad(run(value), (query, key, value), gradient)

    step()
    ran = kernels(step)
    ms = Timer("step()", globals={"step": step}).blocked_autorange(min_run_time=1).median * 1000
    with torch.no_grad():
        kept = run(torch.ones_like(value)).float().mean().item()
    arm = "compiled" if compiled else "eager"
    form = "mask" if masked else "is_causal"
    print(f"{arm:9}{form:10}{dropout:<7}{ms:8.3f} ms   kept {kept:.4f}   {ran}", flush=True)
    return ran


if __name__ == "__main__":
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    if not torch.cuda.is_available():
        print("verdict: cannot be told without a CUDA GPU")
        sys.exit(2)
    print(torch.cuda.get_device_name())
    seen = {}
    for compiled in (False, True):
        for masked in (True, False):
            for dropout in (0.0, 0.1, 0.125):
                seen[compiled, masked, dropout] = measure(compiled, masked, dropout)
    tenth, eighth = seen[True, True, 0.1], seen[True, True, 0.125]
    if "cuDNN" not in eighth:
        print(f"verdict: cannot be told: with dropout 0.125 {eighth} ran")
        sys.exit(2)
    print(f"verdict: compiled, masked: dropout 0.1 ran {tenth}, dropout 0.125 ran {eighth}")
    sys.exit("cuDNN" not in tenth)
