"""What a kernel is called without its template arguments, and what it does, read from its name."""

import pytest

from dashboard.results.core.kernel_profile import plain_name
from dashboard.results.core.kernel_roles import purpose, role
from tests.builders.kernels import kernel


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_3"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        ("aten::_softmax", "aten::_softmax"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
            "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
            "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul> >",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2, 64>(float*)",
            "CatArrayBatchedCopy<float, 2, 64>",
        ),
    ],
)
def test_cpp_name_without_namespaces_and_parameters(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_same_template_of_two_releases_has_one_role() -> None:
    old = kernel("void at::native::add<4, at::detail::Array<char*, 3> >(int)", 1, "other")
    new = kernel("void at::native::add<8, std::array<char*, 3ul> >(int)", 1, "other")
    assert role(old) == role(new)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("flash_fwd_splitkv_kernel", "attention, forward"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention, forward"),
        ("flash_bwd_dq_dk_dv_loop_kernel", "attention, backward"),
        ("fmha_cutlassB_bf16_aligned_64x64_k64_sm80", "attention, backward"),
    ],
)
def test_direction_of_attention(name: str, what: str) -> None:
    assert purpose(kernel(name, 1, "attention")) == what


def test_collective_is_read_from_its_name() -> None:
    ring = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 1)
    tree = kernel("ncclDevKernel_AllReduce_Sum_bf16_TREE_LL", 1, "communication")
    assert purpose(tree) == "allreduce"
    assert plain_name(ring.name) == "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
