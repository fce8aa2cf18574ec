"""Benchmarks, and the import of the modules that build them. Stdlib only."""

import ast
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

FIELD_FAMILY = "field-"  # of the models that the field runs (field/); the library follows
# What a result and the list say of a benchmark
_FIELDS = (
    "name",
    "model",
    "family",
    "size",
    "mode",
    "dtype",
    "shapes",
    "batch_size",
    "version",
    "item",
)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Properties of a benchmark, fixed while the software under it changes.

    model: name of the file in models/ that builds it.
    family: what it is shown and alerted with.
    size: smoke (tens of milliseconds a step on one CPU core), or standard (the published shapes,
        for one GPU).
    mode: inference, training; LLMs also prefill, decode.
    dtype: float32, bfloat16, float16, or autocast_bf16 (float32 weights under torch.autocast).
    shapes: static, dynamic (lengths vary from batch to batch), or bucketed (padded to one of a few
        lengths).
    item: the unit of throughput.
    default_configs: the configs that a run measures unless it names others; none: not in the
        default run.
    version: raise it when the model's file changes what is measured: its series start a new
        segment.
    source: of an own model (own.py) its file, or the installed module; empty: models/<model>.py.
    source_hash: of that file's bytes; another one is another revision, whatever the version.
    """

    model: str
    family: str
    size: str
    mode: str
    dtype: str
    shapes: str
    batch_size: int
    item: str
    default_configs: tuple[str, ...] = ()
    version: int = 1
    source: str = ""
    source_hash: str = ""

    @property
    def is_of_field(self) -> bool:
        return self.family.startswith(FIELD_FAMILY)

    @property
    def library(self) -> str:
        """Library of a model of the field, and its adapter in field/; empty for other models."""
        return self.family.removeprefix(FIELD_FAMILY) if self.is_of_field else ""

    @property
    def module(self) -> str:
        """Module or file that builds it, as ``import_module_or_file`` takes it."""
        if self.is_of_field:
            return f"benchmarks_suite.field.{self.library}"
        return self.source or f"benchmarks_suite.models.{self.model}"

    @property
    def name(self) -> str:
        return f"{self.model}.{self.size}.{self.mode}.{self.dtype}.{self.shapes}.b{self.batch_size}"

    @property
    def about(self) -> str:
        """Docstring of its file, up to the first empty line, read without running it. Empty for
        the field's models, whose adapters build many, and for installed modules.
        """
        own_file = Path(self.source)
        path = own_file if self.source else Path(__file__).parent / "models" / f"{self.model}.py"
        if self.is_of_field or path.suffix != ".py":
            return ""
        described = ast.get_docstring(ast.parse(path.read_bytes())) or ""
        return " ".join(described.partition("\n\n")[0].split())

    def described(self) -> dict[str, Any]:
        described = {field: getattr(self, field) for field in _FIELDS}
        if self.source_hash:
            described["source_hash"] = self.source_hash
        return described

    @property
    def variables_on_cpu(self) -> dict[str, str]:
        """Environment variables that a job on a CPU needs before torch is imported."""
        return {"TRITON_INTERPRET": "1"} if self.model.endswith("_triton") else {}


def import_module_or_file(module: str) -> ModuleType:
    """Imports a module by its name, or a Python file by its absolute path.

    Such a file can import what lies next to it. Raises whatever its code raises.
    """
    if not module.endswith(".py"):
        return importlib.import_module(module)
    if module in sys.modules:
        return sys.modules[module]
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None  # .py is a suffix that Python can load
    assert spec.loader is not None
    folder = str(Path(module).parent)
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: its files never hide a library
    imported = sys.modules[module] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(imported)
    except BaseException:
        del sys.modules[module]
        raise
    return imported
