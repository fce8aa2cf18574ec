"""Builds, variants, tracks and environments in the admin and on the fleet page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.models import Requirements, TorchBuild, Track, Worker
from dashboard.runs.services import environments
from tests.builders import site
from tests.builders.package_index import PackageIndex

pytestmark = pytest.mark.django_db
LINUX = "cp311-cp311-manylinux_2_28_x86_64"
ADD, BUILDS, TRACK = (
    reverse(f"admin:dashboard_{name}")
    for name in ("torchbuild_add", "torchbuild_changelist", "track_add")
)


@pytest.fixture
def index(tmp_path: Path, settings: Any) -> Iterator[PackageIndex]:
    served = PackageIndex(tmp_path)
    served.add_torch("2.11.0", tag=LINUX)
    settings.PACKAGE_INDEX_URL = served.url
    site.worker()
    Worker.objects.update(facts={"platform": "linux_x86_64-cp311-cpu"})
    yield served
    served.stop()


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def add(client: Client, **fields: Any) -> Any:
    return client.post(
        ADD,
        {
            "version": "",
            "index_url": "",
            "base": "",
            "name": "",
            **fields,
        },
    )


def test_a_build_is_added_by_its_version(admin_client: Client, index: PackageIndex) -> None:
    add(admin_client, version="2.11.0")
    assert TorchBuild.objects.get(label="2.11.0").channel == "release"


def test_unknown_version_is_explained(admin_client: Client, index: PackageIndex) -> None:
    page = text(add(admin_client, version="2.11.9"))
    assert "There is no torch 2.11.9. Did you mean 2.11.0" in page
    assert not TorchBuild.objects.filter(version__startswith="2.11").exists()


def test_a_variant_is_added_with_its_settings(admin_client: Client) -> None:
    add(
        admin_client,
        base=site.build().pk,
        name="fusion",
        inductor='{"max_fusion_size": 1}',
    )
    variant = TorchBuild.objects.get(base=site.build())
    assert variant.variant == {"inductor": {"max_fusion_size": 1}}
    assert "max_fusion_size=1" in text(admin_client.get(BUILDS))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"inductor": "[1]"}, "Write an object, with names and their values."),
        ({"inductor": "{"}, "Enter a valid JSON."),
        ({"env": '{"PATH": "/x"}'}, "This variant cannot be measured"),
        ({}, "A variant needs at least one environment variable or Inductor setting."),
    ],
)
def test_bad_variant_is_explained(
    admin_client: Client, fields: dict[str, str], message: str
) -> None:
    assert message in text(
        add(
            admin_client,
            base=site.build().pk,
            name="one",
            **fields,
        )
    )
    assert TorchBuild.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": "2.11.0", "inductor": '{"max_fusion_size": 1}'}, "that this is a variant of"),
        ({"version": "2.11.0", "name": "fusion"}, "that this is a variant of"),
        ({}, "Give a version, or choose what it is a variant of."),
    ],
)
def test_plain_build_with_half_of_a_variant_is_refused(
    admin_client: Client, index: PackageIndex, fields: dict[str, str], message: str
) -> None:
    assert message in text(add(admin_client, **fields))
    assert not TorchBuild.objects.filter(label="2.11.0").exists()


@pytest.mark.parametrize("other", [{"version": "9.9.9"}, {"index_url": "https://example.org"}])
def test_variant_with_a_version_or_an_index_is_refused(
    admin_client: Client, other: dict[str, str]
) -> None:
    page = text(
        add(
            admin_client,
            base=site.build().pk,
            name="fusion",
            inductor='{"max_fusion_size": 1}',
            **other,
        )
    )
    assert "Leave it empty for a variant." in page
    assert TorchBuild.objects.count() == 1


def test_what_was_measured_on_a_build_cannot_be_changed_into_another(admin_client: Client) -> None:
    address = reverse("admin:dashboard_torchbuild_change", args=[site.build().pk])
    page = text(admin_client.get(address))
    assert 'name="index_url"' in page
    assert 'name="version"' not in page


def test_button_looks_for_new_builds(admin_client: Client, index: PackageIndex) -> None:
    address = reverse("admin:dashboard_torchbuild_discover")
    assert "Ask these package indexes" in text(admin_client.get(address))
    assert index.calls == []
    assert "Found 2.11.0." in text(admin_client.post(address, follow=True))


@pytest.mark.parametrize(
    ("index", "message"),
    [("", "set TEST_INDEX_URL"), ("http://127.0.0.1:9/simple", "every half hour")],
)
def test_track_of_candidates_says_whether_an_index_is_asked(
    admin_client: Client, settings: Any, index: str, message: str
) -> None:
    settings.TEST_INDEX_URL = index
    form = {"key": "rc", "kind": "test"}
    page = admin_client.post(reverse("admin:dashboard_track_add"), form, follow=True).text
    assert message in page


def test_track_of_nightlies_says_that_no_index_is_asked(
    admin_client: Client, settings: Any
) -> None:
    form = {"key": "nightly", "kind": "nightly"}
    settings.NIGHTLY_INDEX_URL = ""
    assert "set NIGHTLY_INDEX_URL" in admin_client.post(TRACK, form, follow=True).text
    settings.NIGHTLY_INDEX_URL = "http://127.0.0.1:9/simple"
    form["key"] = "nightly-2"
    assert "set NIGHTLY_INDEX_URL" not in admin_client.post(TRACK, form, follow=True).text


def test_a_pinned_track_needs_its_build(admin_client: Client) -> None:
    form = {
        "key": "pinned-2.13",
        "label": "",
        "kind": "pinned",
        "build": "",
    }
    page = text(admin_client.post(TRACK, form))
    assert "A pinned track needs the build that it is pinned to." in page
    admin_client.post(TRACK, {**form, "build": site.build().pk})
    assert Track.objects.get().build == site.build()


def test_requirements_can_be_deleted_and_resolved_again(admin_client: Client) -> None:
    row = Requirements.objects.create(
        build=site.build(), platform="linux_x86_64-cp311-cpu", text="torch==1\n"
    )
    admin_client.post(
        reverse("admin:dashboard_requirements_delete", args=[row.pk]), {"post": "yes"}
    )
    assert not Requirements.objects.exists()


def test_the_fleet_page_shows_environments_with_their_state_and_size(admin_client: Client) -> None:
    worker, build = site.worker(), site.build()
    shared = {"build": build.label, "libraries": {"numpy": "2.4.6"}}
    environments.record_environments(
        worker=worker,
        environments=[
            {
                "key": "a",
                "state": "ready",
                "size_mb": 3412,
                **shared,
            },
            {
                "key": "b",
                "state": "failed",
                "message": "uv: no such version",
                **shared,
            },
            {
                "key": "c",
                "state": "ready",
                "adopted": True,
                "message": "/usr/bin/python3",
                **shared,
            },
            {
                "key": "d",
                "state": "evicted",
                "message": "over the limit",
                **shared,
            },
        ],
    )
    page = text(admin_client.get(reverse("fleet")))
    assert "3,412 MB" in page
    assert "uv: no such version" in page
    assert "adopted <small>/usr/bin/python3" in page
    assert "numpy 2.4.6" in page
    assert "over the limit" not in page
