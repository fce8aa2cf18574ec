"""Measuring: what it costs first, then by the number of jobs that was agreed on."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from compilewatch_client.agents.answers import PlanAnswer, StartedAnswer
from compilewatch_client.agents.shortening import case_name, more
from compilewatch_client.api_types import ComparisonPlanDocument, PlanDocument
from compilewatch_client.client import Client
from compilewatch_client.errors import ClientError

MOST_CASES = 10
REPEATS = 3

Build = Annotated[str, Field(description="Label of a torch build; a version is enough: 2.13.0.")]
Machine = Annotated[str, Field(description="A machine's key; empty: the only one.")]
Track = Annotated[str, Field(description="Of a run: a track's key.")]
Names = Annotated[Sequence[str], Field(description="Names; empty: the default ones.")]
Repeats = Annotated[
    int,
    Field(ge=1, le=20, description="Processes of each case and build; six make a change certain."),
]
Jobs = Annotated[
    int,
    Field(ge=1, description="As plan_measurement counted them: refused if it is another number."),
]
Label = Annotated[str, Field(max_length=200, description="Why: shown with it.")]


class PlanChanged(ClientError):
    """There is more, or less, to measure than was agreed on."""


class PlanningTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def plan_measurement(  # noqa: PLR0913, PLR0917 - as of trigger_run
        self,
        build: Build,
        base: Annotated[
            str, Field(description="An older build, to compare with; empty: a run of one build.")
        ] = "",
        machine: Machine = "",
        track: Track = "local",
        models: Names = (),
        families: Annotated[Sequence[str], Field(description="Of a run: names of families.")] = (),
        benchmarks: Names = (),
        configs: Names = (),
        repeats: Repeats = REPEATS,
    ) -> PlanAnswer:
        """How many jobs and minutes of a machine a run (or, with base, a comparison) would cost.
        Measures nothing. Show a person the cost before trigger_run or start_comparison.
        """
        selection = _selection(machine, models, families, benchmarks, configs)
        if base:
            both = self._client.plan_comparison(base, build, repeats=repeats, **selection)
            return _answer(both, [both["base"], both["new"]], "start_comparison")
        plan = self._client.plan(build, track=track, **selection)
        return _answer(plan, [plan["build"]], "trigger_run")


class MeasuringTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def trigger_run(  # noqa: PLR0913, PLR0917 - each is one thing that a person may ask for
        self,
        build: Build,
        jobs: Jobs,
        machine: Machine = "",
        track: Track = "local",
        models: Names = (),
        families: Names = (),
        benchmarks: Names = (),
        configs: Names = (),
        label: Label = "",
    ) -> StartedAnswer:
        """Measure one torch build. COSTS MACHINE TIME: call plan_measurement with the same
        arguments first. Needs the scope trigger. It runs to its end without you; a person can
        cancel it on its page.
        """
        selection = _selection(machine, models, families, benchmarks, configs)
        _require_jobs(self._client.plan(build, track=track, **selection)["jobs"], jobs)
        run = self._client.trigger(build, track=track, label=label, **selection)
        return {
            "id": str(run["id"]),
            "jobs": run["jobs"]["total"],
            "state": run["state"],
            "follow": f"show_run with run={run['id']}",
            "url": run["url"],
        }

    def start_comparison(
        self,
        base: Build,
        new: Build,
        jobs: Jobs,
        machine: Machine = "",
        models: Names = (),
        benchmarks: Names = (),
        configs: Names = (),
        repeats: Repeats = REPEATS,
    ) -> StartedAnswer:
        """Measure two torch builds in turn, process by process, on one machine. COSTS MACHINE TIME:
        call plan_measurement with base=base, build=new and the same arguments first. Needs the
        scope trigger. It runs to its end without you; a person can cancel it on its page.
        """
        fields: dict[str, Any] = {
            "repeats": repeats,
            **_selection(machine, models, (), benchmarks, configs),
        }
        _require_jobs(self._client.plan_comparison(base, new, **fields)["jobs"], jobs)
        comparison = self._client.compare(base, new, **fields)
        return {
            "id": comparison["id"],
            "jobs": comparison["jobs"]["total"],
            "state": comparison["state"],
            "follow": f"should_we_move with comparison={comparison['id']}",
            "url": comparison["url"],
        }


def _selection(
    machine: str,
    models: Sequence[str],
    families: Sequence[str],
    benchmarks: Sequence[str],
    configs: Sequence[str],
) -> dict[str, str | list[str]]:
    return {
        "machine": machine,
        "models": [*models],
        "families": [*families],
        "benchmarks": [*benchmarks],
        "configs": [*configs],
    }


def _require_jobs(planned: int, expected: int) -> None:
    """Raises PlanChanged: nobody measures more than was agreed on."""
    if planned != expected:
        raise PlanChanged(
            f"Nothing was started: this is {planned} jobs now, and {expected} were agreed on. "
            "Call plan_measurement with the same arguments, and ask the person again."
        )


def _answer(
    plan: PlanDocument | ComparisonPlanDocument, builds: list[str], tool: str
) -> PlanAnswer:
    cases = plan["cases"]
    answer: PlanAnswer = {
        "machine": plan["machine"],
        "builds": builds,
        "jobs": plan["jobs"],
        "minutes": round(plan["expected_s"] / 60, 1),
        "cases": [case_name(*case) for case in cases[:MOST_CASES]],
        "next": f"{tool} with the same arguments and jobs={plan['jobs']}",
    }
    if len(cases) > MOST_CASES:
        answer["left_out"] = more(len(cases) - MOST_CASES, "cases", "benchmarks or configs narrow")
    return answer
