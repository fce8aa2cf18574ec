"""Release candidates: each is compared with the last release, once on each machine.

A track of the kind `test` asks for it. Its machines are the ones that it names, or all; a machine
takes part while it has a living worker. When the comparison has ended, its verdicts are a message
(notifications/services/candidates.py).
"""

from contextlib import suppress
from datetime import datetime

import structlog
from django.db import transaction

from dashboard.catalog.core.plan import PlanError, Selection
from dashboard.catalog.services.builds import Discovery, discover_candidates
from dashboard.comparisons.selectors import candidates
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.models import Comparison, Machine, TorchBuild, Track
from dashboard.runs.selectors.offers import living_machines
from dashboard.runs.services.tracks import NoBuild, resolve

logger = structlog.get_logger(__name__)


def discover() -> Discovery | None:
    """Ask the indexes for the newest release and its candidates; None, and none is asked, where no
    track follows them.
    """
    if not Track.objects.filter(kind=Track.Kind.TEST).exists():
        return None
    discovery = discover_candidates()
    for problem in discovery.problems:
        logger.warning("no release candidates looked for", why=problem)
    return discovery


def start_due(*, now: datetime) -> list[Comparison]:
    """Start what no machine has compared yet."""
    started = []
    for track in Track.objects.filter(kind=Track.Kind.TEST).prefetch_related("machines"):
        with suppress(NoBuild):
            resolve(track=track, now=now)  # where it stands, for pages
        for machine in _machines_of(track, now):
            for candidate in candidates.current():
                comparison = _start(track, candidate, machine)
                if comparison is not None:
                    started.append(comparison)
    return started


def _machines_of(track: Track, now: datetime) -> list[Machine]:
    living = living_machines(now)
    named = track.machines.all()
    return list(living.filter(pk__in=[machine.pk for machine in named]) if named else living)


def _start(track: Track, candidate: TorchBuild, machine: Machine) -> Comparison | None:
    """None where it was started before, or cannot be."""
    if _is_started(track, candidate, machine):
        return None
    base = candidates.last_release(candidate, machine)
    if base is None:
        return None
    try:
        with transaction.atomic():
            # Of two schedulers the second finds the comparison of the first
            Track.objects.select_for_update(no_key=True).get(pk=track.pk)
            if _is_started(track, candidate, machine):
                return None
            comparison = start_comparison(
                base=base.label,
                new=candidate.label,
                machine=machine.key,
                selection=Selection(families=tuple(track.families)),
            )
            comparison.track = track
            comparison.save(update_fields=["track"])
            return comparison
    except PlanError as problem:
        logger.warning(
            "candidate not compared", build=str(candidate), machine=str(machine), why=str(problem)
        )
        return None


def _is_started(track: Track, candidate: TorchBuild, machine: Machine) -> bool:
    started = Comparison.objects.filter(track=track, new=candidate, machine=machine)
    return started.exists()
