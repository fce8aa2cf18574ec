"""Cases × builds: what each build measured of each case, and its change against the base. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import ComparedCase, Key, Side
from dashboard.comparisons.core.tables import ComparisonRow, Table
from dashboard.judgement.changes import DECIDED
from dashboard.judgement.words import SIGNS, graded, in_words
from dashboard.language.metrics import Metric
from dashboard.language.states import label
from dashboard.language.wording import plural, quantity
from dashboard.trends.core.heat import change_heat


@dataclass(frozen=True, slots=True)
class VersionCell:
    """A case on one build: what it says, how warm (−4 … 4), what hover adds.

    size: of a change, by which rows are sorted; else 0.
    """

    text: str
    heat: int
    about: str
    is_failed: bool = False
    size: float = 0.0


VersionRow = tuple[ComparedCase, list[VersionCell | None]]  # a case, and a cell for each build


def version_rows(
    cases: Sequence[ComparedCase], columns: Sequence[tuple[Side, Table | None]], metric: Metric
) -> list[VersionRow]:
    """These cases on each build.

    columns: what each build measured, and how that compares with the base; None: it is the base,
    whose column has values.
    """
    cells = [_column(side, table, metric) for side, table in columns]
    rows = []
    for case in cases:
        rows.append((case, [column.get(case.key) for column in cells]))
    return rows


def _column(side: Side, table: Table | None, metric: Metric) -> dict[Key, VersionCell]:
    """Fill the build's cells: a case's change, else its value, else how the build itself failed."""
    changes, reasons = {}, {}
    if table:
        changes = {row.case.key: row for row in table.rows}
        reasons = {excluded.case.key: excluded.text for excluded in table.left_out}
    cells = {}
    for key, measured in side.items():
        statuses = sorted(measured.failures)
        failures, words = ", ".join(statuses), ", ".join(map(label, statuses))
        samples = measured.newest(metric.key)
        if key in changes:
            cells[key] = _change_cell(changes[key], failures)
        elif samples:
            cells[key] = _value_cell(samples, metric, failures, reasons.get(key, ""))
        elif failures:
            cells[key] = VersionCell(words, 0, failures, is_failed=True)
        elif measured.samples:
            cells[key] = VersionCell("no value", 0, f"no {metric.label.lower()} here")
    return cells


def _value_cell(samples: CaseSamples, metric: Metric, failures: str, reason: str) -> VersionCell:
    about = [plural(samples.n, "process", "processes")]
    if reason:
        about.append(f"not compared: {reason}")
    return VersionCell(quantity(metric, samples.value), 0, _with_failures(about, failures))


def _change_cell(row: ComparisonRow, failures: str) -> VersionCell:
    change = row.change
    words = in_words(change).text
    about = [words, graded(change), plural(row.new.n, "process", "processes")]
    if change.basis == "none":
        about.append("not measured in turn")
    is_changed = change.verdict in DECIDED
    return VersionCell(
        f"{SIGNS[change.verdict]} {words.partition(' (')[0]}",
        _heat(row) if is_changed else 0,
        _with_failures(about, failures),
        size=row.size if is_changed else 0.0,
    )


def changed_first(
    rows: Sequence[VersionRow],
) -> tuple[list[VersionRow], int]:
    """The rows with those that changed, or may have, before the others, the largest first; and how
    many these are.
    """
    sizes = [max((cell.size for cell in cells if cell), default=0.0) for _, cells in rows]
    order = sorted(range(len(rows)), key=lambda place: -sizes[place])
    return [rows[place] for place in order], sum(size > 0 for size in sizes)


def _with_failures(about: list[str], failures: str) -> str:
    """Join the hover text, and how other jobs of the same case ended on this build."""
    if failures:
        about = [*about, f"other jobs ended in {failures}"]
    return "; ".join(about)


def _heat(row: ComparisonRow) -> int:
    change = row.change
    if not change.is_ratio:  # of a value that was 0 there is no share
        least = 1 if change.verdict == "better" else -1
        return change_heat(change.metric, row.base.mean, row.new.mean) or least
    return change_heat(change.metric, 1.0, 1 + change.amount / 100)
