"""Should we move from one build to another?"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from compilewatch_client.agents.answers import ChangedCase, ModelAnswer, MoveAnswer
from compilewatch_client.agents.shortening import (
    MOST_ROWS,
    case_name,
    cut,
    more,
    rounded,
)
from compilewatch_client.api_types import ReportDocument, ReportedCaseDocument
from compilewatch_client.client import Client

MOST_MODELS = 12
MOST_KERNELS = 3
KERNELS_CHARACTERS = 600
# The site's words, which its core would bring with numpy and scipy
UNCLEAR = "unclear"
NOTHING_MEASURED = "No case was measured on both sides."


class ComparisonTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def should_we_move(
        self,
        base: Annotated[str, Field(description="The older build: 2.11.0.")] = "",
        new: Annotated[str, Field(description="The newer build: 2.15.0.")] = "",
        models: Annotated[
            Sequence[str], Field(description="Names of models: gpt2; empty: all.")
        ] = (),
        machine: Annotated[
            str, Field(description="A machine's key; empty: the one with the most builds.")
        ] = "",
        comparison: Annotated[
            str,
            Field(
                pattern=r"^(?:[0-9a-fA-F-]{36})?$",
                description="Id of a comparison, instead of base and new.",
            ),
        ] = "",
        most: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Changed cases.")] = 10,
    ) -> MoveAnswer:
        """Should we move from one torch build to another? The answer for each model, the cases that
        changed with 95% intervals, and the kernels behind them, from what was measured. Where it
        answers "unclear", a person can have both builds measured in turn.
        """
        if comparison:
            report = self._client.report(comparison, models, "changed")
        else:
            report = self._client.stored_report(
                base, new, machine=machine, models=models, show="changed"
            )
        return _answer(report, models, most)


def _answer(report: ReportDocument, models: Sequence[str], most: int) -> MoveAnswer:
    answers = _model_answers(report)
    not_compared = len(report["models"]) - len(answers)
    changed = sorted(report["cases"], key=_rank)
    answer: MoveAnswer = {
        "question": report["question"],
        "answer_for_all": report["answer"],
        "models": answers[:MOST_MODELS],
        "changed": [_changed_case(case) for case in changed[:most]],
        "url": report["address"],
    }
    if not models:
        answer["why_for_all"] = report["sentence"]
    if report["so_far"]:
        answer["so_far"] = report["so_far"]
    if report["differences"]:
        answer["note"] = report["differences"]
    kernels = [
        f"{case_name(each['benchmark'], each['config'])}: {each['sentence']}"
        for each in report["kernels"]
    ]
    if kernels:
        answer["kernels"] = [cut(line, KERNELS_CHARACTERS) for line in kernels[:MOST_KERNELS]]
    if not_compared:
        answer["not_compared"] = f"{not_compared} by model and mode: {NOTHING_MEASURED}"
    lacking = {
        "models": (len(answers) - MOST_MODELS, "name them in models"),
        "changed cases": (len(changed) - most, f"name models, or most up to {MOST_ROWS}"),
        "cases with kernels": (len(kernels) - MOST_KERNELS, "name models"),
    }
    left_out = [more(number, what, how) for what, (number, how) in lacking.items() if number > 0]
    if left_out:
        answer["left_out"] = left_out
    return answer


def _model_answers(report: ReportDocument) -> list[ModelAnswer]:
    """Of the models that were compared, what is decided first."""
    answers = []
    for name, each in report["models"].items():
        if each["sentence"] != NOTHING_MEASURED:
            answers.append(ModelAnswer(model=name, answer=each["answer"], why=each["sentence"]))
    return sorted(answers, key=lambda each: each["answer"] == UNCLEAR)


def _rank(case: ReportedCaseDocument) -> tuple[bool, bool, float]:
    """What is certain first, of that what got worse, of that the largest."""
    return (
        case["grade"] != "certain",
        case["verdict"] == "better",
        -abs(case["change_percent"] or 0),
    )


def _changed_case(case: ReportedCaseDocument) -> ChangedCase:
    line: ChangedCase = {
        "case": case_name(case["benchmark"], case["config"]),
        "metric": case["metric"],
        "unit": case["unit"],
        "base": rounded(case["base"] or 0),
        "new": rounded(case["new"] or 0),
        "verdict": case["verdict"] or "",
        "grade": case["grade"] or "",
        "pairs": case["pairs"] or 0,
    }
    if case["change_percent"] is not None:
        line["change_percent"] = rounded(case["change_percent"])
    low, high = case["low_percent"], case["high_percent"]
    # Values that repeat exactly have no interval; one of no width would pass for certainty
    if low is not None and high is not None and low != high:
        line["interval_percent"] = [rounded(low), rounded(high)]
    return line
