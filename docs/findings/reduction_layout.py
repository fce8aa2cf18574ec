"""Since Triton 3.7 threads follow a load's last axis where none is contiguous, coalesced or not.

    python reduction_layout.py                needs Triton; no torch, no GPU

The kernel below sums over r what lies at 2 * x + 320 * r, as a group norm of a channels-last
picture does: the next x is two values away, the next r 320. Nothing says that either is contiguous.
Up to 3.6 Triton lays the threads of a warp along x, whose 32 reads span 128 bytes; since 3.7 along
r, where they span 20 kB. Compiles it for an H100 and prints how its threads lie. Exits with 1 where
they lie along r, with 0 where they do not, and with 2 where it cannot be told.
"""

import re
import sys

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    print("verdict: cannot be told without Triton")
    sys.exit(2)

XBLOCK, R = 32, 128  # of a program: values of x, and how many each sum has


@triton.jit
def sums(source, target, XBLOCK: tl.constexpr, R: tl.constexpr):
    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r = tl.arange(0, R)[None, :]
    values = tl.load(source + 2 * x + 320 * r).to(tl.float32)
    tl.store(target + x, tl.sum(values, 1)[:, None])


def threads_of_a_warp():
    """How many lie along x and along r where the values are loaded; None if it cannot be read."""
    aligned = {(argument,): [["tt.divisibility", 16]] for argument in (0, 1)}
    types = {"source": "*fp16", "target": "*fp32", "XBLOCK": "constexpr", "R": "constexpr"}
    kernel = ASTSource(sums, types, constexprs={(2,): XBLOCK, (3,): R}, attrs=aligned)
    hopper = GPUTarget("cuda", 90, 32)
    code = triton.compile(kernel, target=hopper, options={"num_warps": 2}).asm["ttgir"]
    layout = re.search(r"tt\.load .*, #(\w+)>", code)
    along = layout and re.search(
        rf"#{layout[1]} = #ttg\.blocked<.*threadsPerWarp = \[(\d+), (\d+)\]", code
    )
    return (int(along[1]), int(along[2])) if along else None


if __name__ == "__main__":
    threads = threads_of_a_warp()
    if threads is None:
        print(f"verdict: cannot be told, Triton {triton.__version__} writes its layouts otherwise")
        sys.exit(2)
    along_x, along_r = threads
    print(f"Triton {triton.__version__}, a warp's threads: {along_x} along x, {along_r} along r")
    print(f"verdict: the reads of a warp are {'not ' if along_r > along_x else ''}coalesced")
    sys.exit(along_r > along_x)
