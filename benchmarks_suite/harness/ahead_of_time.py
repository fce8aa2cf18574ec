"""AOTInductor: exported with its first inputs, compiled into a package, loaded, called like the module."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn


class Packaged:
    """Stands in for ``module``; the first call compiles, as with torch.compile, so a start measures it."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._loaded: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._loaded is None:
            self._loaded = _compiled(self._module, args, kwargs)
        return self._loaded(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)  # a workload's call may use the module's own attributes


def _compiled(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from torch._inductor import aoti_load_package

    with tempfile.TemporaryDirectory(prefix="compilewatch-aot-") as folder:
        return aoti_load_package(package(module, args, kwargs, Path(folder)))


def package(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], folder: Path) -> str:
    """Exports and compiles; the path of the package, in ``folder``."""
    from torch._inductor import aoti_compile_and_package

    exported = torch.export.export(module, args, kwargs, strict=False)
    return str(aoti_compile_and_package(exported, package_path=str(folder / "model.pt2")))
