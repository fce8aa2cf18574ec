"""Kernels that account for the difference of two profiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.results.core.kernel_diff import kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile
from dashboard.results.core.kernel_roles import nodes
from dashboard.results.core.kernel_words import sentence
from tests.builders.kernels import LAUNCHED, diff, kernel, only_change, profile

# --- What is taken for what


def test_source_comes_before_name() -> None:
    base = [kernel("triton_a_1", 1, source="s1"), kernel("triton_a_2", 2, source="s2")]
    new = [kernel("triton_a_1", 5, source="s2"), kernel("triton_a_2", 1, source="s1")]
    changes = diff(base, new).changes
    assert [change.match for change in changes] == ["source", "source"]
    assert [change.ms for change in changes] == [3, 0]


def test_name_comes_before_role() -> None:
    base = [kernel("triton_a_1", 1, source="s1"), kernel("triton_a_2", 2)]
    new = [kernel("triton_a_2", 2.5), kernel("triton_a_7", 1)]
    by_match = {change.match: change for change in diff(base, new).changes}
    assert by_match["name"].new[0].name == "triton_a_2"
    assert by_match["role"].new[0].name == "triton_a_7"


def test_triton_kernel_of_another_number_has_its_role() -> None:
    change = only_change(
        kernel("triton_poi_fused_add_mul_3", 1), kernel("triton_poi_fused_add_mul_12", 1)
    )
    assert change.match == "role"
    assert change.role == "triton_poi_fused_add_mul"


def test_library_kernel_with_other_tiles_has_its_role() -> None:
    change = only_change(
        kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 1, "matmul"),
        kernel("ampere_bf16_s16816gemm_bf16_256x64_ldg8_f2f_stages_64x4_tn", 1, "matmul"),
    )
    assert change.match == "role"


def test_attention_backward_replaces_attention_backward_only() -> None:
    base = [kernel("cudnn_sdpa_flash_bprop", 9, "attention")]
    new = [
        kernel("fmha_cutlassB_bf16", 21, "attention"),
        kernel("fmha_cutlassF_bf16", 4, "attention"),
    ]
    replaced, added = diff(base, new).changes
    assert replaced.match == "replacement"
    assert replaced.role == "attention, backward"
    assert added.match == "new"


def test_other_matmuls_replace_those_that_are_gone() -> None:
    base = [kernel("nvjet_hsh_64x8", 3, "matmul"), kernel("cutlass_gemm", 2, "matmul")]
    new = [kernel("sm90_xmma_gemm", 7, "matmul")]
    (change,) = diff(base, new).changes
    assert change.match == "replacement"
    assert change.ms == 2


def test_matmul_that_hands_calls_over_is_counted_with_its_heir() -> None:
    base = [kernel("sm80_gemm", 24, "matmul", calls=24)]
    new = [
        kernel("sm80_gemm", 12, "matmul", calls=12),
        kernel("nvjet_tst", 13, "matmul", calls=12),
    ]
    (change,) = diff(base, new).changes
    assert change.ms == 1


def test_nodes_tell_that_a_renamed_triton_kernel_does_the_same() -> None:
    change = only_change(
        kernel("triton_red_fused_layer_norm_1", 1, nodes="aten.native_layer_norm of norm_3"),
        kernel("triton_per_fused_native_layer_norm_0", 2, nodes="aten.native_layer_norm of norm_4"),
    )
    assert change.match == "replacement"


def test_fused_kernel_with_nearly_the_same_operators_replaces_the_one_that_is_gone() -> None:
    common = ", ".join(f"aten.op{number}" for number in range(9))
    change = only_change(
        kernel("triton_red_fused_a_where_1", 1, nodes=f"{common}, aten.where of x"),
        kernel("triton_red_fused_a_1", 2, nodes=f"{common} of x"),
    )
    assert (change.match, change.ms) == ("replacement", 1)
    changes = diff(
        [kernel("triton_red_fused_a_where_1", 1, nodes="aten.a, aten.where of x")],
        [kernel("triton_red_fused_a_1", 2, nodes="aten.a of x")],
    ).changes
    assert [change.match for change in changes] == ["new", "gone"]


def nodes_of(*names: str) -> str:
    return f"aten.add of {', '.join(names)}"


def test_kernel_with_the_same_nodes_is_the_same_whatever_its_name() -> None:
    """2.15.0 names a view otherwise, of which each layer has a kernel."""
    base = [
        kernel("triton_per_fused_add_view_8", 1, nodes=nodes_of("x_1", "x_2", "x_3")),
        kernel("triton_per_fused_add_view_9", 2, nodes=nodes_of("x_1", "x_2", "x_3", "x_4")),
    ]
    new = [
        kernel("triton_per_fused__unsafe_view_add_8", 2, nodes=base[1].nodes),
        kernel("triton_per_fused__unsafe_view_add_9", 1.5, nodes=base[0].nodes),
    ]
    changes = diff(base, new).changes
    assert [(change.match, change.ms) for change in changes] == [("nodes", 0.5), ("nodes", 0)]


@pytest.mark.parametrize("swapped", [False, True])
def test_kernel_whose_nodes_another_one_took_over_is_in_its_row(swapped: bool) -> None:
    """A reduction that computes also what a kernel of its own wrote before, or the reverse."""
    apart = [
        kernel("triton_red_fused_sum_1", 1.7, nodes="aten.sum of a, b, c, total"),
        kernel("triton_poi_fused_pad_2", 1.25, nodes="aten.pad of a, b, c, padded"),
    ]
    together = [
        kernel("triton_red_fused_pad_sum_1", 4.2, nodes="aten.pad, aten.sum of a, b, c, total"),
        kernel("triton_poi_fused_cat_7", 0.001, nodes="aten.cat of a, b, padded"),  # of its edge
    ]
    joined, edge = diff(together, apart).changes[::-1] if swapped else diff(apart, together).changes
    assert (joined.match, len(joined.base) + len(joined.new)) == ("nodes", 3)
    assert abs(joined.ms) == pytest.approx(1.25)
    assert edge.match == ("gone" if swapped else "new")


def test_kernels_with_the_same_nodes_that_do_other_things_are_told_apart() -> None:
    """The stages of a reduction, or a norm and its gradient, may list the same ones."""
    base, new = (
        [
            kernel("triton_per_fused_norm_1", norm_ms, nodes=nodes_of("x", "y")),
            kernel("triton_red_fused_norm_backward_7", gradient_ms, nodes=nodes_of("x", "y")),
        ]
        for norm_ms, gradient_ms in ((1, 9), (3, 7))
    )
    assert [change.ms for change in diff(base, new).changes] == [2, -2]


def test_same_name_of_kernels_that_compute_other_nodes_says_nothing() -> None:
    """Each graph numbers its kernels by itself."""
    base = [
        kernel("triton_per_fused_norm_135", 0.01, nodes=nodes_of("sample")),
        kernel("triton_per_fused_norm_140", 0.06, nodes=nodes_of("hidden", "var")),
    ]
    new = [kernel("triton_per_fused_norm_135", 0.07, nodes=nodes_of("hidden", "var"))]
    changes = diff(base, new).changes
    assert [change.match for change in changes] == ["nodes", "gone"]


def test_name_that_the_suite_cut_is_no_node() -> None:
    """It keeps 500 characters: what the last name of a longer list would be is not known."""
    listed = ", ".join(f"node_{number:02}" for number in range(80))
    cut = f"aten.add of {listed}"[:500]
    assert cut.endswith(", no")
    computed = nodes(kernel("triton_red_x_1", 1, nodes=cut))
    assert len(computed) == 54
    assert "no" not in computed


def test_lone_kernel_joins_no_row_that_holds_several_for_another_reason() -> None:
    base = [kernel(f"triton_poi_fused_add_{n}", 1, nodes=nodes_of("a", f"c{n}")) for n in (1, 2)]
    new = [
        kernel(f"triton_poi_fused_add_{n}", 1, nodes=nodes_of("p", "q", "s", "t", "u", f"r{n}"))
        for n in (3, 4)
    ]
    gone = kernel("triton_red_fused_sum_9", 5, nodes=nodes_of("p", "q", "r3"))
    changes = diff([*base, gone], new).changes
    assert [(change.match, change.ms) for change in changes] == [("role", 0), ("gone", -5)]


@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_that_are_as_alike_the_one_of_its_length_is_taken(swapped: bool) -> None:
    """Whatever their order."""
    common = ("a", "b", "c", "d")
    base = [
        kernel("triton_red_fused_long_1", 9, nodes=nodes_of(*common, "e")),
        kernel("triton_red_fused_short_2", 1, nodes=nodes_of(*common, "f")),
    ]
    new = [kernel("triton_red_fused_new_3", 8, nodes=nodes_of(*common))]
    changes = diff(base[::-1] if swapped else base, new).changes
    paired = next(change for change in changes if change.base[:1] == (base[0],))
    assert paired.new == tuple(new)


def test_name_says_nothing_of_a_triton_kernel_that_is_called_otherwise() -> None:
    """Each graph numbers its kernels by itself: the first of these is the second one of before."""
    base = [kernel("triton_per_a_1", 2, calls=11), kernel("triton_per_a_2", 0.1, calls=1)]
    new = [kernel("triton_per_a_1", 0.1, calls=1), kernel("triton_per_a_2", 2, calls=11)]
    (change,) = diff(base, new).changes
    assert (change.match, change.ms) == ("role", 0)


def test_kernels_without_nodes_are_compared_by_the_words_of_their_names() -> None:
    """Two graphs of one step may have kernels of one name: whose nodes are told is not known."""
    name = "triton_per_fused_{}_native_layer_norm_backward{}_9"
    change = only_change(
        kernel(name.format("_to_copy_add", "_view"), 1),
        kernel(name.format("_to_copy__unsafe_view_add", ""), 2, nodes=nodes_of("a", "b", "c")),
    )
    assert (change.match, change.ms) == ("replacement", 1)


def test_kernel_of_another_size_replaces_none_whatever_its_operators() -> None:
    """GPT-2's training: the gradient of all logits, and 112 blocks."""
    common = ", ".join(f"aten.op{number}" for number in range(10))
    large = kernel("triton_poi_fused_a_where_1", 1.25, nodes=f"{common}, aten.where of x")
    small = kernel("triton_poi_fused_a_2", 0.0008, nodes=f"{common} of x")
    assert [change.match for change in diff([large], [small]).changes] == ["new", "gone"]


@pytest.mark.parametrize(
    ("others_ms", "source", "said"),
    [
        (0, "a", LAUNCHED.format("All")),
        (1, "a", LAUNCHED.format("1.00 ms")),
        (9, "a", ""),  # hardly a part of it
        (0, "b", ""),  # other code
    ],
)
def test_launch_is_named_where_it_is_a_part_worth_naming(
    others_ms: float, source: str, said: str
) -> None:
    base, new = (
        profile(
            kernel("triton_poi_0", 1 + change, source=code, grid=[blocks, 1, 1]),
            kernel("gemm", 10 + change * others_ms, "matmul"),
        )
        for change, code, blocks in ((0, "a", 8), (1, source, 4))
    )
    made = kernel_diff(base, new)
    assert made is not None
    text = sentence(made)
    assert said in text
    assert ("another launch" in text) is bool(said)


def test_pointwise_kernel_does_not_replace_another_one() -> None:
    changes = diff(
        [kernel("triton_poi_fused_constant_pad_nd_5", 1)], [kernel("triton_poi_fused_cat_7", 8)]
    ).changes
    assert [change.match for change in changes] == ["new", "gone"]


def test_what_takes_more_comes_first() -> None:
    base = [
        kernel("triton_a_0", 5),
        kernel("triton_b_0", 1),
        kernel("triton_c_0", 1),
    ]
    new = [
        kernel("triton_a_0", 1),
        kernel("triton_b_0", 2),
        kernel("triton_c_0", 4),
    ]
    assert [change.ms for change in diff(base, new).changes] == [3, 1, -4]


def test_kernels_and_operators_are_not_compared() -> None:
    gpu, cpu = profile(kernel("a", 1)), profile(kernel("aten::mm", 1), device="cpu")
    assert kernel_diff(gpu, cpu) is None


kernels = st.builds(
    kernel,
    st.sampled_from(["triton_poi_fused_add_1", "triton_poi_fused_add_2", "gemm_64x64", "fmha_bwd"]),
    st.floats(0, 100),
    st.sampled_from(["triton", "matmul", "attention", "other"]),
    st.integers(1, 3),
    source=st.sampled_from(["", "a", "b"]),
)
profiles = st.builds(
    ArmProfile,
    st.just("compiled"),
    st.just("cuda"),
    st.just(10),
    st.just(1.0),
    st.just(1.0),
    st.lists(kernels, max_size=8).map(tuple),
    st.integers(0, 3),
    st.just(1.0),
    st.floats(0, 5),
)


def test_convolutions_replace_those_of_their_direction() -> None:
    base = [kernel("cudnn_wgrad_a", 3, "convolution"), kernel("fprop_a", 2, "convolution")]
    new = [kernel("xmma_wgrad_b", 4, "convolution"), kernel("xmma_fprop_b", 2, "convolution")]
    roles = [change.role for change in diff(base, new).changes]
    assert roles == ["convolution, wgrad", "convolution, forward"]


@given(profiles, profiles)
def test_rows_add_up_to_the_difference_of_the_tables(base: ArmProfile, new: ArmProfile) -> None:
    made = kernel_diff(base, new)
    assert made is not None
    assert sum(change.ms for change in made.changes) == pytest.approx(made.ms, abs=1e-6)
    assert made.added_ms - made.saved_ms == pytest.approx(made.ms, abs=1e-6)
    assert sum(len(change.base) for change in made.changes) == len(base.kernels) + base.has_rest
    assert all(0 <= made.share(change) <= 100.0001 for change in made.changes)
    assert sentence(made)
