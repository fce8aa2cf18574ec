"""A private site shows itself to people with a role; an account alone is not one."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from dashboard.ui.reading import may_read

NO_ROLE = "Your account has no role yet. Ask an administrator to give you one."


class ReadersOnly:
    """403 for who is signed in without a role, where strangers read nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> None:
        is_for_strangers = not getattr(view, "login_required", True)
        is_way_out = request.path == reverse("sign_out")
        if is_for_strangers or is_way_out or not request.user.is_authenticated:
            return
        if not may_read(request.user):
            raise PermissionDenied(NO_ROLE)
