"""How the admin looks: the site's blue, and its lists in the order of the work. Read by the settings."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

# One hue (266°, that of the site's accent) from light to dark.
_LIGHTNESS = {
    "50": (97.0, 0.02), "100": (93.5, 0.035), "200": (88.0, 0.06), "300": (80.0, 0.1), "400": (69.0, 0.15),
    "500": (57.0, 0.2), "600": (45.0, 0.2), "700": (40.0, 0.18), "800": (35.0, 0.15), "900": (30.0, 0.12),
    "950": (22.0, 0.08),
}  # fmt: skip
COLORS = {"primary": {step: f"oklch({light}% {chroma} 266)" for step, (light, chroma) in _LIGHTNESS.items()}}

_GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Measure", (("Runs", "run"), ("Schedules", "schedule"), ("Comparisons", "comparison"),
                 ("Bisections", "bisection"), ("Jobs", "job"), ("Refused results", "refusedresult"))),
    ("What is measured", (("Torch builds", "torchbuild"), ("Tracks", "track"), ("Benchmarks", "benchmark"),
                          ("Configs", "config"), ("Model repositories", "modelrepository"))),
    ("Fleet", (("Machines", "machine"), ("Workers", "worker"), ("Environments", "installedenvironment"),
               ("Requirements", "requirements"))),
    ("Alerts", (("Alert groups", "alertgroup"), ("Rules", "rule"), ("Channels", "channel"),
                ("Deliveries", "delivery"), ("Mutes", "mute"), ("Invalid points", "invalidpoint"),
                ("Annotations", "annotation"))),
    ("People", (("Users", "auth.user"), ("Groups", "auth.group"), ("API tokens", "apitoken"),
                ("Changes", "change"), ("Log entries", "admin.logentry"), ("Sign-ins", "axes.accesslog"),
                ("Wrong passwords", "axes.accessattempt"))),
    ("Scheduler", (("Periodic tasks", "django_celery_beat.periodictask"),
                   ("Crontabs", "django_celery_beat.crontabschedule"),
                   ("Intervals", "django_celery_beat.intervalschedule"))),
)  # fmt: skip


def listed() -> list[str]:
    """Every list of the sidebar, as app.model."""
    return [_full(model) for _, items in _GROUPS for _, model in items]


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar: what the viewer may look at."""
    return [{"title": title, "separator": True, "items": _items(items)} for title, items in _GROUPS]


def _items(items: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"title": title, "link": reverse(_address(model)), "permission": _may_view(*_full(model).split("."))}
        for title, model in items
    ]


def _full(model: str) -> str:
    return model if "." in model else f"dashboard.{model}"


def _address(model: str) -> str:
    return f"admin:{_full(model).replace('.', '_')}_changelist"


def _may_view(app: str, model: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(f"{app}.view_{model}")
