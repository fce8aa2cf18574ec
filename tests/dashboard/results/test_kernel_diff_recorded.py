"""Kernels that account for the differences that GPUs recorded."""

import re
from pathlib import Path

import pytest

from benchmarks_suite.harness import recorded
from dashboard.results.core.kernel_diff import KernelChange, kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile, arm_profiles
from dashboard.results.core.kernel_words import sentence
from tests.builders.golden_files import GOLDEN
from tests.builders.kernels import LAUNCHED

H100, H200 = GOLDEN.parent / "releases_h100", GOLDEN.parent / "releases_h200"
DEVICE_TIME = H100 / "device_time.jsonl.gz"
NEWEST = [H100 / "tenth.jsonl.gz", H100 / "eleventh.jsonl.gz"]
FOUR_RELEASES = H200 / "four_releases"
UNMATCHED = ("new", "gone")
EVERY_PAIR = pytest.mark.parametrize(("base", "new"), [(0, 0), (0, 1), (1, 0), (1, 1)])


def training_of_gpt2(folders: list[Path], arm: str = "compiled") -> dict[str, list[ArmProfile]]:
    """Release -> the arm's profile in each process."""
    by_release: dict[str, list[ArmProfile]] = {}
    for folder in folders:
        for document in recorded.read(folder):
            if document["benchmark"]["name"].startswith("gpt2.standard.training"):
                release = document["environment"]["torch"]["version"]
                by_release.setdefault(release, []).append(arm_profiles(document)[arm])
    return by_release


def assert_loss_is_one_kernel(change: KernelChange, ms: float) -> None:
    """Assert that the loss's gradient was computed by a kernel of its own and one that sums it."""
    before, now = ([kernel.name[:31] for kernel in side] for side in (change.base, change.new))
    assert before == ["triton_red_fused__log_softmax__", "triton_poi_fused__log_softmax__"]
    assert now == ["triton_red_fused__log_softmax__"]
    assert change.match == "nodes"
    assert change.ms == pytest.approx(ms, abs=0.05)


@EVERY_PAIR
def test_recorded_regression_of_gpt2s_training_explains_itself(base: int, new: int) -> None:
    """2.13.0 computes its attention by another library: found by nobody but this code, in every
    pair of the recorded processes.
    """
    by_release = training_of_gpt2([DEVICE_TIME])
    made = kernel_diff(by_release["2.11.0+cu130"][base], by_release["2.13.0+cu130"][new])
    assert made is not None
    assert 21 < made.ms < 22
    backward, forward = made.changes[:2]
    assert (backward.role, forward.role) == ("attention, backward", "attention, forward")
    assert backward.ms + forward.ms > 0.9 * made.ms
    assert made.share(backward) + made.share(forward) > 90
    assert "fmha_cutlassB_bf16_aligned_64x64_k64_dropout_sm80 in place of cudnn" in sentence(made)


@EVERY_PAIR
def test_the_same_regression_explains_itself_in_the_newest_release(base: int, new: int) -> None:
    by_release = training_of_gpt2(NEWEST)
    made = kernel_diff(by_release["2.11.0+cu130"][base], by_release["2.15.0+cu132"][new])
    assert made is not None
    assert 22 < made.ms < 23
    assert re.search(r": 97% of the 24\.\d ms added come from three groups", sentence(made))
    roles = [change.role for change in made.changes[:2]]
    assert roles == ["attention, backward", "attention, forward"]
    assert_loss_is_one_kernel(made.changes[2], ms=1.95)


@EVERY_PAIR
@pytest.mark.parametrize("release", ["2.13.0+cu130", "2.14.1+cu130", "2.15.0+cu132"])
def test_the_same_regression_explains_itself_on_another_gpu(
    release: str, base: int, new: int
) -> None:
    by_release = training_of_gpt2([H200])
    made = kernel_diff(by_release["2.11.0+cu130"][base], by_release[release][new])
    assert made is not None
    assert 22 < made.ms < 23
    said = sentence(made)
    assert re.search(r": 9[12]% of the 23\.\d ms added come from two groups of kernels: ", said)
    assert_loss_is_one_kernel(made.changes[2], ms=1.3)


@EVERY_PAIR
def test_attention_is_compared_with_all_kernels_that_did_it_before(base: int, new: int) -> None:
    """cuDNN's backward pass is three kernels, of which two are called otherwise."""
    by_release = training_of_gpt2([H200])
    made = kernel_diff(by_release["2.11.0+cu130"][base], by_release["2.15.0+cu132"][new])
    assert made is not None
    backward = made.changes[0]
    assert (backward.role, len(backward.base)) == ("attention, backward", 3)
    assert backward.ms == pytest.approx(15.3, abs=0.1)


def test_kernels_of_eager_that_got_a_template_argument_are_not_gone() -> None:
    """2.15.0's group norm: RowwiseMoments<Half> became RowwiseMomentsContiguous<Half, float>."""
    sides = {}
    for document in recorded.read(GOLDEN.parent / "compiling_h200" / "starts.jsonl.gz"):
        if document["benchmark"]["name"].startswith("sd_unet") and "profile" in document:
            sides[document["environment"]["torch"]["version"]] = arm_profiles(document)["eager"]
    made = kernel_diff(sides["2.11.0+cu130"], sides["2.15.0+cu132"])
    assert made is not None
    by_role = {change.role: change for change in made.changes if change.match == "replacement"}
    assert by_role["RowwiseMomentsCUDAKernel"].ms == pytest.approx(-0.477, abs=0.01)
    assert by_role["GroupNormKernelImpl"].ms == pytest.approx(0, abs=0.01)
    assert by_role["ComputeFusedParamsCUDAKernel"].ms == pytest.approx(0, abs=0.01)


@EVERY_PAIR
def test_renamed_kernels_of_eager_are_no_saving(base: int, new: int) -> None:
    """2.14.1 renames elementwise kernels, 2.15.0 copies, of which one kind got faster."""
    by_release = training_of_gpt2([H200], arm="eager")
    made = kernel_diff(by_release["2.11.0+cu130"][base], by_release["2.15.0+cu132"][new])
    assert made is not None
    assert re.search(
        r" of the 4\.\d+ ms saved come from (?:two|three) kernels: copy to float, \S+ \S+ "
        r"float> in place of unrolled_elementwise_kernel<direct_copy_kernel_cuda, −3\.6\d ms; ",
        sentence(made),
    )
    unmatched = [change.base or change.new for change in made.changes if change.match in UNMATCHED]
    assert not [kernel for (kernel,) in unmatched if "elementwise_kernel" in kernel.name]


@pytest.mark.parametrize("folder", ["four_releases", "own_launches"])
def test_copies_that_replace_each_other_are_called_as_often(folder: str) -> None:
    by_case: dict[str, dict[str, ArmProfile]] = {}
    for document in recorded.read(H200 / folder):
        releases = by_case.setdefault(document["benchmark"]["name"], {})
        releases[document["environment"]["torch"]["version"]] = arm_profiles(document)["eager"]
    made = [kernel_diff(case["2.14.1+cu130"], case["2.15.0+cu132"]) for case in by_case.values()]
    copies = [
        change
        for diff in made
        if diff is not None
        for change in diff.changes
        if change.match == "replacement" and change.role.startswith("copy to ")
    ]
    assert len(copies) > 10
    assert [copy.base_calls for copy in copies] == [copy.new_calls for copy in copies]


def test_softmax_that_became_persistent_replaces_the_one_in_a_loop() -> None:
    """ViT-B/16's attention, with a mask: what it gains in 2.14.1."""
    sides = {}
    for document in recorded.read(FOUR_RELEASES / "vit_b16"):
        release = document["environment"]["torch"]["version"]
        sides[release] = arm_profiles(document)["compiled"]
    made = kernel_diff(sides["2.11.0+cu130"], sides["2.14.1+cu130"])
    assert made is not None
    change = made.changes[-1]
    assert change.base[0].name.startswith("triton_red_fused__safe_softmax")
    assert change.new[0].name.startswith("triton_per_fused__safe_softmax")
    assert made.share(change) > 80
    assert re.search(
        r"one kernel: triton_per_\S+ in place of triton_red_\S+, −1\.66 ms", sentence(made)
    )


def test_change_by_launch_alone_is_said_to_be_one() -> None:
    """The MLP on an H200: 2.14.1's GELU runs with 256 threads a block, 2.13.0's with 128."""
    sides: dict[str, ArmProfile] = {}
    for document in recorded.read(FOUR_RELEASES):
        if document["benchmark"]["name"].startswith("mlp."):
            release = document["environment"]["torch"]["version"]
            sides.setdefault(release, arm_profiles(document)["compiled"])
    made = kernel_diff(sides["2.13.0+cu130"], sides["2.14.1+cu130"])
    assert made is not None
    assert made.launch_ms == pytest.approx(0.0061, abs=1e-4)
    assert LAUNCHED.format("All") in sentence(made)
