"""Rules and channels as pages tell them: who is told what, and what became of it."""

from dashboard.models import Channel, Delivery, Rule
from dashboard.notifications.core.rules import USUAL_STATES

_MOST_DELIVERIES = 50


def switched_off() -> list[Channel]:
    """Channels that were switched off because nothing arrived. One that a person switched off has
    no problem.
    """
    return list(Channel.objects.filter(enabled=False).exclude(problem=""))


def rules() -> list[Rule]:
    """Every rule with its channels, machines and tracks. Four queries."""
    return list(Rule.objects.prefetch_related("channels", "machines", "tracks"))


def wishes(rule: Rule) -> list[str]:
    """What the rule wants, each choice that was made as a few words; a rule without choices wants
    all.
    """
    states = rule.states or sorted(USUAL_STATES)
    told = [" or ".join(state.replace("_", " ") for state in states)]
    if rule.minimum_severity != "low":
        told.append(f"of {rule.minimum_severity} severity or worse")
    if rule.minimum_effect_percent:
        told.append(f"by {rule.minimum_effect_percent:g} % or more")
    places = [machine.key for machine in rule.machines.all()] + [
        track.key for track in rule.tracks.all()
    ]
    for names in (rule.families, rule.model_names, rule.metric_keys, places):
        if names:
            told.append(", ".join(names))
    if rule.improvements:
        told.append("improvements too")
    return told


def last_deliveries() -> list[Delivery]:
    """The newest messages. One query."""
    return list(Delivery.objects.select_related("channel", "event__group")[:_MOST_DELIVERIES])
