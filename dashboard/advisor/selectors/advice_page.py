"""The advisor's pages: every benchmark in a line, and one in full."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.advisor.core import advice_text
from dashboard.advisor.core.advice import Advice, RankedCandidate, advise, by_steps, by_time
from dashboard.advisor.core.advice_export import EXPORT_FIELDS, export_rows, total_times
from dashboard.advisor.core.advice_rows import advice_row, ordered
from dashboard.advisor.selectors import advice as selector
from dashboard.advisor.selectors.advice import AdvisedBuild
from dashboard.comparisons.core.running_costs import Option
from dashboard.language.metrics import STARTS, Start
from dashboard.models import Benchmark

_SEED = 20261121  # one for all: page, chart and export show the same intervals
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class AdviceSelection:
    """Selection that one benchmark's advice is for.

    builds: all that have its numbers, of which `build` is chosen.
    steps, hours, memory_gb: None where the address sets none.
    """

    benchmark: Benchmark
    builds: list[AdvisedBuild]
    build: AdvisedBuild
    start: Start
    steps: float | None
    hours: float | None
    memory_gb: float | None
    options: Sequence[Option]

    def advice(self, start: Start | None = None) -> Advice:
        rng = np.random.default_rng(_SEED)
        return advise(self.options, start or self.start, rng, self.memory_gb)


def place_choices(builds: Sequence[AdvisedBuild], chosen: AdvisedBuild) -> dict[str, Any]:
    """The choices of machine and build in the form."""
    labels: dict[str, list[str]] = {}
    for build in builds:
        if not build.hidden or build.machine == chosen.machine:
            labels.setdefault(build.machine_key, []).append(build.label)
    return {"machines": list(labels), "builds": labels[chosen.machine_key]}


def advice_list(build: AdvisedBuild, start: Start, order: str) -> dict[str, Any]:
    """Every benchmark that leaves a choice with its advice in a row. Four queries.

    without_advice: those of which too little was measured. alone: how many leave no choice.
    """
    measured = selector.read_options(build)
    rows = []
    for name, options in measured.items():
        if any(option.config not in selector.NO_CHOICE and option.levels for option in options):
            rng = np.random.default_rng(_SEED)
            rows.append(advice_row(name, advise(options, start, rng)))
    return {
        "rows": ordered([row for row in rows if row.config], order),
        "without_advice": [row for row in rows if not row.config],
        "alone": len(measured) - len(rows),
    }


def advice_page(selection: AdviceSelection) -> dict[str, Any]:
    """The advice for one benchmark, by the names of its template. Seven queries."""
    advice = selection.advice()
    measured = {option.config for option in selection.options}
    advised = {candidate.config for candidate in advice.candidates}  # eager by the others' control
    # Those of the default run, and those that other builds were measured with
    elsewhere = selector.measured_configs(selection.build.machine, selection.benchmark)
    offered = dict.fromkeys([*selection.benchmark.default_configs, *elsewhere])
    jobs = selector.newest_jobs(selection.build, selection.benchmark)
    return {
        **place_choices(selection.builds, selection.build),
        "advice": advice,
        "sentence": advice_text.sentence(advice),
        "certainty": advice_text.certainty(advice),
        "starts": list(_sentences(selection).items()),
        "device_memory_gb": selector.device_memory_gb(selection.build.machine),
        "ahead": {row.config: advice_text.range_start(row) for row in advice.ranges},
        "totals": total_times(advice),
        "missing": [config for config in offered if config not in {*measured, *advised}],
        "jobs": jobs,
        "known_costs": selector.known_costs(jobs),
        **_plans(selection, advice),
    }


def _sentences(selection: AdviceSelection) -> dict[Start, str]:
    """The advice after each kind of start."""
    return {start: advice_text.sentence(selection.advice(start)) for start in STARTS}


def _plans(selection: AdviceSelection, advice: Advice) -> dict[str, Any]:
    """Apply the advice to the length that was requested: (verdict, ranking)."""
    plans: dict[str, Any] = {}
    if not advice.candidates:
        return plans
    if steps := selection.steps:
        ranked = by_steps(advice, steps)
        plans["by_steps"] = advice_text.verdict_by_steps(ranked, steps), ranked
    if selection.hours:
        seconds = _SECONDS_PER_HOUR * selection.hours
        ranked = by_time(advice, seconds)
        plans["by_time"] = advice_text.verdict_by_time(ranked, seconds), ranked
    return plans


def ranking(selection: AdviceSelection, advice: Advice) -> tuple[str, list[RankedCandidate]]:
    """For the steps that were requested, else for the hours: the verdict, and the configs.

    Nothing of either where none was requested, or no config can be used.
    """
    plans = _plans(selection, advice)
    verdict, ranked = plans.get("by_steps") or plans.get("by_time") or ("", [])
    return verdict, ranked


def export_table(selection: AdviceSelection) -> list[Sequence[Any]]:
    """Tabulate what each config costs, and from where on it is ahead, for every kind of start."""
    rows = []
    for start in STARTS:
        rows += export_rows(selection.advice(start))
    return rows


def export_document(selection: AdviceSelection) -> dict[str, Any]:
    """The same as one document, with the sentences."""
    rows = export_table(selection)
    return {
        "benchmark": selection.benchmark.name,
        "machine": selection.build.machine_key,
        "build": selection.build.label,
        "advice": _sentences(selection),
        "configs": [dict(zip(EXPORT_FIELDS, row, strict=True)) for row in rows],
    }
