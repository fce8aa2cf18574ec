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

MOST_MODELS = 15
MOST_KERNELS = 5
KERNELS_CHARACTERS = 300


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
            str, Field(description="Id of a comparison, instead of base and new.")
        ] = "",
        most: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Changed cases.")] = 10,
    ) -> MoveAnswer:
        """Should we move from one torch build to another? The answer for each model, the cases that
        changed with 95% intervals, and the kernels behind them. Reads what was measured and starts
        nothing; where it answers "Not enough data", start_comparison measures both builds in turn.
        """
        if comparison:
            report = self._client.report(comparison, models, "changed")
        else:
            report = self._client.stored_report(
                base, new, machine=machine, models=models, show="changed"
            )
        return _answer(report, most)


def _answer(report: ReportDocument, most: int) -> MoveAnswer:
    models = [
        ModelAnswer(model=name, answer=each["answer"], why=each["sentence"])
        for name, each in report["models"].items()
    ]
    changed = sorted(report["cases"], key=_rank)
    answer: MoveAnswer = {
        "question": report["question"],
        "answer": report["answer"],
        "why": report["sentence"],
        "models": models[:MOST_MODELS],
        "changed": [_changed_case(case) for case in changed[:most]],
        "url": report["address"],
    }
    if report["so_far"]:
        answer["so_far"] = report["so_far"]
    if report["flavours"]:
        answer["note"] = report["flavours"]
    kernels = [
        f"{case_name(each['benchmark'], each['config'])}: {each['sentence']}"
        for each in report["kernels"]
    ]
    if kernels:
        answer["kernels"] = [cut(line, KERNELS_CHARACTERS) for line in kernels[:MOST_KERNELS]]
    lacking = {
        "models": (len(models) - MOST_MODELS, "name them in models"),
        "changed cases": (len(changed) - most, f"name models, or most up to {MOST_ROWS}"),
        "cases with kernels": (len(kernels) - MOST_KERNELS, "name models"),
    }
    left_out = [more(number, what, how) for what, (number, how) in lacking.items() if number > 0]
    if left_out:
        answer["left_out"] = left_out
    return answer


def _rank(case: ReportedCaseDocument) -> tuple[bool, bool, float]:
    """What is significant first, of that what got worse, of that the largest."""
    return (
        case["evidence"] != "significant",
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
        "evidence": case["evidence"] or "",
        "processes": [case["base_processes"] or 0, case["new_processes"] or 0],
    }
    if case["change_percent"] is not None:
        line["change_percent"] = rounded(case["change_percent"])
    if case["low_percent"] is not None and case["high_percent"] is not None:
        line["interval_percent"] = [rounded(case["low_percent"]), rounded(case["high_percent"])]
    return line
