"""A cause needs positive evidence: which fact proves which, and what proves nothing."""

from dataclasses import replace
from typing import Any

import pytest

from dashboard.alerts.core.attribution import attribute
from dashboard.alerts.core.change_facts import ChangeFacts, CodeFingerprints, ObservedChange
from dashboard.results.core.environments import Difference

CHANGE = ObservedChange("Latency", 10.0, 8.0, 12.0)
AS_MUCH = ObservedChange("The eager control", 9.0, 7.0, 11.0)
STEADY = ObservedChange("The eager control", 0.2, -0.8, 1.2)
UNCLEAR = ObservedChange("The eager control", 4.0, -6.0, 14.0)
OTHER_CODE = CodeFingerprints({"kernels": frozenset({"a"})}, {"kernels": frozenset({"b"})}, jobs=4)

COMPILED = ChangeFacts("latency_ms", "ms", CHANGE, eager=False, same_build=False)
SAME_BUILD = replace(COMPILED, same_build=True)
DRIVER = Difference("machine.driver", "550", "560")
LIBRARY = Difference("libraries.transformers", "5.17", "5.23")


def cause(facts: ChangeFacts) -> str:
    return attribute(facts)[0]


@pytest.mark.parametrize(
    ("facts", "blamed"),
    [
        (replace(COMPILED, control=AS_MUCH), "eager"),
        (replace(COMPILED, control=STEADY, code=OTHER_CODE), "compiler"),
        (replace(COMPILED, control=AS_MUCH, code=OTHER_CODE), "eager"),
        (replace(COMPILED, control=AS_MUCH, pinned=[AS_MUCH]), "machine"),
        (replace(SAME_BUILD, canary=[AS_MUCH]), "machine"),
        (replace(SAME_BUILD, differences=[DRIVER]), "machine"),
        (replace(SAME_BUILD, alike=(3, 4)), "machine"),
        (replace(SAME_BUILD, pressure=(0.0, 0.8)), "machine"),
        (replace(SAME_BUILD, differences=[LIBRARY]), "library"),
        (replace(SAME_BUILD, suite=("0.1", "0.2")), "benchmark"),
        (replace(SAME_BUILD, differences=[Difference("settings.threads", "1", "2")]), "benchmark"),
        (replace(COMPILED, eager=True, confirmed=True), "eager"),
        (replace(COMPILED, eager=True, pinned=[STEADY]), "eager"),
        (
            replace(
                COMPILED,
                metric="graph_breaks",
                unit="",
                change=None,
            ),
            "compiler",
        ),
        (
            replace(
                COMPILED,
                metric="passed",
                unit="",
                change=None,
                eager_passes=True,
            ),
            "compiler",
        ),
        (
            replace(
                COMPILED,
                metric="cold_start_s",
                unit="s",
                control=STEADY,
                phases=[AS_MUCH],
                confirmed=True,
            ),
            "compiler",
        ),
    ],
)
def test_positive_evidence_names_the_cause(facts: ChangeFacts, blamed: str) -> None:
    assert cause(facts) == blamed


def test_steady_steps_of_eager_do_not_clear_the_machine_of_a_longer_start() -> None:
    start = replace(COMPILED, metric="cold_start_s", unit="s", control=STEADY, phases=[AS_MUCH])
    blamed, evidence = attribute(start)
    assert blamed == "unknown"
    says = [piece.says for piece in evidence]
    assert any("in the same processes do not explain" in each for each in says)
    part = "as part of the cold start, which was not measured again in turn."
    assert any(each.endswith(part) for each in says)


@pytest.mark.parametrize(
    "facts",
    [
        COMPILED,
        SAME_BUILD,
        replace(COMPILED, control=STEADY),
        replace(COMPILED, control=UNCLEAR, code=OTHER_CODE),
        replace(COMPILED, code=OTHER_CODE),
        replace(COMPILED, control=STEADY, code=replace(OTHER_CODE, stable=False)),
        replace(
            COMPILED,
            control=STEADY,
            code=CodeFingerprints({"kernels": frozenset("ab")}, {"kernels": frozenset("b")}, 4),
        ),
        replace(COMPILED, control=STEADY, code=replace(OTHER_CODE, jobs=1)),
        replace(COMPILED, eager=True),
        replace(SAME_BUILD, control=AS_MUCH),
        replace(COMPILED, differences=[LIBRARY]),
        replace(COMPILED, suite=("0.1", "0.2")),
        replace(SAME_BUILD, alike=(1, 1)),
        replace(
            SAME_BUILD, alike=(3, 4), suite=None, differences=[Difference("torch.cuda", "12", "13")]
        ),
        replace(
            COMPILED,
            metric="passed",
            unit="",
            change=None,
            eager_passes=False,
        ),
        replace(
            COMPILED,
            metric="graph_breaks",
            unit="",
            change=None,
            differences=[LIBRARY],
        ),
    ],
)
def test_without_positive_evidence_it_is_unknown(facts: ChangeFacts) -> None:
    assert cause(facts) == "unknown"


@pytest.mark.parametrize(
    ("difference", "blamed"),
    [
        (Difference("torch.version", "2.13.0", "2.14.0"), "compiler"),
        (Difference("settings.env.TORCH_X", "none", "1"), "compiler"),
        (Difference("settings.env.TORCH_Y", "none", "1"), "unknown"),
        (LIBRARY, "unknown"),
    ],
)
def test_compile_calls_are_the_compilers_where_nothing_but_the_build_changed(
    difference: Difference, blamed: str
) -> None:
    calls = replace(COMPILED, metric="compile_calls", unit="", variant="TORCH_X = 1")
    assert cause(replace(calls, differences=[difference])) == blamed


def test_machine_is_not_blamed_for_memory() -> None:
    memory = replace(
        SAME_BUILD,
        metric="peak_memory_gb",
        unit="GB",
        canary=[AS_MUCH],
    )
    assert cause(memory) == "unknown"


def test_evidence_of_the_cause_comes_first() -> None:
    facts = replace(
        COMPILED,
        control=STEADY,
        code=OTHER_CODE,
        variant="max_fusion_size = 1",
    )
    _, evidence = attribute(facts)
    assert [(piece.fact, piece.supports) for piece in evidence] == [
        ("generated code", "compiler"),
        ("eager control", ""),
        ("variant", ""),
    ]
    expected = "The generated code differs (kernels), the same way in 4 or more jobs a side."
    assert evidence[0].says == expected
    expected = "The eager control shows no change (−0.8 to +1.2%): only the compiled arm moved."
    assert evidence[1].says == expected


SETTING = replace(
    COMPILED, control=STEADY, variant="max_fusion_size = 1", inductor_alone=True, confirmed=True
)


def test_variant_that_differs_in_inductor_alone_blames_the_compiler() -> None:
    blamed, (first, *_) = attribute(SETTING)
    assert blamed == "compiler"
    assert first.fact == "confirmed variant"


@pytest.mark.parametrize(
    "lacks",
    [
        {"confirmed": False},
        {"inductor_alone": False},
        {"control": None},
    ],
)
def test_variant_is_no_proof_unless_measured_in_turn_and_alone(
    lacks: dict[str, Any],
) -> None:
    assert cause(replace(SETTING, **lacks)) == "unknown"


def test_control_that_stayed_exactly_is_named_and_described_so() -> None:
    same = ObservedChange("Eager peak memory", 0.0, 0.0, 0.0)
    _, (evidence, *_) = attribute(replace(COMPILED, control=same))
    expected = "Eager peak memory stayed exactly as it was: only the compiled arm moved."
    assert evidence.says == expected


def test_control_of_which_little_is_known_is_not_called_unchanged_next_to_a_large_change() -> None:
    large = ObservedChange("Latency", 455.0, 79.3, 1616.0)
    vague = ObservedChange("The eager control", -12.0, -30.8, 10.0)
    _, (evidence, *_) = attribute(replace(COMPILED, change=large, control=vague))
    expected = (
        "The eager control did not move as much (−30.8 to +10.0%): the compiled arm moved more."
    )
    assert evidence.says == expected


def test_control_that_moved_a_little_for_certain_is_not_called_unchanged() -> None:
    a_little = ObservedChange("The eager control", 2.0, 1.0, 3.0)
    _, (evidence, *_) = attribute(replace(COMPILED, control=a_little))
    expected = (
        "The eager control did not move as much (+1.0 to +3.0%): the compiled arm moved more."
    )
    assert evidence.says == expected


@pytest.mark.parametrize(
    ("control", "says"),
    [
        (
            ObservedChange("The eager control", -50.0, -60.0, -40.0),
            "The eager control moved the other way (−60.0 to −40.0%)",
        ),
        (
            ObservedChange("The eager control", -4.0, -9.0, 1.0),
            "The eager control did not rise as much, and may have fallen (−9.0 to +1.0%)",
        ),
    ],
)
def test_control_that_may_have_moved_the_other_way_is_not_called_unchanged(
    control: ObservedChange, says: str
) -> None:
    _, (evidence, *_) = attribute(replace(COMPILED, control=control))
    assert evidence.says == f"{says}: eager does not explain the change."


def test_control_that_may_have_risen_while_the_series_fell_is_not_called_unchanged() -> None:
    fell = ObservedChange("Latency", -10.0, -12.0, -8.0)
    rose = ObservedChange("The eager control", 4.0, -1.0, 9.0)
    _, (evidence, *_) = attribute(replace(COMPILED, change=fell, control=rose))
    assert evidence.says.startswith("The eager control did not fall as much, and may have risen")


def test_evidence_names_the_stage_that_the_ablation_blames() -> None:
    facts = replace(
        COMPILED, metric="passed", unit="", change=None, eager_passes=True, stage="inductor"
    )
    expected = "The same benchmark passes in eager. The ablation blames inductor."
    assert attribute(facts)[1][0].says == expected


def test_equal_code_is_mentioned_and_blames_nobody() -> None:
    same = CodeFingerprints({"kernels": frozenset({"a"})}, {"kernels": frozenset({"a"})}, jobs=3)
    blamed, evidence = attribute(replace(COMPILED, control=STEADY, code=same))
    assert blamed == "unknown"
    assert evidence[-1].says == "The generated code is the same before and after."


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (8.0, 12.0, "Latency rose by 10.0% (+8.0 to +12.0%)"),
        (9.96, 10.04, "Latency rose by 10.0%"),
    ],
)
def test_interval_whose_ends_read_the_same_is_left_out(low: float, high: float, text: str) -> None:
    assert ObservedChange("Latency", 10.0, low, high).text == text
