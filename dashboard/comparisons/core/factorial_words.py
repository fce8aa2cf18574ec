"""A factorial in words: what each effect is called, and which factor moved the number. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.comparisons.core.factorial import FactorEffect, MetricAnalysis
from dashboard.comparisons.core.factorial_design import (
    UNVARIED,
    VARIANT,
    Cell,
    Contrast,
    Factor,
)
from dashboard.comparisons.core.metric_effects import CHANGED
from dashboard.language.wording import Tone, plural

_TITLES = {"torch": "torch", "cuda": "CUDA", "variant": "settings"}
_FINGERPRINT = re.compile(r"-[0-9a-f]{8}$")
_TONES: dict[str, Tone] = {"worse": "bad", "better": "good"}


@dataclass(frozen=True, slots=True)
class FactorialAnswer:
    """Which factor moved it: a word, and the sentences that say by how much."""

    word: str
    tone: Tone
    sentences: list[str]

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)


def title_of(factor: str) -> str:
    return _TITLES.get(factor, factor)


def level_text(factor: Factor, level: int) -> str:
    """A level next to others of its factor: "2.13.0", "cu130", "as they are"; of a variant its
    name, with the fingerprint where another level has the same name.
    """
    text = factor.levels[level]
    if factor.name != VARIANT:
        return text
    if text == UNVARIED:
        return "as they are"
    names = [_FINGERPRINT.sub("", each) for each in factor.levels]
    return names[level] if names.count(names[level]) == 1 else text


def named_level(factor: Factor, level: int) -> str:
    """A level by itself: "torch 2.13.0", "cu130", "settings as they are"."""
    text = level_text(factor, level)
    return text if factor.name == "cuda" else f"{title_of(factor.name)} {text}"


def cell_text(factors: Sequence[Factor], cell: Cell) -> str:
    """An arm in words: "torch 2.13.0, cu130, transformers 5.23.0"."""
    return ", ".join(
        named_level(factor, level) for factor, level in zip(factors, cell, strict=True)
    )


def exchange_text(factors: Sequence[Factor], contrast: Contrast) -> str:
    """What is exchanged: "torch 2.11.0 → 2.13.0", of an interaction both, with ×."""
    parts = []
    for place, level in zip(contrast.factors, contrast.levels, strict=True):
        factor = factors[place]
        levels = f"{level_text(factor, 0)} → {level_text(factor, level)}"
        parts.append(f"{title_of(factor.name)} {levels}")
    return " × ".join(parts)


def scope_text(factors: Sequence[Factor], contrast: Contrast) -> str:
    """Over which levels of the other factors: "with cu128 alone"; empty: over all of them."""
    others = [place for place in range(len(factors)) if place not in contrast.factors]
    combinations = []
    for cell in contrast.at:
        names = [named_level(factors[place], cell[place]) for place in others]
        combinations.append(", ".join(names))
    return f"with {' or '.join(combinations)} alone" if combinations else ""


def answer(
    factors: Sequence[Factor], analysis: MetricAnalysis, *, is_over: bool = True
) -> FactorialAnswer:
    """Which factor moved the metric. is_over: nothing is measured any more."""
    moved = _largest_first(analysis.factor_effects, "verdict")
    suspected = _largest_first(analysis.factor_effects, "suspected")
    depends = [effect for effect in analysis.interactions if effect.verdict in CHANGED]
    sentences = [_sentence(factors, effect) for effect in moved]
    sentences += [_sentence(factors, effect, ", suspected") for effect in suspected]
    sentences += [_together(factors, effect) for effect in depends]
    sentences += _rest(factors, analysis)
    if analysis.aliased and is_over:
        count = plural(len(analysis.aliased), "further effect")
        sentences.append(f"The combinations that were measured cannot show {count}.")
    if moved or depends:
        names = _names(factors, moved) or _names(factors, depends, " with ")
        return FactorialAnswer(names, _tone(moved), sentences)
    if suspected:
        return FactorialAnswer(f"Not certain: {_names(factors, suspected)}", "none", sentences)
    is_complete = bool(analysis.effects) and not analysis.aliased
    if is_complete and all(effect.verdict == "same" for effect in analysis.effects):
        return FactorialAnswer("None of them", "none", sentences)
    return FactorialAnswer("Not known yet", "none", sentences)


def _together(factors: Sequence[Factor], effect: FactorEffect) -> str:
    """A significant interaction as a sentence."""
    change, _, interval = effect.change.text.partition(" (")
    levels = zip(effect.contrast.factors, effect.contrast.levels, strict=True)
    both = " and ".join(named_level(factors[place], level) for place, level in levels)
    return (
        f"They act together: {both} at once are {change} than the changes of each alone make"
        f"{f' ({interval}' if interval else ''}."
    )


def aliased_text(contrast: Contrast) -> str:
    """Why an effect has no number."""
    if contrast.is_interaction:
        return "these combinations do not show it: it would need all four of the two"
    return "no two combinations differ in it alone: it cannot be told from the other factors"


def _sentence(factors: Sequence[Factor], effect: FactorEffect, remark: str = "") -> str:
    scope = scope_text(factors, effect.contrast)
    where = f" {scope}" if scope else ""
    return f"{exchange_text(factors, effect.contrast)}{where}: {effect.change.text}{remark}."


def _rest(factors: Sequence[Factor], analysis: MetricAnalysis) -> list[str]:
    """What did not move it, and what is open, a sentence each."""
    same, unknown = [], []
    for effect in analysis.factor_effects:
        name = exchange_text(factors, effect.contrast)
        if effect.verdict == "same":
            same.append(name)
        elif effect.verdict == "unknown" and not effect.suspected:
            unknown.append(name)
    sentences = []
    if same:
        threshold = f"{analysis.metric.threshold_percent:g}%"
        sentences.append(f"Within {threshold}: {'; '.join(same)}.")
    if unknown:
        sentences.append(f"Open: {'; '.join(unknown)}.")
    return sentences


def _largest_first(effects: Sequence[FactorEffect], field: str) -> list[FactorEffect]:
    changed = [effect for effect in effects if getattr(effect, field) in CHANGED]
    return sorted(changed, key=lambda effect: -abs(effect.ratio.log))


def _names(
    factors: Sequence[Factor], effects: Sequence[FactorEffect], between: str = " and "
) -> str:
    names = []
    for effect in effects:
        names += [title_of(factors[place].name) for place in effect.contrast.factors]
    return between.join(dict.fromkeys(names))


def _tone(moved: Sequence[FactorEffect]) -> Tone:
    """That of the largest change."""
    return _TONES.get(moved[0].verdict, "none") if moved else "none"
