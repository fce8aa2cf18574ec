"""Weight of a first visit; static files as every site sends them: collected and compressed."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client, override_settings

from dashboard.models import Job
from dashboard.settings import STATICFILES_BACKEND
from tests.builders import pages
from tests.builders.reading import text

PLAIN_KB, CHART_KB = 200, 700
BUNDLE_HEAD = 200  # characters, which name the version


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of collected static files, which pages refer to."""
    root = tmp_path_factory.mktemp("static")
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": STATICFILES_BACKEND}}
    with override_settings(STATIC_ROOT=root, STORAGES=storages):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield root


def first_visit_kb(client: Client, address: str, collected: Path) -> float:
    """kB of a page, of what it refers to, and of the data of its charts."""
    headers = {"accept-encoding": "gzip"}
    total = len(client.get(address, headers=headers).content)
    page = text(client, address)
    for name in set(re.findall(r'(?:href|src)="/static/([^"]+)"', page)):
        compressed = collected / f"{name}.gz"
        total += (compressed if compressed.exists() else collected / name).stat().st_size
    for figure in re.findall(r'data-figure="([^"]+)"', page):
        data = client.get(figure.replace("&amp;", "&"), headers=headers)
        total += len(data.content)
    return total / 1000


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/", "/benchmarks/", "/alerts/", "/runs/", "/docs/"])
def test_page_without_a_chart_weighs_little(
    admin_client: Client, collected: Path, address: str
) -> None:
    pages.small_site()
    assert first_visit_kb(admin_client, address, collected) < PLAIN_KB


@pytest.mark.django_db
def test_page_with_a_chart_keeps_to_its_budget(admin_client: Client, collected: Path) -> None:
    pages.small_site()
    benchmark = Job.objects.select_related("benchmark").get(result__isnull=False).benchmark
    address = f"/series/{benchmark}/"
    weight = first_visit_kb(admin_client, address, collected)
    assert PLAIN_KB < weight < CHART_KB  # its script is among what was counted


def test_charts_are_drawn_by_the_plotly_js_of_the_python_package() -> None:
    spec = importlib.util.find_spec("plotly")
    assert spec
    assert spec.origin
    of_package = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    of_pages = settings.BASE_DIR / "dashboard" / "static" / "plotly" / "plotly-basic.min.js"
    versions = []
    for bundle in (of_package, of_pages):
        with bundle.open(encoding="utf-8") as lines:
            versions += re.findall(r"v(\d+\.\d+\.\d+)", lines.read(BUNDLE_HEAD))
    assert len(versions) == 2
    assert versions[0] == versions[1]


@pytest.mark.django_db
def test_site_and_admin_share_one_typeface(collected: Path) -> None:
    face = (collected / "unfold" / "fonts" / "inter" / "styles.css").read_text()
    assert "inter-latin-wght-normal.woff2" in face
    assert "unfold/fonts/inter/styles" in text(Client(), "/sign-in/")
