"""Addresses of the admin, and the data of its forms."""

from typing import Any

from django.urls import reverse

from tests.builders import site

RUNS = reverse("admin:dashboard_run_changelist")
WORKERS = reverse("admin:dashboard_worker_changelist")


def run_now_form(**fields: Any) -> dict[str, Any]:
    """The data of the form "Run now"."""
    return {
        "build": site.build().pk,
        "machine": site.machine().pk,
        "track": site.track().pk,
        "label": "",
        **fields,
    }
