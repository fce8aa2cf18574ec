"""The addresses of the advisor."""

from django.urls import path, re_path

from dashboard.advisor.pages import advisor

urlpatterns = [
    path("advisor/", advisor.listing, name="advisor_list"),
    path("advisor/<str:name>/", advisor.show, name="advisor"),
    path("advisor/<str:name>/data.json", advisor.data, name="advisor_data"),
    re_path(
        r"^advisor/(?P<name>[^/]+)/export\.(?P<form>csv|json)$",
        advisor.export,
        name="advisor_export",
    ),
]
