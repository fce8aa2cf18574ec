"""What tests of the suite would leave behind for those that run in the same process later."""

import ctypes
from collections.abc import Iterator

import pytest


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
