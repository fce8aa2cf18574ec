"""Commands that empty pages print can be pasted where the site runs."""

from pathlib import Path

import pytest
from django.test import Client

from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("url", ["/compare/", "/experiments/"])
def test_machine_is_one_of_the_site_that_can_measure(reader: Client, url: str) -> None:
    site.machine("cpu-2c")
    site.worker(on="h200")
    command = text(reader, url).partition("manage.py ")[2].partition("</pre>")[0]
    assert "--machine h200" in command
    assert "cpu-2c" not in command


@pytest.mark.parametrize(
    ("prefix", "interpreter"), [(ROOT / ".venv", ".venv/bin/python"), ("/opt/venv", "python")]
)
def test_interpreter_is_the_one_of_the_site(
    reader: Client, monkeypatch: pytest.MonkeyPatch, prefix: object, interpreter: str
) -> None:
    monkeypatch.setattr("sys.prefix", str(prefix))
    assert f"<pre>{interpreter} manage.py compare_builds" in text(reader, "/experiments/")
