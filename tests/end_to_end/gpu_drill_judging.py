"""Judges result files of two builds that were measured in turn, as the site judges a confirmation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.attribution import Code, Facts, Moved, attribute
from dashboard.confirming import Pair, look
from dashboard.detection import judge
from dashboard.following import settings_of
from dashboard.metrics import METRICS
from dashboard.selectors.documents import between
from dashboard.selectors.facts import CONTROLS, PHASES, moved

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A change that the pairs confirmed: metric, effect in words, cause and its first evidence."""

    metric: str
    effect: str
    cause: str
    evidence: str


def findings(base: Path, new: Path, metrics: Sequence[str]) -> list[Finding]:
    """What is confirmed between two folders of results, of the metrics that both have."""
    sides = read(base), read(new)
    found = [_finding(metric, *sides) for metric in metrics]
    return [one for one in found if one is not None]


def read(folder: Path) -> list[Document]:
    """The results in the order of the list."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/result.json"))]


def _values(documents: Sequence[Document], metric: str) -> list[float]:
    if metric == "passed":
        return [float(one["status"] == "pass") for one in documents]
    return [float(one["metrics"][metric]["value"]) for one in documents if metric in one["metrics"]]


def _finding(metric: str, base: Sequence[Document], new: Sequence[Document]) -> Finding | None:
    before, after = _values(base, metric), _values(new, metric)
    settings = settings_of(METRICS[metric])
    pairs: list[Pair] = list(zip(before, after, strict=False))
    if not pairs:
        return None
    suspected = judge(before, after, settings).effect
    outcome = look(pairs, suspected, settings)
    if outcome.verdict != "confirmed" or abs(outcome.effect) < settings.threshold_percent * (outcome.unit == "percent"):
        return None
    percent = outcome.unit == "percent"
    change = Moved(METRICS[metric].label, outcome.effect, outcome.low, outcome.high) if percent else None
    cause, evidence = attribute(_facts(metric, change, base, new))
    effect = f"{outcome.effect:+.3g} {'%' if percent else ''} ({outcome.low:+.3g} to {outcome.high:+.3g})"
    return Finding(metric, effect, cause, evidence[0].says if evidence else "none")


def _facts(metric: str, change: Moved | None, base: Sequence[Document], new: Sequence[Document]) -> Facts:
    return Facts(
        metric=metric, unit=METRICS[metric].unit, change=change, eager=False, same_build=False, confirmed=True,
        control=_moved(CONTROLS.get(metric, ""), "The eager control", base, new),
        code=_code(base, new),
        differences=between(base[0]["environment"], new[0]["environment"]),
        phases=[one for key in PHASES if (one := _moved(key, METRICS[key].label, base, new))],
        eager_passes="eager" not in new[-1].get("arms", {}) if metric == "passed" else None,
    )  # fmt: skip


def _moved(metric: str, name: str, base: Sequence[Document], new: Sequence[Document]) -> Moved | None:
    return moved(name, metric, _values(base, metric), _values(new, metric)) if metric else None


def _code(base: Sequence[Document], new: Sequence[Document]) -> Code | None:
    sides = [[one["compile"]["fingerprints"] for one in side if "compile" in one] for side in (base, new)]
    if not all(sides):
        return None
    before, after = ({kind: frozenset(f[kind] for f in side if f.get(kind)) for kind in side[0]} for side in sides)
    return Code(before, after, min(map(len, sides)))
