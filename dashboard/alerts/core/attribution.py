"""Whose fault a change is: facts in, a cause and its evidence out. Pure: no ORM, no clock.

A cause needs positive evidence, and is `unknown` without it (docs/detection.md has the table). Each
rule reads the facts alone and returns its evidence; the first cause of PRECEDENCE that has proof is
the cause, because what comes first explains what comes later: a slower machine also slows eager
down, and slower eager the compiled step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from dashboard.alerts.core.change_facts import ChangeFacts
from dashboard.language.wording import metric_of

Cause = Literal["compiler", "eager", "machine", "library", "benchmark", "unknown"]
PRECEDENCE: tuple[Cause, ...] = ("benchmark", "machine", "library", "eager", "compiler")

COMPILER_COUNTS = {  # metrics that nothing but the compiler moves -> what they count
    "graph_breaks": "what dynamo does",
    "recompiles": "what dynamo does",
    "compile_calls": "the calls of a compilation",
}
PRESSURE_AFTER, PRESSURE_BEFORE = 0.5, 0.2
ALIKE, FEWEST_ALIKE = 2 / 3, 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of the argument."""

    fact: str
    says: str
    supports: Cause | Literal[""] = ""  # "": it only narrows the cause down
    proof: bool = field(default=False, compare=False)  # enough by itself

    def document(self) -> dict[str, str]:
        """As AlertGroup.evidence keeps it."""
        return {"fact": self.fact, "says": self.says, "supports": self.supports, "url": ""}


def attribute(facts: ChangeFacts) -> tuple[Cause, list[Evidence]]:
    """The cause, and every piece of evidence, that of the cause first."""
    evidence: list[Evidence] = []
    for rule in RULES:
        evidence += rule(facts)
    proven = {piece.supports for piece in evidence if piece.proof}
    cause: Cause = next((cause for cause in PRECEDENCE if cause in proven), "unknown")
    return cause, sorted(evidence, key=lambda piece: (piece.supports != cause, not piece.supports))


def _suite(facts: ChangeFacts) -> list[Evidence]:
    if facts.suite is None:
        return []
    says = f"The suite changed from {facts.suite[0]} to {facts.suite[1]} there"
    if facts.same_build:
        return [Evidence("suite version", f"{says}; the build did not.", "benchmark", proof=True)]
    says += ", and so did the build: either may be the reason."
    return [Evidence("suite version", says)]


def _elsewhere(facts: ChangeFacts) -> list[Evidence]:
    """A build that never moves, and what the machine itself can do: when they move, the machine
    did.
    """
    if facts.change is None or not facts.timed:
        return []
    kinds = (
        ("pinned track", facts.pinned, "whose build never changes"),
        ("machine canary", facts.canary, "which measures the machine itself"),
    )
    evidence = []
    for fact, witnesses, why in kinds:
        for witness in witnesses:
            if witness.as_much_as(facts.change):
                says = f"{witness.text}, {why}."
                evidence.append(Evidence(fact, says, "machine", proof=True))
            elif witness.stayed_while(facts.change):
                says = witness.steady_text(facts.change, facts.threshold_percent)
                evidence.append(Evidence(fact, f"{says}, {why}."))
    return evidence


def _machine(facts: ChangeFacts) -> list[Evidence]:
    """List what the machine says of itself: its own description, and the load next to our jobs."""
    evidence = []
    for difference in facts.differences:
        if difference.path.startswith("machine."):
            piece = Evidence("environment", difference.text, "machine", proof=facts.same_build)
            evidence.append(piece)
    before, after = facts.pressure
    if facts.timed and after >= PRESSURE_AFTER and before <= PRESSURE_BEFORE:
        says = f"{after:.0%} of the jobs since were disturbed by other load, {before:.0%} before."
        evidence.append(Evidence("interference", says, "machine", proof=facts.same_build))
    return evidence


def _alike(facts: ChangeFacts) -> list[Evidence]:
    """List what others on the machine show while no software changed."""
    moved, compared = facts.alike
    if not facts.timed or compared < FEWEST_ALIKE or moved < ALIKE * compared:
        return []
    says = f"The eager steps of {moved} of {compared} other benchmarks moved alike"
    if facts.same_build and not facts.differences and facts.suite is None:
        says += ", and neither build, libraries nor suite changed."
        return [Evidence("other benchmarks", says, "machine", proof=True)]
    return [Evidence("other benchmarks", f"{says}.")]


def _environment(facts: ChangeFacts) -> list[Evidence]:
    """List what else changed there: proof where the build stayed; else either may be the reason."""
    proof = facts.same_build
    evidence = []
    for difference in facts.differences:
        part = difference.path.partition(".")[0]
        if part == "settings":
            supports: Cause | Literal[""] = "benchmark" if proof else ""
            if facts.inductor_alone:
                supports = "compiler"
            evidence.append(Evidence("setting", difference.text, supports, proof=proof))
        elif part == "torch":
            evidence.append(Evidence("build", difference.text))
        elif part != "machine":
            evidence.append(Evidence("library version", difference.text, "library", proof=proof))
    return evidence


def _control(facts: ChangeFacts) -> list[Evidence]:
    """The eager control of the same processes separates the compiler from everything else."""
    if facts.control is None or facts.change is None:
        return []
    if facts.control.as_much_as(facts.change):
        says = f"{facts.control.text}: eager, which no compiler touches, moved as much."
        proof = not facts.same_build
        return [Evidence("eager control", says, "eager", proof=proof)]
    if facts.control.stayed_while(facts.change):
        follows = "only the compiled arm moved"
        if facts.is_start:
            follows = "eager's steps in the same processes do not explain the change"
        elif not facts.control.stayed_both_ways(facts.change):
            follows = "eager does not explain the change"
        elif not facts.control.shows_no_change(facts.threshold_percent):
            follows = "the compiled arm moved more"
        says = facts.control.steady_text(facts.change, facts.threshold_percent)
        return [Evidence("eager control", f"{says}: {follows}.")]
    return []


def _eager(facts: ChangeFacts) -> list[Evidence]:
    """Eager itself changed with the build: proven where the machine is ruled out."""
    if not facts.eager or facts.same_build:
        return []
    if facts.confirmed:
        says = "Eager itself changed, and both builds measured in turn on one machine show it."
        return [Evidence("eager", says, "eager", proof=True)]
    if facts.change is not None:
        for witness in (*facts.pinned, *facts.canary):
            if witness.stayed_while(facts.change):
                says = "Eager itself changed with the build, and the machine did not."
                return [Evidence("eager", says, "eager", proof=True)]
    says = "Eager itself changed with the build."
    return [Evidence("eager", says, "eager", proof=not facts.timed)]


def _code(facts: ChangeFacts) -> list[Evidence]:
    if facts.code is None or facts.eager:
        return []
    if not facts.code.stable:
        says = "Two cold compiles of one build differ: the code says nothing here."
        return [Evidence("generated code", says)]
    kinds = ", ".join(facts.code.changed())
    if not kinds:
        says = "The generated code is the same before and after."
        return [Evidence("generated code", says)] if facts.code.same() else []
    jobs = f"{facts.code.jobs} or more jobs a side"
    says = f"The generated code differs ({kinds}), the same way in {jobs}."
    return [Evidence("generated code", says, "compiler", proof=_only_compiled(facts))]


def _only_compiled(facts: ChangeFacts) -> bool:
    """Test whether it is known that eager did not move. Eager has no start to compare with, so a
    start is known to be the compiler's only where both builds took turns.
    """
    if facts.is_start and not facts.confirmed:
        return False
    if facts.control is None or facts.change is None:
        return False
    return facts.control.stayed_while(facts.change)


def _compiler_counts(facts: ChangeFacts) -> list[Evidence]:
    """Counts of what only the compiler does."""
    counts = COMPILER_COUNTS.get(facts.metric)
    if facts.eager or facts.same_build or counts is None:
        return []
    says = f"It counts {counts}"
    if _others_than_the_build(facts):
        return [Evidence("compiler count", f"{says}.", "compiler")]
    says += ", and nothing but the build changed."
    return [Evidence("compiler count", says, "compiler", proof=True)]


def _others_than_the_build(facts: ChangeFacts) -> bool:
    """Test whether anything else changed. torch and what a variant sets belong to the build."""
    if facts.suite is not None:
        return True
    for difference in facts.differences:
        part, _, setting = difference.path.partition(".")
        name = setting.partition(".")[2]  # of settings.env.NAME, settings.inductor.NAME
        of_variant = part == "settings" and name and f"{name} = " in facts.variant
        if part != "torch" and not of_variant:
            return True
    return False


def _phases(facts: ChangeFacts) -> list[Evidence]:
    """Phases of compiling that took longer, or less long, as the whole start did."""
    if facts.eager or facts.same_build or facts.change is None:
        return []
    if not facts.is_start:
        return []
    proof = facts.confirmed and _only_compiled(facts)
    start = metric_of(facts.metric).label.lower()
    moved = [phase for phase in facts.phases if phase.as_much_as(facts.change)]
    whole = start if facts.confirmed else f"{start}, which was not measured again in turn"
    says = [f"{phase.text}, as part of the {whole}." for phase in moved]
    # A host that was faster for a while shortens every phase: what was not repeated supports none
    supports: Cause | Literal[""] = "compiler" if facts.confirmed else ""
    return [Evidence("compile phase", each, supports, proof=proof) for each in says]


def _eager_passes(facts: ChangeFacts) -> list[Evidence]:
    """A failure of the compiled config alone."""
    if facts.eager or facts.same_build or facts.metric != "passed" or not facts.eager_passes:
        return []
    says = "The same benchmark passes in eager."
    if facts.stage:
        says += f" The ablation blames {facts.stage}."
    return [Evidence("eager passes", says, "compiler", proof=True)]


def _variant(facts: ChangeFacts) -> list[Evidence]:
    """List a variant's evidence; where it takes turns with its base, only what it sets differs."""
    if not facts.variant:
        return []
    supports: Cause | Literal[""] = "compiler" if facts.inductor_alone else ""
    evidence = []
    if facts.inductor_alone and facts.confirmed and _only_compiled(facts):
        says = "The two builds differ in settings of Inductor alone, and were measured in turn."
        evidence.append(Evidence("confirmed variant", says, "compiler", proof=True))
    says = f"The new build is a variant: {facts.variant}"
    return [*evidence, Evidence("variant", says, supports)]


RULES: tuple[Callable[[ChangeFacts], list[Evidence]], ...] = (
    _suite,
    _elsewhere,
    _machine,
    _alike,
    _environment,
    _control,
    _eager,
    _code,
    _compiler_counts,
    _phases,
    _eager_passes,
    _variant,
)
