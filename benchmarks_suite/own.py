"""Own models: benchmarks from a plain Python file, a folder of files, or an installed package.
docs/own-models.md.

What a file offers is *read* from its text: nothing of it runs until it is measured or checked, so
that torch is imported after the job's variables were set, and a file that cannot be imported does
not spoil the list. Stdlib only.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import itertools
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.registry import SUITE

PREFIX = "benchmark_"  # of a function that returns a module and inputs
GROUP = "compilewatch.benchmarks"  # of the entry points of installed packages
SIZE = "own"  # measured on every machine
MOST_FILES, MOST_BENCHMARKS, MOST_BYTES = 200, 1000, 1_000_000
NO_FUNCTION = f"it defines no function {PREFIX}NAME that returns a module and its inputs"
CHECK_S = 300  # the first import of torch from a cold disk takes minutes
CONSTANTS: dict[str, Any] = {
    "FAMILY": "own",
    "ITEM": "samples",
    "ITEMS": 1,
    "CONFIGS": ("eager", "inductor"),
    "VERSION": 1,
}
PARAMETERS: dict[str, Any] = {
    "batch_size": 1,
    "mode": "inference",
    "dtype": "float32",
    "shapes": "static",
}
_CHOICES = {
    "mode": ("inference", "training", "prefill", "decode"),
    "dtype": ("float32", "bfloat16", "float16", "autocast_bf16", "autocast_fp16"),
    "shapes": ("static", "dynamic", "bucketed"),
}
_PATTERNS = {
    "FAMILY": r"[a-z][a-z0-9_]{0,39}",
    "ITEM": r"[a-z]{1,40}",
    "CONFIGS": r"[a-z0-9_]{1,60}",
}


class Malformed(ValueError):
    """Something in a file is not as it must be; the text says where, and what to write."""


@dataclass
class Source:
    """One file of own models.

    file_hash: SHA-256 of its bytes, the first 16 hex digits.
    problems: why it offers less than its author meant.
    """

    module: str
    file_hash: str = ""
    benchmarks: list[Benchmark] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find(name: str, paths: Sequence[str], version: int | None = None) -> Benchmark | None:
    """The benchmark of that name in these files and folders, else in installed packages.

    None where there is none. version: replaces the file's own.
    """
    for source in itertools.chain(of_paths(paths), installed()):
        for benchmark in source.benchmarks:
            if benchmark.name == name:
                return replace(benchmark, version=version) if version else benchmark
    return None


def every(paths: Sequence[str]) -> list[Source]:
    """The sources of these paths, then installed ones; of two with one name the first counts."""
    sources = [*of_paths(paths), *installed()]
    owners = dict[str, str]()
    for source in sources:
        benchmarks = []
        for benchmark in source.benchmarks:
            name = benchmark.name
            owner = owners.setdefault(name, source.module)
            if owner == source.module:
                benchmarks.append(benchmark)
            else:
                source.problems.append(f"{name} is left out: {owner} has one of that name")
        source.benchmarks = benchmarks
    return sources


def of_paths(paths: Iterable[str]) -> Iterator[Source]:
    """The files named by ``paths``, and those in named folders that offer something."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from _in_folder(path.absolute())
        else:
            yield _of_file(path.absolute(), str(path.absolute()))


def installed() -> Iterator[Source]:
    """The modules that installed packages name as entry points; no package is imported."""
    entry_points = importlib.metadata.entry_points(group=GROUP)
    for entry_point in sorted(entry_points, key=lambda each: (each.name, each.value)):
        module = entry_point.module
        try:
            spec = _spec(module)
        except Exception as error:  # a finder of an editable install can raise anything
            problem = f"looking for it raised {type(error).__name__}: {error}"
            yield Source(module, problems=[problem])
            continue
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            problem = "the entry point names a module that is not there: reinstall it"
            yield Source(module, problems=[problem])
        else:
            yield _of_file(Path(spec.origin), module)


def problem_of_import(module: str) -> str:
    """The traceback of a source that cannot be imported, in a process of its own; else empty."""
    code = (
        "import sys; from benchmarks_suite.benchmark import import_module_or_file; "
        "import_module_or_file(sys.argv[1])"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, module],
            capture_output=True,
            text=True,
            timeout=CHECK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its import did not end within {CHECK_S} s"
    if done.returncode == 0:
        return ""
    traceback = done.stderr.strip()[-4000:]
    return (
        traceback or f"its import ended the process with exit code {done.returncode}, and no word"
    )


def _spec(module: str) -> ModuleSpec | None:
    """Locate the module. importlib.util.find_spec would import the packages that it is in."""
    name, *below = module.split(".")
    spec = importlib.util.find_spec(name)
    for part in below:
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    return spec


def _in_folder(folder: Path) -> Iterator[Source]:
    files = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith((".", "__pycache__")) for part in parts):
            files.append(path)
    for file in files[:MOST_FILES]:
        source = _of_file(file, str(file))
        if source.benchmarks or source.problems != [NO_FUNCTION]:
            yield source
    if len(files) > MOST_FILES:
        problem = f"it has {len(files)} files: only the first {MOST_FILES} were read"
        yield Source(str(folder), problems=[problem])


def _of_file(path: Path, module: str) -> Source:
    source = Source(module)
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise Malformed(f"it is longer than {MOST_BYTES} bytes: keep data out of it")
        source.file_hash = hashlib.sha256(body).hexdigest()[:16]
        tree = ast.parse(body, filename=str(path))
        constants = {**CONSTANTS, **_constants(tree)}
    except OSError as error:
        source.problems.append(f"it cannot be read: {error.strerror}")
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        source.problems.append(f"{line}{error.msg}")
    except (Malformed, ValueError, RecursionError, MemoryError) as error:
        source.problems.append(str(error) or type(error).__name__)
    else:
        _add_functions(source, tree, constants)
    return source


def _add_functions(source: Source, tree: ast.Module, constants: dict[str, Any]) -> None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    offering = [function for function in functions if function.name.startswith(PREFIX)]
    if not offering:
        source.problems.append(NO_FUNCTION)
    for function in offering:
        try:
            source.benchmarks += _benchmarks(function, constants, source)
        except Malformed as error:
            source.problems.append(f"line {function.lineno}: {function.name}: {error}")
    if len(source.benchmarks) > MOST_BENCHMARKS:
        source.problems.append(
            f"it offers {len(source.benchmarks)} benchmarks: the first {MOST_BENCHMARKS} count"
        )
        del source.benchmarks[MOST_BENCHMARKS:]


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Those of CONSTANTS that the file sets."""
    constants = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, where = node.targets[0], f"line {node.lineno}"
        if isinstance(target, ast.Name) and target.id in CONSTANTS:
            value = _literal(node.value, f"{where}: {target.id}")
            constants[target.id] = _checked_constant(target.id, value, where)
    return constants


def _checked_constant(name: str, value: Any, where: str) -> Any:
    if name in ("VERSION", "ITEMS"):
        if type(value) is not int or not 1 <= value < 2**31:
            raise Malformed(f"{where}: {name} must be a whole number from 1, not {value!r}")
        return value
    texts = _as_tuple(value)
    if name != "CONFIGS" and len(texts) != 1:
        raise Malformed(f"{where}: {name} must be one word, not {value!r}")
    for text in texts:
        if not isinstance(text, str) or not re.fullmatch(_PATTERNS[name], text):
            raise Malformed(
                f"{where}: {name} must be written in lower-case letters, digits and _, not {text!r}"
            )
    return texts if name == "CONFIGS" else texts[0]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _benchmarks(
    function: ast.FunctionDef, constants: dict[str, Any], source: Source
) -> Iterator[Benchmark]:
    """One for each combination of what the parameters' defaults offer."""
    model = function.name.removeprefix(PREFIX)
    if not re.fullmatch(r"[a-z0-9_]{1,80}", model):
        raise Malformed("write its name in lower-case letters, digits and _")
    if any(model == each.model for each in SUITE.values()):
        raise Malformed(f"the suite has a model {model} itself: choose another name")
    offered = {name: (default,) for name, default in PARAMETERS.items()} | _defaults(function)
    for values in itertools.product(*(offered[name] for name in PARAMETERS)):
        yield Benchmark(
            model=model,
            family=constants["FAMILY"],
            size=SIZE,
            item=constants["ITEM"],
            default_configs=constants["CONFIGS"],
            version=constants["VERSION"],
            source=source.module,
            source_hash=source.file_hash,
            **dict(zip(PARAMETERS, values, strict=True)),
        )


def _defaults(function: ast.FunctionDef) -> dict[str, tuple[Any, ...]]:
    """Read what the function offers by its parameters' defaults: a value, or a tuple of several."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    parameters = [*positional, *arguments.kwonlyargs]
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    offered = {}
    for name, default in zip((each.arg for each in parameters), defaults, strict=True):
        if default is None:
            raise Malformed(f"its parameter {name} needs a default")
        if name in PARAMETERS:
            offered[name] = _offered(name, _literal(default, name))
    return offered


def _offered(name: str, value: Any) -> tuple[Any, ...]:
    values = _as_tuple(value)
    for each in values:
        if name == "batch_size" and (type(each) is not int or not 1 <= each < 2**31):
            raise Malformed(
                f"batch_size must be a whole number from 1, or a tuple of them, not {each!r}"
            )
        if name in _CHOICES and each not in _CHOICES[name]:
            choices = ", ".join(_CHOICES[name])
            raise Malformed(f"{name} must be one of {choices}, or a tuple of them, not {each!r}")
    if not values:
        raise Malformed(f"{name} offers nothing: write a value, or a tuple of values")
    return values


def _literal(node: ast.expr, what: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Malformed(
            f"{what} must be written out: it is read without running the file"
        ) from None
