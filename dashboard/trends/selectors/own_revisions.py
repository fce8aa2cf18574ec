"""Revisions of an own model side by side: what each of them measured on the same build."""

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.comparisons.core.block_effects import Block
from dashboard.comparisons.core.case_samples import CaseSamples, pool_samples
from dashboard.comparisons.core.metric_effects import Effect, estimate_effects
from dashboard.comparisons.selectors.versions import samples_of_block
from dashboard.models import BuildLevel, OwnRevision
from dashboard.trends.selectors.series_selection import SeriesSelection

SHOWN_REVISIONS = 4  # the newest
SHOWN_ROWS = 12
Place = tuple[str, str, str, str]  # config, build, device, libraries


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One config on one build, device and set of libraries: only the model's file differs.

    samples: of each shown revision; None where it was not measured there.
    effect: between the two newest of them, judged as a comparison judges two builds: without
        devices and sessions that both share there is no verdict.
    """

    config: str
    build: str
    device: str
    samples: list[CaseSamples | None]
    effect: Effect


@dataclass(frozen=True, slots=True)
class RevisionTable:
    """revisions: the newest, oldest first. rows: where two of them were measured."""

    revisions: list[OwnRevision]
    rows: list[RevisionRow]


def side_by_side(selection: SeriesSelection) -> RevisionTable | None:
    """The revisions of an own model; None where there is only one. At most two queries."""
    newest_first = selection.benchmark.revisions.order_by("-number")
    revisions = list(newest_first[:SHOWN_REVISIONS])[::-1]
    if len(revisions) < 2:
        return None
    numbers = [revision.number for revision in revisions]
    levels = BuildLevel.objects.order_by("-build__created_at").filter(
        series__in=[series.pk for series in selection.series], benchmark_version__in=numbers
    )
    places = _samples_by_place(levels.select_related("build", "series__config"))
    compared = {place: measured for place, measured in places.items() if len(measured) > 1}
    pairs = []
    for measured in compared.values():
        before, after = sorted(measured)[-2:]
        pairs.append((measured[before], measured[after]))
    effects = estimate_effects(pairs, selection.metric)
    rows = []
    for ((config, build, device, _), measured), effect in zip(
        compared.items(), effects, strict=True
    ):
        shown = [measured.get(number) for number in numbers]
        rows.append(RevisionRow(config, build, device, shown, effect))
    return RevisionTable(revisions, rows[:SHOWN_ROWS])


def _samples_by_place(levels: Iterable[BuildLevel]) -> dict[Place, dict[int, CaseSamples]]:
    """Of each place the samples of each revision, of all its sessions."""
    places: dict[Place, dict[int, CaseSamples]] = {}
    for level in levels:
        place = level.series.config.name, level.build.label, level.device, level.libraries
        samples = samples_of_block(
            level.benchmark_version,
            level.libraries,
            Block(level.device, level.session),
            level.count,
            level.log_mean,
            level.log_m2,
            level.within,
            level.least,
            level.most,
            level.mean,
            str(level.job),
        )
        of_place = places.setdefault(place, {})
        earlier = of_place.get(level.benchmark_version)
        if earlier:
            samples = pool_samples([earlier, samples])
        of_place[level.benchmark_version] = samples
    return places
