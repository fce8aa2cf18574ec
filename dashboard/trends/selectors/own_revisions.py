"""Revisions of an own model side by side: what each of them measured on the same build."""

from dataclasses import dataclass

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import MatchedCase, Matches
from dashboard.comparisons.core.tables import judge_together
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.judgement.changes import Change
from dashboard.models import BuildLevel, OwnRevision
from dashboard.trends.selectors.series_selection import SeriesSelection

SHOWN_REVISIONS = 4  # the newest
SHOWN_ROWS = 12


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One config on one build and set of libraries: only the model's file differs.

    samples: of each shown revision; None where it was not measured there.
    change: between the two newest of them, judged as a comparison judges two builds.
    """

    config: str
    build: str
    samples: list[CaseSamples | None]
    change: Change


@dataclass(frozen=True, slots=True)
class RevisionTable:
    """revisions: the newest, oldest first. rows: where two of them were measured."""

    revisions: list[OwnRevision]
    rows: list[RevisionRow]


def side_by_side(selection: SeriesSelection) -> RevisionTable | None:
    """The revisions of an own model; None where there is only one. At most eight queries."""
    newest_first = selection.benchmark.revisions.order_by("-number")
    revisions = list(newest_first[:SHOWN_REVISIONS])[::-1]
    if len(revisions) < 2 or selection.place is None:
        return None
    numbers = [revision.number for revision in revisions]
    levels = BuildLevel.objects.filter(
        series__in=[series.pk for series in selection.series], benchmark_version__in=numbers
    )
    newest_builds = levels.order_by("-build__created_at").values_list("build", "build__label")
    labels = dict(newest_builds)
    source = SideSource(
        selection.place.machine.pk,
        track=selection.place.track.pk,
        benchmark=selection.benchmark.pk,
    )
    key = selection.metric.key
    matches, shown = {}, {}
    for build, side in by_build(source, labels, [key], to_pair=True).items():
        for measured in side.values():
            by_libraries: dict[object, dict[int, CaseSamples]] = {}
            for samples in measured.samples.get(key, []):
                of_set = by_libraries.setdefault(samples.libraries, {})
                of_set[samples.version] = samples
            for libraries, by_number in by_libraries.items():
                compared = [number for number in numbers if number in by_number]
                if measured.case.config in selection.configs and len(compared) > 1:
                    before, after = (by_number[number] for number in compared[-2:])
                    place = labels[build], measured.case.config, libraries
                    case = MatchedCase(measured.case, before, after)
                    matches[place] = Matches(selection.metric, [case], [])
                    shown[place] = [by_number.get(number) for number in numbers]
    tables, _ = judge_together(matches)
    rows = []
    for place, table in tables.items():
        label, config, _ = place
        rows.append(RevisionRow(config, label, shown[place], table.rows[0].change))
    return RevisionTable(revisions, rows[:SHOWN_ROWS])
