"""The addresses of trends: the matrix, one benchmark's series, versions, and badges."""

from django.urls import path, re_path

from dashboard.trends.pages import badges, benchmarks, remarks, series, series_data, versions

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
    path("versions/", versions.show, name="versions"),
    path("versions/data.json", versions.data, name="versions_data"),
    re_path(r"^versions/export\.(?P<form>csv|json)$", versions.export, name="versions_export"),
    path("badge/<str:name>/<slug:config>.svg", badges.badge, name="badge"),
]
