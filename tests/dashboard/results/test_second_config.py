"""Two configs of the same cases side by side: tests/perf/second_config.py."""

from tests.builders.golden_files import GOLDEN
from tests.perf.second_config import Pair, launches, paired, report

RECORDED = GOLDEN.parent
NAMES = ("h100_field", "h100_thirteenth", "h100_fourteenth", "h100_fifteenth")
FOLDERS = [RECORDED / name for name in NAMES]


def recorded_pairs() -> dict[str, dict[str, Pair]]:
    return paired(FOLDERS, "inductor", "inductor_reduce_overhead")


def test_every_name_with_cuda_graphs_has_its_other_config_in_both_releases() -> None:
    old, new = recorded_pairs().values()
    assert set(old) == set(new)
    assert len(old) == 63


def test_a_step_that_waited_for_the_cpu_is_shorter_and_no_graph_was_skipped() -> None:
    lines = list(report("2.11.0", recorded_pairs()["2.11.0+cu130"]))
    (row,) = [line for line in lines if line.startswith("| resnet152")]
    assert "| 3.866 → 3.877 | 8.991 → 3.919 |" in row
    assert "latency_ms: -75.1 to +3.8%, median -3.3% of 63" in lines
    assert lines[-1] == "CUDA graphs were skipped in 0 of 63"


def test_one_release_launches_the_same_kernel_in_two_ways() -> None:
    of_release = recorded_pairs()["2.15.0+cu132"]
    assert launches(of_release.values(), "gelu") == (
        "gelu, threads a block: 2 of 32, 26 of 128, 12 of 256, 3 of 512; "
        "in the second config 2 of 32, 27 of 128, 11 of 256, 3 of 512"
    )
