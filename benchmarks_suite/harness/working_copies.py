"""Working copies: a benchmark's workload on its device, weights filled, cast, with its batches."""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import generator
from benchmarks_suite.harness.distances import is_continuous
from benchmarks_suite.harness.job import Job
from benchmarks_suite.workload import Inputs, Unsupported, Workload

# How many different batches an arm goes through in turn
BATCHES = {"static": 1, "dynamic": 16, "bucketed": 16}
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "autocast_bf16": torch.float32,
    "autocast_fp16": torch.float32,
}
AUTOCAST = {"autocast_bf16": torch.bfloat16, "autocast_fp16": torch.float16}


class WorkingCopy:
    """The workload on its device, ready for arms.

    module: in train() or eval() mode, as published (dropout included); shared by everything that is
        made from it.
    batches: the inputs on the device, floats cast; a step uses them in turn.
    items_per_step: mean number of items in a batch.
    """

    def __init__(self, benchmark: Benchmark, workload: Workload, device: str, seed: int) -> None:
        self.benchmark, self.workload, self.device = benchmark, workload, torch.device(device)
        self.training = benchmark.mode == "training"
        self.dtype, self.autocast_dtype = DTYPES[benchmark.dtype], AUTOCAST.get(benchmark.dtype)
        if self.training and workload.loss is None:
            raise ValueError(f"{benchmark.name}: {benchmark.module} gives no loss to train with")
        cpu_batches = []
        for index in range(BATCHES[benchmark.shapes]):
            with generator.own_draws("inputs", seed, index, device=self.device):
                draws = torch.Generator().manual_seed(seed + index)
                cpu_batches.append(workload.inputs(index, draws))
        self.items_per_step = sum(workload.items(batch) for batch in cpu_batches) / len(cpu_batches)
        self.batches = [self.placed(batch, self.dtype) for batch in cpu_batches]
        make_room(workload.module, self.device)
        self.module = workload.module.to(self.device)
        # Still in float32, on the device: the same numbers as on a CPU
        generator.fill_weights(self.module, seed)
        self.parameters = sum(parameter.numel() for parameter in self.module.parameters())
        self.module._apply(lambda tensor: cast(tensor, self.dtype)).train(self.training)
        self._arms_share_tensors = True

    def placed(self, batch: Inputs, dtype: torch.dtype) -> Inputs:
        """The batch on the device, its floating tensors cast to ``dtype``."""

        def place(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return cast(value.to(self.device), dtype)

        return {name: place(value) for name, value in batch.items()}

    def twin(self, dropout: bool = True, own_tensors: bool = False) -> nn.Module:
        """Another module object on the *same* tensors.

        Compiling it or changing its structure leaves the original alone. A wrapped module
        (quantized, spread over ranks) has tensors of its own: wrappers hook into them.
        dropout: False sets every dropout rate in it to 0.
        own_tensors: for a caller that changes how they lie in memory.
        """
        wrap = self.workload.wrap
        shared: dict[int, Any] = {}
        if wrap is None and not own_tensors:
            shared = {id(tensor): tensor for tensor in _tensors(self.module)}
        else:
            self._arms_share_tensors = False
        module = copy.deepcopy(self.module, memo=shared)
        if not dropout:
            set_dropout_to_zero(module)
        return wrap(module) if wrap else module

    @property
    def bytes_beside_arms(self) -> int:
        """Bytes that the module takes on its device next to an arm that has tensors of its own."""
        if self._arms_share_tensors:
            return 0
        return sum(tensor.nbytes for tensor in _tensors(self.module))

    @property
    def has_dropout(self) -> bool:
        """True where a step drops anything at random.

        Only then the accuracy check needs arms of its own.
        """
        return self.training and any(_dropout_rates(self.module))

    def widened(self, dtype: torch.dtype) -> "WorkingCopy":
        """The same workload in ``dtype``, on tensors of its own.

        It is not wrapped: a quantized module has no wider form.
        """
        wide = copy.copy(self)
        wide.workload = replace(self.workload, wrap=None)
        wide.module = copy.deepcopy(self.module)._apply(lambda tensor: cast(tensor, dtype))
        wide.batches = [self.placed(batch, dtype) for batch in self.batches]
        wide.dtype, wide.autocast_dtype = dtype, None
        return wide

    def move(self, share: float, seed: int) -> None:
        """Moves weights and inputs by a share of themselves, at random, as rounding would."""
        self.training = False
        draws = torch.Generator(self.device).manual_seed(seed)

        def moved(value: Any) -> Any:
            if not isinstance(value, Tensor) or not is_continuous(value):
                return value
            noise = torch.randn(value.shape, generator=draws, device=self.device, dtype=self.dtype)
            return value + value * noise * share

        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.copy_(moved(parameter))
        self.batches = [{name: moved(value) for name, value in self.batches[0].items()}]

    def autocast(self) -> AbstractContextManager[Any]:
        if self.autocast_dtype is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.autocast_dtype)


def cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Floats in ``dtype``, and complex numbers in one as wide; others as they are."""
    if tensor.is_complex():
        return tensor.to(torch.complex128 if dtype == torch.float64 else torch.complex64)
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    yield from module.parameters()
    yield from module.buffers()


def make_room(module: nn.Module, device: torch.device) -> None:
    """Puts the matrices of ``module`` on another device without copying them.

    Their numbers are drawn there. What keeps its numbers (gains, buffers) stays for ``module.to``.
    """
    if device.type == "cpu":
        return
    for parameter in module.parameters():
        # fill_weights overwrites each of these
        if parameter.is_floating_point() and parameter.dim() > 1:
            parameter.data = torch.empty_like(parameter.data, device=device)


def set_dropout_to_zero(module: nn.Module) -> None:
    """Sets every dropout rate in ``module`` to 0.

    Those of dropout layers, and of layers and configs that keep one as a number.
    """
    for owner, name in list(_dropout_rates(module)):
        setattr(owner, name, 0.0)


def _dropout_rates(module: nn.Module) -> Iterator[tuple[object, str]]:
    """(owner, attribute) of each dropout rate above 0."""
    for child in module.modules():
        if isinstance(child, nn.modules.dropout._DropoutNd) and child.p > 0:
            yield child, "p"
        for owner in (child, getattr(child, "config", None)):
            for name, value in getattr(owner, "__dict__", {}).items():
                if "drop" in name and isinstance(value, float) and value > 0:
                    yield owner, name


def settle_process(job: Job) -> None:
    """Gives this process the job's threads and device.

    Raises workload.Unsupported where that device is not here.
    """
    torch.set_num_threads(job.measure.threads)
    if not job.on_gpu:
        return
    if not torch.cuda.is_available():
        raise Unsupported(
            f"{job.device} was requested, and torch {torch.__version__} sees no GPU: "
            "check the driver with nvidia-smi, and that torch is a CUDA build"
        )
    torch.cuda.set_device(torch.device(job.device))
