"""Every address of the site × every role: who gets in is one table, and an address that is not in
it fails.

What exists is not needed: who may not is turned away before anything is looked up, and who may gets
another answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin import site as admin_site
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client, override_settings

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
            "overview",
            "overview_active",
            "benchmarks",
            "benchmarks_export",
            "search",
            "series",
            "series_data",
            "series_controls",
            "series_export",
            "compare",
            "compare_export",
            "versions",
            "versions_data",
            "versions_export",
            "comparisons",
            "comparison",
            "comparison_export",
            "bisections",
            "bisection",
            "runs",
            "run",
            "job",
            "job_pair",
            "job_pair_calls",
            "job_code",
            "job_samples",
            "artifact",
            "alerts",
            "alerts_feed",
            "telling",
            "alert_quality",
            "triage_report",
            "triage_report_markdown",
            "alert",
            "alert_code",
            "alert_issue",
            "alert_evidence",
            "alert_bisect_script",
            "alert_change",
            "alert_pairs",
            "fleet",
            "glossary",
            "contents",
            "api:openapi-view",
            "advisor_list",
            "advisor",
            "advisor_data",
            "advisor_export",
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
# They answer who may with "forbidden" or "not found" without more
EMPTY = {"admin:autocomplete", "admin:view_on_site"}
WAITS = {"readyz"}  # for a broker that is not there; test_site.py asks it
ALL = addresses()


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


@pytest.fixture(scope="module")
def clients(django_db_setup: None, django_db_blocker: Any) -> Iterator[Mapping[str, Client]]:
    """One client for each of WHO, made once for this file."""
    with django_db_blocker.unblock():
        made: dict[str, Client] = {ANONYMOUS: Client(raise_request_exception=False)}
        without_login = [name for name in settings.MIDDLEWARE if name != LOGIN_REQUIRED]
        with override_settings(MIDDLEWARE=without_login):
            made[PUBLIC] = Client(raise_request_exception=False)
            made[PUBLIC].get("/healthz")  # builds its middleware
        made[WITHOUT_ROLE] = Client(raise_request_exception=False)
        made[WITHOUT_ROLE].force_login(User.objects.create_user("table-without"))
        for role in Role:
            made[role] = Client(raise_request_exception=False)
            person = User.objects.create_user(f"table-{role}")
            assign(user=person, role=role)
            made[role].force_login(person)
    yield made
    with django_db_blocker.unblock():
        Session.objects.all().delete()
        User.objects.filter(username__startswith="table-").delete()


def method_of(name: str) -> str:
    is_admin_form = name.startswith("admin:") and name.endswith("_change")
    return "POST" if name in POSTED or is_admin_form else "GET"


def gets_in(client: Client, method: str, address: str, is_public: bool) -> bool:
    """Whether somebody is let through: neither refused nor sent to sign in."""
    with override_settings(PUBLIC_READ=is_public):
        answer = client.generic(method, address)
    assert answer.status_code < 500, f"{address} {answer.status_code}"
    if answer.status_code == 302:
        return "sign-in" not in answer["Location"] and "login" not in answer["Location"]
    return answer.status_code not in {401, 403}


def test_every_address_is_in_the_table() -> None:
    assert set(ALL) == set(EXPECTED)


def test_every_model_of_the_admin_is_in_the_table() -> None:
    labels = {model._meta.label_lower.replace(".", "_") for model in admin_site._registry}
    assert labels == set(ADMIN_MODELS)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - EMPTY - WAITS))
def test_address_admits_the_roles_of_the_table(name: str, clients: Mapping[str, Client]) -> None:
    # What does not exist has no history to show
    least = OPERATORS if name.endswith("_history") else EXPECTED[name]
    expected = {who: place >= least for place, who in enumerate(WHO)}
    method, address = method_of(name), ALL[name]
    assert {who: gets_in(clients[who], method, address, who == PUBLIC) for who in WHO} == expected


@pytest.mark.django_db
@pytest.mark.parametrize("operation", sorted(EXPECTED_OF_API), ids=" ".join)
def test_api_admits_the_roles_of_the_table(
    operation: tuple[str, str], clients: Mapping[str, Client]
) -> None:
    expected = {who: place >= EXPECTED_OF_API[operation] for place, who in enumerate(WHO)}
    assert {who: gets_in(clients[who], *operation, who == PUBLIC) for who in WHO} == expected


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(EMPTY))
@pytest.mark.parametrize("who", [ANONYMOUS, WITHOUT_ROLE, PUBLIC, Role.VIEWER, Role.TRIAGER])
def test_helpers_of_the_admin_are_closed_to_others(
    name: str, who: str, clients: Mapping[str, Client]
) -> None:
    assert not gets_in(clients[who], "GET", ALL[name], who == PUBLIC)


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
