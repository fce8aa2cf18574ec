"""Judge public benchmark histories as imports are judged, next to the other tools' own rules.

    python -m tests.lab.second_opinion asv PATH/results/MACHINE --one-in 20
    python -m tests.lab.second_opinion data.js PATH/data.js

PATH is a checkout of a repository in which a project publishes the results of asv, or the data.js
of github-action-benchmark. docs/detection.md says which ones the figures there come from.

What is counted are reports that something got slower (or larger):

- **alerts a week**: of all series together, over the weeks between the first and the last commit.
- **reverts**: share of the alerts after which the median of the next 10 points (at least 5) is
  nearer to the level before than to the level that was reported.
- **found, delay**: of the changes seen in hindsight, and how many points of the new level it took.
- **at none**: share of the alerts that belong to no change seen in hindsight.
- **no change**: alerts per 1,000 points of the same noise without a change: the values, each
  divided by its level in hindsight, in random order.

Hindsight is not the truth: it is a third rule, with all data on both sides of a change at hand
(`levels_in_hindsight`). Whether a change was real, only the projects could say.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu

from dashboard.alerts.core.history_replay import changes_of
from dashboard.language.wording import metric_of
from dashboard.results.core.series_points import settings_of
from tests.lab.level_costs import costs_of_beginnings
from tests.lab.other_rules import ASV_THRESHOLD, Alarm, Floats, previous_value, step_fit
from tests.lab.public_histories import History, histories

LEAST = 100  # points of a series that is judged
LEVEL, SHORTEST = 20, 5  # points of the level before an alert; of what is later, at least
AFTER = 10
# Hindsight: points on either side, at most and at least; how large, how sure
HINDSIGHT_SIDE, HINDSIGHT_LEAST, HINDSIGHT_RATIO, HINDSIGHT_SURE = 50, 10, 1.05, 1e-4
NEAR, EARLY, LATE = 10, 3, 40  # an alert belongs to a change: its place; when it was seen
OWN_RULE = {"asv": "asv's step fit", "data.js": "200% of the previous value"}

Rule = Callable[[History, Floats], list[Alarm]]


def our_rule(history: History, values: Floats, percent: float | None = None) -> list[Alarm]:
    """The detector, as it judges imports: one point a build, without intervals.

    percent: a threshold in place of the metric's own.
    """
    settings = settings_of(metric_of(history.metric))
    if percent is not None:
        settings = replace(settings, threshold_percent=percent)
    readings = history.readings(values)
    place_of = {reading.at: place for place, reading in enumerate(readings)}
    changes = changes_of(readings, history.metric, True, settings)
    risen = [change for change in changes if change.effect > 0]
    return [Alarm(place_of[change.seen_at], change.position) for change in risen]


RULES: dict[str, Rule] = {
    "this detector": our_rule,
    "this detector at 5%": partial(our_rule, percent=100 * ASV_THRESHOLD),
    "asv's step fit": lambda _, values: step_fit(values),
    "200% of the previous value": lambda _, values: previous_value(values),
}


def levels_in_hindsight(values: Floats) -> list[int]:
    """Where the level changed, with all data at hand: the first point of each level.

    The series is split where two medians fit it best (least absolute distances of the logarithms),
    and each part again. A split counts if at least 10 points lie on either side, the medians of the
    50 points next to it differ by 5%, and their ranks do with p < 0.0001 (Mann and Whitney 1947).
    """
    logs = np.log(values)
    firsts = [0]
    stretches = [(0, len(values))]
    while stretches:
        first, end = stretches.pop()
        split = _best_split(logs[first:end])
        if split is None:
            continue
        middle = first + split
        before = values[max(first, middle - HINDSIGHT_SIDE) : middle]
        after = values[middle : min(end, middle + HINDSIGHT_SIDE)]
        ratio = float(np.median(after) / np.median(before))
        is_large = max(ratio, 1 / ratio) >= HINDSIGHT_RATIO
        if not is_large or mannwhitneyu(before, after).pvalue >= HINDSIGHT_SURE:
            continue
        stretches += [(first, middle), (middle, end)]
        firsts.append(middle)
    return sorted(firsts)


def _best_split(logs: Floats) -> int | None:
    if len(logs) < 2 * HINDSIGHT_LEAST:
        return None
    before = costs_of_beginnings(logs)[:-1]  # of logs[:1], logs[:2], …
    after = costs_of_beginnings(logs[::-1])[:-1][::-1]  # of logs[1:], logs[2:], …
    costs = (before + after)[HINDSIGHT_LEAST - 1 : len(logs) - HINDSIGHT_LEAST]
    return int(np.argmin(costs)) + HINDSIGHT_LEAST


@dataclass(slots=True)
class Tally:
    """What a rule did on many series. delays: of each change that it found, in points."""

    alerts: int = 0
    reverted: int = 0
    followed: int = 0  # alerts with enough points after them to say whether they reverted
    at_none: int = 0
    changes: int = 0
    delays: list[int] = field(default_factory=list)
    no_change: int = 0

    def add(self, values: Floats, alarms: Sequence[Alarm], changes: Sequence[int]) -> None:
        self.alerts += len(alarms)
        self.changes += len(changes)
        for alarm in alarms:
            reverts = has_reverted(values, alarm)
            if reverts is not None:
                self.followed += 1
                self.reverted += reverts
            self.at_none += not any(belongs(alarm, change) for change in changes)
        for change in changes:
            seen = [alarm.seen for alarm in alarms if belongs(alarm, change)]
            if seen:
                self.delays.append(max(min(seen) - change + 1, 1))


def has_reverted(values: Floats, alarm: Alarm) -> bool | None:
    """Whether the level is back within 10 points; None where too few points followed."""
    before = values[max(0, alarm.first - LEVEL) : alarm.first]
    later = values[alarm.seen + 1 : alarm.seen + 1 + AFTER]
    if not len(before) or len(later) < SHORTEST:
        return None
    old, new = np.median(before), np.median(values[alarm.first : alarm.seen + 1])
    return bool(abs(np.median(later) - old) < abs(np.median(later) - new))


def belongs(alarm: Alarm, change: int) -> bool:
    return abs(alarm.first - change) <= NEAR and -EARLY <= alarm.seen - change <= LATE


def compare(series: Sequence[History], rules: dict[str, Rule], seed: int = 1) -> dict[str, Tally]:
    """What each rule reports of the same series."""
    tallies = {name: Tally() for name in rules}
    generator = np.random.default_rng(seed)
    for history in series:
        firsts = levels_in_hindsight(history.values)
        levels = np.split(history.values, firsts[1:])
        middles = [float(np.median(level)) for level in levels]
        rises = []
        for first, (before, after) in zip(firsts[1:], pairwise(middles), strict=True):
            if after > before:
                rises.append(first)
        lengths = [len(level) for level in levels]
        noise = history.values / np.repeat(middles, lengths)
        no_change = middles[0] * generator.permutation(noise)
        for name, rule in rules.items():
            tallies[name].add(history.values, rule(history, history.values), rises)
            tallies[name].no_change += len(rule(history, no_change))
    return tallies


def lines(series: Sequence[History], tallies: dict[str, Tally], own: str) -> list[str]:
    """The table, as Markdown."""
    points = sum(len(history.values) for history in series)
    first = min(history.at[0] for history in series)
    last = max(history.at[-1] for history in series)
    weeks = (last - first).days / 7
    lengths = [len(history.values) for history in series]
    changes = next(iter(tallies.values())).changes
    table = [
        f"{len(series)} series of {min(lengths)} to {max(lengths)} points ({points:,} in all), "
        f"{first:%Y-%m-%d} to {last:%Y-%m-%d}, {weeks:.0f} weeks; {changes} rises in hindsight.",
        "",
        "| rule | alerts | a week | per 1,000 points | reverts | found | median delay | at none "
        "| no change |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, tally in tallies.items():
        cells = [
            f"{name}{' (its own)' if name == own else ''}",
            f"{tally.alerts}",
            f"{tally.alerts / weeks:.2f}",
            f"{1000 * tally.alerts / points:.2f}",
            percent(tally.reverted, tally.followed),
            percent(len(tally.delays), tally.changes),
            f"{np.median(tally.delays):.0f}" if tally.delays else "–",
            percent(tally.at_none, tally.alerts),
            f"{1000 * tally.no_change / points:.2f}",
        ]
        table.append(f"| {' | '.join(cells)} |")
    return table


def percent(part: int, whole: int) -> str:
    """ "67% of 12"; a dash of nothing."""
    return f"{100 * part / whole:.0f}% of {whole}" if whole else "–"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=OWN_RULE)
    parser.add_argument("path", type=Path)
    parser.add_argument("--one-in", type=int, default=1, help="judge such a share of the series")
    parser.add_argument("--newest", type=int, default=400, help="of each series so many points")
    options = parser.parse_args()
    series = histories(options.path, least=LEAST, one_in=options.one_in, newest=options.newest)
    if not series:
        sys.exit(f"{options.path} has no series of {LEAST} points or more.")
    positive = [history for history in series if (history.values > 0).all()]
    tallies = compare(positive, RULES)
    print(*lines(positive, tallies, OWN_RULE[options.tool]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
