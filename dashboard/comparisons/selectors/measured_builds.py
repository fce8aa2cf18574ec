"""Builds that were measured, and where each was."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.db.models.functions import Coalesce

from dashboard.catalog.core.versions import variant_of, version_order
from dashboard.judgement.looks import CERTAIN_PAIRS
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
# Of the track and config that are named; where none is, no id has to be equal
_PASSED = """
    SELECT DISTINCT machine_id, build_id, benchmark_id, config_id FROM dashboard_buildlevel
    WHERE machine_id = ANY(%(machines)s) AND build_id = ANY(%(builds)s) AND metric = 'latency_ms'
        AND track_id = ALL(ARRAY(SELECT id FROM dashboard_track WHERE key = %(track)s))
        AND config_id = ALL(ARRAY(SELECT id FROM dashboard_config WHERE name = %(config)s))
"""
# Of each case, the processes that two builds have in blocks that they share, of the build that has
# fewer there: as many pairs as judgement.pairs.in_turn can find, and exactly so where the builds
# took turns. Rollups keep no order; this only chooses which builds a page opens on, and of imports
# that ran one after the other the page says so. A series is of one track, so where two are named
# there is none
_IN_TURN = """
    SELECT machine_id, base_id, new_id, array_agg(processes) FROM (
        SELECT own.machine_id, own.build_id AS base_id, other.build_id AS new_id,
            SUM(LEAST(own.count, other.count)) AS processes
        FROM dashboard_buildlevel own
        JOIN dashboard_buildlevel other
            USING (series_id, benchmark_version, libraries, device, session)
        WHERE own.machine_id = ANY(%(machines)s) AND own.build_id = ANY(%(builds)s)
            AND other.build_id = ANY(%(builds)s) AND own.build_id <> other.build_id
            AND own.metric = 'latency_ms' AND own.session <> ''
            AND own.track_id = ALL(
                ARRAY(SELECT id FROM dashboard_track WHERE key = ANY(%(tracks)s))
            )
            AND own.config_id = ALL(ARRAY(SELECT id FROM dashboard_config WHERE name = %(config)s))
        GROUP BY 1, 2, 3, series_id
        HAVING MAX(own.count + other.count) > 2 OR COUNT(*) > 1
    ) AS cases
    GROUP BY 1, 2, 3
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


def default_machine(measured: Sequence[MeasuredBuild], track: str = "", config: str = "") -> str:
    """The machine on which two builds took turns most often, up to the pairs that make a change
    certain; of equal ones the one that measured here, then that with the most matched cases. Two
    queries.

    track, config: count only what was measured for them; where nothing was measured for the track,
    any machine.
    """
    on_track = [tested for tested in measured if not track or tested.track_key == track]
    on_track = on_track or list(measured)
    listed = visible(on_track) or on_track
    keys = list(dict.fromkeys(tested.machine_key for tested in listed))
    if len(keys) == 1:
        return keys[0]
    newest = []
    for key in keys:
        newest += builds_by_version(listed, key, track)[:NEWEST_BUILDS]
    cases = passed_cases(newest, track, config)
    turns = Counter[int]()
    for (machine, *_), processes in processes_in_turn(newest, [track], config).items():
        counted = sum(min(each, CERTAIN_PAIRS) for each in processes)
        turns[machine] = max(turns[machine], counted)
    ids = {tested.machine_key: tested.machine for tested in newest}

    def rank(key: str) -> tuple[bool, int, bool, int]:
        builds = Counter[tuple[int, int]]()
        for tested in newest:
            if tested.machine_key == key:
                builds.update(cases.get((tested.machine, tested.build), ()))
        matched = sum(number > 1 for number in builds.values())
        is_own = any(tested.own for tested in listed if tested.machine_key == key)
        return matched > 0, turns[ids[key]], is_own, matched

    return max(keys, key=rank)


def passed_cases(
    measured: Sequence[MeasuredBuild], track: str, config: str
) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """(machine, build) -> (benchmark, config) of the cases that passed there. One query.

    track, config: empty for any.
    """
    cases: dict[tuple[int, int], set[tuple[int, int]]] = {}
    parameters: dict[str, Any] = {
        "machines": list({tested.machine for tested in measured}),
        "builds": list({tested.build for tested in measured}),
        "track": track,
        "config": config,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PASSED, parameters)
        for machine, build, *case in cursor.fetchall():
            cases.setdefault((machine, build), set()).add(tuple(case))
    return cases


def processes_in_turn(
    measured: Sequence[MeasuredBuild], tracks: Collection[str], config: str
) -> dict[tuple[int, int, int], list[int]]:
    """(machine, build, other build) -> how many processes of each case took turns there; without
    cases and builds that never did. One query.

    tracks: of both sides; they and config: empty for any.
    """
    parameters: dict[str, Any] = {
        "machines": list({tested.machine for tested in measured}),
        "builds": list({tested.build for tested in measured}),
        "tracks": list(tracks),
        "config": config,
    }
    with connection.cursor() as cursor:
        cursor.execute(_IN_TURN, parameters)
        return {(machine, build, other): each for machine, build, other, each in cursor.fetchall()}


def visible(measured: Sequence[MeasuredBuild]) -> list[MeasuredBuild]:
    """Keep the builds that choices offer: without hidden machines and tracks."""
    return [tested for tested in measured if not (tested.machine_hidden or tested.track_hidden)]


def builds_by_version(
    measured: Sequence[MeasuredBuild], machine: str, track: str
) -> list[MeasuredBuild]:
    """List what was measured there, one for each build, the newest version first. track: empty for
    all that are not hidden.
    """
    there = {}
    for tested in reversed(measured):
        is_chosen = tested.track_key == track if track else not tested.track_hidden
        if tested.machine_key == machine and is_chosen:
            there[tested.build] = tested
    return sorted(
        there.values(),
        key=lambda tested: (
            version_order(tested.version),
            not variant_of(tested.label),
            tested.at,
        ),
        reverse=True,
    )


def labels_newest_first(measured: Sequence[MeasuredBuild]) -> list[str]:
    """The builds by version, plain ones before their variants."""
    versions = {tested.label: tested.version for tested in measured}
    return sorted(
        versions,
        key=lambda label: (version_order(versions[label]), not variant_of(label)),
        reverse=True,
    )
