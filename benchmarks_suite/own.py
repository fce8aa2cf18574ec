"""Own models: benchmarks from a plain Python file, a folder of files, or an installed package.
docs/own-models.md.

What a file offers is *read* from its text: nothing of it runs until it is measured or checked, so
that torch is imported after the job's variables were set, and a file that cannot be imported spoils
no list. Stdlib only.
"""

import ast
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
from benchmarks_suite.registry import BENCHMARKS

PREFIX = "benchmark_"  # of a function that returns a module and inputs
GROUP = "compilewatch.benchmarks"  # of the entry points of installed packages
SIZE = "own"  # measured on every machine
MOST_FILES, MOST_BENCHMARKS, MOST_BYTES = 200, 1000, 1_000_000
CHECK_S = 300  # the first import of torch from a cold disk takes minutes
CONSTANTS: dict[str, Any] = {
    "FAMILY": "own",
    "ITEM": "samples",
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
    """Something in a file is not as it has to be; the text says the line, and what to write."""


@dataclass
class Source:
    """One file of own models. problems: why it offers less than its author meant."""

    module: str
    benchmarks: list[Benchmark] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find(name: str, paths: Sequence[str], version: int | None = None) -> Benchmark | None:
    """The benchmark of that name in these files and folders, else in installed packages; None where
    nobody has it.

    version: replaces the file's own.
    """
    for sources in (of_paths(paths), installed()):
        for found in itertools.chain.from_iterable(source.benchmarks for source in sources):
            if found.name == name:
                return replace(found, version=version) if version else found
    return None


def every(paths: Sequence[str]) -> list[Source]:
    """All sources, of these paths and installed; of two benchmarks with one name the first
    counts.
    """
    sources, owners = [*of_paths(paths), *installed()], dict[str, str]()
    for source in sources:
        taken = [
            each
            for each in source.benchmarks
            if owners.setdefault(each.name, source.module) != source.module
        ]
        source.benchmarks = [each for each in source.benchmarks if each not in taken]
        source.problems += [
            f"{each.name} is left out: {owners[each.name]} has one of that name" for each in taken
        ]
    return sources


def of_paths(paths: Iterable[str]) -> Iterator[Source]:
    """The files named by ``paths``, and those in named folders that offer something."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from _in_folder(path.absolute())
        else:
            yield _of_file(path.absolute(), str(path.absolute()))


def installed() -> Iterator[Source]:
    """The modules that installed packages name as entry points; found without importing a
    package.
    """
    for point in sorted(
        importlib.metadata.entry_points(group=GROUP), key=lambda each: (each.name, each.value)
    ):
        try:
            spec = _spec(point.module)
        except Exception as error:  # a finder of an editable install can raise anything
            yield Source(
                point.module, problems=[f"looking for it raised {type(error).__name__}: {error}"]
            )
            continue
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            yield Source(
                point.module,
                problems=["the entry point names a module that is not there: reinstall it"],
            )
        else:
            yield _of_file(Path(spec.origin), point.module)


def problem_of_import(module: str) -> str:
    """The traceback with which a source fails to import, in a process of its own; empty where it
    does not.
    """
    code = "import sys; from benchmarks_suite.benchmark import import_module_or_file as load; load(sys.argv[1])"
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
    return (
        done.stderr.strip()[-4000:]
        or f"its import ended the process with exit code {done.returncode}, and no word"
    )


def _spec(module: str) -> ModuleSpec | None:
    top, *below = module.split(".")
    spec = importlib.util.find_spec(top)
    for depth in range(len(below)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(
            ".".join([top, *below[: depth + 1]]), spec.submodule_search_locations
        )
    return spec


def _in_folder(folder: Path) -> Iterator[Source]:
    files = [
        path for path in sorted(folder.rglob("*.py")) if not _is_hidden(path.relative_to(folder))
    ]
    for file in files[:MOST_FILES]:
        source = _of_file(file, str(file))
        if source.benchmarks or any(
            "defines no function" not in problem for problem in source.problems
        ):
            yield source
    if len(files) > MOST_FILES:
        yield Source(
            str(folder),
            problems=[f"it has {len(files)} files: only the first {MOST_FILES} were read"],
        )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in path.parts)


def _of_file(path: Path, module: str) -> Source:
    source = Source(module)
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise Malformed(f"it is longer than {MOST_BYTES} bytes: keep data out of it")
        tree = ast.parse(body, filename=str(path))
        constants = {**CONSTANTS, **_constants(tree)}
    except OSError as error:
        source.problems.append(f"it cannot be read: {error.strerror}")
    except SyntaxError as error:
        source.problems.append(f"line {error.lineno}: {error.msg}")
    except (Malformed, ValueError, RecursionError, MemoryError) as error:
        source.problems.append(str(error) or type(error).__name__)
    else:
        _add_functions(source, tree, constants)
    return source


def _add_functions(source: Source, tree: ast.Module, constants: dict[str, Any]) -> None:
    functions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIX)
    ]
    if not functions:
        source.problems.append(
            f"it defines no function {PREFIX}NAME that returns a module and its inputs"
        )
    for function in functions:
        try:
            source.benchmarks += _benchmarks(function, constants, source.module)
        except Malformed as error:
            source.problems.append(f"line {function.lineno}: {function.name}: {error}")
    if len(source.benchmarks) > MOST_BENCHMARKS:
        source.problems.append(
            f"it offers {len(source.benchmarks)} benchmarks: the first {MOST_BENCHMARKS} count"
        )
        del source.benchmarks[MOST_BENCHMARKS:]


def _constants(tree: ast.Module) -> dict[str, Any]:
    """FAMILY, ITEM, CONFIGS and VERSION where the file sets them."""
    found = {}
    for node in tree.body:
        target = (
            node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        )
        if isinstance(target, ast.Name) and target.id in CONSTANTS and isinstance(node, ast.Assign):
            value = _literal(node.value, f"line {node.lineno}: {target.id}")
            found[target.id] = _checked_constant(target.id, value, f"line {node.lineno}")
    return found


def _checked_constant(name: str, value: Any, where: str) -> Any:
    if name == "VERSION":
        if type(value) is not int or not 1 <= value < 2**31:
            raise Malformed(f"{where}: VERSION must be a whole number from 1, not {value!r}")
        return value
    texts = (
        (value,)
        if isinstance(value, str)
        else tuple(value)
        if isinstance(value, list | tuple)
        else (value,)
    )
    if name != "CONFIGS" and len(texts) != 1:
        raise Malformed(f"{where}: {name} must be one word, not {value!r}")
    for text in texts:
        if not isinstance(text, str) or not re.fullmatch(_PATTERNS[name], text):
            raise Malformed(
                f"{where}: {name} must be written in lower-case letters, digits and _, not {text!r}"
            )
    return texts if name == "CONFIGS" else texts[0]


def _benchmarks(
    function: ast.FunctionDef, constants: dict[str, Any], module: str
) -> Iterator[Benchmark]:
    """One for each combination of what the parameters' defaults offer."""
    model = function.name.removeprefix(PREFIX)
    if not re.fullmatch(r"[a-z0-9_]{1,80}", model):
        raise Malformed("write its name in lower-case letters, digits and _")
    if any(model == each.model for each in BENCHMARKS.values()):
        raise Malformed(f"the suite has a model {model} itself: choose another name")
    offered = {name: (default,) for name, default in PARAMETERS.items()} | _defaults(function)
    for values in itertools.product(*(offered[name] for name in PARAMETERS)):
        batch_size, mode, dtype, shapes = values
        yield Benchmark(
            model,
            constants["FAMILY"],
            SIZE,
            mode,
            dtype,
            shapes,
            batch_size,
            constants["ITEM"],
            constants["CONFIGS"],
            constants["VERSION"],
            module,
        )


def _defaults(function: ast.FunctionDef) -> dict[str, tuple[Any, ...]]:
    """What the function offers by its parameters' defaults: a value, or several in a tuple."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = {}
    for argument, default in [
        *zip(positional, [*missing, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        if default is None:
            raise Malformed(f"its parameter {argument.arg} needs a default")
        if argument.arg in PARAMETERS:
            found[argument.arg] = _offered(argument.arg, _literal(default, argument.arg))
    return found


def _offered(name: str, value: Any) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    for each in values:
        if name == "batch_size" and (type(each) is not int or not 1 <= each < 2**31):
            raise Malformed(
                f"batch_size must be a whole number from 1, or a tuple of them, not {each!r}"
            )
        if name in _CHOICES and each not in _CHOICES[name]:
            raise Malformed(
                f"{name} must be one of {', '.join(_CHOICES[name])}, or a tuple of them, not "
                f"{each!r}"
            )
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
