"""Headers that limit what browsers do with the site's answers, such as content security policy."""

from collections.abc import Callable

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.site.admin_pages import is_of_the_admin


class SecurityHeaders:
    """settings.SECURITY_HEADERS for every answer, unless a page has its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        for name, value in settings.SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        return response


class ContentSecurityPolicy(CSPMiddleware):
    """django-csp's middleware; pages of the admin get settings.ADMIN_POLICY."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if is_of_the_admin(request):
            parts.replace = settings.ADMIN_POLICY
        return parts
