"""The configs of one benchmark over the releases that were measured."""

from collections.abc import Mapping, Sequence

from django.db.models import F

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.matching import CaseMeasurements, Side
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.models import Benchmark, Run, TorchBuild
from dashboard.trends.core.release_lines import Release, ReleaseLine, measured_labels


def release_lines(
    sides: Mapping[int, Side], labels: Mapping[int, str], benchmark: str, metric: str
) -> list[ReleaseLine]:
    """The configs of one benchmark over builds, each in its newest benchmark version.

    labels: of the builds by id, oldest first.
    """
    lines: dict[str, ReleaseLine] = {}
    for build, label in labels.items():
        for key, measured in sides[build].items():
            if key.benchmark != benchmark:
                continue
            position = measured.case.place[1]
            line = lines.setdefault(key.config, ReleaseLine(key.config, position))
            line.releases.append(_release(label, measured, metric))
    return sorted(lines.values(), key=lambda line: line.position)


def _release(build: str, measured: CaseMeasurements, metric: str) -> Release:
    status = ", ".join(sorted(measured.failures))
    samples = measured.newest(metric)
    if samples is None:
        return Release(build, None, status=status)
    return Release(build, samples.level, samples.job, status, samples.version)


def releases_of(
    benchmark: Benchmark, machine: int, metrics: Sequence[str]
) -> tuple[list[ReleaseLine], list[str]]:
    """Every config of a benchmark over all builds that a machine measured, and the builds' labels.

    metrics: that of the lines first; a build that has any of them has a label, so that charts
        above each other share their builds. A build comes before its variants. Five queries.
    """
    runs = Run.objects.filter(machine=machine, jobs__benchmark=benchmark)
    rows = (
        TorchBuild.objects.filter(pk__in=runs.values("build"))
        .order_by(F("base").asc(nulls_first=True), "label")
        .values_list("pk", "label", "version")
    )
    by_version = sorted(rows, key=lambda row: version_order(row[2]))
    labels = {pk: label for pk, label, _ in by_version}

    sides = by_build(SideSource(machine, benchmark=benchmark.pk), labels, metrics)
    by_metric = [release_lines(sides, labels, benchmark.name, metric) for metric in metrics]
    measured = set().union(*map(measured_labels, by_metric))
    return by_metric[0], [label for label in labels.values() if label in measured]
