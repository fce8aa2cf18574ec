"""A person's saved views: pages of this site under a name; one may be where they come in."""

from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.urls import Resolver404, resolve

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import SavedView

MAX_NAME_LETTERS = 80
MAX_ADDRESS_LETTERS = 2000
MAX_VIEWS = 100


def save(*, user_id: int, name: str, address: str) -> SavedView:
    """Keep a page under a name; a view of that name now leads there. Raises ActionNotAllowed."""
    name, address = _clean_name(name), _clean_address(address)
    with transaction.atomic():
        existing = SavedView.objects.select_for_update().filter(user=user_id)
        view = existing.filter(name__iexact=name).first()
        if view is None:
            if existing.count() >= MAX_VIEWS:
                raise ActionNotAllowed(f"{MAX_VIEWS} views are saved already: remove one first.")
            view = SavedView(user_id=user_id)
        view.name, view.address = name, address
        view.save()
        return view


def rename(*, view: SavedView, name: str) -> None:
    """Raises ActionNotAllowed, also where another view of the person has that name."""
    view.name = _clean_name(name)
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


def _clean_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise ActionNotAllowed("The view has no name: write one.")
    if len(name) > MAX_NAME_LETTERS:
        raise ActionNotAllowed(f"The name has {len(name)} letters: {MAX_NAME_LETTERS} fit.")
    return name


def _clean_address(address: str) -> str:
    """Path and query of one of the site's own pages."""
    parts = urlsplit(address)
    try:
        is_page = address.startswith("/") and not (parts.netloc or resolve(parts.path).namespaces)
    except Resolver404:
        is_page = False
    if not is_page:
        raise ActionNotAllowed(
            f"“{address[:80]}” is not a page of this site: open the page and save it from there."
        )
    if len(address) > MAX_ADDRESS_LETTERS:
        raise ActionNotAllowed(
            f"The address of the page has {len(address)} letters: {MAX_ADDRESS_LETTERS} fit."
        )
    return address
