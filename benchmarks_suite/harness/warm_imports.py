"""Warm imports: what a process does before it is forked, and before anything is measured.

It sets the variables that are read at import, then imports. Nothing here touches the device, starts
a thread or draws a number, so that the process can be forked (forks.py).
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks_suite.benchmark import import_module_or_file
from benchmarks_suite.harness import caches
from benchmarks_suite.harness.job import Job

_DRIVER = Path("/dev/nvidiactl")  # there where NVIDIA's driver is


def variables(job: Job) -> dict[str, str]:
    """Collect the variables that torch and its libraries read when they are imported."""
    threads = str(job.measure.threads)
    values = {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        # numpy's: it would start its threads at import, and no arm uses them
        "OPENBLAS_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": str(job.measure.compile_threads),
        # is_available() then asks NVML, and CUDA stays untouched
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    if needs_toolchain(job):
        base = caches.place(job.device, os.environ | job.env, wrapper(job))
        values["TMPDIR"] = str(base.temporary_folder)  # the precompiled header lies there
    if not job.on_gpu:
        values |= job.benchmark.variables_on_cpu
    return values | job.env


def needs_toolchain(job: Job) -> bool:
    """Test whether the case calls a C++ or Triton compiler."""
    return job.config.compiles and job.config.backend == "inductor"


def wrapper(job: Job) -> str:
    """Name what the compiler writes the kernels' calls in, in the words of caches.base."""
    if job.config.target == "aot_inductor":
        return "aot"
    options = {**job.config.inductor, **job.inductor}
    return "cpp" if options.get("cpp_wrapper") else "python"


def set_variables(job: Job) -> None:
    """Sets them in this process; its children inherit them."""
    values = variables(job)
    os.environ.update(values)
    if "TMPDIR" in values:
        tempfile.tempdir = None  # so that it is read again


def compiler(job: Job) -> str | None:
    """The backend whose imports this case needs; None: it needs no compiler.

    Eager's optimizer needs dynamo too: both arms count alike.
    """
    if job.config.compiles or job.benchmark.mode == "training":
        return job.config.backend
    return None


def import_torch(backend: str | None) -> None:
    """torch, and where a backend is given the compiler."""
    with _no_compile_workers(), _gpu_known_by_its_file():
        if backend is not None:
            from benchmarks_suite.harness import torch_versions

            torch_versions.import_compiler(backend)


def import_model(module: str) -> None:
    """The model's libraries, by ``Benchmark.module``.

    A missing one is reported when the model is built; workload.Unsupported passes through.
    """
    with _no_compile_workers(), _gpu_known_by_its_file(), suppress(ImportError):
        import_module_or_file(module)


@contextmanager
def _no_compile_workers() -> Iterator[None]:
    """Keeps older releases from starting Inductor's workers when they are imported.

    A child starts its own (torch_versions).
    """
    before = os.environ.get("TORCH_WARM_POOL")
    os.environ["TORCH_WARM_POOL"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TORCH_WARM_POOL"]
        else:
            os.environ["TORCH_WARM_POOL"] = before


@contextmanager
def _gpu_known_by_its_file() -> Iterator[None]:
    """Meanwhile the driver's file alone says whether there is a GPU; the device stays closed.

    Inductor (seen in 2.11), diffusers and others look for one when they are imported. torch would
    ask the CUDA driver, or NVML (variables): either opens the device, and the process could not be
    forked any more.
    """
    import torch

    def is_available() -> bool:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
        return torch.version.cuda is not None and _DRIVER.exists() and not hidden

    def current_accelerator(check_available: bool = False) -> "torch.device | None":
        return torch.device("cuda") if is_available() else None

    replacements: list[tuple[Any, str, Any]] = [(torch.cuda, "is_available", is_available)]
    if hasattr(torch, "accelerator"):  # since 2.6
        replacements += [
            (torch.accelerator, "is_available", is_available),
            (torch.accelerator, "current_accelerator", current_accelerator),
        ]
    originals = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    try:
        for replacement in replacements:
            setattr(*replacement)
        yield
    finally:
        for original in originals:
            setattr(*original)
