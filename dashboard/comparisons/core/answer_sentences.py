"""A judgement in short sentences: what changed, what may have, and by how much at most. Pure."""

import math
from collections.abc import Iterator

from dashboard.comparisons.core.judgement import Finding, Judgement
from dashboard.judgement.changes import Verdict
from dashboard.judgement.words import first_of, in_words, short
from dashboard.language import wording
from dashboard.language.wording import plural

NOTHING_MEASURED = "No case was measured on both sides."
_LEAST_SHOWN_PERCENT = 0.05
_SLOWER_SPEEDUP = 0.95  # below it; between it and 1 processes may differ by chance


def sentences_of(judgement: Judgement) -> list[str]:
    """What fails, what got worse, what got better, what is open: a sentence each, where there is
    something. At least one.
    """
    failures = {
        "Fails now": judgement.breaks,
        "Passes now": judgement.repairs,
        "Failed, which proves nothing yet": judgement.undecided,
    }
    sentences = []
    for title, failing in failures.items():
        if failing:
            sentences.append(f"{title}: {first_of([failure.text for failure in failing])}.")
    sentences += _changes(judgement, "worse")
    sentences += _changes(judgement, "better")
    sentences += _open(judgement)
    sentences += _slower_than_eager(judgement)
    if judgement.contradicting:
        metrics = first_of([wording.metric_of(key).label for key in judgement.contradicting])
        sentences.append(f"Sessions contradict each other in {metrics}: each counts once.")
    return sentences or [NOTHING_MEASURED]


def _changes(judgement: Judgement, verdict: Verdict) -> Iterator[str]:
    """Cases, then means over all cases."""
    if findings := judgement.of_verdict(verdict):
        changes = first_of([change_of_case(finding) for finding in findings])
        yield f"{verdict.capitalize()}: {changes}."
    if means := judgement.means_of(verdict):
        named = [f"{mean.name} {wording.without_noun(in_words(mean.mean).text)}" for mean in means]
        yield f"{verdict.capitalize()} on average: {first_of(named)}."


def change_of_case(finding: Finding) -> str:
    """ "gpt2.training inductor latency 3.1% slower (2.0 to 4.2%), likely"."""
    case, change = finding.row.case, finding.change
    text = f"{case.benchmark} {case.config} {wording.named(change.metric, in_words(change).text)}"
    return text if change.is_certain else f"{text}, likely"


def deciding_change(judgement: Judgement) -> Finding | None:
    """The change that stands for an answer where there is no room for its sentences."""
    return next(iter(judgement.decided), None)


def brief(finding: Finding) -> str:
    """ "latency 3.1% slower"."""
    return wording.named(finding.metric, short(finding.change))


def bound_sentence(judgement: Judgement) -> str:
    """How much slower any step can be; empty where that is not known."""
    if not math.isfinite(judgement.step_bound):
        return ""
    bound = max(judgement.step_bound, _LEAST_SHOWN_PERCENT)
    others = "No other step" if judgement.of_verdict("worse") else "No step"
    return f"{others} is more than {bound:.2g}% slower."


def _open(judgement: Judgement) -> Iterator[str]:
    """How many are unclear, and how much slower steps can be."""
    unclear = judgement.of_verdict("unclear")
    if unclear:
        counted = sum(finding.counts for finding in judgement.findings)
        be = "is" if len(unclear) == 1 else "are"
        yield f"{len(unclear)} of {plural(counted, 'result')} {be} unclear."
    if bound := bound_sentence(judgement):
        yield bound


def _slower_than_eager(judgement: Judgement) -> Iterator[str]:
    """Compiled cases that take longer than eager on both sides: however much their steps gained,
    eager is faster.
    """
    latency = judgement.tables.get("latency_ms")
    slower = []
    for row in latency.rows if latency else ():
        if row.speedup and max(row.speedup.levels) < _SLOWER_SPEEDUP:
            times = f"{1 / row.speedup.levels[1]:.1f} times as long"
            slower.append((row.speedup.levels, f"{row.case.benchmark} {row.case.config} ({times})"))
    if slower:
        names = first_of([name for _, name in sorted(slower)])
        yield f"Slower than eager on both sides: {names}."
