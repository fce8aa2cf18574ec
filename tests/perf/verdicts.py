"""How often a comparison's words are right: simulated pages, judged by the site's own code.

    python -m tests.perf.verdicts [--pages 200] [--only TEXT]

A page has 60 cases of 15 models. What a process measures is a normal error of 1% (or each case's
own, of 0.5 to 2%), on top of what its device and its day do. What would be called worse
or better is measured again first, as the site does, until each side has CERTAIN_PROCESSES.

Printed for each situation:

    coverage      of the 95% intervals: of the cases, and of the mean of all
    false         pages with a significant change where nothing changed; model rows with a wrong
                  word
    suspected     pages on which a change is only suspected
    headline      the most frequent one; pages on which headline, table and gate disagree
    gate          passed, unknown, regression: percent of pages
    found         of 10 cases that are 1, 2.5 or 5% slower, percent called significant
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dashboard.comparisons.core.block_effects import Block
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.gate import decide
from dashboard.comparisons.core.judgement import DEVICE_SHARE, Judgement, judge_sides
from dashboard.comparisons.core.levels import level_of, merge_levels
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key, Side, Table
from dashboard.comparisons.core.metric_effects import CERTAIN_PROCESSES
from dashboard.comparisons.core.upgrade_answer import answer
from tests.perf.verdict_situations import DEVICE_TIME, SITUATIONS, Situation

MODELS, CONFIGS = 15, 4
SLOWER_CASES = 10
MORE_PAIRS = 3  # each time somebody wants an answer
# The GPU is busy for nearly all of the step
BUSY = CaseSamples(1, (), None, n=2, least=97.0, most=97.0, mean=97.0)
REGRESSION_WORDS = {
    "Stay: new failures",
    "Stay",
    "It depends",
    "Longer cold start",
    "Move, at a cost",
}
PASSED_WITHOUT_GAINS = {
    "No change",
    "No regression found",
    "No regression found, cold start not known",
}
PASSED_WORDS = {"Move", "Move, cold start not known"} | PASSED_WITHOUT_GAINS
WORDS_OF_NO_CHANGE = PASSED_WITHOUT_GAINS | {"Not enough data"}


class Process(NamedTuple):
    """One measurement of one case. log: ln(value)."""

    block: Block
    log: float


class Page:
    """One page's truth, and what is measured for it."""

    def __init__(self, situation: Situation, rng: np.random.Generator) -> None:
        self.situation = situation
        self.rng = rng
        count = MODELS * CONFIGS
        self.noise = situation.noise * np.exp(
            rng.uniform(-1, 1, count) * np.log(situation.noise_factor)
        )
        self.truth = np.zeros(count)
        self.truth[rng.choice(count, SLOWER_CASES, replace=False)] = np.log1p(situation.slower)
        self.device = rng.normal(0, situation.common_device, situation.devices)[:, None]
        self.device = self.device + rng.normal(0, situation.own_device, (situation.devices, count))
        self.sessions = 0
        self.measured: list[tuple[list[Process], list[Process]]] = [([], []) for _ in range(count)]
        self.measure(range(count), situation.processes)

    def measure(self, cases: Sequence[int], processes: int) -> None:
        """One session for both sides, or one for each where they are measured on other days."""
        days = [self._day() for _ in range(1 + self.situation.days)]
        for case in cases:
            for side in (0, 1):
                session, offsets = days[side % len(days)]
                for _ in range(processes):
                    device = self._device_of(side)
                    log = side * self.truth[case] + self.device[device, case] + offsets[case]
                    process = Process(Block(str(device), session), log + self._error(case))
                    self.measured[case][side].append(process)

    def _day(self) -> tuple[str, np.ndarray]:
        self.sessions += 1
        common = self.rng.normal(0, self.situation.day)
        own = self.rng.normal(0, self.situation.day, len(self.truth))
        return f"day {self.sessions}", common + own

    def _device_of(self, side: int) -> int:
        count = self.situation.devices
        return side if self.situation.is_apart else int(self.rng.integers(count))

    def _error(self, case: int) -> float:
        error = self.rng.standard_normal()
        if self.situation.tails:
            error = self.rng.standard_t(3) / np.sqrt(3)
        mode = self.situation.modes * (self.rng.random() < self.situation.mode_share)
        return float(self.noise[case] * error + np.log1p(mode))

    def sides(self) -> tuple[Side, Side]:
        base: dict[Key, CaseMeasurements] = {}
        new: dict[Key, CaseMeasurements] = {}
        for number, measured in enumerate(self.measured):
            model = f"model{number // CONFIGS}"
            case = ComparedCase(f"{model}.training", f"config{number % CONFIGS}", model, "f", "t")
            case = replace(case, place=(number, 0))
            for side, processes in zip((base, new), measured, strict=True):
                samples = {self.situation.metric: [samples_of(processes)]}
                if self.situation.metric == DEVICE_TIME:
                    samples[DEVICE_SHARE] = [BUSY]
                side[case.key] = CaseMeasurements(case, samples)
        return base, new

    def judged(self) -> Judgement:
        """By the site's rule: what is suspected is measured again, once."""
        metric = self.situation.metric
        judgement = judge_sides(*self.sides(), [metric], is_complete=True)
        if not self.situation.again or self.situation.processes < 2:
            return judgement
        again = [row.case.place[0] for row in judgement.tables[metric].rows if row.effect.suspected]
        if again:
            self.measure(again, max(1, CERTAIN_PROCESSES - self.situation.processes))
        judgement = judge_sides(*self.sides(), [metric], is_complete=True)
        for _ in range(self.situation.more_looks):
            self.measure(_seem_changed(judgement.tables[metric]), MORE_PAIRS)
            judgement = judge_sides(*self.sides(), [metric], is_complete=True)
        return judgement


def _seem_changed(table: Table) -> list[int]:
    """The cases that differ by the threshold and are not certain."""
    cases = []
    for row in table.rows:
        ratio = row.effect.ratio
        assert ratio
        seems_changed = abs(ratio.percent) >= table.metric.threshold_percent
        if seems_changed and not row.effect.is_significant:
            cases.append(row.case.place[0])
    return cases


def samples_of(processes: Sequence[Process]) -> CaseSamples:
    values = [float(np.exp(process.log)) for process in processes]
    level = merge_levels(
        [
            level_of([value], block=process.block)
            for value, process in zip(values, processes, strict=True)
        ]
    )
    return CaseSamples(1, (), level, len(values), min(values), max(values), float(np.mean(values)))


@dataclass
class Counts:
    """Over the pages of one situation."""

    pages: int = 0
    intervals: int = 0
    covered: int = 0
    means: int = 0
    mean_covered: int = 0
    false_pages: int = 0
    false_models: int = 0
    suspected: int = 0
    disagree: int = 0
    detected: int = 0
    states: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def add(self, page: Page) -> None:
        judgement = page.judged()
        rows = judgement.tables[page.situation.metric].rows
        self.pages += 1
        is_false = False
        for row in rows:
            truth, effect = page.truth[row.case.place[0]], row.effect
            assert effect.ratio
            if effect.ratio.is_known:
                self.intervals += 1
                self.covered += abs(effect.ratio.log - truth) <= effect.ratio.reach
            is_false |= effect.is_significant and truth == 0
            self.detected += effect.is_significant and truth > 0
        mean = judgement.means[0].ratio
        if mean.is_known:
            self.means += 1
            usable = [
                row.case.place[0]
                for row in rows
                if row.effect.ratio and row.effect.ratio.basis == "repeats"
            ]
            self.mean_covered += abs(mean.log - page.truth[usable].mean()) <= mean.reach
        if not page.truth.any():
            is_false |= bool(judgement.means_of("better") or judgement.means_of("worse"))
        self.false_pages += is_false
        self.suspected += bool(judgement.of_kind("suspected"))
        self._add_words(page, judgement)

    def _add_words(self, page: Page, judgement: Judgement) -> None:
        word = answer(judgement).word
        gate = decide(*page.sides(), [page.situation.metric])
        self.words[word] += 1
        self.states[gate.state] += 1
        expected = {"regression": REGRESSION_WORDS, "passed": PASSED_WORDS}
        rows = judgement.tables[page.situation.metric].rows
        table = any(row.effect.verdict == "worse" for row in rows)
        is_worse = table or bool(judgement.means_of("worse"))
        agrees = word in expected.get(gate.state, {"Not enough data"})
        self.disagree += not agrees or is_worse != (gate.state == "regression")
        for model in range(MODELS):
            name = f"model{model}"
            part = judgement.of_cases(lambda case, name=name: case.model == name)  # type: ignore[misc]
            is_changed = page.truth[model * CONFIGS : (model + 1) * CONFIGS].any()
            self.false_models += not is_changed and answer(part).word not in WORDS_OF_NO_CHANGE

    def row(self, name: str) -> str:
        def percent(part: int, whole: int) -> str:
            return f"{100 * part / whole:.1f}" if whole else "–"

        word, count = self.words.most_common(1)[0]
        gate = "/".join(
            percent(self.states[state], self.pages) for state in ("passed", "unknown", "regression")
        )
        cells = [
            name,
            percent(self.covered, self.intervals),
            percent(self.mean_covered, self.means),
            percent(self.false_pages, self.pages),
            f"{self.false_models / self.pages:.2f}",
            percent(self.suspected, self.pages),
            f"{word} ({percent(count, self.pages)})",
            str(self.disagree),
            gate,
            percent(self.detected, self.pages * SLOWER_CASES),
        ]
        return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--only", default="", help="situations whose name holds this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        "| situation | coverage | of the mean | false pages | false model words a page | suspected "
        "| headline | disagree | gate | found |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for situation in SITUATIONS:
        if options.only in situation.name:
            rng, counts = np.random.default_rng(options.seed), Counts()
            for _ in range(options.pages):
                counts.add(Page(situation, rng))
            print(counts.row(situation.name), flush=True)


if __name__ == "__main__":
    main()
