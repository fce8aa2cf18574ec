"""Weights and inputs that are the same on every device and in every torch release.

The same seed gives other numbers in other releases (a ViT's first loss moved between 2.11 and
2.13), and then drift across builds would compare different models. So numbers are made here from an
integer hash of (key, position): integer arithmetic is exact everywhere, and the two steps after it
(a conversion of an integer below 2**53 to float64, one multiplication) are rounded alike by every
IEEE 754 machine.

The hash is lowbias32 (C. Wellons, "Prospecting for Hash Functions", 2018), a bijection on 32 bits;
its products stay below 2**63, so that int64 never overflows. A normal number is the sum of four
uniform 16-bit numbers (Irwin-Hall: exact, bounded at 3.5 standard deviations, no logarithm whose
last bit depends on a maths library).
"""

import math
import zlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from benchmarks_suite.harness.distances import is_continuous

_MASK = 0xFFFFFFFF
_CHUNK = {"cpu": 1 << 15, "cuda": 1 << 22}  # values made at once: fits a CPU's cache, fills a GPU
# 1 / standard deviation of the sum of four uniform 16-bit integers
_NORMAL_SCALE = 1 / (4 * (65536**2 - 1) / 12) ** 0.5


def key(*words: object) -> int:
    """A 32-bit key from anything that prints the same everywhere."""
    return zlib.crc32("/".join(map(str, words)).encode())


def hashed(start: int, stop: int, stream: int, device: torch.device | None = None) -> Tensor:
    """The hash of the positions start … stop - 1 in ``stream`` (a key).

    int64 of shape (stop - start,), 0 … 2**32 - 1. device: torch's default device if not given.
    """
    return _mixed(_mixed(torch.arange(start, stop, dtype=torch.int64, device=device)) ^ stream)


def _mixed(x: Tensor) -> Tensor:
    x.bitwise_xor_(x >> 16).mul_(0x7FEB352D).bitwise_and_(_MASK)
    # Less 2**32: the same low 32 bits, and no overflow of int64
    x.bitwise_xor_(x >> 15).mul_(0x846CA68B - 2**32).bitwise_and_(_MASK)
    return x.bitwise_xor_(x >> 16)


def uniform(shape: Iterable[int], stream: int) -> Tensor:
    """Uniform in [0, 1), float32."""
    shape = tuple(shape)
    bits = hashed(0, math.prod(shape), stream) >> 8  # 24 of them
    return (bits.to(torch.float64) / 2**24).to(torch.float32).reshape(shape)


def integers(low: int, high: int, shape: Iterable[int], stream: int) -> Tensor:
    """Uniform in low … high - 1, int64. The bias of the modulus is below (high - low) / 2**32."""
    shape = tuple(shape)
    offsets = hashed(0, math.prod(shape), stream) % (high - low)
    return (low + offsets).reshape(shape)


def normal(shape: Iterable[int], stream: int) -> Tensor:
    """Mean 0, standard deviation 1, float32."""
    filled = torch.empty(tuple(shape))
    fill_normal(filled, stream, 1.0)
    return filled


def fill_normal(tensor: Tensor, stream: int, std: float) -> None:
    """Overwrites a contiguous floating ``tensor`` with normal numbers, made on its own device."""
    flat = tensor.detach().view(-1)
    chunk = _CHUNK.get(tensor.device.type, 1 << 22)
    for start in range(0, flat.numel(), chunk):
        stop = min(start + chunk, flat.numel())
        pairs = hashed(2 * start, 2 * stop, stream, tensor.device).view(-1, 2)
        total = ((pairs >> 16) + (pairs & 0xFFFF)).sum(dim=1) - 2 * 65535  # mean 0
        flat[start:stop] = (total.to(torch.float64) * (_NORMAL_SCALE * std)).to(flat.dtype)


def fill_weights(module: nn.Module, seed: int) -> None:
    """Gives every parameter of ``module`` the value that belongs to its name, shape and ``seed``.

    Matrices and kernels: normal, standard deviation 1 / sqrt(fan in), so that activations keep
    their size through any depth. Vectors of ones (the gains of norms) and single numbers stay.
    Other vectors (biases, layer scales): normal, 0.02; a bias of zero would hide a compiler that
    forgets to add it. Buffers stay.
    """
    for name, parameter in module.named_parameters():
        if not is_continuous(parameter) or parameter.dim() == 0:
            continue
        if parameter.dim() == 1 and bool((parameter == 1).all()):
            continue
        std = 0.02 if parameter.dim() == 1 else _fan_in(parameter.shape) ** -0.5
        values = torch.view_as_real(parameter.detach()) if parameter.is_complex() else parameter
        fill_normal(values, key("weight", seed, name), std)


def _fan_in(shape: torch.Size) -> int:
    """Count the inputs that add up in one output.

    The last size of a stack of matrices or embeddings, else all sizes but the first.
    """
    # (experts, in, out), (1, positions, width); not a 1-d kernel
    if len(shape) == 3 and shape[-1] > 16:
        return shape[-1]
    return math.prod(shape[1:])


class own_draws(TorchFunctionMode):
    """While it is on, torch's random functions give our numbers.

    The n-th call gives stream (seed, n). A random function that it does not know is an error rather
    than a number that other releases draw otherwise.
    device: what makes the numbers, and gives them to the CPU: hundreds of millions take a CPU
        seconds.
    """

    def __init__(self, *seed: object, device: torch.device | str = "cpu") -> None:
        super().__init__()
        self._seed, self._calls, self._device = seed, 0, device

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in _FOREIGN_DRAWS:
            raise NotImplementedError(
                f"inputs drawn with torch.{name} differ between torch releases; "
                "draw with rand, randn, randint or randperm"
            )
        if name not in _DRAWS:
            return func(*args, **kwargs)
        self._calls += 1
        kwargs.pop("generator", None)
        dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
        with torch.device(self._device):
            drawn = _DRAWS[name](key("draw", *self._seed, self._calls), *args, **kwargs)
            if dtype is not None and dtype.is_complex:
                stream = key("draw", *self._seed, self._calls, "imaginary")
                drawn = torch.complex(drawn, _DRAWS[name](stream, *args, **kwargs))
        return drawn.to(device=device or "cpu", dtype=dtype)


_FOREIGN_DRAWS = frozenset({"normal", "bernoulli", "multinomial", "poisson", "randint_like"})


def _size(sizes: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """The shape from ``randn(2, 3)``, ``randn((2, 3))`` and ``randn(size=(2, 3))``."""
    if size is not None:
        return tuple(size)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tuple(sizes[0])
    return sizes


def _draw_randint(
    stream: int, *args: Any, low: int = 0, high: int | None = None, size: Any = None
) -> Tensor:
    """torch.randint(high, size), (low, high, size) and the same with names."""
    values = list(args)
    if size is None:
        size = values.pop()
    if high is None:
        high = values.pop()
    return integers(values[0] if values else low, high, size, stream)


_DRAWS: dict[str, Any] = {
    "rand": lambda stream, *sizes, size=None: uniform(_size(sizes, size), stream),
    "randn": lambda stream, *sizes, size=None: normal(_size(sizes, size), stream),
    "rand_like": lambda stream, tensor: uniform(tensor.shape, stream).to(tensor),
    "randn_like": lambda stream, tensor: normal(tensor.shape, stream).to(tensor),
    "randint": _draw_randint,
    "randperm": lambda stream, n: hashed(0, n, stream).argsort(stable=True),
    "normal_": lambda stream, tensor, mean=0.0, std=1.0: tensor.copy_(
        normal(tensor.shape, stream) * std + mean
    ),
    "uniform_": lambda stream, tensor, low=0.0, high=1.0: tensor.copy_(
        uniform(tensor.shape, stream) * (high - low) + low
    ),
}
