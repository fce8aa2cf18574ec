"""Release candidates: when a comparison has ended, its verdicts go to those whose rules ask for it.

Each comparison is considered once. One that a person cancelled says nothing, and is not sent.
"""

from datetime import datetime

import structlog
from django.db import transaction

from dashboard.comparisons.selectors import candidates as compared
from dashboard.models import Comparison, Delivery, Rule, RunState
from dashboard.notifications.core.rules import selects_candidate
from dashboard.notifications.selectors import candidates, messages

logger = structlog.get_logger(__name__)


def enqueue_candidates(*, now: datetime) -> int:
    """Match the comparisons that have ended against the rules; how many deliveries were made."""
    made = 0
    for comparison_id in list(compared.ended().values_list("pk", flat=True)):
        try:
            made += _enqueue(comparison_id, now)
        except Exception:  # it is tried again, and does not keep other messages waiting
            logger.exception("candidate could not be reported", comparison=comparison_id)
    return made


def _enqueue(comparison_id: int, now: datetime) -> int:
    with transaction.atomic():
        waiting = Comparison.objects.select_for_update(skip_locked=True, of=("self",))
        comparison = waiting.filter(pk=comparison_id, considered_at=None).first()
        if comparison is None:
            return 0
        comparison.considered_at = now
        comparison.save(update_fields=["considered_at"])
        if comparison.runs.filter(state=RunState.CANCELLED).exists():
            return 0
        channels = _channels(comparison)
        new = []
        for channel in sorted(channels):
            new.append(Delivery(channel_id=channel, comparison=comparison, next_at=now))
        return len(Delivery.objects.bulk_create(new, ignore_conflicts=True))


def _channels(comparison: Comparison) -> set[int]:
    """Every channel of every rule that selects it, each once."""
    facts = candidates.facts_of(comparison)
    rules = Rule.objects.filter(enabled=True, when=Rule.When.AT_ONCE)
    channels: set[int] = set()
    for rule in rules.prefetch_related("channels", "machines", "tracks"):
        if selects_candidate(messages.selection_of(rule), facts):
            channels |= {channel.pk for channel in rule.channels.all()}
    return channels
