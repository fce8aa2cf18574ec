"""Tables of a compilation's calls, as the suite's counted start leaves them."""

import json
import lzma
from collections.abc import Mapping

Edges = Mapping[tuple[str, str], tuple[int, int]]


def packed_calls(functions: Mapping[str, tuple[int, int]], edges: Edges) -> bytes:
    """functions: name -> (calls, those with all below); edges: (caller, callee) -> the same."""
    names = list(functions)
    document = {
        "schema": "compile-calls.v1",
        "functions": [[name, *counts] for name, counts in functions.items()],
        "edges": [
            [names.index(caller), names.index(callee), *counts]
            for (caller, callee), counts in edges.items()
        ],
    }
    return lzma.compress(json.dumps(document).encode())


def compilation(passes: int, extra: int = 0) -> bytes:
    """A compiler that runs its pass so often, and a function of the pass so many times more."""
    inner = 10 * passes + extra
    run = passes + inner
    functions = {
        "torch/_dynamo/eval_frame.py:compile": (1, 1 + run + 400),
        "torch/_inductor/passes.py:run": (passes, run),
        "torch/_inductor/passes.py:match": (inner, inner),
        "torch/_dynamo/guards.py:build": (400, 400),
    }
    compile_, pass_, match, guards = functions
    edges = {
        (compile_, pass_): (passes, run),
        (pass_, match): (inner, inner),
        (compile_, guards): (400, 400),
    }
    return packed_calls(functions, edges)
