"""Attention with a dropout of 0.1 left cuDNN's kernel in torch 2.12, for a rounding not seen here.

    python attention_dropout.py          needs torch and a CUDA GPU

First the rate: which share of the attention weights each kernel really drops, forward and backward,
over head sizes, with and without a mask. Queries and keys of zero make all weights of a row equal,
and one-hot values let the output show the mask of the dropout, weight by weight.

Then the time that the GPU works, forward and backward, in the sizes of GPT-2's training (batch 16,
12 heads, 1,024 positions, width 64, bfloat16), eager and compiled, with a causal mask as a tensor
and with is_causal; each line names the kernel that ran.

Exits with 1 where cuDNN keeps the rate and yet a dropout of 0.1 with a mask does not run in its
kernel, with 0 where it does, with 2 where there is no GPU or cuDNN rounds the rate.
"""

import math
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

SHAPE = (16, 12, 1024, 64)
WIDTHS = (32, 64, 96, 128, 256)
RATES = (0.1, 0.03, 0.2)
STEPS = 20
KERNELS = {"cudnn": "cuDNN", "fmha_cutlass": "memory-efficient", "pytorch_flash": "flash"}
BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
}


def causal_mask(length):
    return torch.ones(length, length, device="cuda", dtype=torch.bool).tril()


def dropped(backend, width, masked, rate, draws=24):
    """(share dropped, its standard error, whether the backward pass has the same mask).

    Key j has the value e_j, so out[i, j] is weight (i, j): 0 where it was dropped.
    """
    shape = (16, 8, width, width)  # batch, heads, positions, width
    value = torch.eye(width, device="cuda", dtype=torch.bfloat16).expand(shape).contiguous()
    value.requires_grad_()
    zeros = torch.zeros(shape, device="cuda", dtype=torch.bfloat16)
    mask = causal_mask(width) if masked else None
    visible = causal_mask(width)
    lost = seen = 0
    same = True
    for _ in range(draws):
        with sdpa_kernel(backend):
            out = scaled_dot_product_attention(zeros, zeros, value, mask, rate, not masked)
        kept = (out != 0) & visible
        seen += visible.sum().item() * shape[0] * shape[1]
        lost += (visible & ~kept).sum().item()
        # d(sum of row i)/d(value of key j, any column) is weight (i, j): sent back row by row,
        # by a gradient whose column i belongs to row i
        (gradient,) = torch.autograd.grad(out, value, value.detach())  # [j, i] = weight (i, j)
        same &= torch.equal((gradient != 0).transpose(-1, -2) & visible, kept)
    share = lost / seen
    return share, math.sqrt(share * (1 - share) / seen), same


def print_rates():
    """Print the share that each kernel drops; return whether cuDNN keeps every rate."""
    print(f"\n{'kernel':18}{'width':>6}  {'form':10}" + "".join(f"{rate:>22}" for rate in RATES))
    exact = []
    for name, backend in BACKENDS.items():
        for width in WIDTHS:
            for masked in (False, True):
                cells = []
                for rate in RATES:
                    try:
                        share, error, same = dropped(backend, width, masked, rate)
                    except RuntimeError:
                        cells.append("refused")
                        continue
                    cells.append(f"{share:.5f} ±{2 * error:.5f}{'' if same else ' (!)'}")
                    if name == "cuDNN":
                        exact.append(abs(share - rate) < 5 * error and same)
                form = "mask" if masked else "is_causal"
                row = "".join(f"{cell:>22}" for cell in cells)
                print(f"{name:18}{width:>6}  {form:10}{row}", flush=True)
    return bool(exact) and all(exact)


def kernel_and_ms(compiled, masked, rate):
    """(the kernel that ran, ms of the GPU's time for one step)."""
    torch._dynamo.reset()  # each case compiles: after eight of one function dynamo would give up
    query, key, value = (
        torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    )
    gradient = torch.randn_like(query)
    mask = causal_mask(SHAPE[2]) if masked else None

    def attend():
        return scaled_dot_product_attention(query, key, value, mask, rate, not masked)

    run = torch.compile(attend) if compiled else attend

    def step():
        torch.autograd.grad(run(), (query, key, value), gradient)

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    events = profiler.key_averages()
    names = " ".join(event.key for event in events)
    kernel = ", ".join(kind for part, kind in KERNELS.items() if part in names) or "math"
    return kernel, sum(event.device_time_total for event in events) / STEPS / 1000


def main():
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    if not torch.cuda.is_available():
        print("verdict: cannot be seen without a CUDA GPU")
        return 2
    print(torch.cuda.get_device_name())
    exact = print_rates()
    print(f"\n{'arm':10}{'form':11}{'dropout':9}{'GPU, ms':>8}  kernel")
    kernels = {}
    for compiled in (False, True):
        for masked in (True, False):
            for rate in (0.0, 0.1, 0.125):
                kernel, ms = kernel_and_ms(compiled, masked, rate)
                kernels[compiled, masked, rate] = kernel
                arm, form = ("eager", "compiled")[compiled], ("is_causal", "mask")[masked]
                print(f"{arm:10}{form:11}{rate:<9}{ms:8.3f}  {kernel}", flush=True)
    ran = kernels[True, True, 0.1]
    keeps = "keeps" if exact else "does not keep"
    print(f"verdict: cuDNN {keeps} the rate; 0.1 with a mask ran {ran}")
    if not exact:
        return 2
    return int("cuDNN" not in ran)


if __name__ == "__main__":
    sys.exit(main())
