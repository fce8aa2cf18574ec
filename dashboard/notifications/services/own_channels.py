"""The channels of single people: where what concerns them goes, whatever the rules say."""

from collections.abc import Collection

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models.signals import pre_save

from dashboard.models import Channel
from dashboard.notifications.core.kinds import MAIL_PREFIX

_MOST_NAME = 90


def own_channels(people: Collection[int]) -> set[int]:
    """The channels of these accounts. Who has none gets one to the account's e-mail address, where
    it has one and the site has a mail server; others have none.
    """
    if not people:
        return set()
    channels = set()
    accounts = get_user_model().objects.filter(pk__in=people, is_active=True)
    for person in accounts.select_related("channel"):
        channel = getattr(person, "channel", None) or _mail_to(person)
        if channel is not None:
            channels.add(channel.pk)
    return channels


def _mail_to(person: User) -> Channel | None:
    if not person.email or not settings.EMAIL_URL:
        return None
    channel, _ = Channel.objects.get_or_create(
        person=person,
        defaults={
            "name": _free_name(person.username[:_MOST_NAME]),
            "url": f"{MAIL_PREFIX}{person.email}",
        },
    )
    return channel


def connect_signals() -> None:
    """Accounts are saved by the admin and by single sign-on."""
    pre_save.connect(follow_address, sender=User)


def follow_address(
    *, instance: User, update_fields: Collection[str] | None = None, **_: object
) -> None:
    """Before an account is saved: where its own channel has the account's e-mail address, it gets
    the new one. A channel to anywhere else is an administrator's choice and stays.
    """
    if instance.pk is None or (update_fields is not None and "email" not in update_fields):
        return
    before = User.objects.filter(pk=instance.pk).first()
    if before is None or before.email == instance.email:
        return
    own = Channel.objects.filter(person=before, url=f"{MAIL_PREFIX}{before.email}")
    if instance.email:
        # What was wrong with the old address says nothing about this one
        own.exclude(problem="").update(enabled=True, problem="")
        own.update(url=f"{MAIL_PREFIX}{instance.email}")
    else:
        own.update(url=MAIL_PREFIX, enabled=False, problem="The account has no e-mail address.")


def _free_name(username: str) -> str:
    """An administrator may have given this person's channel to another one: it keeps its name."""
    name, number = f"{username} (own)", 1
    while Channel.objects.filter(name=name).exists():
        number += 1
        name = f"{username} (own {number})"
    return name
