"""What a step's kernels take once their launches are evened out."""

import pytest

from benchmarks_suite.harness import recorded
from dashboard.results.core.kernel_profile import ArmProfile, Kernel, arm_profiles
from dashboard.results.core.launches import EvenedChange, evened_change, evened_ms
from tests.builders.golden_files import GOLDEN
from tests.builders.kernels import kernel, profile

OWN_LAUNCHES = GOLDEN.parent / "releases_h200" / "own_launches"


def gelu(ms: float, threads: int, source: str = "gelu", registers: int = 32) -> Kernel:
    """A generated kernel, launched with so many threads a block."""
    grid, block = (98304, 1, 1), (threads, 1, 1)
    facts = {"source": source, "registers": registers, "grid": grid, "block": block}
    return kernel("triton_poi_gelu", ms, "triton", 1, **facts)


def process(*kernels: Kernel, matmul_ms: float = 1.0) -> ArmProfile:
    """A step that has a library's kernel, too."""
    return profile(kernel("nvjet", matmul_ms, "matmul"), *kernels)


def recorded_processes(benchmark: str, release: str) -> list[ArmProfile]:
    processes = []
    for document in recorded.read(OWN_LAUNCHES):
        version = document["environment"]["torch"]["version"].split("+")[0]
        if document["job"]["benchmark"].startswith(f"{benchmark}.") and version == release:
            processes.append(arm_profiles(document)["compiled"])
    return processes


def test_every_kernel_is_launched_as_where_it_was_fastest() -> None:
    processes = [process(gelu(0.4, 256)), process(gelu(0.3, 128), matmul_ms=1.1)]
    assert evened_ms(processes) == pytest.approx([1.3, 1.4])


def test_kernel_that_was_launched_alike_keeps_its_own_time() -> None:
    processes = [process(gelu(0.4, 128)), process(gelu(0.3, 128))]
    assert evened_ms(processes) == pytest.approx([1.4, 1.3])


def test_loop_in_other_steps_is_another_launch_within_a_build() -> None:
    processes = [process(gelu(0.4, 128, registers=64)), process(gelu(0.3, 128))]
    assert evened_ms(processes) == pytest.approx([1.3, 1.3])


def test_kernel_called_more_often_is_no_other_launch_of_the_same() -> None:
    twice = kernel("triton_poi_gelu", 0.8, calls=2, source="gelu", grid=(1, 1, 1), block=(64, 1, 1))
    processes = [process(twice), process(gelu(0.3, 128))]
    assert evened_ms(processes) == pytest.approx([1.8, 1.3])


def test_releases_with_one_source_differ_by_no_launch() -> None:
    """Of the newer build no process chose the faster launch."""
    base = [process(gelu(0.3, 128)), process(gelu(0.4, 256))]
    new = [process(gelu(0.4, 256), matmul_ms=1.013), process(gelu(0.4, 256), matmul_ms=1.026)]
    change = evened_change([(base, new)])
    assert change is not None
    assert (change.least, change.most) == pytest.approx((1.0, 2.0))
    assert change.processes == 2


def test_another_source_counts_with_its_fastest_launch() -> None:
    base = [process(gelu(0.3, 128)), process(gelu(0.4, 256))]
    new = [process(gelu(0.56, 128, "other")), process(gelu(0.9, 256, "other"))]
    change = evened_change([(base, new)])
    assert change is not None
    assert (change.least, change.most) == pytest.approx((20.0, 20.0))


def test_two_devices_are_evened_out_each_by_itself() -> None:
    """The second one's kernels take twice as long, and there was one launch on it."""
    first = [process(gelu(0.3, 128))] * 2, [process(gelu(0.4, 256), matmul_ms=1.013)] * 2
    on_second = process(gelu(0.6, 128), matmul_ms=2), process(gelu(0.6, 128), matmul_ms=2.052)
    change = evened_change([first, ([on_second[0]] * 2, [on_second[1]] * 2)])
    assert change is not None
    assert (change.least, change.most) == pytest.approx((1.0, 2.0))
    assert change.processes == 4


def test_as_many_processes_of_both_sides_count() -> None:
    """The third one of the base found a launch that two of the new build may not have found."""
    base = [process(gelu(0.4, 256)), process(gelu(0.4, 256)), process(gelu(0.2, 128))]
    new = [process(gelu(0.4, 256, "other"))] * 2
    change = evened_change([(base, new)])
    assert change is not None
    assert (change.least, change.most) == pytest.approx((0.0, 0.0))
    assert change.processes == 2


def test_where_launches_are_alike_it_is_what_was_measured() -> None:
    change = evened_change([([process(gelu(0.3, 128))] * 2, [process(gelu(0.43, 128))] * 2)])
    assert change is not None
    assert not change.is_evened
    assert (change.least, change.most) == pytest.approx((10.0, 10.0))


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_processes_of_a_side_say_nothing(count: int) -> None:
    base = [process(gelu(0.4, 128)), process(gelu(0.3, 128))]
    assert evened_change([(base, base[:count])]) is None


def test_processes_of_a_recorded_gpu_agree_once_evened_out() -> None:
    """ResNet-50's in 2.15.0: 4.34 and 4.54 ms, by launches alone."""
    processes = recorded_processes("resnet50", "2.15.0")
    totals = [each.total_ms for each in processes]
    assert max(totals) / min(totals) > 1.04
    even = evened_ms(processes)
    assert max(even) / min(even) < 1.001


def test_recorded_releases_with_equal_code_are_even() -> None:
    """ViT-B/16 from 2.14.1 to 2.15.0, whose pairs of processes say −2.6 to +2.3%."""
    base, new = (recorded_processes("vit_b16", release) for release in ("2.14.1", "2.15.0"))
    change = evened_change([(base, new)])
    assert change is not None
    assert -0.5 < change.least <= change.most < 0


def test_words() -> None:
    assert EvenedChange(-9.23, -9.09, 2, is_evened=True).words == "9.1 to 9.2% faster"
    assert EvenedChange(0.12, 0.12, 2, is_evened=True).words == "0.1% slower"
