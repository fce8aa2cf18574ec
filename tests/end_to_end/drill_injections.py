"""What the drill changes for real, where it shows, and whose fault that is."""

import os
from dataclasses import dataclass, field
from typing import Any

SOFTMAX = "softmax.smoke.inference.float32.static.b256"
MLP = "mlp.smoke.inference.float32.static.b64"
CNN = "tiny_cnn.smoke.inference.float32.static.b32"
CANARY = "ceilings.smoke.inference.float32.static.b512"
Case = tuple[str, str]  # benchmark, config
# Points after which the noise of a series is known; points that a witness needs
ENOUGH, A_FEW = 24, 4


@dataclass(frozen=True)
class Injection:
    """One real change.

    cause: whose fault it is.
    metrics: where it shows.
    case: where it is looked for.
    witnesses: cases that say whose fault it is.
    starts: as in a job file.
    inductor, env: what the variant sets.
    burn: processes that burn a core each.
    history: rounds that it needs before.
    rounds: measured at most before it counts as missed.
    """

    name: str
    what: str
    cause: str
    metrics: tuple[str, ...]
    case: Case = (MLP, "inductor")
    witnesses: tuple[Case, ...] = ()
    starts: tuple[str, ...] = ("cold",)
    inductor: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    burn: int = 0
    history: int = ENOUGH
    rounds: int = 8

    def cases(self, left: int) -> list[Case]:
        """What is measured for it when so many rounds are left before the first injection."""
        cases: list[Case] = []
        if left <= self.history:
            cases.append(self.case)
        if left <= A_FEW:
            cases += self.witnesses
        return cases


INJECTIONS = (
    Injection(
        "compiled",
        "Inductor may not vectorize",
        "compiler",
        ("latency_ms",),
        case=(SOFTMAX, "inductor"),
        inductor={"cpp.simdlen": 1},
    ),
    Injection(
        "eager",
        "the matrix library may not use what this CPU can do",
        "eager",
        ("latency_ms",),
        env={"MKL_CBWR": "COMPATIBLE"},
    ),
    Injection(
        "memory",
        "Inductor keeps folded copies of the weights",
        "compiler",
        ("peak_memory_gb",),
        inductor={"freezing": True},
    ),
    Injection(
        "numerics",
        "Inductor computes relu wrongly",
        "compiler",
        ("passed", "drift"),
        case=(CNN, "inductor"),
        witnesses=((CNN, "eager"),),
        starts=(),
        history=A_FEW,
        inductor={"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"},
    ),
    Injection(
        "machine",
        "other processes burn every core",
        "machine",
        ("latency_ms", "cold_start_s"),
        witnesses=((CANARY, "eager"),),
        burn=2 * len(os.sched_getaffinity(0)),
    ),
)
