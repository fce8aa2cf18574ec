"""A comparison as files: rows for CSV and JSON, and the report as Markdown. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dashboard.comparisons.core.matching import ComparisonRow, Table
from dashboard.comparisons.core.metric_effects import Effect
from dashboard.comparisons.core.upgrade_answer import Group, UpgradeReport
from dashboard.language.exports import markdown_table
from dashboard.language.metrics import METRICS
from dashboard.language.wording import plural, quantity

FIELDS = (
    "benchmark",
    "config",
    "family",
    "mode",
    "metric",
    "unit",
    "base",
    "new",
    "change_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "significant",
    "q",
    "base_processes",
    "new_processes",
    "spread_from",
    "in_eager_percent",
    "compiled_only_percent",
    "left_out",
)
METHOD = (
    "Ratios are of geometric means over processes, above all of those on the same device; "
    "intervals are 95 %, from the "
    "spread between processes, that of each case moderated by the others'. Significant: false "
    "discovery rate 5 % over "
    "the cases of one table.",
)
_MOST_ROWS = 40  # of changed cases in Markdown; all of them are in the CSV


def rows(report: UpgradeReport) -> Iterator[tuple[Any, ...]]:
    """Every case in every metric as a row of FIELDS; what was left out says why in the last one."""
    for table in report.tables.values():
        for row in table.rows:
            yield (
                *_head(table, row),
                *_numbers(row.effect),
                _percent(row.eager),
                _percent(row.alone),
                "",
            )
        for out in table.left_out:
            case = out.case
            yield (
                case.benchmark,
                case.config,
                case.family,
                case.mode,
                table.metric.key,
                table.metric.unit,
                *[None] * 13,
                f"{out.why}: {out.text}",
            )


def document(report: UpgradeReport, *, question: str, address: str) -> dict[str, Any]:
    """The whole report for programs: the answer, that of each model, and every case in every
    metric.
    """
    answer = report.overall.answer
    return {
        "question": question,
        "answer": answer.word,
        "sentence": answer.sentence,
        "address": address,
        "models": {
            group.name: {"answer": group.answer.word, "sentence": group.answer.sentence}
            for group in report.models
        },
        "cases": [dict(zip(FIELDS, row, strict=True)) for row in rows(report)],
    }


def _head(table: Table, row: ComparisonRow) -> tuple[Any, ...]:
    case, metric = row.case, table.metric
    return (
        case.benchmark,
        case.config,
        case.family,
        case.mode,
        metric.key,
        metric.unit,
        *row.effect.levels,
    )


def _numbers(effect: Effect) -> tuple[Any, ...]:
    ratio = effect.ratio
    ends = (ratio.low, ratio.high) if ratio and ratio.is_known else (None, None)
    q = None if math.isnan(effect.q) else effect.q
    known = (effect.verdict, effect.is_significant, q, effect.base.n, effect.new.n)
    return (_percent(effect), *ends, *known, ratio.basis if ratio else "values")


def _percent(effect: Effect | None) -> float | None:
    return effect.ratio.percent if effect and effect.ratio else None


def markdown(report: UpgradeReport, *, question: str, address: str, notes: Sequence[str]) -> str:
    """The report for a pull request or a mail. question: its title. notes: what the numbers rest
    on.
    """
    changed = [row for row in report.latency.rows if row.effect.is_significant]
    parts = [
        f"# {question}",
        f"**{report.overall.answer.word}.** {report.overall.answer.sentence}",
        markdown_table(("Model", "Answer", "Why"), (_model(group) for group in report.models)),
        "## By family and mode",
        markdown_table(
            ("Family", "Mode", "Cases", *_names(report.overall)),
            (_family(group) for group in report.families),
        ),
        (
            f"## Latency: {len(changed)} of {plural(len(report.latency.rows), 'matched case')} "
            "changed significantly"
        ),
        markdown_table(
            ("Benchmark", "Config", "Base", "New", "Change", "Which part"),
            (_case(row) for row in changed[:_MOST_ROWS]),
        ),
    ]
    if report.latency.left_out:
        out = report.latency.left_out
        parts += [
            f"## Left out: {plural(len(out), 'case')}",
            markdown_table(
                ("Benchmark", "Config", "Why"),
                ((o.case.benchmark, o.case.config, o.text) for o in out),
            ),
        ]
    return "\n\n".join([*parts, *notes, f"From {address}"]) + "\n"


def _names(group: Group) -> list[str]:
    return [summary.name.capitalize() for summary in group.summaries]


def _model(group: Group) -> tuple[str, str, str]:
    return group.name, group.answer.word, group.answer.sentence


def _family(group: Group) -> tuple[str, ...]:
    told = (summary.change.text if summary.change else "–" for summary in group.summaries)
    return group.name, group.mode, str(group.of("latency_ms").matched), *told


def _case(row: ComparisonRow) -> tuple[str, ...]:
    sides = (quantity(METRICS["latency_ms"], level) for level in row.effect.levels)
    return row.case.benchmark, row.case.config, *sides, row.effect.change.text, row.share
