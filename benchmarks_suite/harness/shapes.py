"""Other shapes of a benchmark's batch: what a config walks through (sweep.py).

A shape is given as shares of the benchmark's own batch and length, so that one list serves every
model: (1, 0.5) is the whole batch at half of the length. The batch is cut, not drawn again, so no
shape needs more memory than the benchmark itself.
"""

import itertools
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from benchmarks_suite.workload import Inputs

Shares = tuple[float, float]  # of the batch, of the length
Axes = Mapping[str, tuple[str, ...]]  # workload.Workload.axes
Sizes = dict[str, int]  # batch, length -> how many
_NAMES = ("batch", "length")  # in the order of the shares


def walk(batch: Inputs, axes: Axes, sweep: Sequence[Shares]) -> list[Inputs]:
    """The batch in each shape, in order."""
    return [cut(batch, axes, smaller) for smaller in walk_sizes(batch, axes, sweep)]


def walk_sizes(batch: Inputs, axes: Axes, sweep: Sequence[Shares]) -> list[Sizes]:
    """The shapes, in order; of equal neighbours the first.

    Where the model has no length, shapes that differ in it alone are equal.
    """
    whole = sizes(batch, axes)
    smaller = list[Sizes]()
    for shares in sweep:
        share_of = dict(zip(_NAMES, shares, strict=True))
        smaller.append({name: max(1, round(share_of[name] * size)) for name, size in whole.items()})
    return [each for each, _ in itertools.groupby(smaller)]


def sizes(batch: Inputs, axes: Axes) -> Sizes:
    """Read how large and how long the batch is, as far as its inputs have such axes."""
    by_name: Sizes = {}
    for name, tensor in batch.items():
        for axis, size in enumerate(axes.get(name, ())):
            by_name[size] = tensor.shape[axis]
    return {name: by_name[name] for name in _NAMES if name in by_name}


def label(shape: Sizes) -> str:
    """The shape in words: ``batch 8, length 512``."""
    return ", ".join(f"{name} {size}" for name, size in shape.items())


def cut(batch: Inputs, axes: Axes, smaller: Sizes) -> Inputs:
    """The beginning of the batch along each of its axes, in memory of its own."""
    inputs = dict(batch)
    for name, names_of_axes in axes.items():
        if name not in batch:
            continue
        tensor: Tensor = batch[name]
        for axis, size in enumerate(names_of_axes):
            tensor = tensor.narrow(axis, 0, smaller[size])
        inputs[name] = tensor.clone(memory_format=torch.contiguous_format)
    return inputs
