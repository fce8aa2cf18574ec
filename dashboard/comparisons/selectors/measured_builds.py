"""Which builds were measured where."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.db.models.functions import Coalesce

from dashboard.catalog.core.versions import version_order
from dashboard.models import Job, Purpose, Run


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """A build that was measured on a machine for a track. base: of a variant the build that it
    varies. adopted: it, or that one, is an interpreter that a worker found. at: when it was last
    requested. own: how many of the runs were not imported.
    """

    build: int
    label: str
    base: int | None
    adopted: bool
    version: str
    git_sha: str
    released_on: date | None
    channel: str
    machine: int
    machine_key: str
    device_kind: str
    machine_hidden: bool
    track: int
    track_key: str
    track_hidden: bool
    at: datetime
    own: int


# Of how many builds the defaults are chosen: the newest
NEWEST_BUILDS = 12
_PASSED = """
    SELECT DISTINCT machine_id, build_id, benchmark_id, config_id FROM dashboard_buildlevel
    WHERE machine_id = ANY(%s) AND build_id = ANY(%s) AND metric = 'latency_ms'
"""
# Of each case, the processes that both builds have in sessions that they share, of the build that
# has fewer there
_IN_TURN = """
    SELECT build_id, array_agg(processes) FROM (
        SELECT other.build_id, SUM(LEAST(own.count, other.count)) AS processes
        FROM dashboard_buildlevel own
        JOIN dashboard_buildlevel other
            USING (series_id, benchmark_version, libraries, device, session)
        WHERE own.machine_id = %s AND own.build_id = %s AND own.metric = 'latency_ms'
            AND own.session <> '' AND other.build_id = ANY(%s)
        GROUP BY other.build_id, series_id
    ) AS cases
    GROUP BY build_id
"""


def measured_builds() -> list[MeasuredBuild]:
    """Every build × machine × track of which a job ended, the newest first. One query."""
    fields = (
        "build",
        "build__label",
        "build__base",
        "adopted",
        "build__version",
        "build__git_sha",
        "build__released_on",
        "build__channel",
        "machine",
        "machine__key",
        "machine__device_kind",
        "machine__hidden",
        "track",
        "track__key",
        "track__hidden",
    )
    ended = Job.objects.filter(run=OuterRef("pk"), finished_at__isnull=False).exclude(status="")
    adopted = Coalesce("build__base__adopted", "build__adopted")
    places = Run.objects.filter(Exists(ended)).annotate(adopted=adopted).values_list(*fields)
    own = Count("pk", filter=~Q(purpose=Purpose.IMPORT))
    return [
        MeasuredBuild(*row)
        for row in places.annotate(at=Max("created_at"), own=own).order_by("-at")
    ]


def default_machine(measured: Sequence[MeasuredBuild]) -> str:
    """The machine with the most cases that passed on two builds or more. One query.

    One that measured here comes before one whose results were all imported.
    """
    listed = visible(measured) or measured
    keys = list(dict.fromkeys(tested.machine_key for tested in listed))
    if len(keys) == 1:
        return keys[0]
    newest = []
    for key in keys:
        newest += builds_by_version(listed, key, "")[:NEWEST_BUILDS]
    cases = passed_cases(newest)

    def rank(key: str) -> tuple[bool, bool, int]:
        builds = Counter[tuple[int, int]]()
        for tested in newest:
            if tested.machine_key == key:
                builds.update(cases.get((tested.machine, tested.build), ()))
        matched = sum(number > 1 for number in builds.values())
        is_own = any(tested.own for tested in listed if tested.machine_key == key)
        return matched > 0, is_own, matched

    return max(keys, key=rank)


def passed_cases(
    measured: Sequence[MeasuredBuild],
) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """(machine, build) -> (benchmark, config) of the cases that passed there. One query."""
    cases: dict[tuple[int, int], set[tuple[int, int]]] = {}
    machines = list({tested.machine for tested in measured})
    builds = list({tested.build for tested in measured})
    with connection.cursor() as cursor:
        cursor.execute(_PASSED, [machines, builds])
        for machine, build, benchmark, config in cursor.fetchall():
            cases.setdefault((machine, build), set()).add((benchmark, config))
    return cases


def processes_in_turn(
    tested: MeasuredBuild, others: Sequence[MeasuredBuild]
) -> dict[int, list[int]]:
    """Build -> how many processes of each case were measured in turn with `tested`, on its machine;
    without cases and builds that never were. One query.
    """
    builds = [other.build for other in others]
    with connection.cursor() as cursor:
        cursor.execute(_IN_TURN, [tested.machine, tested.build, builds])
        return dict(cursor.fetchall())


def visible(measured: Sequence[MeasuredBuild]) -> list[MeasuredBuild]:
    """What choices offer: without hidden machines and tracks."""
    return [tested for tested in measured if not (tested.machine_hidden or tested.track_hidden)]


def builds_by_version(
    measured: Sequence[MeasuredBuild], machine: str, track: str
) -> list[MeasuredBuild]:
    """What was measured there, one for each build, the newest version first. track: empty for
    all that are not hidden.
    """
    there = {}
    for tested in reversed(measured):
        is_chosen = tested.track_key == track if track else not tested.track_hidden
        if tested.machine_key == machine and is_chosen:
            there[tested.build] = tested
    return sorted(
        there.values(), key=lambda tested: (version_order(tested.version), tested.at), reverse=True
    )


def labels_newest_first(measured: Sequence[MeasuredBuild]) -> list[str]:
    """The builds by version."""
    versions = {tested.label: tested.version for tested in measured}
    return sorted(versions, key=lambda label: version_order(versions[label]), reverse=True)
