"""Has an alert measured again because a person asks for it: a first time, or further than the
system would have gone.

Every look of a confirmation has its part of the error, so that the new pairs are added to the
earlier ones. What is confirmed or acknowledged stays so until the new pairs say otherwise: nobody
is notified twice of the same.
"""

from datetime import datetime

from django.db import transaction

from dashboard.alerts.selectors.alerts import is_measurable
from dashboard.alerts.services import confirmations, triage
from dashboard.alerts.services.history import Person
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertGroup, Confirmation, Kind, Machine


def measure_again(*, group: AlertGroup, by: Person, why: str = "", now: datetime) -> Confirmation:
    """Plan its pairs at once; the day's limit does not count for a person.

    Raises ActionNotAllowed with the reason.
    """
    with transaction.atomic():
        if group.kind == Kind.SILENCE or group.machine_id is None:
            why_not = "Nothing can be measured again here: this alert is not a measurement."
            raise ActionNotAllowed(why_not)
        if not is_measurable(group.alerts.select_related("series__benchmark")):
            raise ActionNotAllowed("Another system measured it: it cannot be measured again here.")
        machine = Machine.objects.select_for_update(no_key=True).get(pk=group.machine_id)
        triage.measure_on(group=group, by=by, text=why.strip())
        if reason := confirmations.reason_to_wait(machine=machine, now=now, limited=False):
            raise ActionNotAllowed(f"It cannot be measured again now. {reason}")
        return confirmations.plan(group=group, now=now)
