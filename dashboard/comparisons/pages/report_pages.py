"""Parts that the pages of a comparison share: the cases that are shown, and the files that are
sent.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from dashboard.accounts.selectors import starred_models
from dashboard.comparisons.core import upgrade_report
from dashboard.comparisons.core.case_table import (
    ORDERS,
    SHOWS,
    CaseFilter,
    ReportWithTable,
    filter_choices,
    shown_rows,
)
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import ReportSubject
from dashboard.comparisons.selectors import case_kernels
from dashboard.comparisons.selectors.model_rows import (
    ModelRow,
    ModelTable,
    MoreRuns,
    model_table,
    more_runs,
)
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.judgement.changes import SetVerdict
from dashboard.judgement.words import ORDER
from dashboard.language.metrics import METRICS, Metric
from dashboard.ui.pages import parameters

_MAX_ROWS = 40
Fold = tuple[SetVerdict, list[ModelRow], MoreRuns | None]
_CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}


def chosen_metric(request: HttpRequest, offered: Sequence[Metric]) -> Metric:
    keys = [metric.key for metric in offered]
    return METRICS[parameters.one_of(request, "metric", keys) or "latency_ms"]


def context(
    request: HttpRequest,
    shown: ReportWithTable,
    offered: Sequence[Metric],
    base: MeasuredSide,
    new: MeasuredSide,
    *,
    filters_config: bool = True,
) -> dict[str, Any]:
    """The part of the context that `_report.html` reads.

    offered: the metrics that its table can show.
    filters_config: whether `config` in the address is a filter; else it names the sides.
    """
    report, table = shown.report, shown.table
    choices = filter_choices(table)
    if not filters_config:
        del choices["config"]
    case_filter = _case_filter(request, choices)
    rows = shown_rows(table, case_filter)
    listed = rows if "all" in request.GET else rows[:_MAX_ROWS]
    kernels = case_kernels.sentences(report, base, new)
    models = model_table(report, kernels, new[0].machine, starred_models.of_user(request.user.pk))
    model_rows, folds = _folded(_shown_models(request, models, case_filter))
    return {
        "report": report,
        "models": models,
        "model_rows": model_rows,
        "folds": folds,
        "more": more_runs(models.rows),
        "only_starred": bool(request.GET.get("starred")),
        "table": table,
        "metrics": offered,
        "rows": listed,
        "has_parts": any(row.changed_part for row in listed),
        "shown": len(rows),
        **_filter_context(case_filter, choices),
        "has_intervals": any(row.change.has_interval for row in table.rows),
        "any_libraries": request.GET.get("libraries") == "any",
        "has_other_libraries": any(out.why == "libraries" for out in table.left_out),
    }


def _shown_models(
    request: HttpRequest, models: ModelTable, case_filter: CaseFilter
) -> list[ModelRow]:
    """The rows of the models and modes that the filters let through."""
    model, mode = case_filter.values.get("model"), case_filter.values.get("mode")
    only_starred = bool(request.GET.get("starred"))
    shown = []
    for row in models.rows:
        fits = model in {"", None, row.group.name} and mode in {"", None, row.group.mode}
        if fits and (row.is_starred or not only_starred):
            shown.append(row)
    return shown


def _folded(rows: Sequence[ModelRow]) -> tuple[list[ModelRow], list[Fold]]:
    """The rows to show at once, where anything changed; and the others by their verdict, with what
    would decide them.
    """
    shown = [row for row in rows if row.is_changed]
    folds = []
    for verdict in ORDER:
        others = [row for row in rows if row.group.answer.verdict == verdict and not row.is_changed]
        if others:
            folds.append((verdict, others, more_runs(others)))
    return shown, folds


def _filter_context(
    case_filter: CaseFilter, choices: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "filters": [(name, choices[name], value) for name, value in case_filter.values.items()],
        "show": case_filter.show,
        "shows": SHOWS,
        "sort": case_filter.order,
        "sorts": ORDERS,
        "is_filtered": case_filter.is_set,
    }


def _case_filter(request: HttpRequest, choices: Mapping[str, Sequence[str]]) -> CaseFilter:
    return CaseFilter(
        parameters.filters(request, choices),
        parameters.one_of(request, "show", list(SHOWS)),
        parameters.one_of(request, "sort", list(ORDERS)) or "effect",
    )


def export(
    report: UpgradeReport,
    base: MeasuredSide,
    new: MeasuredSide,
    form: str,
    *,
    name: str,
    subject: ReportSubject,
) -> HttpResponse:
    """All cases of all metrics as CSV or JSON; the report as Markdown. name: of the file."""
    content: str | bytes
    if form == "csv":
        content = upgrade_report.csv(report)
    else:
        kernels = case_kernels.sentences(report, base, new)
        if form == "md":
            content = upgrade_report.markdown(report, kernels, subject)
        else:
            content = orjson.dumps(upgrade_report.document(report, kernels, subject))
    return download(content, name, form)


def download(content: str | bytes, name: str, form: str) -> HttpResponse:
    """A file. name: without its ending, which `form` is."""
    file = re.sub(r"[^A-Za-z0-9.+_-]+", "-", name)
    headers = {"Content-Disposition": f'attachment; filename="{file}.{form}"'}
    return HttpResponse(content, content_type=_CONTENT_TYPES[form], headers=headers)
