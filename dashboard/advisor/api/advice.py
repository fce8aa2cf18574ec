"""Which config to use for how many steps of a benchmark."""

import math
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema

from dashboard.accounts.access import READ
from dashboard.advisor.core import advice_text
from dashboard.advisor.core.advice import Advice, ExcludedConfig, RankedCandidate, StepRange
from dashboard.advisor.selectors.advice import advised_builds, choose_build, read_options
from dashboard.advisor.selectors.advice_page import AdviceSelection, ranking
from dashboard.comparisons.core.running_costs import Candidate
from dashboard.language.metrics import Start
from dashboard.models import Benchmark
from dashboard.ui.api.parameters import Name
from dashboard.ui.api.schemas import absolute
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["advice"])
_MOST_LABELS = 5


class AdviceChoice(Schema):
    """For what the advice is."""

    machine: Name | None = Field(
        None, description="Key of a machine; left out: the one that measured the most."
    )
    build: Name | None = Field(
        None, description="Label of a build, in full; left out: the newest that was compiled."
    )
    start: Start = Field("cold", description="How each process starts: with which caches.")
    steps: float | None = Field(
        None, gt=0, lt=1e15, description="Number of steps that will be run."
    )
    hours: float | None = Field(
        None, gt=0, lt=1e12, description="Or the hours that are to be filled."
    )
    memory_gb: float | None = Field(
        None, gt=0, lt=1e9, description="Configs that need more memory are left out, in GB."
    )


class AheadFrom(Schema):
    """From how many steps on a config is ahead of all others."""

    config: str
    from_steps: float | None = Field(
        description="Number of steps; 1 or less: from the first; null: not known, because the "
        "interval is too wide to say (`certainty` has the best estimate)."
    )
    low: float = Field(
        alias="from_steps.low", description="Lower end of the 95% interval, in steps."
    )
    high: float | None = Field(
        description="Upper end of it, in steps; null: it is not sure that it ever is."
    )

    @staticmethod
    def resolve_from_steps(row: StepRange) -> float | None:
        return row.from_steps.value if row.is_known else None

    @staticmethod
    def resolve_high(row: StepRange) -> float | None:
        return row.from_steps.high if math.isfinite(row.from_steps.high) else None


class CostOut(Schema):
    """What a config costs on this build, each number with its 95% interval."""

    config: str
    start_s: float = Field(alias="start.value", description="Seconds until the first step is done.")
    start_low_s: float = Field(alias="start.low", description="Lower end of it, in seconds.")
    start_high_s: float = Field(alias="start.high", description="Upper end of it, in seconds.")
    step_ms: float = Field(alias="step_ms.value", description="Each further step, in milliseconds.")
    step_low_ms: float = Field(alias="step_ms.low", description="Lower end of it, in milliseconds.")
    step_high_ms: float = Field(
        alias="step_ms.high", description="Upper end of it, in milliseconds."
    )
    memory_gb: float | None = Field(
        description="The highest peak of compiling and running, in GB; null: not measured."
    )


class RankedOut(Schema):
    """A config for the length that was asked for, the best first."""

    config: str
    amount: float = Field(
        alias="amount.value", description="Seconds for `steps`, or number of steps in `hours`."
    )
    low: float = Field(
        alias="amount.low", description="Lower end of the 95% interval, in the same unit."
    )
    high: float | None = Field(description="Upper end of it, in the same unit.")
    chance: float = Field(description="How likely it is the best, as a share of 1.")

    @staticmethod
    def resolve_high(row: RankedCandidate) -> float | None:
        return row.amount.high if math.isfinite(row.amount.high) else None


class UnusableOut(Schema):
    config: str
    text: str = Field(description="Why it cannot be used, in words.")


class AdviceOut(Schema):
    """Which config to use, from what was measured of it on one machine and build."""

    benchmark: str
    machine: str
    build: str
    start: Start
    sentence: str = Field(description="The advice.")
    certainty: list[str] = Field(
        description="How sure each break-even is, what may be better, what intervals assume."
    )
    verdict: str = Field(description="For `steps` or `hours`; empty where neither was asked for.")
    ahead: list[AheadFrom] = Field(description="From few steps to many.")
    ranking: list[RankedOut] = Field(
        description="For `steps`, else for `hours`; empty where neither was asked for."
    )
    costs: list[CostOut] = Field(description="Of each config that can be used.")
    unusable: list[UnusableOut] = Field(description="Configs that cannot be used.")
    url: str


@router.get("benchmarks/{name}/advice", response=AdviceOut)
def show(request: HttpRequest, name: str, chosen: Query[AdviceChoice]) -> dict[str, Any]:
    """Which config to use for how many steps: compiling costs a start and pays in each step."""
    selection = _select(one(Benchmark.objects.all(), "benchmark", name=name), chosen)
    advice = selection.advice()
    verdict, ranked = ranking(selection, advice)
    build = selection.build
    names = {"machine": build.machine_key, "build": build.label, "start": chosen.start}
    return {
        "benchmark": name,
        **names,
        "sentence": advice_text.sentence(advice),
        "certainty": advice_text.certainty(advice),
        "verdict": verdict,
        "ahead": advice.ranges,
        "ranking": ranked,
        "costs": _costs(advice),
        "unusable": _unusable(advice),
        "url": absolute(f"{reverse('series', args=[name], query=names)}#configs"),
    }


def _select(benchmark: Benchmark, chosen: AdviceChoice) -> AdviceSelection:
    """Raises Http404."""
    builds = advised_builds(benchmark)
    if not builds:
        raise Http404(f"{benchmark.name} was not measured yet.")
    build = choose_build(builds, chosen.machine or "", chosen.build or "")
    if build is None:
        raise Http404(f"{benchmark.name} was not measured on a machine {chosen.machine!r}.")
    if chosen.build and build.label != chosen.build:
        labels = [each.label for each in builds if each.machine == build.machine]
        raise Http404(
            f"{benchmark.name} was not measured on {build.machine_key} in {chosen.build}, "
            f"but in {', '.join(labels[:_MOST_LABELS])}."
        )
    return AdviceSelection(
        benchmark=benchmark,
        build=build,
        start=chosen.start,
        steps=chosen.steps,
        hours=chosen.hours,
        memory_gb=chosen.memory_gb,
        options=read_options(build.machine, [build.build], benchmark)[build.build],
    )


def _costs(advice: Advice) -> list[Candidate]:
    return sorted(advice.candidates, key=lambda candidate: candidate.position)


def _unusable(advice: Advice) -> list[ExcludedConfig]:
    return list(advice.left_out)
