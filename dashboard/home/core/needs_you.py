"""Changes that somebody should decide about on a machine, the dearest first. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from dashboard.alerts.core.costs import PAID, Paid
from dashboard.catalog.core.versions import short_label
from dashboard.home.core.change_map import MapCell, MapColumn, MapRow
from dashboard.judgement.words import first_of
from dashboard.language.metrics import METRICS
from dashboard.language.wording import plural, quantity

_STANDS = 0.5  # of a change's milliseconds that the newest build still has


@dataclass(frozen=True, slots=True)
class Need:
    """Something that got worse.

    model, mode: whose; empty of several. size: "+48 %". new: the build, without its flavour.
    weight: what it takes more of, in milliseconds or percent; cost: the same in words. share: of
    the old level what the new one is, for the bars.
    """

    paid: Paid
    title: str
    size: str
    new: str
    is_certain: bool
    weight: float
    cost: str = ""
    note: str = ""
    model: str = ""
    mode: str = ""
    share: float = 0.0
    alert: int | None = None
    state: str = ""
    cell: MapCell | None = None


def in_order(needs: Sequence[Need], starred: Collection[str]) -> list[Need]:
    """Sort by what is paid, then by how much × how sure × whether a person starred the model."""

    def weight(need: Need) -> float:
        return need.weight * (1 if need.is_certain else 0.5) * (2 if need.model in starred else 1)

    return sorted(needs, key=lambda need: (PAID.index(need.paid), -weight(need)))


def needs_of_map(
    columns: Sequence[MapColumn], rows: Sequence[MapRow], alerts: Sequence[Need]
) -> list[Need]:
    """List the slower steps of which no alert stands, and the starts of the newest build."""
    noted = {(need.model, need.mode, need.new) for need in alerts}
    needs = []
    for row in rows:
        for need in _slower_steps(row):
            if (need.model, need.mode, need.new) not in noted:
                needs.append(need)
    return [*needs, *_slower_starts(columns, rows)]


def _slower_steps(row: MapRow) -> Iterator[Need]:
    """Yield the changes for the worse that the newest measured build still has."""
    levels = [level for level in row.levels if level is not None]
    for place, cell in enumerate(row.cells):
        if not isinstance(cell, MapCell) or not cell.change or cell.verdict != "worse":
            continue
        need = Need(
            "step",
            row.title,
            f"{cell.text} %",
            short_label(cell.new),
            cell.grade == "certain",
            cell.change.amount,
            model=row.name,
            mode=row.mode,
            cell=cell,
        )
        before = [level for level in row.levels[:place] if level is not None]
        after = row.levels[place]
        if row.metric == "latency_ms" and before and after:
            more_ms = levels[-1] - before[-1]
            if more_ms < _STANDS * (after - before[-1]) or more_ms <= 0:
                continue
            cost = f"+{quantity(METRICS[row.metric], more_ms)} a step"
            need = replace(need, weight=more_ms, cost=cost, share=levels[-1] / before[-1])
        yield need


def _slower_starts(columns: Sequence[MapColumn], rows: Sequence[MapRow]) -> Iterator[Need]:
    """Yield the starts that the newest build made longer, as one."""
    slower = []
    for row in rows:
        cell = row.cells[-1]
        if isinstance(cell, MapCell):
            slower += [
                (mark.change, row.title, replace(cell, base=mark.since))
                for mark in cell.marks
                if mark.what == "start" and mark.verdict == "worse" and mark.change
            ]
    if not slower:
        return
    slower.sort(key=lambda each: -each[0].amount)
    least, most = round(slower[-1][0].amount), round(slower[0][0].amount)
    yield Need(
        "start",
        f"slower in {columns[-1].name}",
        plural(len(slower), "start"),
        "",
        any(change.is_certain for change, _, _ in slower),
        slower[0][0].amount,
        f"+{least} to +{most} %" if least != most else f"+{most} %",
        f"{first_of([title for _, title, _ in slower])}.",
        cell=slower[0][2],
    )
