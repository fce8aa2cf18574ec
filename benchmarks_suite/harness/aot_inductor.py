"""AOTInductor: exported with its first inputs, compiled into a package, loaded, then called."""

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks_suite.workload import Unsupported


class Packaged:
    """Stands in for ``module``.

    The first call compiles, as with torch.compile, so a start measures it.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._loaded: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._loaded is None:
            from torch._inductor import aoti_load_package

            with tempfile.TemporaryDirectory(prefix="compilewatch-aot-") as folder:
                self._loaded = aoti_load_package(package(self._module, args, kwargs, Path(folder)))
        return self._loaded(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)  # a workload's call may use the module's own attributes


def package(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], folder: Path) -> str:
    """Exports and compiles; the path of the package, in ``folder``.

    Raises Unsupported where loading it would crash.
    """
    from torch._inductor import aoti_compile_and_package

    exported = torch.export.export(module, args, kwargs, strict=False)
    path = Path(aoti_compile_and_package(exported, package_path=str(folder / "model.pt2")))
    if has_own_runtime(path):
        compiler = os.environ.get("CXX", "g++")
        raise Unsupported(
            f"the C++ compiler {compiler} links its runtime library into what it makes: "
            "a package of AOTInductor then crashes while it is loaded (std::regex finds two of "
            "them). Set CXX to one that does not"
        )
    return str(path)


def has_own_runtime(package: Path) -> bool:
    """Test whether a library in the package has the C++ runtime linked in.

    A shared library that uses the process's names it.
    """
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                library = archive.read(name)
                if b"libstdc++.so" not in library and b"libc++.so" not in library:
                    return True
    return False
