"""The addresses of comparisons and bisections."""

from django.urls import path, re_path
from django.urls.converters import UUIDConverter

from dashboard.comparisons.pages import bisections, compare, comparisons

urlpatterns = [
    path("compare/", compare.show, name="compare"),
    re_path(r"^compare/export\.(?P<form>csv|json|md)$", compare.export, name="compare_export"),
    path("comparisons/<uuid:uuid>/", comparisons.show, name="comparison"),
    path("comparisons/<uuid:uuid>/cancel", comparisons.cancel, name="comparison_cancel"),
    path("comparisons/<uuid:uuid>/more", comparisons.more, name="comparison_more"),
    re_path(
        rf"^comparisons/(?P<uuid>{UUIDConverter.regex})/export\.(?P<form>csv|json|md)$",
        comparisons.export,
        name="comparison_export",
    ),
    path("bisections/<int:pk>/", bisections.show, name="bisection"),
    path("bisections/<int:pk>/cancel", bisections.cancel, name="bisection_cancel"),
]
