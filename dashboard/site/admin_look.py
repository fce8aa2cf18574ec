"""Look of the admin: that of the public site, with its lists in the order of the work."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

# The public site's colours (site.css): its greys, and its accent in both themes
COLORS = {
    "base": {
        "50": "#f4f5f7",
        "100": "#eceef2",
        "200": "#d8dde4",
        "300": "#c3cad3",
        "400": "#a5afba",
        "500": "#5f6a77",
        "600": "#4a5461",
        "700": "#39424d",
        "800": "#2b323b",
        "900": "#161a20",
        "950": "#0e1115",
    },
    "primary": {
        "50": "#f1f2fe",
        "100": "#e3e6fd",
        "200": "#ccd3fb",
        "300": "#b5ceff",
        "400": "#a3c3ff",
        "500": "#8fb7ff",
        "600": "#2b2eb7",
        "700": "#24279c",
        "800": "#1e2082",
        "900": "#181a68",
        "950": "#101145",
    },
    "font": {
        "important-light": "#12161c",
        "important-dark": "#e9ecf0",
    },
}

# Each list: its title, its model, and what one does there.
_GROUPS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Measure": (
        ("Runs", "run", "trigger, cancel, retry"),
        ("Schedules", "schedule", "what runs by itself, and when"),
        ("Comparisons", "comparison", "two builds, measured side by side"),
        ("Bisections", "bisection", "between which builds a case changed"),
        ("Jobs", "job", "single cases: where they are, what they say"),
        ("Refused results", "refusedresult", "what the site did not take, and why"),
    ),
    "What is measured": (
        ("Torch builds", "torchbuild", "add one, or a variant with other settings"),
        ("Tracks", "track", "the streams of builds that are followed"),
        ("Benchmarks", "benchmark", "switch single ones off and on"),
        ("Configs", "config", "the ways to run them"),
        ("Model repositories", "modelrepository", "models of your own, as plug-ins"),
    ),
    "Fleet": (
        ("Machines", "machine", "classes of identical hardware"),
        ("Workers", "worker", "pause, revoke, give a token"),
        ("Environments", "installedenvironment", "which builds are installed where"),
        ("Requirements", "requirements", "the pins that go with a build"),
    ),
    "Alerts": (
        ("Alert groups", "alertgroup", "every change that was found"),
        ("Family owners", "familyowner", "who new alerts of a family are assigned to"),
        ("Rules", "rule", "who is notified of what"),
        ("Channels", "channel", "e-mail, chat, webhooks; send a test"),
        ("Deliveries", "delivery", "what was sent, what waits"),
        ("Mutes", "mute", "what nobody wants to hear of for a while"),
        ("Invalid points", "invalidpoint", "results that were taken out of a series"),
        ("Annotations", "annotation", "remarks on the trends"),
    ),
    "People": (
        ("Users", "auth.user", "who may sign in"),
        ("Groups", "auth.group", "who may do what"),
        ("API tokens", "apitoken", "for scripts and notebooks"),
        ("Changes", "change", "the audit trail: who did what"),
        ("Log entries", "admin.logentry", "what was done in the admin"),
        ("Sign-ins", "axes.accesslog", "who came, and from where"),
        ("Wrong passwords", "axes.accessattempt", "unlock who is locked out"),
    ),
    "Scheduler": (
        ("Periodic tasks", "django_celery_beat.periodictask", "the site's own upkeep"),
        ("Crontabs", "django_celery_beat.crontabschedule", "times of the schedules"),
        ("Intervals", "django_celery_beat.intervalschedule", "times of the upkeep"),
    ),
}


def listed() -> list[str]:
    """Every list of the sidebar, as app.model."""
    return [_full(model) for items in _GROUPS.values() for _, model, _ in items]


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar: what the viewer may look at."""
    return [
        {"title": title, "separator": True, "items": _items(items)}
        for title, items in _GROUPS.items()
    ]


def lists(request: HttpRequest) -> list[dict[str, Any]]:
    """The lists that the viewer may see, with what each is for; no empty groups."""
    groups = []
    for title, items in _GROUPS.items():
        allowed = [item for item in _items(items) if item["permission"](request)]
        if allowed:
            groups.append({"title": title, "lists": allowed})
    return groups


def _items(items: Iterable[tuple[str, str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "title": title,
            "about": about,
            "link": reverse(f"admin:{_full(model).replace('.', '_')}_changelist"),
            "permission": _may_view(*_full(model).split(".")),
        }
        for title, model, about in items
    ]


def _full(model: str) -> str:
    return model if "." in model else f"dashboard.{model}"


def _may_view(app: str, model: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(f"{app}.view_{model}")


UNFOLD = {  # settings.UNFOLD
    "SITE_TITLE": "Compilewatch",
    "SITE_HEADER": "Compilewatch",
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("compilewatch/icon.svg"),
        }
    ],
    "SITE_ICON": lambda request: static("compilewatch/icon.svg"),
    "STYLES": [lambda request: static("compilewatch/admin.css")],
    "SCRIPTS": [lambda request: static("compilewatch/admin.js")],
    "SHOW_HISTORY": True,
    "COLORS": COLORS,
    "SIDEBAR": {"show_search": True, "navigation": navigation},
    "DASHBOARD_CALLBACK": "dashboard.site.admin.index.context",
}
