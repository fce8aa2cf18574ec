"""The site as a whole: its settings, its health, who may see it, what it tells browsers."""

import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core import checks
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import DataError, connection, transaction
from django.http import StreamingHttpResponse
from django.test import Client, RequestFactory

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Benchmark
from dashboard.site.api import health
from dashboard.site.configuration import database
from dashboard.site.methods import Methods
from tests.builders.reading import page_text

ROOT = Path(__file__).resolve().parents[3]
PRODUCTION = {
    "SECRET_KEY": "k3Jx9-" + "".join(chr(97 + number % 26) for number in range(60)),
    "DATABASE_URL": "postgresql://compilewatch@db/compilewatch",
    "BROKER_URL": "redis://broker:6379/0",
    "SITE_URL": "https://compilewatch.example.org",
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
}


def manage(*arguments: str, tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with these settings and no others."""
    environment = {
        "PATH": os.environ["PATH"],
        "VAR_DIR": str(tmp_path),
        **PRODUCTION,
        **settings,
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        text=True,
        check=False,
    )


def test_djangos_deploy_checks_find_nothing_under_production_settings(tmp_path: Path) -> None:
    done = manage("check", "--deploy", "--fail-level", "DEBUG", tmp_path=tmp_path)
    assert (done.returncode, "no issues" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "BROKER_URL"])
def test_site_refuses_to_start_without(name: str, tmp_path: Path) -> None:
    done = manage("check", tmp_path=tmp_path, **{name: ""})
    assert f"{name} is not set" in done.stderr


def test_missing_local_env_is_one_line_that_names_the_other_folders(tmp_path: Path) -> None:
    done = manage("show_site", tmp_path=tmp_path, SECRET_KEY="")
    assert f"there is no {tmp_path}/local.env" in done.stderr
    assert "for `make demo` VAR_DIR=var/demo" in done.stderr
    assert done.stderr.count("\n") == 1


def test_python_without_django_is_sent_to_the_right_one() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "manage.py", "check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "has no Django: use .venv/bin/python manage.py" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            {"DATABASE_URL": "sqlite:///x"},
            "DATABASE_URL begins with 'sqlite': only postgresql:// is supported",
        ),
        ({"SITE_URL": "compilewatch"}, "SITE_URL is 'compilewatch'"),
        ({"LEASE_S": "soon"}, "LEASE_S"),
        (
            {"ARTIFACT_STORE": "/mnt/files"},
            "ARTIFACT_STORE is '/mnt/files', which is not a bucket of S3",
        ),
        (
            {"SECRET_KEY": "django-insecure-" + "k3Jx9" * 12},
            "SECRET_KEY is one that Django made for development",
        ),
        (
            {"SECRET_KEY": "changeme-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789"},
            "SECRET_KEY is a placeholder",
        ),
        ({"SECRET_KEY": "a-short-key"}, "SECRET_KEY is too short or too regular"),
        ({"SECRET_KEY": "abc" * 30}, "SECRET_KEY is too short or too regular"),
    ],
)
def test_wrong_setting_is_named(
    setting: dict[str, str],
    reason: str,
    tmp_path: Path,
) -> None:
    assert reason in manage("check", tmp_path=tmp_path, **setting).stderr


def test_missing_variable_is_read_from_local_env(tmp_path: Path) -> None:
    (tmp_path / "local.env").write_text(
        "SECRET_KEY=from-a-file-that-make-up-has-written-0123456789-abcdef\n"
    )
    assert manage("check", tmp_path=tmp_path, SECRET_KEY="").returncode == 0


def test_machines_time_zone_is_the_default(tmp_path: Path) -> None:
    done = manage(
        "diffsettings",
        tmp_path=tmp_path,
        TIME_ZONE="",
        TZ="Europe/Lisbon",
    )
    assert "TIME_ZONE = 'Europe/Lisbon'" in done.stdout


def test_machine_itself_is_allowed_next_to_the_named_hosts(tmp_path: Path) -> None:
    done = manage("diffsettings", tmp_path=tmp_path, ALLOWED_HOSTS="my.name")
    assert "ALLOWED_HOSTS = ['localhost', '127.0.0.1', 'my.name']" in done.stdout


@pytest.mark.django_db
def test_models_and_the_migrations_agree() -> None:
    out = io.StringIO()
    call_command("makemigrations", dry_run=True, stdout=out)
    assert out.getvalue() == "No changes detected\n"


@pytest.mark.django_db
def test_postgres_is_as_new_as_it_has_to_be() -> None:
    problems = checks.run_checks(databases=["default"])
    assert [problem for problem in problems if problem.level >= checks.ERROR] == []


def test_database_server_that_is_cut_off_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://nobody@127.0.0.1:{mute.getsockname()[1]}/none"
        done = manage("check", "--database", "default", tmp_path=tmp_path, DATABASE_URL=url)
    assert "connection timeout expired" in done.stderr


def test_pooler_that_takes_no_prepared_statements_is_said_in_the_address() -> None:
    options = database("postgresql://u@pooler/d?prepare_threshold=none")["OPTIONS"]
    assert options["prepare_threshold"] is None
    assert options["server_side_binding"] is True


@pytest.mark.django_db
def test_statements_are_prepared_by_their_third_use() -> None:
    with connection.cursor() as cursor:
        for number in range(5):
            cursor.execute("SELECT %s::integer + 41", [number])
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%+ 41'")
        assert cursor.fetchone() == (1,)


@pytest.mark.django_db
@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**70])
def test_number_beyond_its_column_is_refused_and_not_cut(number: int) -> None:
    with pytest.raises(DataError), transaction.atomic():
        Benchmark.objects.create(name="a", batch_size=number)


@pytest.mark.parametrize("module", ["scipy.stats", "dashboard.urls"])
def test_scheduler_starts_without_what_only_pages_need(tmp_path: Path, module: str) -> None:
    script = (
        "import sys; from dashboard.celery import app; app.loader.import_default_modules();"
        f"sys.exit({module!r} in sys.modules)"
    )
    environment = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), **PRODUCTION}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0


def test_healthz_needs_nothing() -> None:
    assert Client().get("/healthz").content == b"ok\n"


def test_head_is_answered_with_the_length_of_get_and_no_body() -> None:
    # Not by Django's test client: it takes a body away
    answer = WSGIHandler().get_response(RequestFactory().head("/healthz"))
    assert b"".join(answer) == b""
    assert answer["Content-Length"] == str(len(b"ok\n"))


def test_head_of_a_stream_has_no_body() -> None:
    handle = Methods(lambda _: StreamingHttpResponse(["row"]))
    answer = handle(RequestFactory().head("/"))
    assert b"".join(answer) == b""


@pytest.mark.django_db
def test_readyz_is_200_when_everything_is_up(broker: EmbeddedBroker) -> None:
    answer = Client().get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "migrations": "ok", "broker": "ok"}


@pytest.mark.django_db
def test_readyz_is_503_and_names_the_broker_that_is_down() -> None:
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["broker"][:17] == "cannot be reached"


@pytest.mark.django_db
def test_readyz_answers_within_2_seconds_while_the_broker_hangs(broker: EmbeddedBroker) -> None:
    stopped = broker.pid
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    try:
        began = time.monotonic()
        answer = Client().get("/readyz")
        took_s = time.monotonic() - began
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert answer.json()["broker"].startswith(("does not answer", "cannot be reached"))
    assert answer.status_code == 503
    assert took_s < 2


@pytest.mark.django_db
def test_readyz_asks_what_hangs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, calls = threading.Event(), []

    def hanging() -> str:
        calls.append(1)
        goes_on.wait(60)
        return "ok"

    monkeypatch.setattr(health, "CHECKS", {"database": hanging})
    monkeypatch.setattr(health, "running", {})
    states = [Client().get("/readyz").json()["database"] for _ in range(2)]
    goes_on.set()
    assert states == [health.NO_ANSWER] * 2
    assert len(calls) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/runs/", "/admin/", "/artifacts/1/"])
def test_stranger_is_sent_to_the_sign_in(path: str) -> None:
    assert (
        "sign-in" in Client().get(path, follow=True).redirect_chain[0][0]
        or "login" in Client().get(path)["Location"]
    )


@pytest.mark.django_db
def test_pages_allow_no_script_but_our_own(admin_client: Client) -> None:
    policy = admin_client.get("/").headers["Content-Security-Policy"]
    assert "script-src 'self';" in f"{policy};"
    assert "frame-ancestors 'none'" in policy


@pytest.mark.django_db
def test_answers_are_for_our_own_pages_and_need_no_device(admin_client: Client) -> None:
    for address in ("/", "/admin/", "/healthz", "/api/v1/machines", "/nowhere/"):
        headers = admin_client.get(address).headers
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "camera=()" in headers["Permissions-Policy"]


@pytest.mark.django_db
def test_what_others_embed_may_be_read_across_origins(reader: Client) -> None:
    badge = reader.get("/badge/alerts.svg")
    assert badge.headers["Cross-Origin-Resource-Policy"] == "cross-origin"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/", "/admin/", "/api/v1/machines", "/healthz"])
def test_trace_is_refused(admin_client: Client, address: str) -> None:
    assert admin_client.generic("TRACE", address).status_code == 405


@pytest.mark.django_db
def test_account_without_a_role_is_told_whom_to_ask(client: Client) -> None:
    client.force_login(User.objects.create_user("nobody"))
    assert "Ask an administrator to give you one" in page_text(client.get("/"))
    assert client.post("/sign-out/").status_code == 302


@pytest.mark.django_db
def test_admin_alone_may_evaluate_scripts(admin_client: Client) -> None:
    assert "'unsafe-eval'" in admin_client.get("/admin/").headers["Content-Security-Policy"]
