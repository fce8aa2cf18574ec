"""Content of a release candidate's message, and the facts that rules see of it."""

from django.conf import settings

from dashboard.comparisons.selectors import candidates, comparisons
from dashboard.models import Comparison, Job
from dashboard.notifications.core.rules import CandidateFacts
from dashboard.notifications.transports.compose_candidate import CandidateEntry


def entry_of(of: Comparison) -> CandidateEntry:
    """The verdicts are read when the message is made."""
    return CandidateEntry(
        base=of.base.label,
        new=of.new.label,
        machine=of.machine.key,
        track=of.track.key if of.track else None,
        url=f"{settings.SITE_URL}{of.get_absolute_url()}",
        differences=comparisons.differences(of),
        verdicts=candidates.verdicts(of),
    )


def facts_of(of: Comparison) -> CandidateFacts:
    """One query."""
    planned = Job.objects.filter(run__comparison=of).order_by()
    measured = set(planned.values_list("benchmark__family", "benchmark__model").distinct())
    return CandidateFacts(
        families={family for family, _ in measured},
        models={model for _, model in measured},
        machine=of.machine_id,
        track=of.track_id,
    )
