"""Has detection judge what another system measured: a second opinion on an imported track.

A track is judged only where somebody asked for it. Its series are put on the detection queue when
an import is complete: half of a history shows changes that the whole does not.
"""

from collections.abc import Collection

from django.db import transaction

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import Purpose, Run, Schedule, Series, Track
from dashboard.results.services import detection_queue


def require_judgeable(*, key: str) -> None:
    """Raise ActionNotAllowed where the track has results that were measured here, or will have.

    Detection reads either those or imports: mixed, one would be taken for a change of the other.
    """
    measured = Run.objects.filter(track__key=key).exclude(purpose=Purpose.IMPORT)
    scheduled = Schedule.objects.filter(track__key=key)
    # Imports make tracks of the kind local; every other kind has builds that are measured here
    followed = Track.objects.filter(key=key).exclude(kind=Track.Kind.LOCAL)
    if measured.exists() or scheduled.exists() or followed.exists():
        raise ActionNotAllowed(
            f"Track {key} is for what is measured here, so its imports are not judged: import to a "
            "track of its own."
        )


def enqueue(*, key: str, series_ids: Collection[int], judge: bool) -> int:
    """After an import: put these series on the detection queue if their track is judged; how many.

    judge: it is from now on, and if it was not before, with its whole history.
    """
    with transaction.atomic():
        track = Track.objects.select_for_update().filter(key=key).first()
        if track is None or not (judge or track.judges_imports):
            return 0
        if not track.judges_imports:
            return start(track=track)
        of_track = Series.objects.filter(track=track, pk__in=series_ids)
        return _enqueue(list(of_track.values_list("pk", flat=True)))


def start(*, track: Track) -> int:
    """Have the track judged from its first result on; how many series that are.

    Raises ActionNotAllowed.
    """
    require_judgeable(key=track.key)
    track.judges_imports = True
    track.save(update_fields=["judges_imports"])
    return _enqueue(list(Series.objects.filter(track=track).values_list("pk", flat=True)))


def _enqueue(series_ids: Collection[int]) -> int:
    detection_queue.enqueue(series_ids=series_ids)
    return len(series_ids)
