"""What pages of comparisons draw and say. Free of styles and scripts, as every mark-up of the
site.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.comparisons.core.candidate_verdicts import TONES, CandidateVerdicts, Safety
from dashboard.comparisons.core.matching import ComparisonRow
from dashboard.comparisons.core.means import MetricMean, mean_name
from dashboard.comparisons.core.metric_effects import CERTAIN_PROCESSES, Effect
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.core.upgrade_groups import CaseGroup
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.case_jobs import CaseJobs
from dashboard.comparisons.selectors.model_rows import Need
from dashboard.language import wording
from dashboard.language.durations import duration
from dashboard.language.metrics import Metric
from dashboard.language.questions import MOVE
from dashboard.language.wording import plural, quantity

register = template.Library()
register.simple_tag(mean_name)

_SIGNS = {"better": "▲", "worse": "▼", "same": "=", "unknown": "?"}
_NOT_CERTAIN = "not certain yet"
_MAY_BE_CHANCE = "may be chance: many were compared"
_NO_INTERVAL = "no interval yet"
_ALIKE = "the same in every process"
_MOST_MODELS = 3  # of one word, by name
_BOTH_WAYS = 2  # percentages of an interval that says by itself that better and worse are possible


@register.simple_tag
def whisker(of: Effect | MetricMean | None, reach: float) -> SafeString | str:
    """An interval as a small drawing: −reach … reach percent, the middle is no change; an arrow
    where an end lies beyond. The text next to it says it.
    """
    if of is None or of.ratio is None or not of.ratio.is_known:
        return ""
    scale = 100 / reach
    low, middle, high = (
        max(-100.0, min(100.0, percent * scale))
        for percent in (of.ratio.low, of.ratio.percent, of.ratio.high)
    )
    arrows = SafeString()
    if of.ratio.low < -reach:
        arrows += mark_safe('<path class="beyond" d="M-97 1 l-7 6 7 6"/>')
    if of.ratio.high > reach:
        arrows += mark_safe('<path class="beyond" d="M97 1 l7 6 -7 6"/>')
    return format_html(
        '<svg class="whisker {}" viewBox="-104 0 208 14" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false">'
        '<line class="zero" x1="0" y1="0" x2="0" y2="14"/>'
        '<rect class="reach" x="{}" y="5" width="{}" height="4"/>'
        '<rect class="middle" x="{}" y="1" width="4" height="12"/>{}</svg>',
        of.verdict,
        f"{low:.1f}",
        f"{max(high - low, 0.5):.1f}",
        f"{middle - 2:.1f}",
        arrows,
    )


@register.simple_tag
def safety(of: CandidateVerdicts, word: Safety) -> SafeString | str:
    """The models of which it is said, the first ones by name."""
    models = of.of(word)
    if not models:
        if word == "not known" and of.why_none:
            return of.why_none
        return "–"
    names = ", ".join(model.title for model in models[:_MOST_MODELS])
    more = f" and {len(models) - _MOST_MODELS} more" if len(models) > _MOST_MODELS else ""
    return format_html(
        '<b class="word {}">{}</b> <small>{}{}</small>', TONES[word], len(models), names, more
    )


@register.simple_tag
def effect(of: Effect | MetricMean | None) -> SafeString | str:
    """A change with its interval and a sign for its verdict: the second cue next to colour. What is
    not known says why.
    """
    if of is None:
        return "–"
    change, interval = _change_and_interval(of)
    remarks = SafeString()
    if interval:
        remarks += format_html(" <small>({}</small>", interval)
    if of.verdict == "unknown":
        remarks += format_html(" <small>{}</small>", _why_unknown(of, interval))
    return format_html(
        '<span class="effect"><span class="change {}"><span aria-hidden="true">{}</span> '
        "{}</span>{}</span>",
        of.change.tone,
        _SIGNS[of.verdict],
        change,
        remarks,
    )


@register.simple_tag
def brief(of: MetricMean | None) -> SafeString | str:
    """As `effect`, in as few words as a table of many metrics bears."""
    if of is None:
        return "–"
    change, interval = _change_and_interval(of)
    return format_html(
        '<span class="change {}" title="{}"><span aria-hidden="true">{}</span> {}</span>',
        of.change.tone,
        interval.rstrip(")") or (_ALIKE if of.ratio.is_known else _NO_INTERVAL),
        _SIGNS[of.verdict],
        change,
    )


def _change_and_interval(of: Effect | MetricMean) -> tuple[str, str]:
    """A change in words; and the rest of the brackets that hold its interval, empty without one."""
    change, _, interval = of.change.text.partition(" (")
    if of.verdict == "same":
        return "the same", f"{change}, {interval}" if interval else ""
    return change, interval


def _why_unknown(of: Effect | MetricMean, interval: str) -> str:
    """A mean of one case is that case."""
    if isinstance(of, MetricMean) and of.matched == 1:
        of = of.effects[0]
    if isinstance(of, Effect):
        if of.lacks:
            return of.lacks
        if of.suspected:
            return f"suspected: {_why_suspected(of)}"
    if interval.count("%") == _BOTH_WAYS:
        return ""
    if isinstance(of, Effect) and of.ratio and of.ratio.is_known:
        threshold = of.metric.threshold_percent
        is_small = abs(of.ratio.percent) < threshold
        return f"below the threshold of {threshold:g}%" if is_small else _MAY_BE_CHANCE
    return _NOT_CERTAIN if interval else _NO_INTERVAL


def _why_suspected(of: Effect) -> str:
    if of.processes < CERTAIN_PROCESSES:
        return f"{plural(of.processes, 'process', 'processes')} a side"
    return "processes of the two sides overlap"


@register.simple_tag
def move(base: object, new: object) -> SafeString:
    """The question of a comparison, as a heading in which the two sides stand out."""
    before, between, after = (format_html('<span class="sides">{}</span>', words) for words in MOVE)
    return format_html("{} {} {} {}{}", before, base, between, new, after)


@register.filter
def leading(sentences: Sequence[str]) -> list[str]:
    """The sentence of an answer that stands for all where there is no room for more. One of what is
    only suspected follows what got better for certain.
    """
    first = sentences[0]
    if not first.startswith("Suspected"):
        return [first]
    better = [sentence for sentence in sentences if sentence.startswith("Better:")]
    return [*better, first]


@register.filter
def urlquery(parameters: dict[str, Any]) -> str:
    """Parameters as a part of an address."""
    return urlencode(parameters)


@register.simple_tag
def kernels_address(kernels: CaseKernels) -> str:
    """The page that compares the kernels of a case's two jobs, one of each side."""
    return f"{_pair_address(kernels.base_job, kernels.new_job, 'device_ms')}#kernels"


@register.simple_tag
def pair_address(jobs: CaseJobs, metric: Metric) -> str:
    """The page of a case's two jobs, which were chosen by what they measured in the metric."""
    return _pair_address(str(jobs.base), str(jobs.new), metric.key)


def _pair_address(base: str, new: str, metric: str) -> str:
    jobs = urlencode({"job": [base, new], "chosen": metric}, doseq=True)
    return f"{reverse('job_pair')}?{jobs}"


@register.simple_tag
def need(of: Need) -> str:
    """What to measure until there is a verdict: "3 more pairs, about 6 min"."""
    if of.shortfall.is_hopeless:
        return f"too noisy: more than {MAX_REPEATS} pairs"
    text = plural(of.shortfall.pairs, "more pair")
    if of.seconds is None:
        return text
    minutes = round(of.seconds / 60)
    return f"{text}, about {duration(60 * minutes) if minutes > 1 else '1 min'}"


@register.filter
def mean_of(group: CaseGroup, key: str) -> MetricMean | None:
    """A group's mean in one metric."""
    return group.mean_of(key)


@register.simple_tag
def bare(of: Effect | None) -> str:
    """A change in words without its interval, for columns that explain another one."""
    return of.change.text.partition(" (")[0] if of else "–"


@register.simple_tag
def processes(row: ComparisonRow) -> str:
    """How many processes measured each side."""
    base, new = row.effect.base.n, row.effect.new.n
    return f"{base} and {new}" if base != new else f"{base} each"


@register.simple_tag(takes_context=True)
def side_value(context: template.Context, row: ComparisonRow, side: str) -> str:
    """One side's value in the table's metric."""
    return quantity(context["table"].metric, row.effect.levels[side == "new"])


@register.simple_tag
def step_change(metric: Metric, step: dict[str, Any] | None) -> str:
    """How the build of one step of a bisection differs from base, with its interval; empty before
    its first step.
    """
    if not step:
        return ""
    change = wording.effect(metric, step["effect"], step["low"], step["high"], "percent")
    return change.text if change else ""
