"""Rates at which judgement's words are right: simulated pages, judged by the site's own code.

    python -m tests.lab.verdicts [--cell NAME] [--pages 1000] [--seed 1]

Nothing here is shared with the code that it judges: every generator is its own. A page has sixty
cases; a pair is two processes that ran next to each other, each with an error of 1% (standard
deviation of the logarithm) unless the situation says otherwise. What is open after 3 pairs is
measured on to 6, 12 and 20. Printed are shares with two standard errors, next to their goals.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dashboard.judgement.confirmation import FEWEST, MOST, bounds, ending
from dashboard.judgement.experiment import Judged, Measured, judge
from dashboard.judgement.pairs import Pair, Process, in_turn, widest_difference
from dashboard.judgement.search import Round, step
from dashboard.language.metrics import METRICS

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]  # (cases, pairs, 2), of logarithms
LATENCY = METRICS["latency_ms"]
STAGES = (3, 6, 12, 20)
CHANGED_CASES = 10
MOST_ROUNDS = 5
ENDINGS = ("confirmed", "not_reproduced", "inconclusive")


def normal(scale: float) -> Noise:
    return lambda rng, cases, pairs: rng.normal(0, scale, (cases, pairs, 2))


def student(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    errors: Floats = 0.01 * rng.standard_t(3, (cases, pairs, 2)) / np.sqrt(3)
    return errors


def exponential(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    return 0.01 * rng.exponential(1, (cases, pairs, 2))


def unequal(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    """Each case with noise of its own: 1% times e^N(0, .7)."""
    scales = 0.01 * np.exp(rng.normal(0, 0.7, (cases, 1, 1)))
    errors: Floats = scales * rng.normal(size=(cases, pairs, 2))
    return errors


def outliers(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    """One process in twenty is off by ten deviations."""
    far = (rng.random((cases, pairs, 2)) < 0.05) * rng.choice([-1, 1], (cases, pairs, 2))
    errors: Floats = 0.01 * (rng.normal(size=(cases, pairs, 2)) + 10 * far)
    return errors


def modes(apart: float, share: float = 0.5, scale: float = 0.001) -> Noise:
    """A share of the processes runs in a second mode, slower by `apart`."""

    def draw(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
        second = rng.random((cases, pairs, 2)) < share
        errors: Floats = scale * rng.normal(size=second.shape) + np.log1p(apart) * second
        return errors

    return draw


def one_off(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    """One pair of a case, anywhere, is 30% off."""
    errors = normal(0.01)(rng, cases, pairs)
    off = np.log(1.3) * rng.choice([-1, 1], cases)
    errors[np.arange(cases), rng.integers(pairs, size=cases), 1] += off
    return errors


def _in_time(series: Floats, cases: int, pairs: int) -> Floats:
    """Give every process its moment: pair after pair of a case after the other, in a round."""
    return series.reshape(pairs, cases, 2).transpose(1, 0, 2)


def load(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
    """Noise of a shared host: AR(1) of .95 from process to process, 3%; and 1% of its own."""
    count = cases * pairs * 2
    shocks = rng.normal(0, 0.03 * np.sqrt(1 - 0.95**2), count)
    series = np.empty(count)
    level = rng.normal(0, 0.03)
    for at, shock in enumerate(shocks):
        level = 0.95 * level + shock
        series[at] = level
    return _in_time(series, cases, pairs) + normal(0.01)(rng, cases, pairs)


def drift(whole: float) -> Noise:
    """The machine becomes slower by `whole` over the session."""

    def draw(rng: np.random.Generator, cases: int, pairs: int) -> Floats:
        trend = np.linspace(0, np.log1p(whole), cases * pairs * 2)
        return _in_time(trend, cases, pairs) + normal(0.01)(rng, cases, pairs)

    return draw


@dataclass(frozen=True)
class Situation:
    """Way of measuring a page.

    effect: of CHANGED_CASES cases. sessions: among which the pairs are spread evenly.
    common, own: by how much a build is served otherwise in a session: for all cases, for each.
    """

    noise: Noise = field(default_factory=lambda: normal(0.01))
    cases: int = 60
    effect: float = 0.0
    pairs: int = STAGES[-1]
    sessions: int = 1
    common: float = 0.0
    own: float = 0.0


class Page:
    """One page: its truth, and all pairs that could be measured."""

    def __init__(self, situation: Situation, rng: np.random.Generator) -> None:
        cases, pairs = situation.cases, situation.pairs
        self.truth = np.zeros(cases)
        self.truth[: min(cases, CHANGED_CASES)] = np.log1p(situation.effect)
        self.session = np.arange(pairs) * situation.sessions // pairs
        errors = situation.noise(rng, cases, pairs)
        # Which of a pair runs first is drawn
        is_new_first = rng.random((cases, pairs)) < 0.5
        errors[is_new_first] = errors[is_new_first][:, ::-1]
        served = rng.normal(0, situation.common, (1, situation.sessions))
        served = served + rng.normal(0, situation.own, (cases, situation.sessions))
        errors[:, :, 1] += self.truth[:, None] + served[:, self.session]
        self.values = np.exp(errors).tolist()

    def judged(self, counts: Sequence[int]) -> Judged:
        """counts: of the pairs that were measured of each case."""
        cases = []
        for number, (count, values) in enumerate(zip(counts, self.values, strict=True)):
            measured = zip(values[:count], self.session[:count].tolist(), strict=True)
            pairs = [Pair(base, new, str(session)) for (base, new), session in measured]
            cases.append(Measured(number, LATENCY, pairs))
        return judge(cases)

    def at_stage(self, pairs: int) -> Judged:
        return self.judged([pairs] * len(self.truth))

    def measured_on(self) -> Judged:
        """Measured on where a case is unclear, or only likely to have changed."""
        counts = [STAGES[0]] * len(self.truth)
        judged = self.judged(counts)
        for pairs in STAGES[1:]:
            for number, change in enumerate(judged.changes):
                if change.verdict == "unclear" or change.grade == "likely":
                    counts[number] = pairs
            judged = self.judged(counts)
        return judged


def pages_of(situation: Situation, pages: int, seed: int) -> Iterator[Page]:
    rng = np.random.default_rng(seed)
    for _ in range(pages):
        yield Page(situation, rng)


def share(hits: float, tries: int) -> str:
    part = hits / tries
    return f"{part:.4f} ± {2 * np.sqrt(part * (1 - part) / tries):.4f}"


def mean(values: list[float]) -> str:
    return f"{np.mean(values):.4f} ± {2 * np.std(values) / np.sqrt(len(values)):.4f}"


IN_TURN = {
    "normal": Situation(),
    "five cases": Situation(cases=5),
    "one case": Situation(cases=1),
    "t(3)": Situation(student),
    "exponential": Situation(exponential),
    "unequal e^N(0,.7)": Situation(unequal),
    "unequal, five cases": Situation(unequal, cases=5),
    "outliers": Situation(outliers),
    "outliers, five cases": Situation(outliers, cases=5),
    "modes 4%": Situation(modes(0.04)),
    "modes 10%": Situation(modes(0.10, scale=0.01)),
    "modes 10%, five cases": Situation(modes(0.10), cases=5),
    "one in ten 30% slower": Situation(modes(0.30, 0.1, 0.01)),
    "one in five 10% slower": Situation(modes(0.10, 0.2, 0.01)),
    "load AR .95, 3%": Situation(load),
    "drift 3%": Situation(drift(0.03)),
    "drift 10%": Situation(drift(0.10)),
    "cold start 15%": Situation(normal(0.15)),
    "noise .3%": Situation(normal(0.003)),
}
UNUSUAL = (
    "t(3)",
    "exponential",
    "unequal e^N(0,.7)",
    "outliers",
    "modes 4%",
    "modes 10%",
    "one in ten 30% slower",
)


def coverage(pages: int, seed: int) -> None:
    """All looks together hold ≥ .94; half-width with six ≤ 1.6%, under load ≤ 1.9%."""
    for name, situation in IN_TURN.items():
        held, widths = [], []
        for page in pages_of(situation, pages, seed):
            holds = np.ones(len(page.truth), dtype=bool)
            for pairs in STAGES:
                low, high = ends_of(page.at_stage(pairs))
                holds &= (low <= page.truth) & (page.truth <= high)
                if pairs == 6:
                    widths.append(100 * float(np.median(high - low)) / 2)
            held.append(float(holds.mean()))
        print(f"{name:24} hold {mean(held)}   half-width with six, % {mean(widths)}")


def ends_of(judged: Judged) -> Floats:
    """(2, cases): the ends of the intervals."""
    return np.array([(change.low, change.high) for change in judged.changes]).T


def false_pages(pages: int, seed: int) -> None:
    """Nothing changed, measured on what is open: pages with a certain verdict ≤ .05."""
    for name, situation in IN_TURN.items():
        certain = likely = 0
        pairs = []
        for page in pages_of(situation, pages, seed):
            judged = page.measured_on()
            grades = {change.grade for change in [*judged.changes, *judged.means.values()]}
            certain += "certain" in grades
            likely += "likely" in grades
            pairs.append(float(np.mean([change.pairs for change in judged.changes])))
        shares = f"certain {share(certain, pages)}   likely {share(likely, pages)}"
        print(f"{name:24} {shares}   pairs a case {mean(pairs)}")


def power(pages: int, seed: int) -> None:
    """Ten of sixty +3%: certain with 6, 12, 20 pairs ≥ .90, .99, .99; in two modes of 4% ≥ .06,
    .4, .8 with false discoveries ≤ .05. Cases that became less certain with more pairs: 0.
    """
    for name, noise in (("noise 1%", normal(0.01)), ("modes 4%", modes(0.04))):
        certain_shares: dict[int, list[float]] = {pairs: [] for pairs in STAGES}
        false: dict[int, list[float]] = {pairs: [] for pairs in STAGES}
        less_certain = 0
        for page in pages_of(Situation(noise, effect=0.03), pages, seed):
            before = np.zeros(len(page.truth), dtype=bool)
            for pairs in STAGES:
                certain = certain_of(page.at_stage(pairs))
                certain_shares[pairs].append(float(certain[page.truth > 0].mean()))
                wrong = certain[page.truth == 0].sum()
                false[pairs].append(float(wrong / max(1, certain.sum())))
                less_certain += int((before & ~certain).sum())
                before = certain
        for pairs in STAGES[1:]:
            rates = (
                f"certain {mean(certain_shares[pairs])}   false discoveries {mean(false[pairs])}"
            )
            print(f"+3%, {name}, {pairs:2} pairs: {rates}")
        print(f"+3%, {name}, became less certain: {less_certain} of {60 * pages} cases")


def certain_of(judged: Judged) -> NDArray[np.bool_]:
    """(cases,)"""
    return np.array([change.is_certain for change in judged.changes])


def alone(pages: int, seed: int) -> None:
    """One case, +2% at 1% noise: decided with at most 12 pairs ≥ .85."""
    decided = 0
    for page in pages_of(Situation(cases=1, effect=0.02), pages, seed):
        decided += page.at_stage(12).changes[0].verdict != "unclear"
    print(f"one case, +2%: decided with 12 pairs {share(decided, pages)}")


def confirmation(pages: int, seed: int) -> None:
    """Confirmed: 2% at 1% ≥ .95 with ≤ 8 pairs, 3% at 2% ≥ .78 with ≤ 9.7 (a warm-up, not counted
    here, is one of them); nothing there ≤ .025.
    """
    for effect in (0.0, 2.0, 3.0, 6.0):
        for scale in (0.5, 1.0, 2.0):
            for suspected in sorted({effect or 3.0, 6.0}):
                name = f"{effect:.0f}% as {suspected:.0f}%, noise {scale}%"
                ends = confirmations(effect, suspected, normal(scale / 100), pages, seed)
                print(f"{name:34} {ends}")
    unusual = {name: IN_TURN[name].noise for name in UNUSUAL} | {"one pair 30% off": one_off}
    for name, noise in unusual.items():
        for effect in (0.0, 3.0):
            ends = confirmations(effect, 3.0, noise, pages, seed)
            print(f"{f'{effect:.0f}% as 3%, {name}':34} {ends}")
    ends = confirmations(0.0, 3.0, normal(0.02), pages, seed, most=2 * MOST)
    print(f"{'0% as 3%, noise 2.0%, to 24 pairs':34} {ends}")


def confirmations(
    effect: float, suspected: float, noise: Noise, tries: int, seed: int, most: int = MOST
) -> str:
    """Ends of tests of a change of so many percent."""
    rng = np.random.default_rng(seed)
    errors = noise(rng, tries, most)
    differences = np.log1p(effect / 100) + errors[:, :, 1] - errors[:, :, 0]
    ends = Counter[str]()
    used, held = [], 0
    for row in differences.tolist():
        for pairs in range(FEWEST, most + 1):
            seen = bounds(row[:pairs])
            verdict = ending(seen, pairs, np.log1p(suspected / 100), np.log1p(0.01), most)
            if verdict != "open":
                break
        ends[verdict] += 1
        held += seen.low <= np.log1p(effect / 100) <= seen.high
        used.append(float(pairs))
    shares = "   ".join(f"{word} {share(ends[word], tries)}" for word in ENDINGS)
    return f"{shares}   pairs {mean(used)}   hold at the stop {share(held, tries)}"


def large(pages: int, seed: int) -> None:
    """+48% with two pairs: certain, by six processes of history or more; false pages by that ≤ .01,
    ≤ .002 with twenty.
    """
    for builds, history in ((3, 6), (1, 8), (1, 20)):
        for name in ("normal", *UNUSUAL):
            rng = np.random.default_rng(seed)
            false = certain = 0
            for _ in range(pages):
                values = np.exp(IN_TURN[name].noise(rng, 60, history + 2))
                values[0, history:, 1] *= 1.48
                cases = []
                for case, of_case in enumerate(values):
                    pairs = [Pair(*pair) for pair in of_case[history:].tolist()]
                    known = of_case[:history, 0].reshape(builds, -1)
                    widest = widest_difference(known.tolist())
                    cases.append(Measured(case, LATENCY, pairs, widest=widest))
                is_certain = certain_of(judge(cases))
                certain += bool(is_certain[0])
                false += bool(is_certain[1:].any())
            shares = f"+48% certain {share(certain, pages)}   false pages {share(false, pages)}"
            print(f"history {history:2}, {name:24} {shares}")


def apart(pages: int, seed: int) -> None:
    """One side after the other: no pairs, so no verdict."""
    rng = np.random.default_rng(seed)
    verdicts = 0
    for _ in range(pages):
        count = int(rng.integers(1, 20))
        values = rng.normal(100, 1, (2, count)).tolist()
        base = [Process(at, "base", value) for at, value in enumerate(values[0])]
        new = [Process(count + at, "new", value) for at, value in enumerate(values[1])]
        verdicts += len(in_turn({"day": base + new}))
    print(f"one side after the other: verdicts {share(verdicts, pages)}")


class Search:
    """A bisection of 16 builds, 5% apart somewhere; 1% noise, and 2% between rounds."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.changed_at = int(rng.integers(1, 16))
        self.low, self.high = 0, 15
        self.rounds: dict[int, list[Round]] = {}

    def decide(self, candidate: int) -> tuple[str, int]:
        """The likeness of a build, and after how many rounds of two processes it was known."""
        own = self.rounds[candidate] = []
        levels = 0.05 * (np.array([0, candidate, 15]) >= self.changed_at)
        likeness = "unclear"
        while likeness == "unclear" and len(own) < 2 * MOST_ROUNDS:
            drifted = levels + self.rng.normal(0, 0.02)
            for _ in range(2):
                own.append(Round(*(drifted + self.rng.normal(0, 0.01, 3)).tolist()))
            likeness = step(self.rounds, candidate, 0.02).likeness
        return likeness, len(own) // 2


def bisection(pages: int, seed: int) -> None:
    """Decided after a candidate's first, second, third own round ≥ .3, .7, .9; none wrong."""
    rng = np.random.default_rng(seed)
    after: list[int] = []  # rounds; MOST_ROUNDS + 1 where it stays open
    wrong = right = 0
    for _ in range(pages):
        search = Search(rng)
        while search.high - search.low > 1:
            candidate = (search.low + search.high) // 2
            likeness, count = search.decide(candidate)
            after.append(count if likeness != "unclear" else MOST_ROUNDS + 1)
            if likeness == "unclear":
                break
            wrong += (likeness == "like_new") != (candidate >= search.changed_at)
            if likeness == "like_base":
                search.low = candidate
            else:
                search.high = candidate
        right += (search.low, search.high) == (search.changed_at - 1, search.changed_at)
    for count in (1, 2, 3, MOST_ROUNDS):
        decided = sum(rounds <= count for rounds in after)
        print(
            f"decided after {count} own rounds {share(decided, len(after))} of {len(after)} steps"
        )
    print(f"wrong {wrong} of {len(after)}; searches that end at the pair {share(right, pages)}")


def common_sessions(pages: int, seed: int) -> None:
    """A build is served otherwise by 3% in each session, all cases alike: the mean's interval holds
    ≥ .93; of one session no verdict.
    """
    for sessions in (1, 2, 3, 4, 6):
        situation = Situation(common=0.03, sessions=sessions, pairs=12)
        held = verdicts = 0
        for page in pages_of(situation, pages, seed):
            change = page.at_stage(12).means[LATENCY.key]
            held += change.low <= 0 <= change.high
            verdicts += change.verdict != "unclear"
        shares = f"the mean holds {share(held, pages)}   has a verdict {share(verdicts, pages)}"
        print(f"{sessions} sessions, 3% common: {shares}")


def own_sessions(pages: int, seed: int) -> None:
    """Each case is served otherwise by 3% in each of three sessions: hold ≥ .94, and it is said.
    Where sessions do not differ, three of them find as much as one: ≥ .6.
    """
    for pairs in (6, 12):
        held, said = [], 0
        situation = Situation(own=0.03, sessions=3, pairs=pairs)
        for page in pages_of(situation, pages, seed):
            judged = page.at_stage(pairs)
            low, high = ends_of(judged)
            held.append(float(((low <= 0) & (high >= 0)).mean()))
            said += bool(judged.contradicting)
        print(f"3% of each case, {pairs} pairs: hold {mean(held)}   said {share(said, pages)}")
    for scale, effect, pairs in ((0.01, 0.03, 6), (0.03, 0.06, 6), (0.03, 0.06, 12)):
        for sessions in (1, 3):
            situation = Situation(normal(scale), effect=effect, sessions=sessions, pairs=pairs)
            certain_shares = []
            for page in pages_of(situation, pages, seed):
                certain_shares.append(
                    float(certain_of(page.at_stage(pairs))[:CHANGED_CASES].mean())
                )
            name = f"noise {scale:.0%}, +{effect:.0%}, {pairs} pairs, {sessions} sessions"
            print(f"{name}: certain {mean(certain_shares)}")


def decided_outliers(pages: int, seed: int) -> None:
    """5% of processes off by ten deviations: decided with 20 pairs on ≥ .7."""
    decided = []
    for page in pages_of(Situation(outliers), pages, seed):
        changes = page.at_stage(20).changes
        decided.append(float(np.mean([change.verdict != "unclear" for change in changes])))
    print(f"outliers: decided with 20 pairs {mean(decided)}")


CELLS: dict[str, Callable[[int, int], None]] = {
    "power": power,
    "alone": alone,
    "confirmation": confirmation,
    "large": large,
    "apart": apart,
    "bisection": bisection,
    "common": common_sessions,
    "sessions": own_sessions,
    "outliers": decided_outliers,
    "coverage": coverage,
    "false": false_pages,
}


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cell", default="", choices=["", *CELLS])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name, cell in CELLS.items():
        if options.cell in ("", name):
            goal = " ".join((cell.__doc__ or "").split())
            print(f"\n{name} (n {options.pages}, seed {options.seed}). {goal}", flush=True)
            cell(options.pages, options.seed)


if __name__ == "__main__":
    main()
