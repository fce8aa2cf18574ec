"""The addresses of trends, of two jobs side by side, and of the advisor."""

from django.urls import path, re_path

from dashboard.views import advisor, job_pairs, series, series_data, series_marks

urlpatterns = [
    path("series/<str:name>/", series.show, name="series"),
    path("series/<str:name>/data.json", series_data.data, name="series_data"),
    path("series/<str:name>/controls.json", series_data.control_data, name="series_controls"),
    re_path(
        r"^series/(?P<name>[^/]+)/export\.(?P<form>csv|json)$",
        series_data.export,
        name="series_export",
    ),
    path("jobs/pair/", job_pairs.show, name="job_pair"),
    path("series/<str:name>/remarks", series_marks.add, name="remark_add"),
    path("series/<str:name>/remarks/<int:pk>/remove", series_marks.remove, name="remark_remove"),
    path("advisor/", advisor.listing, name="advisor_list"),
    path("advisor/<str:name>/", advisor.show, name="advisor"),
    path("advisor/<str:name>/data.json", advisor.data, name="advisor_data"),
    re_path(
        r"^advisor/(?P<name>[^/]+)/export\.(?P<form>csv|json)$",
        advisor.export,
        name="advisor_export",
    ),
]
