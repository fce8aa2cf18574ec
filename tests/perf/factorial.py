"""How often the intervals and words of a factorial are right: simulated, judged by the site's code.

    python -m tests.perf.factorial [--trials 2000] [--only TEXT]

What a process measures is a normal error of 1%, on top of what its round does to all arms alike, of
what a device and a session do, and of the samples within the process. Printed for each situation:

    main, together   coverage of the 95% intervals, of factors' effects and of interactions
    false            factorials in which anything is called changed that is not
    suspected        the same, only suspected
    found            of the effects that there are, percent called changed
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.comparisons.core.factorial import ArmProcess, FactorEffect, analyse, judge
from dashboard.comparisons.core.factorial_design import Cell, Factor, all_cells, design_row
from dashboard.comparisons.core.metric_effects import CHANGED
from dashboard.language.metrics import METRICS

TWO = (Factor("torch", ("2.9.0", "2.10.0")), Factor("cuda", ("cu128", "cu130")))
THREE = (*TWO, Factor("transformers", ("4.57.6", "5.23.0")))
WIDE = (Factor("torch", ("2.9.0", "2.10.0", "2.11.0")), Factor("cuda", ("cu126", "cu128", "cu130")))
ISSUE_174575: list[Cell] = [(0, 0), (1, 0), (1, 1)]


@dataclass(frozen=True)
class Situation:
    """How arms are measured. Errors are standard deviations of ln(value).

    cells: of the arms; empty: all. truth: the model's parameters behind the intercept; empty: no
        change.
    round_: what a round does to all arms. drift: by how much the machine gets slower from the first
        job of a session to its last. sessions: in which the rounds are measured; session: what
        one does to all arms. sample: the error within a process, which the interval of its own
        says. modes: by how much slower the half of the processes is. lost: share of the jobs that
        fail. tails: Student's t of 3 degrees of freedom.
    """

    name: str
    factors: Sequence[Factor] = TWO
    cells: Sequence[Cell] = ()
    rounds: int = 3
    truth: Sequence[float] = ()
    noise: float = 0.01
    round_: float = 0.02
    drift: float = 0.0
    sessions: int = 1
    session: float = 0.0
    sample: float = 0.003
    modes: float = 0.0
    lost: float = 0.0
    tails: bool = False


SITUATIONS = (
    Situation("2 × 2, two rounds", rounds=2),
    Situation("2 × 2, three rounds"),
    Situation("2 × 2, six rounds", rounds=6),
    Situation("2 × 2, rounds alike", round_=0.0),
    Situation("2 × 2, 5% slower by the end", drift=0.05),
    Situation("2 × 2, two sessions, 3% apart", rounds=4, sessions=2, session=0.03),
    Situation("2 × 2, heavy tails", tails=True),
    Situation("2 × 2, two modes of 5%", modes=0.05),
    Situation("2 × 2, one job in ten fails", rounds=4, lost=0.1),
    Situation("2 × 2, samples as wide as processes", sample=0.01),
    Situation("3 arms of 2 × 2, six rounds", cells=ISSUE_174575, rounds=6),
    Situation("2 × 2 × 2, two rounds", factors=THREE, rounds=2),
    Situation("7 arms of 2 × 2 × 2", factors=THREE, cells=all_cells(THREE)[:-1]),
    Situation("3 × 3, three rounds", factors=WIDE),
    Situation("2 × 2, torch 5% slower", truth=(0.05, 0, 0)),
    Situation("2 × 2, torch 2.5% slower, six rounds", truth=(0.025, 0, 0), rounds=6),
    Situation("2 × 2, both at once 5% slower", truth=(0, 0, 0.05), rounds=6),
    Situation("2 × 2, 40 and 10%, 5% together", truth=(0.34, 0.095, 0.05), rounds=6),
)


@dataclass
class Counts:
    """Over the trials of one situation."""

    trials: int = 0
    main: int = 0
    main_covered: int = 0
    together: int = 0
    together_covered: int = 0
    false: int = 0
    suspected: int = 0
    real: int = 0
    found: int = 0

    def add(self, situation: Situation, rng: np.random.Generator) -> None:
        truth = np.array([0.0, *(situation.truth or [0.0] * (_parameters(situation) - 1))])
        processes = _measure(situation, truth, rng)
        [analysis] = judge([analyse(situation.factors, processes, METRICS["latency_ms"])])
        self.trials += 1
        is_false = is_suspected = False
        for effect in analysis.effects:
            true = float(effect.contrast.row @ truth)
            self._cover(effect, true)
            # An effect below the threshold may be called changed: it is one
            is_none = abs(true) < 1e-12
            is_false |= is_none and effect.verdict in CHANGED
            is_suspected |= is_none and effect.suspected in CHANGED
            self.real += not is_none
            self.found += not is_none and effect.verdict in CHANGED
        self.false += is_false
        self.suspected += is_suspected

    def _cover(self, effect: FactorEffect, true: float) -> None:
        if not effect.ratio.is_known:
            return
        is_covered = abs(effect.ratio.log - true) <= effect.ratio.reach
        if effect.contrast.is_interaction:
            self.together += 1
            self.together_covered += is_covered
        else:
            self.main += 1
            self.main_covered += is_covered

    def row(self, name: str) -> str:
        cells = [
            name,
            _percent(self.main_covered, self.main),
            _percent(self.together_covered, self.together),
            _percent(self.false, self.trials),
            _percent(self.suspected, self.trials),
            _percent(self.found, self.real),
        ]
        return f"| {' | '.join(cells)} |"


def _parameters(situation: Situation) -> int:
    first = tuple(0 for _ in situation.factors)
    return len(design_row(situation.factors, first))


def _measure(situation: Situation, truth: np.ndarray, rng: np.random.Generator) -> list[ArmProcess]:
    cells = list(situation.cells) or all_cells(situation.factors)
    jobs = situation.rounds * len(cells)
    a_session = situation.rounds // situation.sessions
    processes, place = [], 0
    for number in range(situation.rounds):
        if number % a_session == 0:
            session = rng.normal(0, situation.session)
        level = session + rng.normal(0, situation.round_)
        for arm in rng.permutation(len(cells)):
            log = (
                level
                + situation.drift * place / jobs
                + float(design_row(situation.factors, cells[arm]) @ truth)
            )
            place += 1
            log += _process(situation, rng)
            if rng.random() >= situation.lost:
                processes.append(ArmProcess(cells[arm], number, log, situation.sample))
    return processes


def _process(situation: Situation, rng: np.random.Generator) -> float:
    error = rng.standard_t(3) / np.sqrt(3) if situation.tails else rng.standard_normal()
    mode = situation.modes * (rng.random() < 0.5)
    within = rng.normal(0, situation.sample)
    return float(situation.noise * error + np.log1p(mode) + within)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", default="", help="situations whose name holds this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| situation | main | together | false | suspected | found |")
    print("|---|--:|--:|--:|--:|--:|")
    for situation in SITUATIONS:
        if options.only in situation.name:
            rng, counts = np.random.default_rng(options.seed), Counts()
            for _ in range(options.trials):
                counts.add(situation, rng)
            print(counts.row(situation.name), flush=True)


if __name__ == "__main__":
    main()
