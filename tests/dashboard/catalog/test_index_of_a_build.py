"""Workers run what they install: whose index a build comes from is an administrator's decision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dashboard.accounts.services.roles import Role, assign
from dashboard.catalog.services.builds import BuildError, add_build
from dashboard.models import TorchBuild, Worker
from tests.builders import site
from tests.builders.package_index import PackageIndex

pytestmark = pytest.mark.django_db
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


def test_shell_may_name_an_index_of_its_own_network(index: PackageIndex) -> None:
    assert add_build(version="2.11.0", index_url=index.url).index_url == index.url
