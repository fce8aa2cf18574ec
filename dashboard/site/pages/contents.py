"""All pages of results, as one list."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.site.selectors.contents import page_lists


def show(request: HttpRequest) -> HttpResponse:
    return render(request, "site/contents.html", {"lists": page_lists()})
