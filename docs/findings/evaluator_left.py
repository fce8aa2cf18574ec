"""After a compilation that failed, Dynamo's evaluator of frames stays in the process.

    python evaluator_left.py             needs torch; no GPU, no C++ compiler

While Dynamo may compile, it has the interpreter call a function of Dynamo's for each Python call
(PEP 523), and takes it back when the compiled function returns. It should do so as well when
compiling raises an exception, which the caller may catch.

Tries five calls of compiled functions, each in a process of its own: one that works, one whose own
code raises, and three that fail while Dynamo compiles. Asks the interpreter before each, after it,
and after torch._dynamo.reset(), whose function evaluates frames. Then times loops of plain Python
calls, in turn with the function that is installed and with Python's own. Prints these, the ratio of
the times, and a verdict. Exits with 1 where the evaluator was left, with 0 where it was always
taken back, with 2 where a process failed otherwise.
"""

import ctypes
import statistics
import subprocess
import sys
import time

import torch
import torch._dynamo

CALLS = 100_000
REPETITIONS = 25
LEFT = 3  # exit code of a process that still has the evaluator

python = ctypes.pythonapi
python.PyInterpreterState_Get.restype = ctypes.c_void_p
python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
python._PyInterpreterState_SetEvalFrameFunc.restype = None
python._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
PYTHONS_OWN = ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value


def installed():
    return python._PyInterpreterState_GetEvalFrameFunc(python.PyInterpreterState_Get())


def install(evaluator):
    python._PyInterpreterState_SetEvalFrameFunc(python.PyInterpreterState_Get(), evaluator)


def nothing():
    pass


def seconds_of_calls():
    began = time.thread_time()
    for _ in range(CALLS):
        nothing()
    return time.thread_time() - began


def times_longer():
    """What calls take with the installed evaluator, against Python's own: measured in turn."""
    evaluator = installed()
    ratios = []
    for _ in range(REPETITIONS):
        install(PYTHONS_OWN)
        own_s = seconds_of_calls()
        install(evaluator)
        ratios.append(seconds_of_calls() / own_s)
    return statistics.median(ratios)


def sine(x):
    return x.sin()


def raises(x):
    raise KeyError("of the function itself")


def breaks_the_graph(x):
    torch._dynamo.graph_break()
    return x.sin()


def failing_backend(graph, inputs):
    raise ValueError("of the backend")


def recompile():
    compiled = torch.compile(sine, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(torch.ones(4))


def compile_and_call(function, backend="eager", fullgraph=False):
    torch.compile(function, backend=backend, fullgraph=fullgraph)(torch.ones(3))


WAYS = {
    "works": lambda: compile_and_call(sine),
    "own exception": lambda: compile_and_call(raises),
    "graph break": lambda: compile_and_call(breaks_the_graph, fullgraph=True),
    "backend raises": lambda: compile_and_call(sine, backend=failing_backend),
    "must not recompile": recompile,
}


def try_out(way):
    states = [installed()]
    raised = "nothing"
    try:
        WAYS[way]()
    except Exception as error:
        raised = type(error).__name__
    states.append(installed())
    torch._dynamo.reset()
    states.append(installed())
    shown = "".join(f"{'no' if state == PYTHONS_OWN else 'yes':9}" for state in states)
    print(f"{way:20}{raised:24}{shown}{times_longer():.2f}", flush=True)
    return states[-1] != PYTHONS_OWN


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(LEFT if try_out(sys.argv[1]) else 0)
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
    print("is the evaluator installed before the call, after it, after torch._dynamo.reset()?")
    print(f"{'':20}{'raised':24}{'before':9}{'after':9}{'reset':9}calls take", flush=True)
    codes = set()
    for way in WAYS:
        codes.add(subprocess.run([sys.executable, __file__, way], check=False).returncode)
    if codes - {0, LEFT}:
        print("verdict: none, a process failed")
        sys.exit(2)
    left = LEFT in codes
    print(f"verdict: the evaluator of frames is {'left' if left else 'taken back'}")
    sys.exit(left)
