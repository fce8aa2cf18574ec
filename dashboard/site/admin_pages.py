"""The pages of the admin, which have a policy and a time zone of their own."""

from collections.abc import Callable
from datetime import UTC

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone


class AdminInUTC:
    """The admin's times are in UTC, as its formats say: Django writes them, without scripts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with timezone.override(UTC if is_of_the_admin(request) else None):
            return self._get_response(request)


def is_of_the_admin(request: HttpRequest) -> bool:
    """By the address: pages of ours stand next to those of Django's admin, and look like them."""
    return request.path.startswith(reverse("admin:index"))
