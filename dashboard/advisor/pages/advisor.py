"""The advisor: which config to use for how many steps, for every benchmark in a line, and for one
in full.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from dashboard.advisor.core import advice_charts, advice_text
from dashboard.advisor.core.advice import Advice, advise, by_steps, by_time
from dashboard.advisor.selectors import advice as selector
from dashboard.advisor.selectors.advice import Built
from dashboard.comparisons.core.running_costs import Option
from dashboard.language.exports import csv_text
from dashboard.language.metrics import EAGER, STARTS, Start
from dashboard.models import Benchmark
from dashboard.ui.pages import parameters
from dashboard.ui.pages.figures import figure_response

_SEED = 20261121  # one for all: page, chart and export tell the same intervals
_TABLE_STEPS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_FIELDS = (
    "config",
    "start",
    "start_s",
    "start_low_s",
    "start_high_s",
    "step_ms",
    "step_low_ms",
    "step_high_ms",
    "memory_gb",
    "ahead_from_steps",
    "ahead_from_low",
    "ahead_from_high",
)


@dataclass(frozen=True, slots=True)
class AdvisorQuery:
    """What the address of the advisor asks for. steps, hours, memory_gb: None where it says
    nothing.
    """

    benchmark: Benchmark
    known: list[Built]
    where: Built
    start: Start
    steps: float | None
    hours: float | None
    memory_gb: float | None
    options: Sequence[Option]

    def advice(self, start: Start | None = None) -> Advice:
        return advise(
            self.options, start or self.start, np.random.default_rng(_SEED), self.memory_gb
        )


def _where(request: HttpRequest, known: Sequence[Built]) -> Built:
    """The machine and build of the address; the newest build of that machine, or of the one with
    the most builds.

    Raises Http404 where nothing was measured there.
    """
    likely = Counter(one.machine_key for one in known).most_common(1)[0][0]
    machine, build = request.GET.get("machine") or likely, request.GET.get("build", "")
    here = [one for one in known if one.machine_key == machine]
    if not here:
        raise Http404(f"Nothing was measured on a machine “{machine}”.")
    return next((one for one in here if one.label == build), here[0])


def _start(request: HttpRequest) -> Start:
    asked = request.GET.get("start", "")
    return next((start for start in STARTS if start == asked), "cold")


def _positive(request: HttpRequest, name: str) -> float | None:
    """A number above 0; None where the address has none: an old link shows more, not an error."""
    try:
        found = float(request.GET.get(name, ""))
    except ValueError:
        return None
    return found if 0 < found < 1e15 else None


def asked(request: HttpRequest, name: str) -> AdvisorQuery | None:
    """Reads the address; None where the benchmark has no numbers. Raises Http404 for an unknown
    one.
    """
    benchmark = get_object_or_404(Benchmark, name=name)
    known = selector.built(benchmark)
    if not known:
        return None
    where = _where(request, known)
    steps, hours, memory_gb = (_positive(request, key) for key in ("steps", "hours", "memory_gb"))
    options = selector.options(where, benchmark).get(name, [])
    return AdvisorQuery(benchmark, known, where, _start(request), steps, hours, memory_gb, options)


def listing(request: HttpRequest) -> HttpResponse:
    """Every benchmark of one machine and build with its advice in a line."""
    known = selector.built()
    if not known:
        return render(request, "advisor/list.html", {})
    where, start = _where(request, known), _start(request)
    rng = np.random.default_rng(_SEED)
    measured = selector.options(where)
    rows = [
        (name, _line(options, start, rng))
        for name, options in measured.items()
        if _is_choice(options)
    ]
    context = {
        **_places(known, where),
        "where": where,
        "start": start,
        "starts": [*STARTS],
        "rows": rows,
        "alone": len(measured) - len(rows),
    }
    return render(request, "advisor/list.html", context)


def _is_choice(options: Sequence[Option]) -> bool:
    return any(option.config != EAGER and option.levels for option in options)


def _line(options: Sequence[Option], start: Start, rng: np.random.Generator) -> dict[str, Any]:
    advice = advise(options, start, rng)
    return {"sentence": advice_text.sentence(advice), "configs": len(advice.candidates)}


def _places(known: Sequence[Built], where: Built) -> dict[str, Any]:
    return {
        "machines": list(dict.fromkeys(one.machine_key for one in known)),
        "builds": [one.label for one in known if one.machine_key == where.machine_key],
    }


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The advice for one benchmark: the sentence, how sure it is, the curves, and what it is made
    of.
    """
    found = asked(request, name)
    if found is None:
        return render(
            request, "advisor/advisor.html", {"benchmark": get_object_or_404(Benchmark, name=name)}
        )
    advice = found.advice()
    starts: list[tuple[Start, str]] = [
        (start, advice_text.sentence(found.advice(start))) for start in STARTS
    ]
    jobs = {
        key.config: job for key, job in selector.newest_jobs(found.where, found.benchmark).items()
    }
    context: dict[str, Any] = {
        **_places(found.known, found.where),
        "benchmark": found.benchmark,
        "asked": found,
        "advice": advice,
        "sentence": advice_text.sentence(advice),
        "certainty": advice_text.certainty(advice),
        "starts": starts,
        "device_memory_gb": selector.device_memory_gb(found.where.machine),
        "scale": parameters.one_of(request, "scale", ["eager"]),
        "ahead": {one.candidate.config: advice_text.from_words(one) for one in advice.stretches},
        "totals": [
            (steps, [one.seconds(steps) for one in advice.candidates]) for steps in _TABLE_STEPS
        ],
        "missing": _missing(found),
        "jobs": jobs,
        **_plans(found, advice),
    }
    return render(request, "advisor/advisor.html", context)


def _plans(found: AdvisorQuery, advice: Advice) -> dict[str, Any]:
    """What the advice says about the length that was asked for."""
    plans: dict[str, Any] = {}
    if not advice.candidates:
        return plans
    if found.steps:
        ranked = by_steps(advice, found.steps)
        plans["by_steps"] = (advice_text.verdict_by_steps(ranked, found.steps), ranked)
    if found.hours:
        by_hours = by_time(advice, 3600 * found.hours)
        plans["by_time"] = (advice_text.verdict_by_time(by_hours, 3600 * found.hours), by_hours)
    return plans


def _missing(found: AdvisorQuery) -> list[str]:
    """Configs of the benchmark's default run of which this build has nothing at all."""
    measured = {option.config for option in found.options}
    return [config for config in found.benchmark.default_configs if config not in measured]


def data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    found = asked(request, name)
    if found is None:
        raise Http404(f"{name} was not measured yet.")
    return figure_response(
        advice_charts.figure(
            found.advice(), relative=request.GET.get("scale") == "eager", horizon=found.steps
        )
    )


def export(request: HttpRequest, name: str, form: str) -> HttpResponse:
    """What each config costs, and from where on it is ahead, for every kind of start, as CSV or
    JSON.
    """
    found = asked(request, name)
    if found is None:
        raise Http404(f"{name} was not measured yet.")
    rows = [row for start in STARTS for row in _rows(found.advice(start))]
    headers = {"Content-Disposition": f'attachment; filename="advice-{name}.{form}"'}
    if form == "csv":
        return HttpResponse(
            csv_text(_FIELDS, rows), content_type="text/csv; charset=utf-8", headers=headers
        )
    document = {
        "benchmark": name,
        "machine": found.where.machine_key,
        "build": found.where.label,
        "advice": {start: advice_text.sentence(found.advice(start)) for start in STARTS},
        "configs": [dict(zip(_FIELDS, row, strict=True)) for row in rows],
    }
    return HttpResponse(orjson.dumps(document), content_type="application/json", headers=headers)


def _rows(advice: Advice) -> list[tuple[Any, ...]]:
    """An infinite number of steps is left empty."""
    ahead = {one.candidate.config: one.from_steps for one in advice.stretches}
    return [
        (
            one.config,
            advice.start,
            *one.start,
            *one.step_ms,
            one.memory_gb,
            *(
                steps if np.isfinite(steps) else None
                for steps in ahead.get(one.config, (np.nan,) * 3)
            ),
        )
        for one in advice.candidates
    ]
