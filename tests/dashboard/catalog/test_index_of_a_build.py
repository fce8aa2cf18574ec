"""Workers run what they install: whose index a build comes from is an administrator's decision."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from packaging.version import Version

from dashboard.accounts.services.roles import Role, assign
from dashboard.catalog.services.builds import BuildError, add_build
from dashboard.catalog.services.package_index import (
    IndexProblem,
    cuda_and_triton,
    torch_releases,
)
from dashboard.models import TorchBuild, Worker
from tests.builders import site
from tests.builders.package_index import PackageIndex

pytestmark = pytest.mark.django_db
PACKAGE_INDEX = "dashboard.catalog.services.package_index"
ADD = reverse("admin:dashboard_torchbuild_add")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    served = PackageIndex(tmp_path)
    served.add_torch("2.11.0")
    site.worker()
    Worker.objects.update(facts={"platform": "linux_x86_64-cp311-cpu"})
    yield served
    served.stop()


def client_of(role: Role) -> Client:
    person = User.objects.create_user(role)
    assign(user=person, role=role)
    client = Client()
    client.force_login(person)
    return client


def add(client: Client, index_url: str) -> str:
    form = {"version": "2.11.0", "index_url": index_url, "base": "", "name": ""}
    return client.post(ADD, form).content.decode()


def test_operator_may_not_name_an_index(index: PackageIndex) -> None:
    assert "Only an administrator" in add(client_of(Role.OPERATOR), "https://elsewhere.example")
    assert not TorchBuild.objects.filter(label="2.11.0").exists()


def test_operator_may_choose_an_index_of_the_settings(index: PackageIndex, settings: Any) -> None:
    settings.NIGHTLY_INDEX_URL = index.url
    add(client_of(Role.OPERATOR), index.url)
    assert TorchBuild.objects.get(label="2.11.0").index_url == index.url


def test_operator_may_not_move_a_build_to_another_index() -> None:
    build = site.build()
    address = reverse("admin:dashboard_torchbuild_change", args=[build.pk])
    form = {"channel": "release", "index_url": "https://elsewhere.example"}
    client_of(Role.OPERATOR).post(address, form)
    build.refresh_from_db()
    assert build.index_url == ""


def test_form_asks_no_index_of_a_private_network(index: PackageIndex) -> None:
    page = add(client_of(Role.ADMIN), index.url)
    assert "127.0.0.1, which is not a public address" in page
    assert index.calls == []


def test_redirect_into_a_private_network_is_not_followed(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dashboard.accounts.core.public_addresses.is_public", lambda address: address == "127.0.0.1"
    )
    index.redirect = "http://127.0.0.2:9/simple/torch/"
    with pytest.raises(BuildError, match="which is not a public address"):
        add_build(version="2.11.0", index_url=index.url, may_be_private=False)


@pytest.fixture
def public_index(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> PackageIndex:
    """An index whose address counts as public; 127.0.0.2 does not."""
    for module in ("dashboard.accounts.core.public_addresses", PACKAGE_INDEX):
        monkeypatch.setattr(f"{module}.is_public", lambda address: address == "127.0.0.1")
    return index


def test_index_of_the_settings_leads_into_no_private_network(
    public_index: PackageIndex, settings: Any
) -> None:
    settings.PACKAGE_INDEX_URL = public_index.url
    public_index.redirect = "http://127.0.0.2:9/simple/torch/"
    with pytest.raises(BuildError, match=r"127\.0\.0\.2, which is not a public address"):
        add_build(version="2.11.0")


def test_metadata_of_a_wheel_is_read_from_no_private_network(public_index: PackageIndex) -> None:
    wheel = torch_releases(public_index.url)[Version("2.11.0")].wheels[0]
    elsewhere = replace(wheel, metadata_url="http://127.0.0.2:9/torch.metadata")
    with pytest.raises(IndexProblem, match="which is not a public address"):
        cuda_and_triton(elsewhere, public_index.url)


@pytest.mark.parametrize(("limit", "value"), [("MOST_BYTES", 100), ("MOST_S", -1)])
def test_page_without_end_is_not_read(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"{PACKAGE_INDEX}.{limit}", value)
    with pytest.raises(IndexProblem, match="no page of an index does"):
        torch_releases(index.url)


def test_shell_may_name_an_index_of_its_own_network(index: PackageIndex) -> None:
    assert add_build(version="2.11.0", index_url=index.url).index_url == index.url
