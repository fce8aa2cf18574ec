"""A judgement in short sentences: what changed, what may have, and by how much at most. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from dashboard.comparisons.core.judgement import Finding, Judgement
from dashboard.judgement.changes import Verdict
from dashboard.judgement.words import ORDER, counted, evidence, first_of, in_words, short
from dashboard.language import wording
from dashboard.language.wording import plural

NOTHING_MEASURED = "No case was measured on both sides."
_METRICS = (
    "device_ms",
    "latency_ms",
    "cold_start_s",
    "peak_memory_gb",
    "drift",
    "graph_breaks",
)
"""The first of them that changed stands for a model; device times count of busy GPUs alone."""
_MOST_NAMED = 3
_LEAST_SHOWN_PERCENT = 0.05
_MOST_SHOWN_PERCENT = 10  # a wider bound is none that anybody would act on
_SLOWER_SPEEDUP = 0.95  # below it; between it and 1 processes may differ by chance


def headline(models: Mapping[str, Judgement], whole: Judgement) -> list[str]:
    """List how many models have each verdict, the first that changed with a number each, and what
    only all cases together show. models: by title, those with a compiled case on both sides.
    """
    changed = {}
    for title in sorted(models, key=lambda title: weight(models[title])):
        if said := [*_failures(models[title]), *_deciding(models[title])]:
            changed[title] = f"{title}: {said[0]}"
    sentences = [*changed.values()][:_MOST_NAMED]
    if len(models) > 1:
        tally = Counter(judgement.answer.verdict for judgement in models.values())
        sentences.insert(0, f"{counted(tally)}.")
    if len(changed) > _MOST_NAMED:
        sentences.append(f"{plural(len(changed) - _MOST_NAMED, 'more model')} changed.")
    sentences += [*_means(whole, "worse"), *_means(whole, "better"), *_bound(whole)]
    return [*sentences, *_contradiction(whole)] or [NOTHING_MEASURED]


def sentences_of(judgement: Judgement) -> list[str]:
    """Say of one model, whose name stands next to it, what fails, what changed in each metric, and
    what is unclear. At least one.
    """
    sentences = [_capitalized(text) for text in _failures(judgement)]
    for verdict in ("worse", "better"):
        sentences += _changes(judgement, verdict)
        sentences += _means(judgement, verdict)
    unclear = judgement.of_verdict("unclear")
    if unclear:
        results = plural(sum(finding.counts for finding in judgement.findings), "result")
        sentences.append(
            f"{len(unclear)} of {results} {'is' if len(unclear) == 1 else 'are'} unclear."
        )
    sentences += [*_bound(judgement), *_slower_than_eager(judgement), *_contradiction(judgement)]
    return sentences or [NOTHING_MEASURED]


def weight(judgement: Judgement) -> tuple[int, int, bool, float]:
    """Order of models: by verdict, then by the change that stands for each, certain ones first."""
    order = ORDER.index(judgement.answer.verdict)
    finding = deciding_change(judgement)
    if finding is None:
        return order, len(_METRICS), True, 0.0
    metric = _METRICS.index(finding.metric.key)
    return order, metric, not finding.change.is_certain, -finding.row.size


def deciding_change(judgement: Judgement) -> Finding | None:
    """The change that stands for an answer where there is no room for its sentences."""
    decided = judgement.decided
    return min(decided, key=lambda each: _METRICS.index(each.metric.key), default=None)


def _deciding(judgement: Judgement) -> Iterator[str]:
    if finding := deciding_change(judgement):
        yield _change(finding)


def _failures(judgement: Judgement) -> Iterator[str]:
    failures = {
        "fails now": judgement.breaks,
        "passes now": judgement.repairs,
        "may fail now": judgement.undecided,
    }
    for title, failing in failures.items():
        if failing:
            ways = dict.fromkeys(f"{each.case.config}: {each.how}" for each in failing)
            yield f"{title} ({first_of([*ways])})."


def _changes(judgement: Judgement, verdict: Verdict) -> Iterator[str]:
    """The largest of each metric, and of how many results."""
    findings = [finding for finding in judgement.findings if finding.counts]
    of_metric = Counter(finding.metric.key for finding in findings)
    changed = judgement.of_verdict(verdict)
    for key in _METRICS:
        largest = [finding for finding in changed if finding.metric.key == key]
        if largest:
            others = (
                f" {len(largest)} of {of_metric[key]} cases changed." if of_metric[key] > 1 else ""
            )
            yield f"{_capitalized(_change(largest[0]))}{others}"


def _change(finding: Finding) -> str:
    """ "device time 45.7% slower (45.4 to 46.0%, 2 pairs)."."""
    likely = "" if finding.change.is_certain else ", likely"
    return f"{brief(finding)} ({evidence(finding.change)}{likely})."


def _means(judgement: Judgement, verdict: Verdict) -> Iterator[str]:
    """The changes of means over several cases."""
    for mean in judgement.means_of(verdict):
        text = wording.without_noun(in_words(mean.mean).text)
        yield f"{mean.name.capitalize()} {text} on average."


def brief(finding: Finding) -> str:
    """ "latency 3.1% slower"."""
    return wording.named(finding.metric, short(finding.change))


def bound_sentence(judgement: Judgement) -> str:
    """State how much slower any step can be; empty where that is not known."""
    return next(_bound(judgement), "")


def _bound(judgement: Judgement) -> Iterator[str]:
    if judgement.step_bound <= _MOST_SHOWN_PERCENT:
        bound = max(judgement.step_bound, _LEAST_SHOWN_PERCENT)
        others = "No other step" if judgement.of_verdict("worse") else "No step"
        yield f"{others} is more than {bound:.2g}% slower."


def _contradiction(judgement: Judgement) -> Iterator[str]:
    if judgement.contradicting:
        metrics = first_of([wording.metric_of(key).label for key in judgement.contradicting])
        yield f"Sessions disagree on {metrics}: each counts once."


def _slower_than_eager(judgement: Judgement) -> Iterator[str]:
    """Compiled cases that take longer than eager on both sides: however much their steps gained,
    eager is faster.
    """
    latency = judgement.tables.get("latency_ms")
    slower = []
    for row in latency.rows if latency else ():
        if row.speedup and max(row.speedup.levels) < _SLOWER_SPEEDUP:
            times = f"{1 / row.speedup.levels[1]:.1f} times as long"
            slower.append((row.speedup.levels, f"{row.case.config} ({times})"))
    if slower:
        names = first_of([*dict.fromkeys(name for _, name in sorted(slower))])
        yield f"Slower than eager on both sides: {names}."


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
