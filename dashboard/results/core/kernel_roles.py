"""Roles of kernels, as far as their names, kinds and nodes say what they do. Pure.

Between two builds the same work may have other names: Inductor numbers its kernels, and the
libraries' names hold the sizes of their tiles.
"""

import re
from collections.abc import Set

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
# Kernels of PyTorch's that got another template argument, or a form for contiguous tensors
_NATIVE = re.compile(r"\b([A-Z]\w*?)(?:Contiguous)?(KernelImpl|CUDAKernel)")
_FILL = re.compile(r"^Memset|FillFunctor")
_ATTENTION_HELPER = re.compile(r"dot_do_o|convert_dq")
_GRADIENT = re.compile(r"dgrad|wgrad|backward", re.IGNORECASE)
# With what comes before and after the kernel itself
_BACKWARD = re.compile(rf"bwd|bprop|backward|cutlassB|{_ATTENTION_HELPER.pattern}", re.IGNORECASE)
_TRITON_FORM = re.compile(r"^triton_(poi|red|per|tem|for|mm)_")  # pointwise, reduction, …
_REDUCTIONS = {"red": "reduction", "per": "reduction"}  # in a loop, or persistent
_FEWEST_NODES = 2  # by which a kernel is known
_CUT = 500  # characters of `Kernel.nodes`, at which the suite cuts them
_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv", re.IGNORECASE
)


def role(kernel: Kernel) -> tuple[str, str]:
    """Its kind, and its name without numbers, sizes and flags: triton_poi_fused_add_mul_3 is
    triton_poi_fused_add_mul.
    """
    return kernel.kind, without_numbers(_FLAG.sub(r"\1>", plain_name(kernel.name)))


def purpose(kernel: Kernel) -> str:
    """Name what it computes, whichever kernel does it; empty where that cannot be read."""
    kind = "attention" if _ATTENTION_HELPER.search(kernel.name) else kernel.kind
    match kind:
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
            return without_numbers(_aten(kernel)) or _TRITON_FORM.sub("", role(kernel)[1])
    return _copy(kernel.name) or _native(kernel.name)


def nodes(kernel: Kernel) -> frozenset[str]:
    """List the nodes of the graph that a Triton kernel computes; empty where not known."""
    _, _, text = kernel.nodes.partition(" of ")
    names = text.split(", ")
    if len(kernel.nodes) >= _CUT:
        names.pop()  # a part of a name
    return frozenset(names) - {""}


def work(kernel: Kernel) -> tuple[str, str, frozenset[str]] | None:
    """Its form, what it fuses and its nodes; None where these are not known. Nodes alone may be
    those of several kernels: of the stages of a reduction, of a forward and a backward one.
    """
    computed = nodes(kernel)
    if not computed:
        return None
    return _triton_form(kernel), _TRITON_FORM.sub("", role(kernel)[1]), computed


def shared_nodes(one: Kernel, other: Kernel) -> float:
    """The share of their nodes that two Triton kernels have in common; 0 for others."""
    return _shared(_telling_nodes(one), _telling_nodes(other))


def shared_operators(one: Kernel, other: Kernel) -> float:
    """The share of their operators that two Triton kernels of one form have in common; 0 for
    others, and for those that are known to compute none of each other's nodes. Of the words in
    their names, where the operators are not known of both.
    """
    if not _triton_form(one) or _triton_form(one) != _triton_form(other):
        return 0.0
    if have_other_nodes(one, other):
        return 0.0
    if one.nodes and other.nodes:
        return _shared(_operators(one), _operators(other))
    return _shared(_words(one), _words(other))


def part_in(part: Kernel, whole: Kernel) -> float:
    """The share of a Triton kernel's nodes that another one computes; 0 for others."""
    computed = _telling_nodes(part)
    return len(computed & nodes(whole)) / len(computed) if computed else 0.0


def have_other_nodes(one: Kernel, other: Kernel) -> bool:
    """Test whether all nodes of both are known, and none of them is in both."""
    if any(not nodes(kernel) or len(kernel.nodes) >= _CUT for kernel in (one, other)):
        return False
    return not nodes(one) & nodes(other)


def _telling_nodes(kernel: Kernel) -> frozenset[str]:
    """Empty where they are too few to tell it from others: one input may feed many kernels."""
    computed = nodes(kernel)
    return computed if len(computed) >= _FEWEST_NODES else frozenset()


def _copy(name: str) -> str:
    """Into which type it copies, by whichever of PyTorch's kernels; empty for others."""
    for pattern in (_CONVERTING, _DIRECT, _TO_16_BITS):
        written = pattern.search(name)
        if written:
            return f"copy to {_CPP_TYPES.get(written[1], written[1])}"
    return ""


def _native(name: str) -> str:
    """Name the work of PyTorch's other kernels: "fill", or the function without its form."""
    if _FILL.search(name):
        return "fill"
    function = _NATIVE.search(name)
    return "".join(function.groups()) if function else ""


def _triton_form(kernel: Kernel) -> str:
    """Empty for others. Whether a reduction loops or holds its row at once is how, not what."""
    form = _TRITON_FORM.match(kernel.name)
    return _REDUCTIONS.get(form[1], form[1]) if form else ""


def _aten(kernel: Kernel) -> str:
    """Its operators: the first half of "aten.gelu, aten.add of hidden, add_3"."""
    return kernel.nodes.partition(" of ")[0].replace("aten._unsafe_view", "aten.view")


def _operators(kernel: Kernel) -> set[str]:
    return set(_aten(kernel).split(", ")) - {""}


def _words(kernel: Kernel) -> set[str]:
    """Split what it fuses into words, without those for its form and for an unsafe view."""
    fused = _TRITON_FORM.sub("", role(kernel)[1])
    return set(fused.split("_")) - {"fused", "unsafe", ""}


def _shared(some: Set[str], others: Set[str]) -> float:
    return len(some & others) / len(some | others) if some and others else 0.0


def without_numbers(text: str) -> str:
    """Words joined by underscores, in lower case, without numbers and sizes of tiles."""
    for pattern in (_TILES, _NUMBERS):
        text = pattern.sub("", text)
    return _BETWEEN_WORDS.sub("_", text).strip("_").lower()
