"""The addresses of one job, and of all data as files."""

from django.urls import path, re_path
from django.urls.converters import UUIDConverter

from dashboard.results.pages import data_export, jobs

urlpatterns = [
    path("jobs/<uuid:uuid>/", jobs.show, name="job"),
    re_path(
        rf"^jobs/(?P<uuid>{UUIDConverter.regex})/samples/(?P<figure>distribution|order)\.json$",
        jobs.samples,
        name="job_samples",
    ),
    path("jobs/<uuid:uuid>/code/", jobs.code, name="job_code"),
    path("artifacts/<int:pk>/", jobs.artifact, name="artifact"),
    re_path(
        r"^export/data\.(?P<form>csv|jsonl|v3|parquet)$", data_export.export, name="data_export"
    ),
]
