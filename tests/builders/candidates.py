"""A test index, a track that follows it, and a candidate whose comparison a test can end."""

from typing import Any

from django.utils import timezone

from dashboard.comparisons.services import candidates
from dashboard.comparisons.services.comparisons import settle
from dashboard.models import Comparison, TorchBuild, Track
from tests.builders import site
from tests.builders.comparisons import comparison_jobs, deliver_result

RELEASE, CANDIDATE = "2.13.0+cpu", "2.14.0rc1+cpu"


def following_track(**fields: Any) -> Track:
    """The track that follows release candidates."""
    return Track.objects.create(key="test", kind=Track.Kind.TEST, **fields)


def candidate(label: str = CANDIDATE, **fields: Any) -> TorchBuild:
    """A build of the test channel."""
    defaults = {"version": label, "channel": TorchBuild.Channel.TEST}
    return TorchBuild.objects.create(label=label, **(defaults | fields))


def started(families: list[str] | None = None) -> Comparison:
    """A candidate that a living worker compares with a release: the MLP, eager and compiled."""
    site.living_worker()
    site.build(RELEASE)
    candidate()
    following_track(families=families or ["toy"])
    (comparison,) = candidates.start_due(now=timezone.now())
    return comparison


def ended(latency: float) -> Comparison:
    """The same, when its processes have measured this latency on the candidate and 2 ms on the
    release, and what was suspected was measured again.
    """
    comparison = started()
    for _ in range(2):
        for job in comparison_jobs(comparison):
            if job.finished_at is None:
                is_release = job.run.build_id == comparison.base_id
                deliver_result(job, 2.0 if is_release else latency)
        settle(comparison_id=comparison.pk)
    comparison.refresh_from_db()
    return comparison
