"""A setting of attention's math backend that compiled code does not follow.

    python math_precision.py             needs torch; no GPU

The math backend of scaled_dot_product_attention computes bfloat16 in float32, unless
torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp allows less (on a CPU, too). Which it is goes
into the code while it is traced. Compiles with the setting off and then on: after
torch._dynamo.reset(), where the caches of compiled code may answer; then without these caches;
then off again without a reset, where dynamo's guards decide.

Prints how far each output is from that of eager with the same setting, and a verdict. Exits with 1
where an output is that of the other setting, with 0 where none is, with 2 where both are the same.
"""

import os
import sys
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

LEAST = 5e-3  # the outputs of the two settings differ by more, those of one by less


def attention(query, mask):
    return torch.nn.functional.scaled_dot_product_attention(query, query, query, attn_mask=mask)


def compiled_output(*inputs, caches=True):
    with torch._inductor.config.patch(force_disable_caches=not caches):
        return torch.compile(attention)(*inputs)


def differs(name, output, expected):
    distance = (output - expected).abs().max().item()
    print(f"  {name:34}{distance:.4f}")
    return distance > LEAST


if __name__ == "__main__":
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    allow = torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp
    torch.manual_seed(0)
    query = 3 * torch.randn(2, 4, 64, 32, dtype=torch.bfloat16)
    inputs = query, torch.ones(2, 1, 64, 1, dtype=torch.bool).expand(2, 1, 64, 64)
    print(f"torch {torch.__version__}, largest distance from eager with the same setting:")
    with sdpa_kernel(SDPBackend.MATH):
        allow(True)
        eager_on = attention(*inputs)
        allow(False)
        eager_off = attention(*inputs)
        if not differs("eager, off against on", eager_off, eager_on):
            print("verdict: cannot be told, the setting changes nothing here")
            sys.exit(2)
        differs("off", compiled_output(*inputs), eager_off)
        torch._dynamo.reset()
        allow(True)
        is_from_cache = differs("on, after a reset", compiled_output(*inputs), eager_on)
        torch._dynamo.reset()
        differs("on, without caches", compiled_output(*inputs, caches=False), eager_on)
        allow(False)
        is_unguarded = differs("off again, without a reset", compiled_output(*inputs), eager_off)
    print(f"verdict: caches {'do not ' if is_from_cache else ''}know the setting, ", end="")
    print(f"guards {'do not' if is_unguarded else 'do'}")
    sys.exit(is_from_cache or is_unguarded)
