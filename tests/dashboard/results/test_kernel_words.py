"""Wording of the difference of two profiles, in a sentence and in rows."""

from dashboard.results.core.kernel_diff import KernelDiff, kernel_diff
from dashboard.results.core.kernel_profile import arm_profiles
from dashboard.results.core.kernel_words import differences, kernel_table, sentence
from tests.builders.kernels import AFTER, BEFORE, diff, kernel, only_change


def gpt2() -> KernelDiff:
    base = arm_profiles({"profile": {"compiled": BEFORE}})["compiled"]
    new = arm_profiles({"profile": {"compiled": AFTER}})["compiled"]
    made = kernel_diff(base, new)
    assert made is not None
    return made


def test_sentence_names_what_accounts_for_most() -> None:
    assert sentence(gpt2()) == (
        "A compiled step's kernels take 23.3 ms more (37.9 → 61.2 ms): 99% of the 24.8 ms added "
        "come from three kernels: attention, backward, "
        "fmha_cutlassB_f16_aligned_128x64_k64_dropout_sm80 in place of "
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16, +12.4 ms; "
        "triton_poi_fused_cat_7 (new), +7.90 ms; attention, forward, "
        "fmha_cutlassF_f16_aligned_64x128_rf_sm80 in place of "
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16, +4.20 ms; others save "
        "1.50 ms."
    )


def test_percentage_is_of_what_is_added_alone() -> None:
    made = diff(
        [kernel("triton_a_0", 10), kernel("triton_b_0", 10)],
        [kernel("triton_a_0", 19), kernel("triton_b_0", 2)],
    )
    assert "all of the 9.00 ms added come from one kernel" in sentence(made)
    assert "others save 8.00 ms" in sentence(made)


def test_faster_step_says_what_is_saved() -> None:
    made = diff([kernel("triton_a_0", 10)], [kernel("triton_a_0", 4)])
    assert "take 6.00 ms less (10.0 → 4.00 ms): all of the 6.00 ms saved" in sentence(made)


def test_hardly_any_difference_names_no_kernel() -> None:
    made = diff([kernel("triton_a_0", 10)], [kernel("triton_a_0", 10.01)])
    assert sentence(made) == (
        "A compiled step's kernels take the same time within 1% (10.0 → 10.0 ms)."
    )


def test_equal_sums_of_unequal_kernels_say_so() -> None:
    made = diff(
        [kernel("triton_a_0", 10), kernel("triton_b_0", 2)],
        [kernel("triton_a_0", 2), kernel("triton_b_0", 10)],
    )
    assert "some take 8.00 ms more, others 8.00 ms less" in sentence(made)


def test_long_table_sums_its_smallest_changes() -> None:
    base = [kernel(f"k{place}", 1, "other") for place in range(40)]
    new = [kernel(f"k{place}", 1 + place, "other") for place in range(40)]
    table = kernel_table(diff(base, new))
    assert len(table.rows) == 30
    assert table.others == 10
    assert table.others_ms == sum(range(10))


def test_what_else_differs_of_one_kernel() -> None:
    change = only_change(
        kernel(
            "triton_a_0",
            1,
            registers=40,
            spills=0,
            source="a",
            block=(128, 1, 1),
        ),
        kernel(
            "triton_a_0",
            2,
            registers=96,
            spills=8,
            source="b",
            block=(128, 1, 1),
        ),
    )
    assert differences(change) == ["other source", "registers 40 → 96", "spills 0 → 8"]
