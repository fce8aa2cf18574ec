"""The device's time per step and its kernels, from what a profiler saw."""

from typing import Any

import pytest
import torch

from benchmarks_suite.harness import job, kernel_table, profiling, report_device, triton_kernels
from benchmarks_suite.harness.result import Result
from tests.builders.measured_jobs import MLP

GEMM = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"
FUSED = "triton_poi_fused_gelu_3"
WRAPPER = """
async_compile = AsyncCompile()

# kernel path: /tmp/torchinductor/ab/cab.py
# Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]
# Topologically Sorted Source Nodes: [hidden, add], Original ATen: [aten.gelu, aten.add]
# Source node to ATen node mapping:
#   hidden => gelu
triton_poi_fused_gelu_3 = async_compile.triton('triton_poi_fused_gelu_3', '''
import triton
@triton_heuristics.pointwise(inductor_meta={'kernel_name': 'triton_poi_fused_gelu_3'})
@triton.jit
def triton_poi_fused_gelu_3(in_ptr0, xnumel):
    pass  # /tmp/somewhere/else.py
''', device_str='cuda')

triton_red_fused_sum_4 = async_compile.triton('triton_red_fused_sum_4', '''
@triton.jit
def triton_red_fused_sum_4(in_ptr0, xnumel):
    pass
''', device_str='cuda')
"""


def event(
    name: str, start_us: float, us: float, category: str = "kernel", **arguments: Any
) -> dict[str, Any]:
    return {
        "cat": category,
        "name": name,
        "ts": start_us,
        "dur": us,
        "args": arguments,
    }


def profile_of(
    *events: dict[str, Any], steps: int = 1, generated: dict[str, Any] | None = None
) -> dict[str, Any]:
    profile = kernel_table.of_trace(events, steps, generated or {})
    assert profile is not None
    return profile


def test_time_in_which_two_streams_work_at_once_counts_once() -> None:
    profile = profile_of(event("a", 0, 100), event("b", 50, 100), event("c", 60, 10))
    assert (profile["busy_ms"], profile["sum_ms"], profile["span_ms"]) == (0.15, 0.21, 0.15)


def test_gaps_are_in_the_span_alone() -> None:
    profile = profile_of(event("a", 1000, 100), event("b", 1300, 100))
    assert (profile["busy_ms"], profile["span_ms"]) == (0.2, 0.4)


def test_everything_is_per_step() -> None:
    events = [
        event("a", 0, 30),
        event("a", 40, 50),
        event("b", 100, 10),
    ]
    profile = profile_of(*events, steps=2)
    assert (profile["busy_ms"], profile["calls"]) == (0.045, 1.5)
    assert [(row["name"], row["calls"], row["ms"]) for row in profile["kernels"]] == [
        ("a", 1, 0.04),
        ("b", 0.5, 0.005),
    ]


def test_launch_shape_is_that_of_the_longest_run() -> None:
    small: dict[str, Any] = {
        "registers per thread": 32,
        "shared memory": 0,
        "grid": [1, 1, 1],
    }
    large: dict[str, Any] = {
        "registers per thread": 96,
        "shared memory": 8192,
        "grid": [64, 1, 1],
    }
    (row,) = profile_of(event("a", 0, 9, **large), event("a", 10, 1, **small))["kernels"]
    assert (row["registers"], row["shared_bytes"], row["grid"]) == (96, 8192, [64, 1, 1])
    assert row["block"] is None


def test_what_the_host_does_is_no_device_time() -> None:
    launch = event("cudaLaunchKernel", 0, 500, "cuda_runtime")
    assert profile_of(launch, event("a", 10, 20))["busy_ms"] == 0.02
    assert kernel_table.of_trace([launch], 1, {}) is None


def test_copies_alone_are_no_profile() -> None:
    copy = event("Memcpy HtoD", 0, 20, "gpu_memcpy")
    assert kernel_table.of_trace([copy], 1, {}) is None


@pytest.mark.parametrize(
    ("name", "category", "kind"),
    [
        (GEMM, "kernel", "matmul"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "kernel", "matmul"),
        ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc", "kernel", "convolution"),
        ("void pytorch_flash::flash_fwd_kernel<…>", "kernel", "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop", "kernel", "attention"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", "communication"),
        ("void at::native::vectorized_elementwise_kernel<4, …>", "kernel", "other"),
        ("void cudnn::ops::convertTensor_kernel<…>", "kernel", "other"),
        (FUSED, "kernel", "triton"),
        ("triton_tem_fused_mm_2", "kernel", "triton"),
        ("Memset (Device)", "gpu_memset", "copy"),
    ],
)
def test_kind_of_a_kernel_is_read_from_its_name(name: str, category: str, kind: str) -> None:
    assert kernel_table.kind_of(name, category, is_generated=False) == kind


def test_kernel_that_triton_compiled_is_known_whatever_its_name() -> None:
    facts = {"source": "0123456789abcdef", "nodes": "aten.gelu of hidden", "spills": 4}
    (row,) = profile_of(event("my_gemm", 0, 1), generated={"my_gemm": facts})["kernels"]
    assert row["kind"] == "triton"
    assert facts.items() <= row.items()


def test_rest_of_a_long_table_is_summed_up() -> None:
    count = kernel_table.MOST_KERNELS + 2
    events = [event(f"k{number}", 10 * number, 5) for number in range(count)]
    profile = profile_of(*events)
    assert len(profile["kernels"]) == kernel_table.MOST_KERNELS
    assert profile["rest"] == {"kernels": 2, "calls": 2, "ms": 0.01}


def test_operators_of_a_cpu_are_one_after_the_other() -> None:
    operators = [("aten::mm", 4, 300.0), ("## Call CompiledFxGraph fabc ##", 2, 700.0)]
    profile = kernel_table.of_operators(operators, 2)
    assert (profile["device"], profile["busy_ms"]) == ("cpu", 0.5)
    assert [row["name"] for row in profile["kernels"]] == ["compiled graph", "aten::mm"]


def test_nodes_stand_above_the_kernel_in_the_wrapper() -> None:
    kernels = triton_kernels.in_wrapper(WRAPPER)
    assert kernels[FUSED]["nodes"] == "aten.gelu, aten.add of hidden, add"
    assert kernels["triton_red_fused_sum_4"]["nodes"] is None


def test_source_has_one_fingerprint_under_two_names() -> None:
    first, other = triton_kernels.in_wrapper(WRAPPER).values()
    renamed = triton_kernels.in_wrapper(WRAPPER.replace(FUSED, "triton_poi_fused_gelu_7"))
    assert renamed["triton_poi_fused_gelu_7"]["source"] == first["source"] != other["source"]


@pytest.mark.parametrize(
    ("batches", "step_ms", "steps"),
    [
        (1, 10, 5),
        (3, 10, 6),
        (1, 600, 2),
        (1, 9000, 1),
        (4, 9000, 4),
    ],
)
def test_few_long_steps_or_whole_passes_are_profiled(
    batches: int, step_ms: float, steps: int
) -> None:
    inputs: list[dict[str, Any]] = [{}] * batches
    assert (
        profiling.steps_of(
            inputs,
            most=5,
            step_ms=step_ms,
            budget_s=10,
        )
        == steps
    )


@pytest.mark.parametrize(
    ("requested", "step_ms", "steps"),
    [(5, 0.07, 100), (5, 3, 34), (5, 20, 5), (5, 100, 5), (50, 20, 50)],
)
def test_short_steps_fill_a_tenth_of_a_second(requested: int, step_ms: float, steps: int) -> None:
    assert profiling.enough(requested, step_ms) == steps


def test_profiler_that_fails_is_a_named_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError("CUPTI cannot be loaded")

    monkeypatch.setattr(torch.profiler, "profile", refuse)
    nothing: Any = None
    with pytest.raises(profiling.ProfileFailed, match="RuntimeError: CUPTI cannot be loaded"):
        profiling.profile(nothing, nothing, torch.device("cuda:0"), 5)


@pytest.fixture
def result() -> Result:
    document = {
        "schema": "job.v1",
        "job_id": "test",
        "attempt": 1,
        "benchmark": MLP,
        "config": "inductor",
    }
    return Result(job.parse(document))


def test_case_without_a_profile_of_its_own_says_why(result: Result) -> None:
    report_device.no_profile(result, "compiled", "the profiler failed", is_control=False)
    assert result.absent["device_ms"] == "the compiled arm has no profile: the profiler failed"
    assert "eager_device_ms" not in result.absent


def test_case_whose_steps_are_not_timed_alone_says_why_it_has_no_host_time(result: Result) -> None:
    report_device.host_time(result, [])
    assert result.absent["host_ms"] == "needs steps timed one by one (single_steps 0)"
    assert "host_ms" not in result.metrics
