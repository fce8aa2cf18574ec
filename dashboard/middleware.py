"""The site's content security policy, widened for the admin alone."""

from typing import Any

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class ContentSecurityPolicy(CSPMiddleware):
    """django-csp's middleware; pages of the admin get settings.ADMIN_POLICY."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        match: Any = request.resolver_match
        if match and "admin" in match.app_names:
            parts.replace = settings.ADMIN_POLICY
        return parts
