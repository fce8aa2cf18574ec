"""The addresses of the documentation and of the search, and those of removed pages."""

from django.urls import path, re_path
from django.views.generic import RedirectView

from dashboard.site.pages import contents, docs, moved, search
from dashboard.site.removed import PAGES

urlpatterns = [
    *(
        re_path(f"^{removed}", RedirectView.as_view(url=page, permanent=True, query_string=True))
        for removed, page in PAGES.items()
    ),
    path("versions/", moved.versions),
    path("advisor/<str:name>/", moved.advice),
    path("docs/", docs.index, name="docs"),
    path("docs/screenshots/<str:name>", docs.picture, name="docs_picture"),
    path("docs/<slug:slug>/", docs.page, name="docs_page"),
    path("glossary/", docs.glossary, name="glossary"),
    path("contents/", contents.show, name="contents"),
    path("search/", search.show, name="search"),
]
