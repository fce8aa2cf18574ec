"""Drawings and words of the pages of comparisons. Free of styles and scripts, like all mark-up of
the site.
"""

from typing import Any
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.comparisons.core.candidate_verdicts import ModelVerdict
from dashboard.comparisons.core.means import MetricMean, mean_name
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.selectors.model_rows import MoreRuns, Need
from dashboard.judgement.changes import Answer, Change, SetVerdict
from dashboard.judgement.words import SIGNS, TONES, evidence, short
from dashboard.language import wording
from dashboard.language.durations import duration
from dashboard.language.metrics import Metric
from dashboard.language.questions import MOVE
from dashboard.language.wording import plural, quantity
from dashboard.models import Bisection, TorchBuild
from dashboard.ui.templatetags import drawings
from dashboard.ui.templatetags.compilewatch import address, term

register = template.Library()
register.simple_tag(mean_name)


@register.simple_tag
def whisker(of: Change | None) -> SafeString | str:
    """The interval of a change as a small drawing. The text next to it says it."""
    if of is None or not of.is_ratio or not of.has_interval:
        return ""
    return drawings.interval(*of.interval, of.amount, of.verdict)


@register.simple_tag
def change(of: Change | None, verdict: SetVerdict | None = None) -> SafeString | str:
    """A change as everything prints it: sign, number, interval, pairs, grade.

    verdict: of the cases that it is the mean of, where that is not its own.
    """
    if of is None:
        return "–"
    word = verdict or of.verdict
    return format_html(
        '<span class="effect"><span class="change {}" title="{}"><span aria-hidden="true">{}</span>'
        " {}</span> <small>{}</small></span>",
        _tone(word),
        word,
        SIGNS[word],
        short(of),
        ", ".join(filter(None, (evidence(of), of.grade))),
    )


def _tone(word: SetVerdict) -> str:
    """The colour of a number; that of opposed cases is neither good nor bad."""
    return "none" if word == "mixed" else TONES.get(word, "none")


@register.simple_tag
def answer(of: Answer | ModelVerdict) -> SafeString:
    """The answer of a set of changes: its verdict and grade."""
    return format_html(
        '<span class="word {}"><span aria-hidden="true">{}</span> {}{}</span>',
        TONES.get(of.verdict, "none"),
        SIGNS[of.verdict],
        term(of.verdict),
        f", {of.grade}" if of.grade else "",
    )


@register.simple_tag
def brief(of: MetricMean) -> SafeString:
    """As `change`, in as few words as a table of many metrics bears."""
    return format_html(
        '<span class="change {}" title="{}"><span aria-hidden="true">{}</span> {}</span>',
        _tone(of.verdict),
        f"{of.verdict}: {evidence(of.mean)}",
        SIGNS[of.verdict],
        short(of.mean),
    )


@register.simple_tag
def move(base: object, new: object) -> SafeString:
    """The question of a comparison, as a heading in which the two sides stand out."""
    before, between, after = (format_html('<span class="sides">{}</span>', words) for words in MOVE)
    return format_html("{} {} {} {}{}", before, base, between, new, after)


@register.filter
def urlquery(parameters: dict[str, Any]) -> str:
    """Parameters as a part of an address."""
    return urlencode(parameters)


@register.simple_tag(takes_context=True)
def row_address(context: template.Context, row: ComparisonRow) -> str:
    """The page of one change: that of a row, with the two sides of the page's comparison."""
    sides: dict[str, str] = {}
    if comparison := context.get("comparison"):
        sides = {"comparison": str(comparison.uuid)}
    elif choice := context.get("choice"):
        base, new = choice.base.names, choice.new.names
        sides = {"base": base["build"], "new": new["build"]}
        for name in ("machine", "track", "config"):
            sides[name] = base[name]
            if new[name] != base[name]:
                sides[f"new_{name}"] = new[name]
    case = f"{row.case.benchmark}/{row.case.config}"
    return address("change", **sides, metric=row.change.metric.key, case=case)


@register.simple_tag
def need(of: Need) -> str:
    """State what to measure until there is a verdict: "3 more pairs should decide (6 min)."."""
    if not of.shortfall.cases:
        return f"{MAX_REPEATS} pairs would still leave up to {of.shortfall.bound:.1f}% worse."
    about = f" ({_about(of.seconds)})" if of.seconds is not None else ""
    return f"{plural(of.shortfall.pairs, 'more pair')} should decide{about}."


@register.simple_tag
def needs(of: MoreRuns) -> str:
    """State how many rows need more runs: "3 need more runs (32 min)"."""
    need_more = "needs" if of.rows == 1 else "need"
    about = f" ({_about(of.seconds)})" if of.seconds is not None else ""
    return f"{of.rows} {need_more} more runs{about}"


def _about(seconds: float) -> str:
    minutes = round(seconds / 60)
    return duration(60 * minutes) if minutes > 1 else "1 min"


@register.filter
def bare(of: Change | None) -> str:
    """A change in words without its interval, for columns that explain another one."""
    return short(of) if of else "–"


@register.simple_tag
def processes(row: ComparisonRow) -> str:
    """State how many processes measured each side."""
    base, new = row.base.n, row.new.n
    return f"{base} and {new}" if base != new else f"{base} each"


@register.simple_tag(takes_context=True)
def side_value(context: template.Context, row: ComparisonRow, side: str) -> str:
    """One side's value in the table's metric."""
    return quantity(context["table"].metric, row.levels[side == "new"])


@register.simple_tag
def step_address(of: Bisection, build: TorchBuild) -> str:
    """The page of the change between a search's base and one of its builds."""
    sides = {"base": of.base.label, "new": build.label, "machine": of.machine.key}
    case = f"{of.benchmark.name}/{of.config.name}"
    return address("change", **sides, metric=of.metric, case=case)


@register.simple_tag
def step_change(metric: Metric, step: dict[str, Any] | None) -> str:
    """Describe how the build of one step of a bisection differs from base, with its interval; empty
    before its first step.
    """
    if not step:
        return ""
    words = wording.effect(metric, step["effect"], step["low"], step["high"], "percent")
    return words.text if words else ""
