"""What every test of the site stands on: one real Postgres for each process of tests.

With DATABASE_URL set, its server is used as a superuser (in a database `test_...`); otherwise the
embedded one is started when the first test asks for a database, so that tests of the suite and the
runner do not pay for it.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboard.local.embedded_broker import EmbeddedBroker

if TYPE_CHECKING:  # pytest reads this file before Django is set up
    from tests.builders.committed_data import ShareData

EMBEDDED = "DATABASE_URL" not in os.environ
# Each has a Postgres, a browser and torch; with more the longest file alone says how long all takes
MOST_PROCESSES = 4
LONGEST = ("end_to_end", "suite", "runner")
VAR = Path(tempfile.mkdtemp(prefix="compilewatch-tests-"))
VAR.chmod(0o711)  # under root, Postgres runs as another account, which has to get in
os.environ["VAR_DIR"] = str(VAR)  # never the developer's own data, nor its local.env
os.environ["TIME_ZONE"] = "UTC"
# torch's threads sleep while they wait for each other: those that spin keep a core from other tests
os.environ["OMP_WAIT_POLICY"] = "passive"
# Down, until a test asks for `broker`
os.environ["BROKER_URL"] = EmbeddedBroker(VAR / "broker").url


# Where collectstatic would put files; whitenoise warns when there is no such folder
(VAR / "static").mkdir()


def pytest_configure(config: pytest.Config) -> None:
    """Tests of the suite also run where nothing but torch and pytest is installed.

    Of several processes the first runs no test; with Django set up there the others would inherit
    what settings set.
    """
    if importlib.util.find_spec("django") and config.getoption("dist", "no") == "no":
        import django

        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        django.setup()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core where the whole suite runs; a part of it is done sooner than several
    have started.
    """
    cores = len(os.sched_getaffinity(0))
    is_part = config.option.keyword or config.args_source is pytest.Config.ArgsSource.ARGS
    return 0 if is_part or cores == 1 else min(cores, MOST_PROCESSES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folders whose files take longest come first, so that several processes end together."""
    items.sort(
        key=lambda item: (
            LONGEST.index(folder) if (folder := item.path.parent.name) in LONGEST else len(LONGEST)
        )
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Playwright's event loop runs in the thread of the tests, where Django would refuse to use the
    database.
    """
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("browser"):
            patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        return (yield)


def pytest_unconfigure() -> None:
    shutil.rmtree(VAR, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_postgres() -> Iterator[dict[str, Any]]:
    """Django's description of a migrated server that lives as long as the session."""
    from dashboard.local.embedded_postgres import EmbeddedPostgres
    from dashboard.site.configuration import database
    from tests.builders.migrated_postgres import copy_migrated_postgres

    copy_migrated_postgres(VAR / "postgres")
    server = EmbeddedPostgres(VAR / "postgres")
    try:
        yield database(server.start())
    finally:
        server.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """pytest-django asks for this before it makes the test database: a copy of the migrated one."""
    if EMBEDDED:
        from django.db import connections

        from dashboard.local.embedded_postgres import DATABASE

        described = request.getfixturevalue("embedded_postgres")
        settings = connections["default"].settings_dict
        settings.update(described, TEST={**settings["TEST"], "TEMPLATE": DATABASE})


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """pytest-django's own, with a cheaper way to undo what a test commits."""
    from tests.builders import committed_data

    with django_db_blocker.unblock():
        committed_data.remember_first()


@pytest.fixture(scope="module")
def share(django_db_setup: None, django_db_blocker: Any) -> "Iterator[ShareData]":
    """Makes the data of a module's tests, once: called in its own fixture with a function.

    Each test begins with them, whatever the one before it has changed.
    """
    from tests.builders import committed_data

    def make_once(make: Callable[[], Any]) -> Any:
        with django_db_blocker.unblock():
            made = make()
            committed_data.remember_for_module()
            return made

    yield make_once
    with django_db_blocker.unblock():
        committed_data.forget_module()


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """The broker of the site's settings, a real Valkey, with nothing queued."""
    server = EmbeddedBroker(VAR / "broker")
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home)
