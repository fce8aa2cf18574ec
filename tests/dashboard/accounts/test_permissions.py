"""Every address of the site × every role: who gets in is one table, and an address that is not in
it fails.

What exists is not needed: who may not is turned away before anything is looked up, and who may gets
another answer.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin import site as admin_site
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.services.roles import Role, assign
from dashboard.results.api.worker import WorkerToken
from tests.builders.addresses import addresses, operations
from tests.builders.people import viewer

ANONYMOUS, PUBLIC = "anonymous", "anonymous where reading is public"
WITHOUT_ROLE = "an account without a role"
WHO = (ANONYMOUS, WITHOUT_ROLE, PUBLIC, *Role)  # each may what the ones before may
EVERYBODY, ACCOUNTS, READERS, PEOPLE, TRIAGERS, OPERATORS, ADMINS = range(len(WHO))
NOBODY = len(WHO)  # without a token of a worker or of the API
LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"

PAGES = {
    **dict.fromkeys(
        ("healthz", "readyz", "sign_in", "api:openapi-json", "api:api-root"), EVERYBODY
    ),
    "sign_out": ACCOUNTS,
    "metrics": OPERATORS,
    **dict.fromkeys(
        (
            "home",
            "active_runs",
            "benchmarks",
            "benchmarks_export",
            "search",
            "series",
            "series_data",
            "series_controls",
            "series_export",
            "compare",
            "compare_export",
            "comparison",
            "comparison_export",
            "bisection",
            "runs",
            "experiments",
            "run",
            "job",
            "change",
            "change_tab",
            "change_report",
            "job_code",
            "job_samples",
            "artifact",
            "alerts",
            "alerts_feed",
            "telling",
            "alert",
            "alert_tab",
            "alert_report",
            "alert_bisect_script",
            "alert_change",
            "fleet",
            "glossary",
            "contents",
            "api:openapi-view",
            "docs",
            "docs_page",
            "docs_picture",
            "data_export",
            "badge",
            "alerts_badge",
        ),
        READERS,
    ),
    **dict.fromkeys(
        (
            "tokens",
            "token_revoke",
            "remark_add",
            "remark_remove",
            "saved_view_remove",
            "star_model",
        ),
        PEOPLE,
    ),
    **dict.fromkeys(("alerts_bulk", "alert_act"), TRIAGERS),
    **dict.fromkeys(
        (
            "run_cancel",
            "run_retry",
            "comparison_cancel",
            "comparison_more",
            "bisection_cancel",
        ),
        OPERATORS,
    ),
}
POSTED = {
    "token_revoke",
    "remark_add",
    "remark_remove",
    "alerts_bulk",
    "alert_act",
    "run_cancel",
    "run_retry",
    "comparison_cancel",
    "comparison_more",
    "bisection_cancel",
    "star_model",
    "saved_view_remove",
}
API = {
    "": READERS,
    "change_alertgroup": TRIAGERS,
    "add_run": OPERATORS,
    "change_run": OPERATORS,
    "add_result": OPERATORS,
}

O, A, N = OPERATORS, ADMINS, NOBODY  # noqa: E741 - columns of a table
ADMIN_MODELS = {  # view, add, change, delete
    "admin_logentry": (A, N, N, N),
    "axes_accessattempt": (A, N, N, N),
    "axes_accesslog": (A, N, N, N),
    "auth_user": (A, A, A, A),
    "auth_group": (A, A, A, A),
    "django_celery_beat_periodictask": (A, A, A, A),
    "django_celery_beat_crontabschedule": (A, A, A, A),
    "django_celery_beat_intervalschedule": (A, A, A, A),
    "dashboard_alertgroup": (O, N, N, N),
    "dashboard_annotation": (O, A, O, O),
    "dashboard_apitoken": (O, N, N, N),
    "dashboard_benchmark": (O, N, N, N),
    "dashboard_bisection": (O, O, N, N),
    "dashboard_change": (O, N, N, N),
    "dashboard_channel": (O, A, A, A),
    "dashboard_comparison": (O, O, N, N),
    "dashboard_config": (O, N, N, N),
    "dashboard_delivery": (O, N, N, N),
    "dashboard_familyowner": (O, A, A, A),
    "dashboard_installedenvironment": (O, N, N, N),
    "dashboard_invalidpoint": (O, N, N, N),
    "dashboard_job": (O, N, N, N),
    "dashboard_machine": (O, A, O, A),
    "dashboard_modelrepository": (O, A, A, A),
    "dashboard_mute": (O, N, N, N),
    "dashboard_refusedresult": (O, N, N, N),
    "dashboard_requirements": (O, N, N, A),
    "dashboard_rule": (O, A, A, A),
    "dashboard_run": (O, O, O, N),
    "dashboard_schedule": (O, O, O, O),
    "dashboard_torchbuild": (O, O, O, O),
    "dashboard_track": (O, O, O, O),
    "dashboard_worker": (O, A, O, A),
}
ADMIN_PAGES = {
    "admin:login": EVERYBODY,
    "admin:logout": READERS,
    **dict.fromkeys(
        (
            "admin:index",
            "admin:search",
            "admin:jsi18n",
            "admin:password_change",
            "admin:password_change_done",
            "admin:app_list",
            "admin:autocomplete",
            "admin:view_on_site",
            "admin:dashboard_torchbuild_discover",
            "admin:dashboard_run_run_now",
            "admin:run_cost",
            "admin:schedule_preview",
            "admin:dashboard_run_import_results",
            "import_results",
        ),
        OPERATORS,
    ),
    **dict.fromkeys(
        ("admin:auth_user_password_change", "admin:dashboard_channel_send_a_test"), ADMINS
    ),
}
WAITS = {"readyz"}  # for a broker that is not there; test_site.py asks it
ALL = addresses()
# They answer who may with "forbidden" or "not found" without more
EMPTY = {ALL["admin:autocomplete"], ALL["admin:view_on_site"]}


def admin_table() -> dict[str, int]:
    """Every address of every model of the admin -> the least who may open it."""
    least_of = dict(ADMIN_PAGES)
    for model, (view, add, change, delete) in ADMIN_MODELS.items():
        least_of[f"admin:{model}_changelist"] = view
        least_of[f"admin:{model}_history"] = view
        least_of[f"admin:{model}_add"] = add
        least_of[f"admin:{model}_change"] = change
        least_of[f"admin:{model}_delete"] = delete
    return least_of


def api_table() -> dict[tuple[str, str], int]:
    """Every operation of the API -> the least who may call it, by the permission that it names."""
    least_of = {}
    for operation, access in operations().items():
        if isinstance(access, WorkerToken):
            least_of[operation] = NOBODY
        else:
            least_of[operation] = API[access.permission.removeprefix("dashboard.")]
    return least_of


EXPECTED = {**PAGES, **admin_table()}
EXPECTED_OF_API = api_table()


def method_of(name: str) -> str:
    is_admin_form = name.startswith("admin:") and name.endswith("_change")
    return "POST" if name in POSTED or is_admin_form else "GET"


def calls() -> Iterator[tuple[str, str, int]]:
    """Method and address of each page and each operation of the API, and the least who may."""
    for name in sorted(set(EXPECTED) - WAITS):
        # What does not exist has no history to show
        least = OPERATORS if name.endswith("_history") else EXPECTED[name]
        yield method_of(name), ALL[name], least
    for (method, address), least in sorted(EXPECTED_OF_API.items()):
        yield method, address, least


def is_turned_away(answer: Any) -> bool:
    """Refused, or sent to sign in."""
    if answer.status_code == 302:
        return "sign-in" in answer["Location"] or "login" in answer["Location"]
    return answer.status_code in {401, 403}


def test_every_address_is_in_the_table() -> None:
    assert set(ALL) == set(EXPECTED)


def test_every_model_of_the_admin_is_in_the_table() -> None:
    labels = {model._meta.label_lower.replace(".", "_") for model in admin_site._registry}
    assert labels == set(ADMIN_MODELS)


@pytest.mark.django_db
@pytest.mark.parametrize("who", WHO)
def test_role_is_admitted_where_the_table_says(who: str, settings: Any) -> None:
    client = Client(raise_request_exception=False)
    settings.PUBLIC_READ = who == PUBLIC
    if who == PUBLIC:
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != LOGIN_REQUIRED]
    elif who != ANONYMOUS:
        person = User.objects.create_user("ada")
        if who != WITHOUT_ROLE:
            assign(user=person, role=Role(who))
        client.force_login(person)
    offenders = []
    for method, address, least in calls():
        may = WHO.index(who) >= least
        if may and address in EMPTY:
            continue
        answer = client.generic(method, address)
        if answer.status_code >= 500 or is_turned_away(answer) == may:
            offenders.append(f"{method} {address}: {answer.status_code} for {who}")
    assert not offenders, "\n".join(offenders)


@pytest.mark.django_db
def test_taking_a_role_away_closes_the_admin() -> None:
    person = viewer("ada")
    assign(user=person, role=Role.OPERATOR)
    assert person.is_staff
    assign(user=person, role=Role.TRIAGER)
    assert not person.is_staff
    assert [group.name for group in person.groups.all()] == ["triager"]


@pytest.mark.django_db
def test_a_role_given_in_the_admin_opens_it(admin_client: Client) -> None:
    person = viewer("ada")
    role = person.groups.model.objects.get(name=Role.OPERATOR)
    sent = {
        "username": "ada",
        "is_active": "on",
        "groups": [role.pk],
        "date_joined_0": "2026-11-21",
        "date_joined_1": "03:00",
    }
    answer = admin_client.post(f"/admin/auth/user/{person.pk}/change/", sent)
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    person.refresh_from_db()
    assert person.is_staff
