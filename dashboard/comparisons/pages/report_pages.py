"""What the pages of a comparison have in common: the cases that are shown, and the files that are
sent.
"""

import re
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from dashboard.comparisons.core.matching import ComparisonRow, Table
from dashboard.comparisons.core.metric_effects import EffectVerdict
from dashboard.comparisons.core.ratios import Ratio
from dashboard.comparisons.core.upgrade_answer import UNKNOWN, UpgradeReport
from dashboard.comparisons.core.upgrade_report import FIELDS, METHOD, document, markdown, rows
from dashboard.language.exports import csv_text
from dashboard.language.metrics import METRICS
from dashboard.ui.pages import parameters

SORTS = {"effect": "largest effect", "better": "best first", "worse": "worst first", "name": "name"}
SHOWS = {
    "significant": "only what is significant",
    "better": "better",
    "worse": "worse",
    "same": "the same",
    "unknown": "not known yet",
}
FILTERS = ("family", "mode", "model", "config")
_MOST_ROWS = 100
_LEAST_REACH, _MOST_REACH = 5.0, 60.0


def context(request: HttpRequest, report: UpgradeReport, table: Table) -> dict[str, Any]:
    """The part of the context that `_report.html` reads."""
    choices = {name: sorted({getattr(row.case, name) for row in table.rows}) for name in FILTERS}
    chosen = {name: parameters.one_of(request, name, choices[name]) for name in FILTERS}
    if request.resolver_match and request.resolver_match.url_name == "compare":
        choices.pop("config"), chosen.pop("config")  # there it names the sides
    show = parameters.one_of(request, "show", list(SHOWS))
    order = parameters.one_of(request, "sort", list(SORTS)) or "effect"
    found = [row for row in table.rows if _is_shown(row, chosen, show)]
    found.sort(key=lambda row: _rank(row, order))
    return {
        "report": report,
        "models": sorted(  # what is known first
            (group for group in report.models if group.is_matched),
            key=lambda group: group.answer.word == UNKNOWN,
        ),
        "certain": [row for row in report.latency.rows if row.effect.is_significant],
        "unmatched": [group.name for group in report.models if not group.is_matched],
        "table": table,
        "metrics": [metric for metric in METRICS.values() if metric.key != "passed"],
        "rows": found if "all" in request.GET else found[:_MOST_ROWS],
        "shown": len(found),
        "significant": sum(row.effect.is_significant for row in table.rows),
        "filters": [(name, choices[name], chosen[name]) for name in choices],
        "show": show,
        "shows": SHOWS,
        "sort": order,
        "sorts": SORTS,
        "is_filtered": bool(show or any(chosen.values())),
        "reach": reach(table.rows),
        "family_reach": _widest(
            [one.ratio for group in report.families for one in group.summaries]
        ),
        "any_libraries": request.GET.get("libraries") == "any",
        "has_other_libraries": any(out.why == "libraries" for out in table.left_out),
    }


def _is_shown(row: ComparisonRow, chosen: dict[str, str], show: str) -> bool:
    if any(value and getattr(row.case, name) != value for name, value in chosen.items()):
        return False
    return not show or (
        row.effect.is_significant if show == "significant" else row.effect.verdict == show
    )


def _rank(row: ComparisonRow, order: str) -> Any:
    if order == "name":
        return row.case.place
    badness: dict[EffectVerdict, int] = {"worse": 1, "better": -1}
    signed = badness.get(row.effect.verdict, 0) * row.effect.size
    return {"effect": -row.effect.size, "worse": -signed, "better": signed}[order]


def reach(rows: list[ComparisonRow]) -> float:
    """Percent at the ends of the drawn axis: nearly all intervals fit."""
    extents = sorted(_extent(row.effect.ratio) for row in rows)
    return extents[int(0.97 * (len(extents) - 1))] if extents else _LEAST_REACH


def _widest(ratios: list[Ratio | None]) -> float:
    return max(map(_extent, ratios), default=_LEAST_REACH)


def _extent(ratio: Ratio | None) -> float:
    if ratio is None:
        return _LEAST_REACH
    ends = (ratio.low, ratio.high) if ratio.is_known else (ratio.percent,)
    return min(max(_LEAST_REACH, *map(abs, ends)), _MOST_REACH)


def export(
    report: UpgradeReport, form: str, *, name: str, question: str, address: str
) -> HttpResponse:
    """All cases of all metrics as CSV or JSON; the report as Markdown. name: of the file."""
    file = re.sub(r"[^A-Za-z0-9.+_-]+", "-", name)
    headers = {"Content-Disposition": f'attachment; filename="{file}.{form}"'}
    if form == "csv":
        return HttpResponse(
            csv_text(FIELDS, rows(report)), content_type="text/csv; charset=utf-8", headers=headers
        )
    if form == "md":
        text = markdown(report, question=question, address=address, notes=METHOD)
        return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=headers)
    return HttpResponse(
        orjson.dumps(document(report, question=question, address=address)),
        content_type="application/json",
        headers=headers,
    )
