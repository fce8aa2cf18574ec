"""Profiles of a step, by hand."""

from typing import Any

from dashboard.results.core.kernel_diff import KernelChange, KernelDiff, kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile, Kernel

# How a sentence says that a part of the change is another launch; {}: how much of it
LAUNCHED = ". {} of this is the same source with another launch (its block size, or warps)."


def kernel(name: str, ms: float, kind: str = "triton", calls: float = 1, **facts: Any) -> Kernel:
    return Kernel(name, kind, calls, ms, **facts)


def profile(*kernels: Kernel, device: str = "cuda", arm: str = "compiled") -> ArmProfile:
    calls = sum(kernel.calls for kernel in kernels)
    busy_ms = sum(kernel.ms for kernel in kernels)
    return ArmProfile(arm, device, 10, busy_ms, calls, kernels)


def row(name: str, ms: float, kind: str = "triton", **facts: Any) -> dict[str, Any]:
    """A kernel as a result document lists it."""
    return {
        "name": name,
        "kind": kind,
        "calls": 1,
        "ms": ms,
        "registers": None,
        "spills": None,
        "shared_bytes": None,
        "grid": None,
        "block": None,
        "source": None,
        "nodes": None,
        **facts,
    }


def section(*rows: dict[str, Any], device: str = "cuda") -> dict[str, Any]:
    """The profile of one arm as a result document has it."""
    total_ms = sum(kernel["ms"] for kernel in rows)
    return {
        "device": device,
        "steps": 10,
        "busy_ms": total_ms,
        "span_ms": total_ms,
        "sum_ms": total_ms,
        "clock_mhz": 1980 if device == "cuda" else None,
        "calls": sum(kernel["calls"] for kernel in rows),
        "kernels": sorted(rows, key=lambda kernel: -kernel["ms"]),
        "rest": {"kernels": 0, "calls": 0, "ms": 0},
    }


# GPT-2 in training on two releases, shortened: attention and a concatenation got slow
BEFORE = section(
    row("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", 20.1, "matmul", calls=48),
    row("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", 9.2, "attention", calls=12),
    row("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", 4.1, "attention", calls=12),
    row(
        "triton_poi_fused_add_mul_tanh_3",
        3.0,
        calls=12,
        registers=32,
        spills=0,
        source="00000000000000aa",
        nodes="aten.add, aten.mul, aten.tanh of add_1, mul_3, tanh",
    ),
    row("triton_poi_fused_constant_pad_nd_5", 1.5, source="00000000000000ab"),
)
AFTER = section(
    row("nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNT", 20.3, "matmul", calls=48),
    row("fmha_cutlassB_f16_aligned_128x64_k64_dropout_sm80", 21.6, "attention", calls=12),
    row("fmha_cutlassF_f16_aligned_64x128_rf_sm80", 8.3, "attention", calls=12),
    row(
        "triton_poi_fused_add_mul_tanh_4",
        3.1,
        calls=12,
        registers=32,
        spills=0,
        source="00000000000000aa",
        nodes="aten.add, aten.mul, aten.tanh of add_1, mul_3, tanh",
    ),
    row(
        "triton_poi_fused_cat_7",
        7.9,
        registers=96,
        spills=12,
        source="00000000000000ac",
        nodes="aten.cat of cat",
    ),
)


def diff(base: list[Kernel], new: list[Kernel]) -> KernelDiff:
    made = kernel_diff(profile(*base), profile(*new))
    assert made is not None
    return made


def only_change(base: Kernel, new: Kernel) -> KernelChange:
    (change,) = diff([base], [new]).changes
    return change
