"""The addresses of the documentation and of the search."""

from django.urls import path

from dashboard.site.pages import contents, docs, search

urlpatterns = [
    path("docs/", docs.index, name="docs"),
    path("docs/screenshots/<str:name>", docs.picture, name="docs_picture"),
    path("docs/<slug:slug>/", docs.page, name="docs_page"),
    path("glossary/", docs.glossary, name="glossary"),
    path("contents/", contents.show, name="contents"),
    path("search/", search.show, name="search"),
]
