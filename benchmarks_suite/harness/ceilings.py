"""Ceilings of this machine, measured on it: its matmul rate and copy bandwidth.

The canary, and the yardstick of shares. A ceiling is measured with torch itself, with the job's
number of threads, as the median over samples of at least 20 ms. It is kept next to the toolchain
bases, where the jobs of this machine find it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks_suite.harness import caches, generator, statistics
from benchmarks_suite.harness.environment import cpu_name
from benchmarks_suite.harness.statistics import Interval

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SAMPLES, SAMPLE_S = 20, 0.02
MATRIX = {"cpu": 512, "cuda": 8192}  # rows of a square matrix
COPY_BYTES = {"cpu": 1 << 28, "cuda": 1 << 30}  # beyond every cache


def measure(device: torch.device) -> dict[str, Interval]:
    """``matmul.<dtype>`` in TFLOP/s and ``copy`` in GB/s, each with its 95% interval.

    Bytes of a copy are those read and those written.
    """
    rates = {f"matmul.{name}": _matmul_tflops(device, dtype) for name, dtype in DTYPES.items()}
    source = torch.ones(COPY_BYTES[device.type] // 4, device=device)
    target = torch.empty_like(source)
    seconds = _seconds(lambda: target.copy_(source), device)
    rates["copy"] = statistics.mapped(seconds, lambda s: 2 * source.nbytes / s / 1e9)
    return rates


def save(rates: dict[str, Interval], device: torch.device) -> Path:
    """Keeps the ceilings for the jobs of this machine.

    Of each it keeps the best so far, as load and heat only lower them.
    """
    path, before = _path(device), load(device)
    path.parent.mkdir(parents=True, exist_ok=True)
    best = {name: max(rate.value, before.get(name, 0.0)) for name, rate in rates.items()}
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(best))
    return partial.replace(path)


def load(device: torch.device) -> dict[str, float]:
    """The ceilings that were measured here with this torch and as many threads; empty for none."""
    try:
        rates: dict[str, float] = json.loads(_path(device).read_text())
    except OSError:
        return {}
    return rates


def _matmul_tflops(device: torch.device, dtype: torch.dtype) -> Interval:
    size = MATRIX[device.type]
    a = torch.empty(size, size, device=device, dtype=dtype)
    b = torch.empty_like(a)
    # Not constants: a GPU draws less power for those, and clocks higher
    for stream, matrix in enumerate((a, b)):
        generator.fill_normal(matrix, stream, 1.0)
    out = torch.empty_like(a)
    seconds = _seconds(lambda: torch.mm(a, b, out=out), device)
    return statistics.mapped(seconds, lambda s: 2 * size**3 / s / 1e12)


def _seconds(action: Callable[[], Any], device: torch.device) -> Interval:
    """Seconds of one call: the median over SAMPLES samples.

    As many untimed calls as one sample has come before them.
    """
    inner = 1
    while _timed(action, device, inner) < SAMPLE_S:
        inner *= 2
    samples = [_timed(action, device, inner) / inner for _ in range(SAMPLES)]
    return statistics.median_interval(samples)


def _timed(action: Callable[[], Any], device: torch.device, inner: int) -> float:
    _synchronize(device)
    start = time.perf_counter()
    for _ in range(inner):
        action()
    _synchronize(device)
    return time.perf_counter() - start


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _path(device: torch.device) -> Path:
    """One file for each device (by its name), torch, and on a CPU number of threads."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{cpu_name()}, {torch.get_num_threads()}"
    precision = torch.get_float32_matmul_precision()
    digest = hashlib.sha256(f"{name}\n{torch.__version__}\n{precision}".encode()).hexdigest()[:12]
    return caches.cache_home() / f"ceilings-{device.type}-{digest}.json"
