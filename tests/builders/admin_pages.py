"""Addresses of the admin, and what its forms send."""

from typing import Any

from django.urls import reverse

from tests.builders import site

RUNS, WORKERS = (reverse(f"admin:dashboard_{name}_changelist") for name in ("run", "worker"))


def run_now_form(**other: Any) -> dict[str, Any]:
    """What the form "Run now" sends."""
    form = {
        "build": site.build().pk,
        "machine": site.machine().pk,
        "track": site.track().pk,
        "label": "",
    }
    return {**form, **other}
