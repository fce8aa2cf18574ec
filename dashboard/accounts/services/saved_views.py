"""A person's saved views: pages of this site under a name, one of which may be where that person
comes in.
"""

from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.urls import Resolver404, resolve

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import SavedView

MOST_LETTERS = 80
MOST_ADDRESS = 2000
MOST_VIEWS = 100


def save(*, user_id: int, name: str, address: str) -> SavedView:
    """Keep a page under a name; a view of that name now leads there. Raises ActionNotAllowed."""
    name, address = _name(name), _address(address)
    with transaction.atomic():
        known = SavedView.objects.select_for_update().filter(user=user_id)
        view = known.filter(name__iexact=name).first()
        if view is None and known.count() >= MOST_VIEWS:
            raise ActionNotAllowed(f"{MOST_VIEWS} views are saved already: remove one first.")
        view = view or SavedView(user_id=user_id)
        view.name, view.address = name, address
        view.save()
        return view


def rename(*, view: SavedView, name: str) -> None:
    """Raises ActionNotAllowed, also where another view of the person has that name."""
    view.name = _name(name)
    try:
        with transaction.atomic():
            view.save(update_fields=["name"])
    except IntegrityError as error:
        raise ActionNotAllowed(
            f"Another view is called “{view.name}”: choose another name."
        ) from error


def make_default(*, user_id: int, view: SavedView | None) -> None:
    """Let the person come in at this view; None: at the overview."""
    with transaction.atomic():
        SavedView.objects.filter(user=user_id, is_default=True).update(is_default=False)
        if view is not None:
            SavedView.objects.filter(pk=view.pk).update(is_default=True)


def _name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise ActionNotAllowed("The view has no name: write one.")
    if len(name) > MOST_LETTERS:
        raise ActionNotAllowed(f"The name has {len(name)} letters: {MOST_LETTERS} fit.")
    return name


def _address(address: str) -> str:
    """Path and query of one of the site's own pages."""
    parts = urlsplit(address)
    try:
        is_page = (
            address.startswith("/") and not parts.netloc and not resolve(parts.path).namespaces
        )
    except Resolver404:
        is_page = False
    if not is_page:
        raise ActionNotAllowed(
            f"“{address[:80]}” is no page of this site: open the page and save it from there."
        )
    if len(address) > MOST_ADDRESS:
        raise ActionNotAllowed(
            f"The address of the page has {len(address)} letters: {MOST_ADDRESS} fit."
        )
    return address
