"""Page, gate, files and mail print the same values: of drawn pages, none says another thing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.comparisons.core import gate, upgrade_report
from dashboard.comparisons.core.candidate_verdicts import verdicts_of
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key, Side
from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.judgement.words import graded
from tests.builders.compared import samples


def drawn(seed: int, noise: float, pairs: int) -> tuple[Side, Side]:
    """Six cases, of which some changed in their steps or their starts."""
    rng = np.random.default_rng(seed)
    sides: tuple[dict[Key, CaseMeasurements], dict[Key, CaseMeasurements]] = ({}, {})
    for number in range(6):
        case = ComparedCase(f"m{number}.training", "inductor", f"m{number}", "llm", "training")
        for measured, changes in zip(sides, ([1.0], [0.9, 1.0, 1.0, 1.05]), strict=True):
            of_case = CaseMeasurements(case)
            for metric in ("latency_ms", "cold_start_s"):
                values = np.exp(rng.normal(0, noise, pairs)).tolist()
                of_case.samples[metric] = [samples(values, float(rng.choice(changes)))]
            measured[case.key] = of_case
    return sides


@given(
    seed=st.integers(0, 10_000),
    noise=st.sampled_from([0.003, 0.02, 0.1]),
    pairs=st.sampled_from([1, 3, 6]),
)
@settings(max_examples=40, deadline=None)
def test_page_gate_files_and_mail_say_the_same(seed: int, noise: float, pairs: int) -> None:
    base, new = drawn(seed, noise, pairs)
    report = build_report(base, new)
    decided = gate.decide(base, new)
    document = gate.document(decided)
    answer = report.overall.answer
    assert (document["verdict"], document["grade"]) == (answer.verdict, answer.grade)
    assert (document["exit_code"] == 0) == (answer.verdict in {"better", "same"})

    changes = {}
    for row in [*document["worse"], *document["unclear"], *document["better"]]:
        changes[row["benchmark"], row["metric"]] = row["verdict"], row["percent"]
    for line in upgrade_report.rows(report):
        values = dict(zip(upgrade_report.FIELDS, line, strict=True))
        expected = changes.get((values["benchmark"], values["metric"]))
        if values["verdict"] not in {"same", None}:
            assert expected == (values["verdict"], values["change_percent"])

    words = {group.title: graded(group.answer) for group in report.models}
    assert words == {model.title: graded(model) for model in verdicts_of(report).models}
