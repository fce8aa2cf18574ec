"""People who open the pages, and where mail goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from hypothesis import HealthCheck, settings

from tests.builders.receivers import Mailbox, mailbox

if TYPE_CHECKING:  # pytest reads this file before Django is set up
    from django.contrib.auth.models import User

    from tests.builders.committed_data import ShareData

# How long an example takes says how busy the machine is, not whether the code is right
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def reader(client: Client, db: None) -> Client:
    """Somebody who may look at everything and change nothing."""
    from tests.builders.people import viewer

    client.force_login(viewer("reader"))
    return client


@pytest.fixture
def operator(client: Client, django_user_model: type[User]) -> Client:
    client.force_login(django_user_model.objects.create_superuser("operator"))
    return client


@pytest.fixture
def inbox() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@contextmanager
def database_beside(template: str) -> Iterator[str]:
    """The address of another database on the server of the test's own."""
    import psycopg
    from django.db import connection

    from tests.builders.servers import address

    name = f"{connection.settings_dict['NAME']}_beside"
    with psycopg.connect(address("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield address(name)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_database(db: None) -> Iterator[str]:
    """The address of a database with nothing in it."""
    with database_beside("template1") as url:
        yield url


@pytest.fixture
def migrated_database(db: None) -> Iterator[str]:
    """The address of a database with every migration, where the tests' server is their own."""
    from django.db import connection

    with database_beside(connection.settings_dict["TEST"]["TEMPLATE"] or "template1") as url:
        yield url


@pytest.fixture(scope="module")
def two_releases(share: ShareData) -> None:
    """2.11 and 2.13 on one GPU, imported."""
    from tests.builders import releases

    share(releases.import_two_releases)
