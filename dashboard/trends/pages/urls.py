"""The addresses of trends: the matrix, one benchmark's series, and badges."""

from django.urls import path, re_path

from dashboard.trends.pages import badges, benchmarks, remarks, series, series_data

urlpatterns = [
    path("benchmarks/", benchmarks.show, name="benchmarks"),
    re_path(
        r"^benchmarks/export\.(?P<form>csv|json)$", benchmarks.export, name="benchmarks_export"
    ),
    path("series/<str:name>/", series.show, name="series"),
    path("series/<str:name>/data.json", series_data.data, name="series_data"),
    path("series/<str:name>/controls.json", series_data.control_data, name="series_controls"),
    re_path(
        r"^series/(?P<name>[^/]+)/export\.(?P<form>csv|json)$",
        series_data.export,
        name="series_export",
    ),
    path("series/<str:name>/remarks", remarks.add, name="remark_add"),
    path("series/<str:name>/remarks/<int:pk>/remove", remarks.remove, name="remark_remove"),
    path("badge/<str:name>/<slug:config>.svg", badges.badge, name="badge"),
]
