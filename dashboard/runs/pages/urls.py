"""The addresses of runs."""

from django.urls import path

from dashboard.runs.pages import runs

urlpatterns = [
    path("runs/", runs.listing, name="runs"),
    path("experiments/", runs.experiments_list, name="experiments"),
    path("runs/<int:pk>/", runs.show, name="run"),
    path("runs/<int:pk>/cancel", runs.cancel, name="run_cancel"),
    path("runs/<int:pk>/retry", runs.retry, name="run_retry"),
]
