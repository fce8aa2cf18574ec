"""Undo what a test committed, in place of Django's own way, and share data that are made once.

Django truncates every table, then makes permissions, roles and tasks again: as much as most such
tests take themselves. Here a table is compared with how it was remembered, by the number of its
rows and of the transactions that wrote them; only one that differs is written again.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.test import TransactionTestCase

ShareData = Callable[[Callable[[], Any]], Any]
FIRST, OF_MODULE = "first", "of_module"  # schemas that hold remembered tables
FUNCTIONS = """
CREATE SCHEMA committed;
CREATE VIEW committed.tables AS
    SELECT relname AS name, string_agg(quote_ident(attname), ', ') AS written_columns
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    GROUP BY relname;

CREATE FUNCTION committed.state(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text;
BEGIN
    EXECUTE format('SELECT concat(count(*), '' '', sum(xmin::text::bigint)) FROM public.%I', name)
        INTO state;
    RETURN state;
END $$;

CREATE FUNCTION committed.remember(kept text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE each record;
BEGIN
    EXECUTE format('DROP SCHEMA IF EXISTS %I CASCADE', kept);
    EXECUTE format('CREATE SCHEMA %I', kept);
    FOR each IN SELECT * FROM committed.tables LOOP
        EXECUTE format('CREATE TABLE %I.%I AS SELECT %s FROM public.%2$I',
            kept, each.name, each.written_columns);
    END LOOP;
    EXECUTE format('CREATE TABLE %I."state of all" AS'
        ' SELECT *, committed.state(name) AS state FROM committed.tables', kept);
END $$;

CREATE FUNCTION committed.undo(kept text) RETURNS void LANGUAGE plpgsql
    SET session_replication_role = replica -- no foreign key is checked on the way
AS $$
DECLARE each record;
BEGIN
    FOR each IN EXECUTE format('SELECT * FROM %I."state of all" AS remembered'
        ' WHERE committed.state(name) <> state', kept)
    LOOP
        EXECUTE format('DELETE FROM public.%I', each.name);
        EXECUTE format('INSERT INTO public.%I (%s) TABLE %I.%1$I',
            each.name, each.written_columns, kept);
        EXECUTE format('UPDATE %I."state of all" SET state = committed.state(name)'
            ' WHERE name = %L', kept, each.name);
    END LOOP;
END $$;
"""
_kept = FIRST


def remember_first() -> None:
    """Keep the rows of a new database, and have Django undo commits from now on."""
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        cursor.execute("SELECT committed.remember(%s)", [FIRST])
    TransactionTestCase._fixture_teardown = undo  # type: ignore[attr-defined]


def remember_for_module() -> None:
    """Have the tests of a module begin with what is committed now."""
    global _kept  # noqa: PLW0603 - Django's own way to undo takes no argument
    _kept = OF_MODULE
    with connection.cursor() as cursor:
        cursor.execute("SELECT committed.remember(%s)", [OF_MODULE])


def forget_module() -> None:
    """Undo everything since the database was new."""
    global _kept  # noqa: PLW0603
    _kept = FIRST
    undo()


def undo(_: TransactionTestCase | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT committed.undo(%s)", [_kept])
