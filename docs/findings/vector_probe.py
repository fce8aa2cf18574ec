"""Which vector instructions a CPU has is tried by Pythons that import torch, in every process.

    python vector_probe.py               needs torch and a C++ compiler; no GPU

Before Inductor compiles for a CPU it builds a small library for each set of vector instructions,
keeps it in its cache, and has a Python of its own load it. In releases that import torch there,
each process that compiles waits for as many imports of torch as there are sets to try, filled
caches or not.

Asks torch which instructions it would use, first with whatever is in the cache, then in a second
process, which finds the libraries there. Prints how many Pythons each started that import torch,
how long that took, and a verdict. Exits with 1 where the second process started any, with 0 where
it started none.
"""

import ast
import subprocess
import sys
import time

AGAIN = "again"
imports = []


class Watched(subprocess.Popen):
    """Notes the Pythons that import torch, whatever else is started."""

    def __init__(self, args, *others, **options):
        if args[0] == sys.executable and args[1] == "-c":
            names = [node.names[0].name for node in ast.parse(args[2]).body if is_import(node)]
            imports.extend(name for name in names if name == "torch")
        super().__init__(args, *others, **options)


def is_import(node):
    return isinstance(node, ast.Import)


def ask():
    import torch
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    real, subprocess.Popen = subprocess.Popen, Watched
    began = time.perf_counter()
    chosen = pick_vec_isa()
    took_s = time.perf_counter() - began
    subprocess.Popen = real
    counted = f"{len(imports)} imports of torch, {took_s:.1f} s"
    print(f"torch {torch.__version__}, {chosen}: {counted}", flush=True)


if __name__ == "__main__":
    ask()
    if AGAIN in sys.argv:
        sys.exit(bool(imports))
    command = [sys.executable, __file__, AGAIN]
    each_time = subprocess.run(command, check=False).returncode
    what = "imports torch each time" if each_time else "imports nothing"
    print(f"verdict: a process that tries the vector instructions {what}")
    sys.exit(each_time)
