"""Which kernels are behind the spread of one build's processes: tests/perf/kernel_choices.py."""

from dashboard.results.core.kernel_diff import KernelChange
from tests.builders.golden_files import GOLDEN
from tests.builders.kernels import kernel
from tests.perf.kernel_choices import ALIKE, OTHER, OTHERWISE, grouped, kind_of, report


def test_processes_of_resnet_differ_by_how_kernels_are_launched() -> None:
    lines = list(report(grouped([GOLDEN.parent / "h100_device_time"]), 0.3))
    (row,) = [line for line in lines if "resnet50" in line and "2.11.0" in line]
    assert "| 5.5729, 5.3474 | 2.06% | 0.21% | 100% | 0% | 0% |" in row
    assert lines[-1] == "\n11 of 21 within ±0.3%; with launches evened out 17"


def test_same_source_with_another_block_was_launched_otherwise() -> None:
    base = kernel("triton_a", 1, source="s", block=(128, 1, 1))
    new = kernel("triton_a", 2, source="s", block=(256, 1, 1))
    assert kind_of(KernelChange("source", "", (base,), (new,))) == OTHERWISE
    assert kind_of(KernelChange("source", "", (base,), (base,))) == ALIKE


def test_a_kernel_in_place_of_another_is_another() -> None:
    base, new = kernel("cudnn_a", 1), kernel("fmha_b", 2)
    assert kind_of(KernelChange("replacement", "", (base,), (new,))) == OTHER
