"""What a matmul leaves allocated: cuBLAS's workspace, which counts in every later peak.

    python cublas_workspace.py           needs torch alone and a CUDA GPU

Prints how many bytes a matmul keeps, how many of them clearing cuBLAS's workspaces frees, and how
far a forward pass of an MLP goes beyond what was allocated before. Prints a verdict; exits with 1
where a matmul keeps some, with 0 where none does, with 2 without a GPU.
"""

import sys

import torch


def allocated():
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def kept_by(call):
    """Bytes that stay allocated after the call, and how many of them are workspaces."""
    torch._C._cuda_clearCublasWorkspaces()
    before = allocated()
    call()
    kept = allocated() - before
    torch._C._cuda_clearCublasWorkspaces()
    return kept, before + kept - allocated()


def peak_of(call):
    """Bytes at the peak beyond what is allocated before, without workspaces there."""
    call()
    torch._C._cuda_clearCublasWorkspaces()
    before = allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


@torch.no_grad()
def main():
    print(f"torch {torch.__version__}")
    if not torch.cuda.is_available():
        print("verdict: cannot be told without a CUDA GPU")
        sys.exit(2)
    print(torch.cuda.get_device_name())
    options = {"device": "cuda", "dtype": torch.bfloat16}
    a, b, out = (torch.randn(1024, 1024, **options) for _ in range(3))
    bias = torch.randn(1024, **options)
    kept, freed = kept_by(lambda: torch.mm(a, b, out=out))
    print(f"mm: keeps {kept:,} bytes, of which workspaces {freed:,}")
    with_bias, freed = kept_by(lambda: torch.addmm(bias, a, b, out=out))
    print(f"addmm with a bias: keeps {with_bias:,} bytes, of which workspaces {freed:,}")
    layers = [layer for _ in range(16) for layer in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 10)).to("cuda", torch.bfloat16)
    for name, run in {"eager": model, "compiled": torch.compile(model)}.items():
        print(f"MLP, {name}: peak {peak_of(lambda run=run: run(a)):,} bytes above")
    print(f"verdict: a matmul {'keeps its' if kept else 'leaves no'} workspace")
    sys.exit(bool(kept))


if __name__ == "__main__":
    main()
