"""How the sides of a simulated comparison were measured (verdicts.py)."""

from dataclasses import dataclass

DEVICE_TIME, START = "device_ms", "cold_start_s"
# Of ln(cold start) between processes of one release on all machines (python -m tests.perf.scatter
# tests/data/compiling_h200/starts.jsonl.gz --metric cold_start_s); on one it is less
START_NOISE = 0.15


@dataclass(frozen=True)
class Situation:
    """How two sides were measured. Errors are standard deviations of ln(value).

    processes: of each case and side. devices: of the machine. is_apart: base on the first half of
        them, new on the second. days: True where base was measured on another day than new.
    common_device, own_device: by how much a device is off for all cases, and for one.
    day: by how much a session is off, for all cases and for one alike.
    modes: by how much slower a process is in its second mode, in which `mode_share` of them run.
    metric: what is measured: the step's latency, the GPU's part of it, or the cold start.
    more_looks: how many times, after that, somebody measures MORE_PAIRS of each case that differs
        by its threshold and is not certain, looks, and stops where it is.
    slower: of SLOWER_CASES. tails: Student's t of 3 degrees of freedom in place of a normal error.
    """

    name: str
    processes: int = 3
    devices: int = 1
    is_apart: bool = False
    days: bool = False
    common_device: float = 0.0
    own_device: float = 0.0
    day: float = 0.0
    modes: float = 0.0
    mode_share: float = 0.5
    slower: float = 0.0
    tails: bool = False
    noise: float = 0.01
    noise_factor: float = 1.0
    again: bool = True
    metric: str = "latency_ms"
    more_looks: int = 0


SITUATIONS = (
    Situation("one process a side", processes=1),
    Situation("two processes a side", processes=2),
    Situation("three a side, in turn"),
    Situation("three a side, cases 0.5 to 2%", noise_factor=2.0),
    Situation("three a side, first look", again=False),
    Situation("five a side", processes=5),
    Situation("heavy tails", tails=True),
    Situation("each side its device, 2%", devices=2, is_apart=True, common_device=0.02),
    Situation("other days, 0.5%", days=True, day=0.005),
    Situation("other days, 1%", days=True, day=0.01),
    Situation("two devices, 2%", devices=2, common_device=0.02, own_device=0.005),
    Situation("eight devices, 2%", devices=8, common_device=0.02, own_device=0.005),
    Situation("five a side, eight devices, 2%", processes=5, devices=8, common_device=0.02),
    Situation("two modes of 5%", modes=0.05),
    Situation("two modes of 5%, first look", modes=0.05, again=False),
    Situation("two modes of 30%", modes=0.3),
    Situation("one in five in a mode of 10%", modes=0.1, mode_share=0.2),
    Situation("ten cases 1% slower", slower=0.01),
    Situation("ten cases 2.5% slower", slower=0.025),
    Situation("ten cases 5% slower", slower=0.05),
    Situation("ten 5% slower, cases 0.5 to 2%", slower=0.05, noise_factor=2.0),
    Situation("ten 5% slower, eight devices", slower=0.05, devices=8, common_device=0.02),
    Situation("device time, two a side", processes=2, noise=0.001, metric=DEVICE_TIME),
    Situation(
        "device time, two modes of 4%", processes=2, noise=0.001, modes=0.04, metric=DEVICE_TIME
    ),
    Situation(
        "device time, ten 2% slower", processes=2, noise=0.001, slower=0.02, metric=DEVICE_TIME
    ),
    Situation(
        "device time, ten 20% slower",
        processes=2,
        noise=0.001,
        slower=0.2,
        again=False,
        metric=DEVICE_TIME,
    ),
    Situation("cold start, two a side", processes=2, noise=START_NOISE, metric=START),
    Situation("cold start, six a side", processes=6, noise=START_NOISE, metric=START),
    Situation(
        "cold start, six a side, noise twofold",
        processes=6,
        noise=START_NOISE,
        noise_factor=2.0,
        metric=START,
    ),
    Situation("cold start, four more looks", noise=START_NOISE, metric=START, more_looks=4),
    Situation(
        "cold start, four more looks, heavy tails",
        noise=START_NOISE,
        metric=START,
        more_looks=4,
        tails=True,
    ),
    Situation(
        "cold start, four more looks, noise twofold",
        noise=START_NOISE,
        noise_factor=2.0,
        metric=START,
        more_looks=4,
    ),
    Situation(
        "cold start, four more looks, ten 20% longer",
        noise=START_NOISE,
        slower=0.2,
        metric=START,
        more_looks=4,
    ),
)
