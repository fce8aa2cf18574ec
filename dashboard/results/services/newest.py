"""Keeps at each series which build is its newest, and what that measured: the one answer of every
page, badge and call that says "newest".

The newest build is the last one by `build_order` that has data, whenever these were measured. Its
value is the mean of its processes under the newest version of the benchmark; where its last job did
not pass, that job's. A change is held against the build before of the same variant, under the same
version.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db import connection

from dashboard.catalog.core.versions import variant_of
from dashboard.results.core.level_sql import POOLED_LEVEL, student_t
from dashboard.results.selectors.build_order import in_order

Measured = tuple[int, int, int]  # series, build, version of the benchmark

_KNOWN = """
    SELECT id, track_id, newest_build_id, newest_version, previous_build_id
    FROM dashboard_series WHERE id = ANY(%s)
"""
_OF_VARIANTS = """
    SELECT DISTINCT series.id
    FROM unnest(%s::bigint[], %s::bigint[]) AS measured (series, build)
    JOIN dashboard_series AS series ON series.id = measured.series
    JOIN dashboard_torchbuild AS build ON build.id IN (measured.build, series.newest_build_id)
    WHERE position('~' IN build.label) > 0
"""
_IN_DATA = """
    SELECT DISTINCT series_id, build_id, benchmark_version
    FROM dashboard_datum AS datum
    WHERE series_id = ANY(%s) AND NOT EXISTS (
        SELECT FROM dashboard_invalidpoint AS invalid
        WHERE invalid.series_id = datum.series_id AND invalid.job_id = datum.job_id
    )
"""
_FORGET = """
    UPDATE dashboard_series
    SET newest_build_id = NULL, newest_version = 0, newest_status = '', newest_job_id = NULL,
        newest_at = NULL, newest_processes = 0, newest_value = NULL, newest_low = NULL,
        newest_high = NULL, previous_build_id = NULL, previous_value = NULL
    WHERE id = ANY(%s)
"""
# rank: place of the build in the order of its track. The interval is ln(value) ± the wider of what
# processes of the two builds differ by, pooled, and what the samples within a process say.
_UPDATE = f"""
    WITH candidate AS (
        SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::integer[], %s::integer[], %s::text[])
                      AS given (series, build, version, rank, variant)
    ), newest AS (
        SELECT DISTINCT ON (series) * FROM candidate ORDER BY series, rank DESC, version DESC
    ), level AS (
        SELECT chosen.series, chosen.rank, chosen.build, {POOLED_LEVEL}
        FROM (
            SELECT DISTINCT candidate.series, candidate.build, candidate.rank, newest.version
            FROM candidate JOIN newest USING (series, variant)
        ) AS chosen
        JOIN dashboard_buildlevel AS measured
             ON measured.series_id = chosen.series AND measured.build_id = chosen.build
                AND measured.benchmark_version = chosen.version
        GROUP BY chosen.series, chosen.rank, chosen.build
    ), before AS (
        SELECT DISTINCT ON (level.series) level.*
        FROM level JOIN newest ON newest.series = level.series AND level.rank < newest.rank
        ORDER BY level.series, level.rank DESC
    ), summary AS (
        SELECT newest.*, own.processes, own.value, before.build AS before_build,
               before.value AS before_value,
               own.processes - 1 + coalesce(before.processes - 1, 0) AS freedom,
               own.squares + coalesce(before.squares, 0) AS squares, own.within
        FROM newest
        LEFT JOIN level AS own ON own.series = newest.series AND own.rank = newest.rank
        LEFT JOIN before ON before.series = newest.series
    )
    UPDATE dashboard_series AS series
    SET newest_build_id = summary.build, newest_version = summary.version,
        newest_status = last.status, newest_job_id = last.job_id, newest_at = last.planned_at,
        newest_processes = coalesce(summary.processes, 0),
        newest_value = CASE WHEN last.status = 'pass' THEN coalesce(summary.value, last.value)
                            ELSE last.value END,
        newest_low = CASE WHEN is_single THEN last.low ELSE summary.value * exp(-reach) END,
        newest_high = CASE WHEN is_single THEN last.high ELSE summary.value * exp(reach) END,
        previous_build_id = summary.before_build, previous_value = summary.before_value
    FROM summary
    CROSS JOIN LATERAL (
        SELECT status, job_id, planned_at, value, low, high
        FROM dashboard_datum AS datum
        WHERE series_id = summary.series AND build_id = summary.build
              AND benchmark_version = summary.version AND NOT EXISTS (
                  SELECT FROM dashboard_invalidpoint AS invalid
                  WHERE invalid.series_id = datum.series_id AND invalid.job_id = datum.job_id
              )
        ORDER BY planned_at DESC, job_id DESC
        LIMIT 1
    ) AS last
    CROSS JOIN LATERAL (
        SELECT greatest({student_t("summary.freedom")}
                        * sqrt(summary.squares / nullif(summary.freedom, 0) / summary.processes),
                        1.959964 * sqrt(summary.within / summary.processes)),
               last.status <> 'pass' OR coalesce(summary.freedom, 0) = 0
    ) AS spread (reach, is_single)
    WHERE series.id = summary.series
"""  # noqa: S608 - made of constants


def add(measured: Collection[Measured]) -> None:
    """Bring the newest build up to date after these data were added; their levels are there.

    Call it in the transaction that wrote them, with the series' rows locked.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _OF_VARIANTS, [[each[0] for each in measured], [each[1] for each in measured]]
        )
        # A series keeps no older build of another variant
        of_variants = {pk for (pk,) in cursor.fetchall()}
    if of_variants:
        roll_up(series=of_variants)
    rest = [each for each in measured if each[0] not in of_variants]
    _choose(rest, {series for series, *_ in rest})


def roll_up(*, series: Iterable[int]) -> None:
    """Choose the newest build of these series again, from all their data that are valid.

    Call it in the transaction that changed or removed data, after `levels.roll_up`.
    """
    ids = [*series]
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [ids])
        cursor.execute(_IN_DATA, [ids])
        _choose(cursor.fetchall(), ids)


def _choose(measured: Iterable[Measured], series: Collection[int]) -> None:
    """Choose among the builds in `measured` and those that the series know."""
    candidates = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, [[*series]])
        tracks = {}
        for pk, track, newest, version, before in cursor.fetchall():
            tracks[pk] = track
            for build in filter(None, (newest, before)):
                candidates[pk].add((build, version))
        for pk, build, version in measured:
            candidates[pk].add((build, version))

        pairs = {(tracks[pk], build) for pk, builds in candidates.items() for build, _ in builds}
        places = {}
        for rank, each in enumerate(in_order(pairs)):
            places[each.track, each.build] = rank, variant_of(each.label)
        rows = []
        for pk in sorted(candidates):
            for build, version in candidates[pk]:
                rows.append((pk, build, version, *places[tracks[pk], build]))
        cursor.execute(_UPDATE, [[*column] for column in zip(*rows, strict=True)] or [[]] * 5)
