"""The configs of one benchmark over the releases that were measured."""

from collections.abc import Mapping, Sequence

from django.db.models import F

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.metric_effects import pool_samples
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.models import Benchmark, Run, TorchBuild
from dashboard.trends.core.release_charts import Release, ReleaseLine


def release_lines(
    sides: Mapping[int, Side], builds: Sequence[tuple[int, str]], benchmark: str, metric: str
) -> list[ReleaseLine]:
    """The configs of one benchmark over builds, given as (id, label), oldest first; each in its
    newest benchmark version.
    """
    lines: dict[str, ReleaseLine] = {}
    for build, label in builds:
        for key, one in sides[build].items():
            if key.benchmark != benchmark:
                continue
            line = lines.setdefault(key.config, ReleaseLine(key.config, one.case.place[1]))
            parts = one.samples.get(metric, [])
            newest = max((part.version for part in parts), default=0)
            part = (
                pool_samples([part for part in parts if part.version == newest]) if parts else None
            )
            status = ", ".join(sorted(one.failures))
            line.releases.append(
                Release(label, part.level if part else None, part.job if part else "", status)
            )
    return sorted(lines.values(), key=lambda line: line.position)


def releases_of(
    benchmark: Benchmark, machine: int, metric: str
) -> tuple[list[ReleaseLine], list[str]]:
    """Every config of a benchmark over all builds that were measured on a machine, and their
    labels: a build before its variants. Five queries.
    """
    found = TorchBuild.objects.filter(
        pk__in=Run.objects.filter(machine=machine, jobs__benchmark=benchmark).values("build")
    )
    known = found.order_by(F("base").asc(nulls_first=True), "label").values_list(
        "pk", "label", "version"
    )
    builds = sorted(known, key=lambda build: version_order(build[2]))
    sides = by_build(
        SideSource(machine, benchmark=benchmark.pk), [pk for pk, *_ in builds], [metric]
    )
    lines = release_lines(sides, [(pk, label) for pk, label, _ in builds], benchmark.name, metric)
    shown = {release.build for line in lines for release in line.releases}
    return lines, [label for _, label, _ in builds if label in shown]
