"""A benchmark's workload on its device: weights filled, cast, moved, with its batches."""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import generator
from benchmarks_suite.harness.job import Job
from benchmarks_suite.workload import Inputs, Unsupported, Workload

BATCHES = {
    "static": 1,
    "dynamic": 16,
    "bucketed": 16,
}  # how many different batches an arm goes through in turn
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "autocast_bf16": torch.float32,
    "autocast_fp16": torch.float32,
}
AUTOCAST = {"autocast_bf16": torch.bfloat16, "autocast_fp16": torch.float16}


class Prepared:
    """The workload on its device, ready for arms.

    module: in train() or eval() mode, as published (dropout included); shared by everything that is
        made from
    it.
    batches: the inputs on the device, floats cast; a step uses them in turn.
    items_per_step: mean number of items in a batch.
    """

    def __init__(self, benchmark: Benchmark, workload: Workload, device: str, seed: int) -> None:
        self.benchmark, self.workload, self.device = benchmark, workload, torch.device(device)
        self.training = benchmark.mode == "training"
        self.dtype, self.autocast_dtype = DTYPES[benchmark.dtype], AUTOCAST.get(benchmark.dtype)
        if self.training and workload.loss is None:
            raise ValueError(f"{benchmark.name}: {benchmark.module} gives no loss to train with")
        cpu_batches = [self._drawn(index, seed) for index in range(BATCHES[benchmark.shapes])]
        self.items_per_step = sum(workload.items(batch) for batch in cpu_batches) / len(cpu_batches)
        self.batches = [self.placed(batch, self.dtype) for batch in cpu_batches]
        make_room(workload.module, self.device)
        self.module = workload.module.to(self.device)
        # In float32 on the device: the same numbers as on a CPU
        generator.fill_weights(self.module, seed)
        self.parameters = sum(parameter.numel() for parameter in self.module.parameters())
        self.module.to(self.dtype).train(self.training)

    def _drawn(self, index: int, seed: int) -> Inputs:
        with generator.own_draws("inputs", seed, index, device=self.device):
            return self.workload.inputs(index, torch.Generator().manual_seed(seed + index))

    def placed(self, batch: Inputs, dtype: torch.dtype) -> Inputs:
        """The batch on the device, its floating tensors cast to ``dtype``."""

        def place(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return (
                value.to(self.device, dtype) if value.is_floating_point() else value.to(self.device)
            )

        return {name: place(value) for name, value in batch.items()}

    def twin(self, dropout: bool = True) -> nn.Module:
        """Another module object on the *same* tensors: compiling it or changing its structure
        leaves the original alone.

        A wrapped module (quantized, spread over ranks) has tensors of its own: wrappers hook into
        them.
        dropout: False sets every dropout rate in it to 0.
        """
        tensors = [*self.module.parameters(), *self.module.buffers()]
        shared = {} if self.workload.wrap else {id(tensor): tensor for tensor in tensors}
        module = copy.deepcopy(self.module, memo=shared)
        if not dropout:
            set_dropout_to_zero(module)
        return self.workload.wrap(module) if self.workload.wrap else module

    @property
    def bytes_beside_arms(self) -> int:
        """What the module takes on its device beside each arm: wrapped ones are made of copies, all
        others share it.
        """
        tensors = (*self.module.parameters(), *self.module.buffers()) if self.workload.wrap else ()
        return sum(tensor.nbytes for tensor in tensors)

    @property
    def has_dropout(self) -> bool:
        """Whether a step drops anything at random: only then the accuracy check needs arms of its
        own.
        """
        return self.training and any(_dropout_rates(self.module))

    def widened(self, dtype: torch.dtype) -> "Prepared":
        """The same workload in ``dtype``, on tensors of its own; not wrapped: a quantized module
        has no wider form.
        """
        wide = copy.copy(self)
        wide.workload = replace(self.workload, wrap=None)
        wide.module = copy.deepcopy(self.module).to(dtype)
        wide.batches = [self.placed(batch, dtype) for batch in self.batches]
        wide.dtype, wide.autocast_dtype = dtype, None
        return wide

    def autocast(self) -> AbstractContextManager[Any]:
        return (
            torch.autocast(self.device.type, dtype=self.autocast_dtype)
            if self.autocast_dtype
            else nullcontext()
        )


def make_room(module: nn.Module, device: torch.device) -> None:
    """Puts the matrices of ``module`` on another device without copying them: their numbers are
    drawn there.

    What keeps its numbers (gains, buffers) stays for ``module.to``.
    """
    if device.type == "cpu":
        return
    for parameter in module.parameters():
        # Fill_weights overwrites each of these
        if parameter.is_floating_point() and parameter.dim() > 1:
            parameter.data = torch.empty_like(parameter.data, device=device)


def set_dropout_to_zero(module: nn.Module) -> None:
    """Sets every dropout rate in ``module`` to 0: of dropout layers, and of layers and configs that
    keep one as a number.
    """
    for owner, name in list(_dropout_rates(module)):
        setattr(owner, name, 0.0)


def _dropout_rates(module: nn.Module) -> Iterator[tuple[object, str]]:
    """(owner, attribute) of each dropout rate above 0."""
    for child in module.modules():
        if isinstance(child, nn.modules.dropout._DropoutNd) and child.p > 0:
            yield child, "p"
        for owner in (child, getattr(child, "config", None)):
            for name, value in (
                vars(owner).items() if owner is not None and hasattr(owner, "__dict__") else ()
            ):
                if "drop" in name and isinstance(value, float) and value > 0:
                    yield owner, name


def settle_process(job: Job) -> None:
    """Puts this process's threads where the job wants them. Raises workload.Unsupported where its
    device is not here.
    """
    torch.set_num_threads(job.measure.threads)
    if job.on_gpu:
        if not torch.cuda.is_available():
            raise Unsupported(
                f"{job.device} was asked for, and torch {torch.__version__} sees no GPU:"
                " check the driver with nvidia-smi, and that torch is a CUDA build"
            )
        torch.cuda.set_device(torch.device(job.device))
