"""The browsable description of the API: Swagger UI from its package, within the site's own page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase


class SitePage(DocsBase):
    """No script or style of its own: the strict policy of the site holds."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: object) -> HttpResponse:
        context = {"schema": self.get_openapi_url(api, kwargs), "api": api}
        return render(request, "site/api.html", context)
