"""Rows of the map of a track: what the detector found in each of its newest builds. Pure."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import GroupName
from dashboard.home.core.change_map import (
    FIRST,
    MapCell,
    MapRow,
    Mark,
    compiled_cases,
    in_order,
    row_of,
)
from dashboard.judgement.changes import Change, Verdict


class Finding(NamedTuple):
    """Change of level that the detector found in a series, at a place in the builds.

    what: "step" or a mark. name: of the metric. change: None of a status. alert: its group.
    """

    model: GroupName
    place: int
    what: str
    name: str
    verdict: Verdict
    change: Change | None
    base: str
    alert: int


def night_rows(
    builds: Sequence[str],
    sides: Sequence[Side],
    findings: Sequence[Finding],
    watched: Collection[GroupName],
    starred: Collection[str] = (),
) -> list[MapRow]:
    """List the models of a track, each build with what the detector found there.

    watched: models of which the detector reads a step: elsewhere its silence says nothing.
    """
    by_place: dict[tuple[GroupName, int], list[Finding]] = {}
    for finding in findings:
        by_place.setdefault((finding.model, finding.place), []).append(finding)
    rows = []
    for name, on_builds in compiled_cases(sides).items():
        cells: list[MapCell | str | None] = [None] * len(builds)
        for place, measured in on_builds.items():
            cells[place] = FIRST
            of_cell = by_place.get((name, place), [])
            if of_cell or name in watched:
                has_failed = all(not each.samples for each in measured)
                cells[place] = _night(name, builds[place], of_cell, has_failed)
        rows.append(row_of(name, cells, on_builds))
    return in_order(rows, starred)


def _night(name: GroupName, build: str, found: Sequence[Finding], has_failed: bool) -> MapCell:
    """The largest change of a step; the other findings, and a failure, as marks."""
    steps = [each for each in found if each.what == "step" and each.change]
    steps.sort(key=lambda each: -abs(each.change.effect) if each.change else 0)
    marks = {}
    if has_failed:
        marks["failure"] = Mark("failure", "worse", "")
    for each in found:
        if each.what != "step":
            marks.setdefault(each.what, Mark(each.what, each.verdict, each.base, each.change))
    alert = next((each.alert for each in [*steps, *found]), None)
    base = found[0].base if found else ""
    if not steps:
        return MapCell(base, build, *name, None, "same", marks=[*marks.values()], alert=alert)
    verdicts = {each.verdict for each in steps}
    return MapCell(
        base,
        build,
        *name,
        steps[0].change,
        "mixed" if len(verdicts) > 1 else steps[0].verdict,
        steps[0].change.grade if steps[0].change else None,
        steps[0].name,
        [*marks.values()],
        alert=alert,
    )
