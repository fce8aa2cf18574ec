"""Names of kernels without template arguments, and what a kernel does, read from its name."""

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


def test_elementwise_kernel_has_one_role_with_and_without_its_flag() -> None:
    """2.13.0's name and that of 2.14.1, as an H200 recorded them."""
    name = (
        "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::Half>, "
        "std::array<char*, 3ul>{}>(int, at::native::CUDAFunctor_add<c10::Half>)"
    )
    assert role(kernel(name.format(" "), 1)) == role(kernel(name.format(", false"), 1))


LAMBDAS = "(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()()"


@pytest.mark.parametrize(
    ("copies", "what"),
    [
        (f"direct_copy_kernel_cuda{LAMBDAS} const::{{lambda(float)#1}}", "copy to float"),
        ("converting_copy_kernel_cuda<c10::BFloat16, float>(at::TensorIter", "copy to float"),
        ("converting_copy_kernel_cuda<float, c10::BFloat16>(at::TensorIter", "copy to bfloat16"),
        ("bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)", "copy to bfloat16"),
        ("float16_copy_kernel_cuda(at::TensorIteratorBase&)", "copy to float16"),
        ("index_copy_kernel_impl<at::native::OpaqueType<2> >(at::TensorIterator&)", ""),
    ],
)
def test_copy_is_known_by_the_type_that_it_writes(copies: str, what: str) -> None:
    name = f"void at::native::unrolled_elementwise_kernel<at::native::{copies}, "
    assert purpose(kernel(name, 1, "other")) == what


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
