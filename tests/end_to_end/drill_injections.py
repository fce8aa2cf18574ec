"""Changes that the drill really makes, where they show, and whose fault they are."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.end_to_end.drill_site import Finding

SOFTMAX = "softmax.smoke.inference.float32.static.b256"
MLP = "mlp.smoke.inference.float32.static.b64"
CNN = "tiny_cnn.smoke.inference.float32.static.b32"
CANARY = "ceilings.smoke.inference.float32.static.b512"
# The suite's MLP with one more pass in Inductor, which can be made to do needless work
OWN_MODEL = Path(__file__).with_name("drill_model.py")
OWN_MLP = "drill_mlp.own.inference.float32.static.b64"
EXTRA_CALLS = 48_500  # 5% of the 970,000 Python calls of its cold compile (torch 2.13)
Case = tuple[str, str]  # benchmark, config
# Points after which the noise of a series is known; points that a witness needs
ENOUGH, A_FEW = 24, 4
WITHIN_POINTS = 2  # percentage points between an effect that was injected and the one reported


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
    percent: by how much the first metric must change; None: not known beforehand.
    silent: metrics that must not show it.
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
    percent: float | None = None
    silent: tuple[str, ...] = ()

    def cases(self, left: int) -> list[Case]:
        """List the cases measured for it with so many rounds left before the first injection."""
        cases: list[Case] = []
        if left <= self.history:
            cases.append(self.case)
        if left <= A_FEW:
            cases += self.witnesses
        return cases

    def is_what(self, finding: "Finding") -> bool:
        """Test whether the site found this, all of this, and nothing else."""
        if finding.cause != self.cause or finding.state != "confirmed" or finding.others:
            return False
        if finding.effects.keys() & set(self.silent):
            return False
        if self.percent is None:
            return True
        effect = finding.effects[self.metrics[0]]
        return effect is not None and abs(effect - self.percent) <= WITHIN_POINTS


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
        "kernel",
        "Inductor may not vectorize the MLP's GELU",
        "compiler",
        ("device_ms",),
        inductor={"cpp.simdlen": 1},
    ),
    Injection(
        "compile-work",
        "a pass of Inductor makes 5% more Python calls",
        "compiler",
        ("compile_calls",),
        case=(OWN_MLP, "inductor"),
        starts=("cold", "counted"),
        env={"TORCH_DRILL_EXTRA_CALLS": str(EXTRA_CALLS)},
        percent=5,
        silent=("cold_start_s", "latency_ms", "device_ms"),
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
