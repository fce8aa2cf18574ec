"""Rules and channels for pages: who is notified of what, and what was delivered."""

from dashboard.models import Channel, Delivery, Rule, Subject
from dashboard.notifications.core.kinds import TEST
from dashboard.notifications.core.rules import USUAL_STATES
from dashboard.runs.core.timing import WEEKDAYS

_MOST_DELIVERIES = 50
_SUBJECTS: dict[str, str] = {
    Subject.HAND_OVERS: "hand-overs",
    Subject.CANDIDATES: "release candidates",
}


def switched_off() -> list[Channel]:
    """Channels that were switched off because nothing arrived; not those a person switched off."""
    return list(Channel.objects.filter(enabled=False).exclude(problem=""))


def rules() -> list[Rule]:
    """Every rule with its channels, machines and tracks. Four queries."""
    return list(Rule.objects.prefetch_related("channels", "machines", "tracks"))


def conditions(rule: Rule) -> list[str]:
    """Describe what the rule selects: each choice that was made, in a few words."""
    words = []
    subjects = rule.subjects or [Subject.ALERTS]
    if Subject.ALERTS in subjects:
        states = rule.states or sorted(USUAL_STATES)
        *first, last = (state.replace("_", " ") for state in states)
        words.append(" or ".join(filter(None, (", ".join(first), last))))
    words += [_SUBJECTS[subject] for subject in subjects if subject in _SUBJECTS]
    if rule.minimum_severity != "low":
        words.append(f"of {rule.minimum_severity} severity or worse")
    if rule.minimum_effect_percent:
        words.append(f"by {rule.minimum_effect_percent:g}% or more")
    machines = [machine.key for machine in rule.machines.all()]
    tracks = [track.key for track in rule.tracks.all()]
    for names in (rule.families, rule.model_names, rule.metric_keys, [*machines, *tracks]):
        if names:
            words.append(", ".join(names))
    if rule.improvements:
        words.append("improvements too")
    return words


def time_of(rule: Rule) -> str:
    """ "at once", "weekly on Monday at 08:00, UTC"."""
    if rule.when == Rule.When.AT_ONCE or rule.at is None:
        return "at once"
    day = f" on {WEEKDAYS[rule.weekday]}" if rule.weekday is not None else ""
    return f"{rule.when}{day} at {rule.at:%H:%M}, {rule.time_zone}"


def about(delivery: Delivery) -> str:
    """Name the subject of the message."""
    if delivery.event:
        return str(delivery.event.group)
    if delivery.comparison:
        return f"release candidate: {delivery.comparison}"
    return "a test" if delivery.digest.startswith(TEST) else "a digest of alerts"


def last_deliveries() -> list[Delivery]:
    """The newest messages. One query."""
    related = ("channel", "event__group", "comparison__base", "comparison__new")
    return list(Delivery.objects.select_related(*related)[:_MOST_DELIVERIES])
