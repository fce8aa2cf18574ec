"""Which builds were measured where."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.db.models.functions import Coalesce

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.block_effects import Block
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
    SELECT machine_id, build_id, benchmark_id, config_id, device, session, SUM(count)
    FROM dashboard_buildlevel
    WHERE machine_id = ANY(%s) AND build_id = ANY(%s) AND metric = 'latency_ms'
    GROUP BY machine_id, build_id, benchmark_id, config_id, device, session
"""
# (benchmark, config) -> how many processes of the case passed in each block
PassedCases = dict[tuple[int, int], Counter[Block]]


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
                builds.update(cases.get((tested.machine, tested.build), {}).keys())
        matched = sum(number > 1 for number in builds.values())
        is_own = any(tested.own for tested in listed if tested.machine_key == key)
        return matched > 0, is_own, matched

    return max(keys, key=rank)


def passed_cases(measured: Sequence[MeasuredBuild]) -> dict[tuple[int, int], PassedCases]:
    """(machine, build) -> the cases that passed there. One query."""
    cases: dict[tuple[int, int], PassedCases] = {}
    machines = list({tested.machine for tested in measured})
    builds = list({tested.build for tested in measured})
    with connection.cursor() as cursor:
        cursor.execute(_PASSED, [machines, builds])
        for machine, build, benchmark, config, *block, processes in cursor.fetchall():
            of_build = cases.setdefault((machine, build), {})
            of_build.setdefault((benchmark, config), Counter())[Block(*block)] = processes
    return cases


def processes_in_turn(base: PassedCases, new: PassedCases) -> int:
    """How many processes of both sides were measured in turn, in all cases: of each case and block
    those of the side that has fewer.
    """
    shared = 0
    for case in base.keys() & new.keys():
        blocks = base[case] & new[case]  # the smaller count of each
        shared += sum(count for block, count in blocks.items() if block.session)
    return shared


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
