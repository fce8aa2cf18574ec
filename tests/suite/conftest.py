"""A measured case that several files read, and what tests would leave behind for later ones."""

import ctypes
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STARTS = ["cold", "warm", "restored", "cold_again", "counted", "diagnostic"]


@pytest.fixture(scope="session")
def started_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a small model was measured with every kind of start; for all processes once."""
    # Not where nothing but torch and pytest is installed
    from tests.builders.measured_jobs import MLP, run

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "started"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "measured").exists():
            case = {"benchmark": MLP, "config": "inductor", "measure": {"starts": STARTS}}
            run(folder, "benchmarks_suite", **case)
            (folder / "measured").touch()
    return folder


@pytest.fixture
def started(started_folder: Path) -> dict[str, Any]:
    """The result in `started_folder`."""
    result: dict[str, Any] = json.loads((started_folder / "out" / "result.json").read_text())
    return result


@pytest.fixture(autouse=True)
def python_evaluates_frames() -> Iterator[None]:
    """A compilation that failed leaves torch 2.13's evaluator of frames (PEP 523) installed.

    With one, Python 3.11 and 3.12 can crash where a generator closes itself, as streamed answers of
    Django's test client do.
    """
    yield
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = ctypes.c_void_p
    interpreter = ctypes.c_void_p(python.PyInterpreterState_Get())
    python._PyInterpreterState_SetEvalFrameFunc(interpreter, python._PyEval_EvalFrameDefault)
