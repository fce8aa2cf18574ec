"""Releases as an axis: a line per config over builds, and a matrix of cases × builds."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    ExcludedCase,
    Key,
    Side,
    Table,
    compare,
)
from dashboard.comparisons.core.metric_effects import CHANGED, Effect
from dashboard.comparisons.selectors import versions
from dashboard.comparisons.selectors.versions import (
    MeasuredBuild,
    SideSource,
    builds_by_version,
    default_machine,
)
from dashboard.language.exports import csv_text
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import plural, quantity
from dashboard.models import Benchmark
from dashboard.trends.core.release_charts import ReleaseLine, release_figure, short_names
from dashboard.trends.selectors import releases
from dashboard.trends.selectors.matrix import heat
from dashboard.ui.pages import parameters
from dashboard.ui.pages.figures import figure_response

_MOST_BUILDS = 12
_MOST_ROWS = 120
_EXPORT_FIELDS = (
    "benchmark",
    "config",
    "metric",
    "unit",
    "build",
    "value",
    "low",
    "high",
    "processes",
    "status",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A case on one build against the base: what it says, how warm (−4 … 4), what hover adds."""

    text: str
    heat: int
    about: str
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the address asks for. builds: shown, oldest first; base: what the matrix compares
    with.
    """

    known: list[MeasuredBuild]
    machine: MeasuredBuild
    builds: list[MeasuredBuild]
    total: int
    base: MeasuredBuild
    metric: Metric
    benchmark: str

    @property
    def columns(self) -> list[MeasuredBuild]:
        """The builds as the matrix has them: releases beside each other, then the variants."""
        return sorted(self.builds, key=lambda tested: tested.base is not None)


def choose(request: HttpRequest, known: Sequence[MeasuredBuild]) -> Chosen:
    """Raises Http404 for a machine or build that was not measured."""
    if not known:
        raise Http404("Nothing was measured yet: there are no versions to show.")
    key = request.GET.get("machine") or default_machine(known)
    everything = builds_by_version(known, key, request.GET.get("track", ""))
    if not everything:
        raise Http404(f"Nothing was measured on a machine “{key}”.")
    builds = everything[:_MOST_BUILDS][::-1]
    wanted = request.GET.get("base", "")
    usual = next((tested for tested in builds if tested.base is None), builds[0])
    base = next((tested for tested in everything if tested.label == wanted), usual)
    if base not in builds:
        builds = [base, *builds[1:]]
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or "latency_ms"]
    benchmark = request.GET.get("benchmark", "")
    return Chosen(list(known), everything[0], builds, len(everything), base, metric, benchmark)


def measured(chosen: Chosen, benchmark: int | None = None) -> dict[int, dict[Key, Any]]:
    source = SideSource(chosen.machine.machine, benchmark=benchmark)
    return versions.by_build(
        source, [tested.build for tested in chosen.builds], [chosen.metric.key]
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """Every case on every build. tables: each build's against the base, by build."""

    sides: dict[int, dict[Key, Any]]
    cases: list[ComparedCase]
    tables: dict[int, Table]


def judge(chosen: Chosen) -> Judged:
    builds = tuple(tested.build for tested in chosen.builds)
    source = SideSource(chosen.machine.machine)
    stamp = versions.data_fingerprint([(source, build) for build in builds], [chosen.metric.key])
    return _judged(stamp, source, builds, chosen.base.build, chosen.metric)


@lru_cache(maxsize=4)
def _judged(
    stamp: str, source: SideSource, builds: tuple[int, ...], base: int, metric: Metric
) -> Judged:
    """Kept while the data are the same (`stamp`): another benchmark or page of the matrix needs no
    new judgement.
    """
    sides = versions.by_build(source, builds, [metric.key])
    cases = {key: one.case for side in sides.values() for key, one in side.items()}
    families = list(
        dict.fromkeys(case.family for case in sorted(cases.values(), key=lambda case: case.place))
    )
    ordered = sorted(cases.values(), key=lambda case: (families.index(case.family), case.place))
    return Judged(
        sides, ordered, {build: compare(sides[base], sides[build], metric) for build in builds}
    )


@csp_update(settings.CHART_POLICY)
def show(request: HttpRequest) -> HttpResponse:
    known = versions.measured_builds()
    if not known:
        return render(request, "trends/versions.html", {})
    chosen = choose(request, known)
    judged = judge(chosen)
    benchmarks = list(dict.fromkeys(case.benchmark for case in judged.cases))
    benchmark = chosen.benchmark if chosen.benchmark in benchmarks else _most_measured(judged)
    shown = judged.cases if "all" in request.GET else judged.cases[:_MOST_ROWS]
    names = short_names([tested.label for tested in chosen.builds])
    context = {
        "chosen": chosen,
        "machines": sorted({tested.machine_key for tested in known}),
        "metrics": [metric for metric in METRICS.values() if metric.key != "passed"],
        "columns": [(tested, names[tested.label]) for tested in chosen.columns],
        "benchmarks": benchmarks,
        "benchmark": benchmark,
        "rows": _matrix(judged, chosen, shown),
        "total_rows": len(judged.cases),
        "table": _table(lines_of(judged.sides, chosen, benchmark), chosen.metric),
        "query": f"machine={chosen.machine.machine_key}&metric={chosen.metric.key}",
    }
    return render(request, "trends/versions.html", context)


def _most_measured(judged: Judged) -> str:
    """The benchmark with the most to show: cases on builds."""
    counted = Counter(key.benchmark for side in judged.sides.values() for key in side)
    return counted.most_common(1)[0][0] if counted else ""


def _matrix(
    judged: Judged, chosen: Chosen, shown: Sequence[ComparedCase]
) -> list[tuple[ComparedCase, list[Cell | None]]]:
    """These cases on each build against the base build, whose own column has the values."""
    keys = {Key(case.benchmark, case.config) for case in shown}
    columns = [
        _column(
            judged.tables[tested.build],
            keys,
            _value if tested.build == chosen.base.build else _cell,
        )
        for tested in chosen.columns
    ]
    return [
        (case, [column.get(Key(case.benchmark, case.config)) for column in columns])
        for case in shown
    ]


def _column(
    table: Table, keys: Collection[Key], cell: Callable[[ComparisonRow, Metric], Cell]
) -> dict[Key, Cell]:
    rows = ((Key(row.case.benchmark, row.case.config), row) for row in table.rows)
    told = {key: cell(row, table.metric) for key, row in rows if key in keys}
    return told | _left(table)


def _value(row: ComparisonRow, metric: Metric) -> Cell:
    return Cell(
        quantity(metric, row.effect.levels[0]), 0, plural(row.effect.base.n, "process", "processes")
    )


def _left(table: Table) -> dict[Key, Cell]:
    return {
        Key(out.case.benchmark, out.case.config): _left_out(out)
        for out in table.left_out
        if out.why != "missing"
    }


def _cell(row: ComparisonRow, metric: Metric) -> Cell:
    effect = row.effect
    words = effect.change.text.partition(" (")[0]
    return Cell(
        words,
        _warmth(effect, metric),
        f"{effect.change.text}; {plural(effect.new.n, 'process', 'processes')}",
    )


def _warmth(effect: Effect, metric: Metric) -> int:
    if effect.verdict not in CHANGED or effect.ratio is None:
        return 0
    ratio = 1 + effect.ratio.percent / 100
    return heat(1 / ratio if metric.lower_is_better else ratio)


def _left_out(out: ExcludedCase) -> Cell:
    return Cell(
        out.text.partition(" on ")[0] if out.why == "failed" else out.why,
        0,
        out.text,
        out.why == "failed",
    )


def lines_of(sides: Mapping[int, Side], chosen: Chosen, benchmark: str) -> list[ReleaseLine]:
    """The configs of one benchmark over the builds."""
    builds = [(tested.build, tested.label) for tested in chosen.builds]
    return releases.release_lines(sides, builds, benchmark, chosen.metric.key)


def _table(lines: Sequence[ReleaseLine], metric: Metric) -> list[dict[str, Any]]:
    """The chart's numbers as rows."""
    rows = []
    for line in lines:
        known = {one.build: (one, value, low, high) for one, value, low, high in line.measured}
        for release in line.releases:
            one, value, low, high = known.get(release.build, (release, None, None, None))
            n = one.level.n if one.level else 0
            rows.append(
                {
                    "config": line.name,
                    "position": line.position,
                    "build": one.build,
                    "value": value,
                    "low": low,
                    "high": high,
                    "n": n,
                    "job": one.job,
                    "status": one.status,
                    "metric": metric,
                }
            )
    return rows


def data(request: HttpRequest) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    chosen = choose(request, versions.measured_builds())
    return figure_response(_figure(chosen, chosen.benchmark))


def _figure(chosen: Chosen, benchmark: str) -> dict[str, Any]:
    row = Benchmark.objects.filter(name=benchmark).first()
    if row is None:
        raise Http404(f"There is no benchmark “{benchmark}”.")
    lines = lines_of(measured(chosen, row.pk), chosen, benchmark)
    found = {release.build for line in lines for release in line.releases}
    builds = [
        tested.label for tested in chosen.builds if tested.base is None or tested.label in found
    ]
    return release_figure(lines, chosen.metric, builds)


def export(request: HttpRequest, form: str) -> HttpResponse:
    """Every case on every build that is shown, as CSV or JSON."""
    chosen = choose(request, versions.measured_builds())
    sides = measured(chosen)
    benchmarks = dict.fromkeys(key.benchmark for side in sides.values() for key in side)
    found = [
        (
            name,
            row["config"],
            chosen.metric.key,
            chosen.metric.unit,
            row["build"],
            row["value"],
            row["low"],
            row["high"],
            row["n"],
            row["status"],
        )
        for name in benchmarks
        for row in _table(lines_of(sides, chosen, name), chosen.metric)
    ]
    headers = {
        "Content-Disposition": "attachment; "
        f'filename="versions-{chosen.machine.machine_key}.{form}"'
    }
    if form == "csv":
        return HttpResponse(
            csv_text(_EXPORT_FIELDS, found), content_type="text/csv; charset=utf-8", headers=headers
        )
    answer = figure_response([dict(zip(_EXPORT_FIELDS, row, strict=True)) for row in found])
    answer.headers["Content-Disposition"] = headers["Content-Disposition"]
    return answer
