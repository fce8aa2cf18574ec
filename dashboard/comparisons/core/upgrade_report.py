"""A comparison as files: rows for CSV and JSON, and the report as Markdown. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.comparisons.core.matching import ComparedCase
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.judgement.changes import DECIDED, Change
from dashboard.judgement.words import graded, in_words
from dashboard.language.exports import csv_text, markdown_table
from dashboard.language.glossary import explain
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import plural, quantity
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.results.core.known_changes import KnownChange, KnownCost

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
    "grade",
    "basis",
    "pairs",
    "base_processes",
    "new_processes",
    "in_eager_percent",
    "compiled_only_percent",
    "left_out",
)
METHOD = (
    "Base, new and their change are means of pairs: processes that ran next to each other on one "
    "device. The interval holds at every look. One false discovery rate, 5%, holds over all cases "
    "and metrics; from six pairs on a change is certain.",
    f"Verdict: {explain('verdict')}",
)
NEAREST_MEDIAN = f"Kernels: one job of each side, near its median device time. {ONE_PROFILE}"
_MAX_ROWS = 40  # of changed cases in Markdown; all of them are in the CSV


@dataclass(frozen=True, slots=True)
class CaseKernels:
    """Kernels that account for a case's change, in a sentence. base_job, new_job: whose.

    known_changes, known_costs: those that these kernels show.
    """

    row: ComparisonRow
    base_job: str
    new_job: str
    sentence: str
    known_changes: Sequence[KnownChange] = ()
    known_costs: Sequence[KnownCost] = ()

    @property
    def text(self) -> str:
        """The sentence is of two jobs, where the row that it stands in is of all."""
        return f"In one job of each side, {self.sentence[0].lower()}{self.sentence[1:]}"


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """Subject of a report.

    question: its title. address: of the page. differences: what else differs between the builds, in
    words. so_far: how much has ended, while it is measured.
    """

    question: str
    address: str
    differences: str
    so_far: str = ""


def rows(report: UpgradeReport) -> Iterator[tuple[Any, ...]]:
    """Every case in every metric as a row of FIELDS; what was left out says why in the last one."""
    for table in report.tables.values():
        for row in table.rows:
            case = _case_fields(row.case, table.metric)
            eager = row.eager.change if row.eager else None
            parts = _percent(eager), _percent(row.compiled_only)
            yield (*case, *row.levels, *_numbers(row), *parts, "")
        for out in table.left_out:
            case = _case_fields(out.case, table.metric)
            empty = [None] * (len(FIELDS) - len(case) - 1)
            yield (*case, *empty, f"{out.why}: {out.text}")


def csv(report: UpgradeReport) -> str:
    """Every case in every metric."""
    return csv_text(FIELDS, rows(report))


def _case_fields(case: ComparedCase, metric: Metric) -> tuple[str, ...]:
    return case.benchmark, case.config, case.family, case.mode, metric.key, metric.unit


def _numbers(row: ComparisonRow) -> tuple[Any, ...]:
    """change_percent to new_processes of FIELDS."""
    change = row.change
    return (
        _percent(change),
        *interval_of(change),
        change.verdict,
        change.grade,
        change.basis,
        change.pairs,
        row.base.n,
        row.new.n,
    )


def interval_of(change: Change) -> tuple[float | None, float | None]:
    """In percent; None where none is known."""
    return change.interval if change.is_ratio and change.has_interval else (None, None)


def _percent(change: Change | None) -> float | None:
    return change.amount if change and change.is_ratio else None


def document(
    report: UpgradeReport,
    kernels: Sequence[CaseKernels],
    subject: ReportSubject,
) -> dict[str, Any]:
    """The whole report for programs: the answer, that of each model, every case in every metric,
    and the kernels of those that changed.
    """
    overall = report.overall
    models = {}
    for group in report.models:
        models[group.title] = {"answer": graded(group.answer), "sentence": group.sentence}
    return {
        "question": subject.question,
        "answer": graded(overall.answer),
        "sentence": overall.sentence,
        "so_far": subject.so_far,
        "differences": subject.differences,
        "address": subject.address,
        "models": models,
        "cases": [dict(zip(FIELDS, row, strict=True)) for row in rows(report)],
        "kernels": [_kernels_document(each) for each in kernels],
    }


def narrowed(
    full: dict[str, Any], report: UpgradeReport, models: Collection[str], *, only_changed: bool
) -> dict[str, Any]:
    """The document with some of its models (none: all), and of the cases those that changed.

    The answers stay those of the whole report: a change depends on all of its cases.
    """
    titles, benchmarks = set(), set()
    for group in report.models:
        if not models or group.name in models:
            titles.add(group.title)
    for table in report.tables.values():
        cases_of_table = [row.case for row in table.rows]
        cases_of_table += [out.case for out in table.left_out]
        for case_of_table in cases_of_table:
            if not models or case_of_table.model in models:
                benchmarks.add(case_of_table.benchmark)
    cases = []
    for case in full["cases"]:
        is_shown = not only_changed or case["verdict"] in DECIDED
        if is_shown and case["benchmark"] in benchmarks:
            cases.append(case)
    return {
        **full,
        "models": {title: each for title, each in full["models"].items() if title in titles},
        "cases": cases,
        "kernels": [each for each in full["kernels"] if each["benchmark"] in benchmarks],
    }


def _kernels_document(kernels: CaseKernels) -> dict[str, str]:
    case = kernels.row.case
    return {
        "benchmark": case.benchmark,
        "config": case.config,
        "metric": kernels.row.change.metric.key,
        "sentence": kernels.sentence,
        "base_job": kernels.base_job,
        "new_job": kernels.new_job,
    }


def markdown(
    report: UpgradeReport,
    kernels: Sequence[CaseKernels],
    subject: ReportSubject,
) -> str:
    """The report for a pull request or a mail."""
    overall, latency = report.overall, report.latency
    models = []
    for group in report.models:
        if group.answers:
            models.append((group.title, graded(group.answer), group.sentence))
    means = overall.means
    changed = latency.changed
    matched = plural(len(latency.rows), "matched case")
    parts = [
        f"# {subject.question}",
        subject.so_far,
        f"**{graded(overall.answer).capitalize()}.** {overall.sentence}",
        markdown_table(("Model", "Answer", "Why"), models),
        "## By family and mode",
        _families(report, means),
        f"## Latency: {len(changed)} of {matched} changed",
        markdown_table(
            ("Benchmark", "Config", "Base", "New", "Change", "Part that changed"),
            map(_case_cells, changed[:_MAX_ROWS]),
        ),
    ]
    if kernels:
        cells = []
        for each in kernels:
            texts = [each.text, *(change.text for change in each.known_changes)]
            cells.append((each.row.case.benchmark, each.row.case.config, " ".join(texts)))
        parts.append("## Which kernels")
        parts.append(markdown_table(("Benchmark", "Config", "Kernels"), cells))
        parts.append(NEAREST_MEDIAN)
    if latency.left_out:
        left_out = [(out.case.benchmark, out.case.config, out.text) for out in latency.left_out]
        parts.append(f"## Left out: {plural(len(left_out), 'case')}")
        parts.append(markdown_table(("Benchmark", "Config", "Why"), left_out))
    parts += [subject.differences, *METHOD, f"From {subject.address}"]
    return "\n\n".join(filter(None, parts)) + "\n"


def _families(report: UpgradeReport, means: Sequence[MetricMean]) -> str:
    rows = []
    for group in report.families:
        cells = [group.name, group.mode, str(group.steps.matched if group.steps else 0)]
        for overall in means:
            mean = group.mean_of(overall.key)
            cells.append(in_words(mean.mean).text if mean else "–")
        rows.append(cells)
    names = [mean.name.capitalize() for mean in means]
    return markdown_table(("Family", "Mode", "Cases", *names), rows)


def _case_cells(row: ComparisonRow) -> tuple[str, ...]:
    base, new = (quantity(METRICS["latency_ms"], level) for level in row.levels)
    change = in_words(row.change).text
    return row.case.benchmark, row.case.config, base, new, change, row.changed_part
