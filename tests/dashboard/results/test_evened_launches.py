"""Whether two GPUs agree about a release: tests/perf/evened_launches.py."""

from dashboard.results.core.kernel_profile import ArmProfile
from tests.builders.kernels import kernel, profile
from tests.perf.evened_launches import report

OLD, NEW = "2.11.0", "2.13.0"


def processes(*gelus: tuple[int, float], matmul_ms: float) -> list[ArmProfile]:
    """One for each (threads a block, ms) of the step's only generated kernel."""
    matmul = kernel("nvjet", matmul_ms, "matmul")
    return [
        profile(matmul, kernel("gelu", ms, source="gelu", grid=(9, 1, 1), block=(threads, 1, 1)))
        for threads, ms in gelus
    ]


def test_gpus_agree_once_launches_are_evened_out() -> None:
    """The first GPU's newer processes chose the slower launch, the second's did not."""
    fast, slow = (128, 10.0), (256, 15.0)
    base = processes(fast, fast, matmul_ms=90)
    by_case = {
        "gpt2 inductor": {
            "GPU-a": {OLD: base, NEW: processes(slow, slow, matmul_ms=91)},
            "GPU-b": {OLD: base, NEW: processes(fast, fast, matmul_ms=91)},
        }
    }
    lines = list(report(by_case))
    assert lines[2].endswith(f"{OLD} → {NEW} | GPU-a | +6.00 to +6.00 | +1.00 to +1.00 |")
    assert lines[3].endswith("GPU-b | +1.00 to +1.00 | +1.00 to +1.00 |")
    assert "pairs: two GPUs are 5.00 points apart in the median, 5.00 at most" in lines[4]
    assert "evened out: two GPUs are 0.00 points apart in the median" in lines[5]


def test_case_of_one_gpu_has_nothing_to_agree_with() -> None:
    base = processes((128, 10.0), (128, 10.0), matmul_ms=90)
    assert len(list(report({"gpt2 inductor": {"GPU-a": {OLD: base, NEW: base}}}))) == 2
