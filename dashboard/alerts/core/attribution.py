"""Whose fault a change is: facts in, a cause and its evidence out. Pure: no ORM, no clock.

A cause needs positive evidence, and is `unknown` without it (docs/detection.md has the table). Each
rule looks at the facts alone and says what it found; the first cause of PRECEDENCE that has proof
is the cause, because what comes first explains what comes later: a slower machine also slows eager
down, and slower eager the compiled step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dashboard.language.wording import signed
from dashboard.results.core.environments import Difference

Cause = Literal["compiler", "eager", "machine", "library", "benchmark", "unknown"]
PRECEDENCE: tuple[Cause, ...] = ("benchmark", "machine", "library", "eager", "compiler")

AS_MUCH = 0.5
"""A control that moved by this share of the change, or more, moved as much."""
TIMED = ("ms", "s")  # units of metrics that a slower machine changes
DYNAMO_COUNTS = ("graph_breaks", "recompiles")
PRESSURE_AFTER, PRESSURE_BEFORE = 0.5, 0.2
REPRODUCED = 2
"""Jobs on each side that must agree before the code is said to differ."""
ALIKE, FEWEST_ALIKE = 2 / 3, 2
EXACT_PERCENT = 0.005
"""What moved by less than this either way is told as the same: no metric is read to more digits."""


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """How something changed at the same place: effect with its interval in percent. name: as people
    call it.
    """

    name: str
    effect: float
    low: float
    high: float
    url: str = ""

    def as_much_as(self, other: "ObservedChange") -> bool:
        """It moved in the same direction, for certain, by at least half as much."""
        same = self.effect * other.effect > 0 and (self.low > 0 or self.high < 0)
        return same and abs(self.effect) >= AS_MUCH * abs(other.effect)

    def steady_beside(self, other: "ObservedChange") -> bool:
        """It did not move by half as much, for certain."""
        limit = AS_MUCH * abs(other.effect)
        return self.high < limit if other.effect > 0 else self.low > -limit

    @property
    def text(self) -> str:
        way = "rose" if self.effect > 0 else "fell"
        return (
            f"{self.name} {way} by {abs(self.effect):.1f} % ({signed(self.low)} to "
            f"{signed(self.high)} %)"
        )

    @property
    def stayed(self) -> str:
        """For something that did not move: "The eager control stayed (−0.8 to +1.2 %)"."""
        if abs(self.low) < EXACT_PERCENT and abs(self.high) < EXACT_PERCENT:
            return f"{self.name} stayed exactly as it was"
        return f"{self.name} stayed ({signed(self.low)} to {signed(self.high)} %)"


@dataclass(frozen=True, slots=True)
class CodeFingerprints:
    """Fingerprints of the generated code by kind (wrapper, kernels, ptx, cubin) on either side of a
    change.

    before, after: every value seen, of several jobs. jobs: the fewest on a side. stable: no job
    found two cold compiles of one build to differ.
    """

    before: Mapping[str, frozenset[str]]
    after: Mapping[str, frozenset[str]]
    jobs: int
    stable: bool = True

    def changed(self) -> list[str]:
        """The kinds that differ reproducibly: one value in several jobs of each side, another
        one.
        """
        if not self.stable or self.jobs < REPRODUCED:
            return []
        kinds = [kind for kind in self.before if kind in self.after]
        return [
            k
            for k in kinds
            if len(self.before[k]) == len(self.after[k]) == 1 and self.before[k] != self.after[k]
        ]

    def same(self) -> bool:
        return bool(self.before) and all(
            self.before[kind] == self.after.get(kind) for kind in self.before
        )


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """What is known around one change. None and empty: not known, which is evidence of nothing.

    change: of the series itself. same_build: the build did not change there. confirmed: base and
        new build were
    re-measured in turn, and it is there. control: the eager control of the same jobs. pinned: the
    same case on pinned tracks of the machine. canary: what the machine itself can do, on a build
    that stayed. alike: how many of how many other benchmarks' eager steps moved alike. pressure:
    share of jobs disturbed by others, before and after.
    """

    metric: str
    unit: str
    change: ObservedChange | None
    eager: bool
    same_build: bool
    confirmed: bool = False
    control: ObservedChange | None = None
    pinned: Sequence[ObservedChange] = ()
    canary: Sequence[ObservedChange] = ()
    alike: tuple[int, int] = (0, 0)
    pressure: tuple[float, float] = (0.0, 0.0)
    code: CodeFingerprints | None = None
    differences: Sequence[Difference] = ()
    suite: tuple[str, str] | None = None
    phases: Sequence[ObservedChange] = ()
    eager_passes: bool | None = None  # of a status change in a compiled config
    stage: str = ""  # of the compiler, which the ablation blames
    variant: str = ""  # what the new build sets that the base does not
    # Both are one torch in one environment, and differ in settings of Inductor
    inductor_alone: bool = False

    @property
    def timed(self) -> bool:
        return self.unit in TIMED


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of the argument. supports: a cause, or "" for what only narrows it down. proof:
    enough by itself.
    """

    fact: str
    says: str
    supports: Cause | Literal[""] = ""
    url: str = ""
    proof: bool = field(default=False, compare=False)

    def document(self) -> dict[str, str]:
        """As AlertGroup.evidence keeps it."""
        return {"fact": self.fact, "says": self.says, "supports": self.supports, "url": self.url}


def attribute(facts: ChangeFacts) -> tuple[Cause, list[Evidence]]:
    """The cause, and every piece of evidence, that of the cause first."""
    found = [piece for rule in RULES for piece in rule(facts)]
    proven = {piece.supports for piece in found if piece.proof}
    cause: Cause = next((one for one in PRECEDENCE if one in proven), "unknown")
    return cause, sorted(found, key=lambda piece: (piece.supports != cause, not piece.supports))


def _suite(facts: ChangeFacts) -> list[Evidence]:
    if facts.suite is None:
        return []
    says = f"The suite changed from {facts.suite[0]} to {facts.suite[1]} there"
    if not facts.same_build:
        return [
            Evidence("suite version", f"{says}, and so did the build: either may be the reason.")
        ]
    return [Evidence("suite version", f"{says}; the build did not.", "benchmark", proof=True)]


def _pinned(facts: ChangeFacts) -> list[Evidence]:
    """A build that never moves: when it moves, the machine did."""
    return _elsewhere(facts, "pinned track", facts.pinned, "whose build never changes")


def _canary(facts: ChangeFacts) -> list[Evidence]:
    return _elsewhere(facts, "machine canary", facts.canary, "which measures the machine itself")


def _elsewhere(
    facts: ChangeFacts, fact: str, witnesses: Sequence[ObservedChange], why: str
) -> list[Evidence]:
    if facts.change is None or not facts.timed:
        return []
    told = []
    for one in witnesses:
        if one.as_much_as(facts.change):
            told.append(Evidence(fact, f"{one.text}, {why}.", "machine", one.url, proof=True))
        elif one.steady_beside(facts.change):
            told.append(Evidence(fact, f"{one.stayed}, {why}.", "", one.url))
    return told


def _machine(facts: ChangeFacts) -> list[Evidence]:
    """What the machine says of itself, and what others on it show while no software changed."""
    told = [
        Evidence("environment", one.text, "machine", proof=facts.same_build)
        for one in facts.differences
        if one.path.startswith("machine.")
    ]
    before, after = facts.pressure
    if facts.timed and after >= PRESSURE_AFTER and before <= PRESSURE_BEFORE:
        says = f"{after:.0%} of the jobs since were disturbed by other load, {before:.0%} before."
        told.append(Evidence("interference", says, "machine", proof=facts.same_build))
    moved, judged = facts.alike
    if facts.timed and judged >= FEWEST_ALIKE and moved >= ALIKE * judged:
        says = f"The eager steps of {moved} of {judged} other benchmarks moved alike"
        alone = facts.same_build and not facts.differences and facts.suite is None
        says += ", and neither build, libraries nor suite changed." if alone else "."
        told.append(Evidence("other benchmarks", says, "machine" if alone else "", proof=alone))
    return told


def _environment(facts: ChangeFacts) -> list[Evidence]:
    """What else changed there: proof where the build stayed; where it changed, too, either may be
    the reason.
    """
    told = []
    for one in facts.differences:
        part = one.path.partition(".")[0]
        if part == "settings":
            told.append(
                Evidence(
                    "setting",
                    one.text,
                    "benchmark" if facts.same_build else "",
                    proof=facts.same_build,
                )
            )
        elif part == "torch":
            told.append(Evidence("build", one.text))
        elif part != "machine":
            told.append(Evidence("library version", one.text, "library", proof=facts.same_build))
    return told


def _control(facts: ChangeFacts) -> list[Evidence]:
    """The eager control of the same processes separates the compiler from everything else."""
    if facts.control is None or facts.change is None:
        return []
    if facts.control.as_much_as(facts.change):
        says = f"{facts.control.text}: eager, which no compiler touches, moved as much."
        return [
            Evidence("eager control", says, "eager", facts.control.url, proof=not facts.same_build)
        ]
    if facts.control.steady_beside(facts.change):
        says = f"{facts.control.stayed}: only the compiled arm moved."
        return [Evidence("eager control", says, "", facts.control.url)]
    return []


def _eager(facts: ChangeFacts) -> list[Evidence]:
    """Eager itself changed with the build: proven where the machine is ruled out."""
    if not facts.eager or facts.same_build:
        return []
    if facts.confirmed:
        says = "Eager itself changed, and both builds measured in turn on one machine show it."
        return [Evidence("eager", says, "eager", proof=True)]
    witnesses = [*facts.pinned, *facts.canary]
    steady = facts.change is not None and any(one.steady_beside(facts.change) for one in witnesses)
    says = "Eager itself changed with the build" + (", and the machine did not." if steady else ".")
    return [Evidence("eager", says, "eager", proof=steady or not facts.timed)]


def _code(facts: ChangeFacts) -> list[Evidence]:
    if facts.code is None or facts.eager:
        return []
    if not facts.code.stable:
        return [
            Evidence(
                "generated code",
                "Two cold compiles of one build differ: the code says nothing here.",
            )
        ]
    kinds = facts.code.changed()
    if not kinds:
        same = "The generated code is the same before and after." if facts.code.same() else ""
        return [Evidence("generated code", same)] if same else []
    says = (
        f"The generated code differs ({', '.join(kinds)}), the same way in {facts.code.jobs} "
        "or more jobs a side."
    )
    return [Evidence("generated code", says, "compiler", proof=_only_compiled(facts))]


def _only_compiled(facts: ChangeFacts) -> bool:
    """Whether it is known that eager did not move. Memory and numbers are compared with their own
    control.
    """
    known = facts.control is not None and facts.change is not None
    return known and facts.control.steady_beside(facts.change)  # type: ignore[union-attr, arg-type]  # `known`


def _compiling(facts: ChangeFacts) -> list[Evidence]:
    """What only the compiler does: its counts, its phases, its failures."""
    if facts.eager or facts.same_build:
        return []
    told = []
    if facts.metric in DYNAMO_COUNTS:
        alone = not facts.differences and facts.suite is None
        says = (
            "It counts what dynamo does, and nothing but the build changed."
            if alone
            else "It counts what dynamo does."
        )
        told.append(Evidence("dynamo", says, "compiler", proof=alone))
    if facts.metric.endswith("_start_s") and facts.change is not None:
        for phase in facts.phases:
            if phase.as_much_as(facts.change):
                told.append(
                    Evidence("compile phase", phase.text, "compiler", proof=_only_compiled(facts))
                )
    if facts.metric == "passed" and facts.eager_passes:
        blamed = f" The ablation blames {facts.stage}." if facts.stage else ""
        told.append(
            Evidence(
                "eager passes",
                f"The same benchmark passes in eager.{blamed}",
                "compiler",
                proof=True,
            )
        )
    return told


def _variant(facts: ChangeFacts) -> list[Evidence]:
    """Where a variant is measured in turn with its base, what it sets is all that differs."""
    if not facts.variant:
        return []
    told = [Evidence("variant", f"The new build is a variant: {facts.variant}")]
    if facts.inductor_alone and facts.confirmed and _only_compiled(facts):
        says = "The two builds differ in settings of Inductor alone, and were measured in turn."
        told.append(Evidence("confirmed variant", says, "compiler", proof=True))
    return told


RULES: tuple[Callable[[ChangeFacts], list[Evidence]], ...] = (
    _suite,
    _pinned,
    _canary,
    _machine,
    _environment,
    _control,
    _eager,
    _code,
    _compiling,
    _variant,
)
