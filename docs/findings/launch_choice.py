"""Inductor's autotuning takes another config of one kernel from one compilation to the next.

    python launch_choice.py [ROUNDS] [--trace]          needs torch and a CUDA GPU

Compiles the MLP of DiT-XL/2's blocks (32 pictures of 256 tokens, bfloat16) again and again, with
all caches off, and prints what Inductor read when it timed the GELU's configs: of each its threads
a block, its values a block (XBLOCK) and the microseconds, with a star at the one that it took.
Rounds of three kinds take turns: as it comes; with a second of rest before each config is timed;
with half a second of matmuls before. With --trace all are as it comes, under the profiler, and of
each config it also prints how long its kernel took, and the two operations of the GPU before it:
number, least, median and largest microseconds. Prints a verdict; exits with 1 where more than one
config was taken, with 0 where always the same one was, with 2 where there is no GPU or only one
config.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
import torch
from torch._inductor.runtime.triton_heuristics import CachingAutotuner
from torch.profiler import ProfilerActivity, profile

IS_TRACED = "--trace" in sys.argv
ROUNDS = next((int(each) for each in sys.argv[1:] if each.isdigit()), 4)
KINDS = ("as it comes",) if IS_TRACED else ("as it comes", "rested", "busy")
timed = []  # of one round: (threads and values a block, microseconds)
kind = KINDS[0]
bench = CachingAutotuner.bench


def prepared_bench(tuner, launcher, *arguments, **named):
    is_gelu = "gelu" in str(tuner.inductor_meta.get("kernel_name"))
    if is_gelu:
        prepare()
    ms = bench(tuner, launcher, *arguments, **named)
    if is_gelu:
        config = launcher.config
        timed.append(((32 * config.num_warps, config.kwargs["XBLOCK"]), 1000 * ms))
    return ms


def prepare():
    torch.cuda.synchronize()
    if kind == "rested":
        time.sleep(1)
    if kind == "busy":
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            for _ in range(20):
                torch.mm(weight, weight.T)
            torch.cuda.synchronize()


def compiled_once():
    torch.compiler.reset()
    timed.clear()
    with torch.no_grad():
        torch.compile(mlp)(tokens)
    torch.cuda.synchronize()
    return list(timed)


def traced(compiled):
    """What it returns, after a table of what the GPU did for each timing of the GELU."""
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        configs = compiled()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    kinds = "kernel", "gpu_memcpy", "gpu_memset"
    ran = sorted((each for each in events if each.get("cat") in kinds), key=lambda each: each["ts"])
    for (threads, name), us in sorted(times_of(ran).items()):
        spread = f"{len(us):3} {min(us):8.1f} {statistics.median(us):8.1f} {max(us):8.1f}"
        print(f"  {threads} threads, {name:60} {spread}")
    return configs


def times_of(ran):
    """(threads a block, kernel or what ran before it) -> microseconds."""
    times = defaultdict(list)
    for index, kernel in enumerate(ran):
        if "gelu" in kernel["name"]:
            threads = kernel["args"]["block"][0]
            times[threads, "the GELU"].append(kernel["dur"])
            for steps in (1, 2):
                before = ran[index - steps]
                times[threads, f"{steps} before it {before['name'][:45]}"].append(before["dur"])
    return times


if __name__ == "__main__":
    print(f"torch {torch.__version__}")
    if not torch.cuda.is_available():
        print("verdict: cannot be told without a CUDA GPU")
        sys.exit(2)
    print(torch.cuda.get_device_name())
    CachingAutotuner.bench = prepared_bench
    weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    tokens = torch.randn(32, 256, 1152, device="cuda", dtype=torch.bfloat16)
    mlp = torch.nn.Sequential(
        torch.nn.Linear(1152, 4608), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(4608, 1152)
    ).to("cuda", torch.bfloat16)
    taken = []
    for _ in range(ROUNDS):
        for kind in KINDS:
            configs = traced(compiled_once) if IS_TRACED else compiled_once()
            if len(configs) < 2:
                print(f"verdict: cannot be told: {len(configs)} configs were timed")
                sys.exit(2)
            best, _ = min(configs, key=lambda read: read[1])
            taken.append(best)
            cells = []
            for config, us in configs:
                star = "*" if config == best else " "
                cells.append(f"{config[0]} threads, {config[1]} values {us:6.1f} us{star}")
            print(f"{kind:12} {'   '.join(cells)}", flush=True)
    counts = [
        f"{threads} threads {taken.count((threads, values))} times"
        for threads, values in sorted(set(taken))
    ]
    print(f"verdict: of {len(taken)} rounds {' and '.join(counts)}")
    sys.exit(len(counts) > 1)
