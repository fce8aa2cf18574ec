"""A judgement in sentences: what changed, what may have, and what is not known. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dashboard.comparisons.core.judgement import Finding, Judgement
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.metric_effects import CHANGED, LEAST_SHOWN_PERCENT, Effect
from dashboard.language import wording
from dashboard.language.wording import plural

_MAX_NAMED = 3
_SLOWER_SPEEDUP = 0.95  # below it; between it and 1 processes may differ by chance


def sentences_of(judgement: Judgement) -> Iterator[str]:
    """What fails, what got worse, what is suspected, what got better, the means: a sentence each,
    where there is something. The means come first where they alone are worse.
    """
    means = tuple(_mean_sentences(judgement))
    regressions = judgement.of_kind("regression")
    only_means = bool(judgement.means_of("worse")) and not regressions
    if breaks := judgement.breaks:
        fail = "fails" if len(breaks) == 1 else "fail"
        names = _first_of([failure.text for failure in breaks])
        yield f"{plural(len(breaks), 'case')} that passed now {fail}: {names}."
    if repairs := judgement.repairs:
        passes = "passes" if len(repairs) == 1 else "pass"
        names = _first_of([failure.text for failure in repairs])
        yield f"{plural(len(repairs), 'case')} that failed before now {passes}: {names}."
    yield from _changes("Worse", regressions)
    if only_means:
        yield from means
    yield from _changes("Suspected, not certain", judgement.suspected)
    yield from _changes("Better", judgement.of_kind("improvement"))
    if undecided := judgement.undecided:
        names = _first_of([failure.text for failure in undecided])
        yield f"Failed on the new side, which proves nothing yet: {names}."
    yield from _scattering_steps(judgement)
    if judgement.state == "unknown":
        yield from _known_steps(judgement.findings)
    elif judgement.state == "regression":
        yield from _unknown_steps(judgement)
    if not only_means:
        yield from means
    if judgement.findings:
        yield from _bound_sentence(judgement)
    yield from _slower_than_eager(judgement)
    yield from _missing_starts(judgement)


def _weightiest_first(finding: Finding) -> tuple[bool, bool, bool]:
    """Sorts what may be worse before what may be better, what is eager's as well last, and steps
    before the rest.
    """
    return finding.effect.suspected != "worse", finding.is_of_eager, not finding.is_step


def _scattering_steps(judgement: Judgement) -> Iterator[str]:
    """What stands for whole steps that are not decided: the GPU's own time, or how long at most."""
    times: dict[Key, Finding] = {}
    for finding in judgement.findings:
        if finding.metric.key == "device_ms":
            times[finding.row.case.key] = finding
    scattering = [times[finding.row.case.key] for finding in judgement.of_kind("scatters")]
    bounded = [time for time in scattering if time.kind == "bounded"]
    waiting = "is not decided; it waits for the GPU"
    if decided := len(scattering) - len(bounded):
        cases = plural(decided, "case")
        yield f"The whole step of {cases} {waiting}, so the GPU's own time decides."
    if bounded:
        worst = max(time.worst_percent for time in bounded)
        limit = f"at most {worst:.1f}% slower" if worst >= LEAST_SHOWN_PERCENT else "not slower"
        cases = plural(len(bounded), "case")
        yield f"The whole step of {cases} {waiting}, whose own time is {limit}."


def _known_steps(findings: Sequence[Finding]) -> Iterator[str]:
    """How much slower the steps can be of which that is known; of those that scatter by the GPU's
    time alone.
    """
    scattering = {finding.row.case.key for finding in findings if finding.kind == "scatters"}
    decided: dict[Key, float] = {}
    by_device = 0
    for finding in findings:
        is_of_device = finding.metric.key == "device_ms" and finding.row.case.key in scattering
        is_known = finding.kind in {"unchanged", "bounded"}
        if is_known and (finding.metric.key == "latency_ms" or is_of_device):
            decided[finding.row.case.key] = finding.worst_percent
            by_device += is_of_device
    if max(decided.values(), default=0.0) > 0:
        steps = "step" if len(decided) == 1 else "steps"
        basis = f", {by_device} of them by the GPU's own time alone" if by_device else ""
        yield (
            f"The {steps} of {plural(len(decided), 'case')} {_be(steps)} at most "
            f"{max(decided.values()):.1f}% slower{basis}."
        )


def _unknown_steps(judgement: Judgement) -> Iterator[str]:
    """Of how many whole steps nothing is known, next to a regression, which may be of another
    metric alone. What is suspected, and what the GPU's own time stands for, is said elsewhere.
    """
    steps = [finding for finding in judgement.findings if finding.metric.key == "latency_ms"]
    unknown = [step for step in steps if _may_have_changed(step)]
    cases = {finding.row.case.key for finding in judgement.findings}
    if unknown and len(cases) == 1:
        yield "Whether its whole step changed is not known."
    elif unknown:
        case = "other case" if judgement.of_kind("scatters") else "case"
        yield f"Whether the whole step of {plural(len(unknown), case)} changed is not known."


def _may_have_changed(step: Finding) -> bool:
    """Whether by more than the bound: it is open, or may have got better by that much."""
    if step.kind == "open":
        return True
    if step.kind != "bounded" or step.effect.suspected or step.device_decides:
        return False
    return step.best_percent > step.bound_percent


def _changes(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Each change with its case, which is named once where several of its metrics follow.

    findings: the largest first, which they remain among those of one weight.
    """
    changes, named = [], ""
    for finding in sorted(findings, key=_weightiest_first):
        case, change = finding.row.case, _change_of(finding)
        name = f"{case.benchmark} {case.config}"
        changes.append(change if name == named else f"{name} {change}")
        named = name
    if changes:
        yield f"{title}: {_first_of(changes)}."


def _change_of(finding: Finding) -> str:
    """With what keeps a reader from taking it for more than it is."""
    change = wording.named(finding.metric, finding.effect.change.text)
    return ", ".join(filter(None, (change, size_of(finding), finding.effect.sessions)))


def size_of(finding: Finding) -> str:
    """By how much, where a percentage alone misleads: memory that eager saves as well, and a cold
    start, which is paid once and whose twofold may be two seconds or a minute. Else empty.
    """
    effect = finding.effect
    if finding.is_of_eager:
        return f"by {1000 * abs(effect.difference):.3g} MB, in eager as well"
    if finding.metric.key != "cold_start_s" or effect.ratio is None:
        return ""
    # The difference is of all processes, the ratio of those that were measured in turn
    is_same_way = effect.difference * effect.ratio.log > 0
    size = wording.quantity(finding.metric, abs(effect.difference))
    return f"by {size}" if is_same_way else ""


def _mean_sentences(judgement: Judgement) -> Iterator[str]:
    changed, same, unknown = [], [], []
    for mean in judgement.means:
        if mean.matched < 2 or not mean.counts:
            continue
        if mean.verdict in CHANGED:
            as_eager = ", in eager as well" if mean.key in judgement.gained_by_eager else ""
            changed.append(f"{mean.name} {_be(mean.name)} {_with_median(mean)}{as_eager}")
        elif mean.verdict == "same":
            same.append(mean.name)
        elif mean.ratio.is_known:
            unknown.append(mean.range)
    if changed:
        yield f"On average {_and(changed)}."
    if same:
        be = "are" if len(same) > 1 else _be(same[0])
        yield f"On average {_and(same)} {be} unchanged."
    if unknown:
        yield f"Undecided on average: {_and(unknown)}."


def _with_median(mean: MetricMean) -> str:
    """Its change, and in the same brackets as the interval the median, where it has one."""
    change = wording.without_noun(mean.change.text)
    if not mean.median:
        return change
    median = f"median {wording.without_noun(mean.median)}"
    if change.endswith(")"):
        return f"{change[:-1]}; {median})"
    return f"{change} ({median})"


def _bound_sentence(judgement: Judgement) -> Iterator[str]:
    """What cannot be worse by more than how much, or how many results are open."""
    if open_findings := judgement.of_kind("open"):
        reasons = _reasons([finding.effect.lacks for finding in open_findings])
        count = f"{len(open_findings)} of {plural(len(judgement.findings), 'result')}"
        metrics = _and(list(dict.fromkeys(each.metric.label.lower() for each in open_findings)))
        yield (
            f"{count} could still hide a large regression in {metrics}{reasons}: measure more "
            "processes of both sides, in turn."
        )
    elif judgement.state == "passed":
        yield "Nothing that counts towards the verdict got significantly worse."
        bounded = []
        for finding in judgement.findings:
            if finding.effect.ratio and finding.kind != "scatters":
                bounded.append(finding)
        if bounded:
            worst = max(bounded, key=lambda each: each.worst_percent / each.bound_percent)
            case = worst.row.case
            name = f"{worst.metric.label.lower()} of {case.benchmark} {case.config}"
            besides = ", besides those whole steps" if judgement.of_kind("scatters") else ""
            yield (
                f"The interval that leaves most room for it{besides}: "
                f"{name}, {_up_to(worst.worst_percent)} worse."
            )


def _slower_than_eager(judgement: Judgement) -> Iterator[str]:
    """Which compiled cases take longer than eager on both sides, the longest first: however much
    their steps gained, eager is faster.
    """
    latency = judgement.tables.get("latency_ms")
    slower = []
    for row in latency.rows if latency else ():
        if row.speedup and max(row.speedup.levels) < _SLOWER_SPEEDUP:
            slower.append((row.case, row.speedup))
    slower.sort(key=lambda each: each[1].levels)
    compiled = len(judgement.compiled("latency_ms"))
    if slower and compiled == 1:
        times = _times_as_long(slower[0][1])
        yield f"Compiled, it takes longer than eager on both sides: {times}."
    elif slower:
        names = []
        for case, speedup in slower:
            names.append(f"{case.benchmark} {case.config} ({_times_as_long(speedup)})")
        cases = f"{len(slower)} of {plural(compiled, 'case')}"
        take = "takes" if len(slower) == 1 else "take"
        yield f"Compiled, {cases} {take} longer than eager on both sides: {_first_of(names)}."


def _times_as_long(speedup: Effect) -> str:
    """Of base, then of new: "1.9 and 1.7 times as long", "1.9 times as long"."""
    times = dict.fromkeys(f"{1 / level:.1f}" for level in speedup.levels)
    return f"{_and([*times])} times as long"


def _missing_starts(judgement: Judgement) -> Iterator[str]:
    """Of how many compiled cases the answer says nothing about the cold start."""
    if missing := judgement.without_start:
        is_all = len(missing) == len(judgement.compiled("latency_ms"))
        which = "" if is_all else f" of {plural(len(missing), 'case')}"
        yield f"The cold start{which} was not measured on both sides."


def _up_to(percent: float) -> str:
    if percent < LEAST_SHOWN_PERCENT:
        return f"less than {LEAST_SHOWN_PERCENT}%"
    return f"up to {percent:.1f}%"


def _reasons(lacks: Sequence[str]) -> str:
    """What open results lack, and how many of them where that is not the same for all."""
    counts = Counter(lacks)
    missing = counts.pop("", 0)
    if len(counts) == 1 and not missing:
        return f" ({lacks[0]})"
    reasons = [f"{reason}: {counts[reason]} of them" for reason in sorted(counts)]
    return f" ({_and(reasons)})" if reasons else ""


def _be(name: str) -> str:
    return "are" if name.endswith("s") else "is"


def _and(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _first_of(names: Sequence[str]) -> str:
    text = ", ".join(names[:_MAX_NAMED])
    if len(names) > _MAX_NAMED:
        text += f" and {len(names) - _MAX_NAMED} more"
    return text
