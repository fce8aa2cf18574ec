"""What a kernel does, as far as its name, its kind and its nodes say. Pure.

Between two builds the same work may have other names: Inductor numbers its kernels, and the
libraries' names hold the sizes of their tiles.
"""

import re

from dashboard.results.core.kernel_profile import Kernel, plain_name

_TILES = re.compile(r"\d+(?:x\d+)+")
_NUMBERS = re.compile(r"(?<![A-Za-z0-9])\d+(?:ul|u)?(?![A-Za-z0-9])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_FLAG = re.compile(r"(_elementwise_kernel<.*), (?:true|false)>$")  # since 2.14.1
# PyTorch's kernels that copy; each name says which type is written
_CONVERTING = re.compile(r"converting_copy_kernel_cuda<[^,]+, (.+?)>\(")
_DIRECT = re.compile(r"direct_copy_kernel_cuda\(.*?\{lambda\(([^()]+)\)#")
_TO_16_BITS = re.compile(r"\b(b?float16)_copy_kernel_cuda\(")
_CPP_TYPES = {"c10::BFloat16": "bfloat16", "c10::Half": "float16"}
_GRADIENT = re.compile(r"dgrad|wgrad|backward", re.IGNORECASE)
_BACKWARD = re.compile(r"bwd|bprop|backward|cutlassB", re.IGNORECASE)
_TRITON_FORM = re.compile(r"^triton_(poi|red|per|tem|for|mm)_")  # pointwise, reduction, …
_REDUCTIONS = {"red": "reduction", "per": "reduction"}  # in a loop, or persistent
_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv", re.IGNORECASE
)


def role(kernel: Kernel) -> tuple[str, str]:
    """Its kind, and its name without numbers, sizes and flags: triton_poi_fused_add_mul_3 is
    triton_poi_fused_add_mul.
    """
    return kernel.kind, without_numbers(_FLAG.sub(r"\1>", plain_name(kernel.name)))


def purpose(kernel: Kernel) -> str:
    """What it computes, whichever kernel does it; empty where that cannot be read."""
    match kernel.kind:
        case "attention":
            direction = "backward" if _BACKWARD.search(kernel.name) else "forward"
            return f"attention, {direction}"
        case "matmul":
            return "matrix multiplication"
        case "convolution":
            gradient = _GRADIENT.search(kernel.name)
            return f"convolution, {gradient.group().lower() if gradient else 'forward'}"
        case "communication":
            collective = _COLLECTIVE.search(kernel.name)
            return collective.group().lower().replace("_", "") if collective else ""
        case "triton":
            aten, _, _ = kernel.nodes.partition(" of ")  # "aten.gelu, aten.add of hidden, add_3"
            return without_numbers(aten) or _TRITON_FORM.sub("", role(kernel)[1])
    return _copy(kernel.name)


def likeness(one: Kernel, other: Kernel) -> float:
    """The share of their operators that two Triton kernels of one form have in common; 0 for
    others.
    """
    if not _triton_form(one) or _triton_form(one) != _triton_form(other):
        return 0.0
    operators, others = _operators(one), _operators(other)
    return len(operators & others) / len(operators | others) if operators else 0.0


def _copy(name: str) -> str:
    """Into which type it copies, by whichever of PyTorch's kernels; empty for others."""
    for pattern in (_CONVERTING, _DIRECT, _TO_16_BITS):
        written = pattern.search(name)
        if written:
            return f"copy to {_CPP_TYPES.get(written[1], written[1])}"
    return ""


def _triton_form(kernel: Kernel) -> str:
    """Empty for others. Whether a reduction loops or holds its row at once is how, not what."""
    form = _TRITON_FORM.match(kernel.name)
    return _REDUCTIONS.get(form[1], form[1]) if form else ""


def _operators(kernel: Kernel) -> set[str]:
    return set(kernel.nodes.partition(" of ")[0].split(", ")) - {""}


def without_numbers(text: str) -> str:
    """Words joined by underscores, in lower case, without numbers and sizes of tiles."""
    for pattern in (_TILES, _NUMBERS):
        text = pattern.sub("", text)
    return _BETWEEN_WORDS.sub("_", text).strip("_").lower()
