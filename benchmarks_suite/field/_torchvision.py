"""Imports torchvision where its compiled operators do not fit this build of torch.

A wheel for CUDA next to a torch for CPUs has none of its operators, and its import then fails where
it describes `nms`. Declared, the import succeeds; calling them still fails, as it must.
"""

import importlib
import importlib.util
import sys

import torch

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_library: list[torch.library.Library] = []  # operators live as long as it


def declare_operators() -> bool:
    """Makes `import torchvision` possible, where it is installed. Whether it has its operators."""
    if importlib.util.find_spec("torchvision") is None:
        return False
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        _declare()
        importlib.import_module("torchvision")
    return not _library


def _declare() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(operator)
    _library.append(library)
