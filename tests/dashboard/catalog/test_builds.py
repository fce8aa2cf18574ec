"""Builds are added by version and found on an index; a variant is its base with other settings."""

import io
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.builds import (
    BuildError,
    add_build,
    add_variant,
    discover_builds,
    fill_in_facts,
    settings_name,
)
from dashboard.models import TorchBuild, Track
from dashboard.tasks import discover_builds as task_discover_builds
from tests.builders import site
from tests.builders.package_index import PackageIndex

pytestmark = pytest.mark.django_db
LINUX = "cp311-cp311-manylinux_2_28_x86_64"


@pytest.fixture
def index(tmp_path: Path, settings: Any) -> Iterator[PackageIndex]:
    """torch 2.10.0 and 2.11.0 for Python 3.11, 2.12.0 for Windows alone, and a nightly."""
    served = PackageIndex(tmp_path)
    served.add_torch(
        "2.10.0", tag=LINUX, needs=["nvidia-cuda-runtime-cu12==12.8.90", "triton==3.6.0"]
    )
    served.add_torch("2.11.0", tag=LINUX)
    served.add_torch("2.12.0", tag="cp311-cp311-win_amd64")
    served.add_torch("2.13.0.dev20260101", tag=LINUX)
    settings.PACKAGE_INDEX_URL = served.url
    site.worker()
    site.worker("w2").__class__.objects.update(facts={"platform": "linux_x86_64-cp311-cpu"})
    yield served
    served.stop()


def call(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_build_gets_the_facts_of_the_index(index: PackageIndex) -> None:
    build = add_build(version="2.10.0")
    assert build.label == "2.10.0"
    assert build.cuda == "12.8"
    assert build.triton == "3.6.0"
    assert build.channel == "release"
    assert build.python == ">=3.8"
    assert build.released_on == date(2026, 1, 1)
    assert build.index_url == ""


def test_adding_a_build_twice_keeps_one(index: PackageIndex) -> None:
    assert add_build(version="2.10.0") == add_build(version="2.10.0")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("2.10.9", r"There is no torch 2.10.9. Did you mean 2.10.0"),
        ("2.12.0", r"has no wheel for Python 3.11 on linux x86_64, only for cp311 on win_amd64"),
        ("two", r"'two' is not a version: write it like 2.13.0"),
        ("1.13.1", r"older than 2.1"),
    ],
)
def test_build_that_cannot_be_added_says_why(
    index: PackageIndex, version: str, message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        add_build(version=version)
    assert not TorchBuild.objects.filter(version=version).exists()


def test_an_index_that_does_not_answer_is_named_with_what_to_do(index: PackageIndex) -> None:
    index.stop()
    with pytest.raises(
        BuildError, match=r"does not answer .*: check the network, or set PACKAGE_INDEX_URL"
    ):
        add_build(version="2.10.0")


def test_address_without_an_index_is_named(index: PackageIndex, settings: Any) -> None:
    settings.PACKAGE_INDEX_URL = index.url.removesuffix("/simple")
    with pytest.raises(BuildError, match=r"answers 404 .*: is PACKAGE_INDEX_URL"):
        add_build(version="2.10.0")


def test_command_adds_several_and_reports_failures(index: PackageIndex) -> None:
    assert call("add_build", "2.10.0", "2.11.0") == "2.10.0\n2.11.0\n"
    with pytest.raises(CommandError, match=r"There is no torch 9.9.9"):
        call("add_build", "9.9.9")


def test_worker_fills_in_facts_missing_on_the_index(index: PackageIndex) -> None:
    build = add_build(version="2.10.0")
    fill_in_facts(build=build, facts={"git_sha": "abc", "cuda": "12.9"})
    build.refresh_from_db()
    assert build.git_sha == "abc"
    assert build.cuda == "12.8"


def test_releases_that_our_workers_can_install_are_added(index: PackageIndex) -> None:
    assert sorted(map(str, discover_builds().added)) == ["2.10.0", "2.11.0"]
    assert discover_builds().added == []


def test_the_newest_nightly_comes_from_the_nightly_index(index: PackageIndex) -> None:
    index.add_torch("2.13.0.dev20260102", tag=LINUX)
    added = {build.label: build for build in discover_builds(nightly_index=index.url).added}
    nightly = added["2.13.0.dev20260102"]
    assert nightly.channel == "nightly"
    assert nightly.index_url == index.url
    assert "2.13.0.dev20260101" not in added


def test_unreachable_index_does_not_hold_up_the_other(index: PackageIndex) -> None:
    discovery = discover_builds(nightly_index="http://127.0.0.1:9/simple")
    assert len(discovery.added) == 2
    assert len(discovery.problems) == 1


def test_the_command_prints_what_is_new(index: PackageIndex) -> None:
    assert call("discover_builds") == "2.10.0\n2.11.0\n"
    assert call("discover_builds") == "nothing new\n"


def test_no_index_is_asked_without_a_track_that_follows_the_newest(index: PackageIndex) -> None:
    task_discover_builds()
    assert index.calls == []
    Track.objects.create(key="stable", kind=Track.Kind.STABLE)
    task_discover_builds()
    assert TorchBuild.objects.filter(channel="release", version="2.11.0").exists()


def test_the_commands_of_the_docs_exist() -> None:
    page = (Path(settings.BASE_DIR) / "docs" / "builds.md").read_text()
    commands = set(re.findall(r"manage\.py (\w+)", page))
    assert commands == {"add_build", "add_variant", "discover_builds", "compare_builds"}
    assert commands <= set(get_commands())


def test_a_variant_is_its_base_with_settings_and_their_fingerprint() -> None:
    variant = add_variant(
        base=site.build(), name="tf32", env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    )
    assert variant.base == site.build()
    assert variant.version == site.build().version
    assert variant.label.startswith(f"{site.BUILD}~tf32-")


def test_other_settings_make_another_build_under_the_same_name() -> None:
    labels = set()
    for size in (1, 2, 1):
        variant = add_variant(
            base=site.build(),
            name="fusion",
            inductor={"max_fusion_size": size},
        )
        labels.add(variant.label)
    assert len(labels) == 2


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ({"inductor": {"triton.cudagraphs": True}}, "cudagraphs"),
        (
            {"inductor": {"epilogue_fusion": False, "max_fusion_size": 1}},
            "no-epilogue_fusion.max_fusion_size-1",
        ),
        ({"env": {"TORCHINDUCTOR_FLAGS": "-O2 /a"}}, "torchinductor_flags--o2-a"),
    ],
)
def test_unnamed_variant_is_called_after_its_settings(variant: dict[str, Any], name: str) -> None:
    assert settings_name(variant) == name


def test_a_run_of_a_variant_gives_its_settings_to_every_job() -> None:
    variant = add_variant(
        base=site.build(),
        name="fusion",
        inductor={"max_fusion_size": 1},
    )
    job = site.run(build=variant.label).jobs.get()
    assert job.spec["variant"] == {"inductor": {"max_fusion_size": 1}}
    assert job.spec["build"] == variant.label


@pytest.mark.parametrize(
    ("name", "env", "message"),
    [
        ("Bad name", {"TORCH_X": "1"}, "is not a name of a variant"),
        ("none", {}, "needs at least one"),
        ("path", {"LD_PRELOAD": "x"}, "cannot be measured"),
    ],
)
def test_a_variant_that_the_job_file_does_not_allow_is_refused(
    name: str, env: dict[str, str], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        add_variant(base=site.build(), name=name, env=env)


def test_a_variant_of_a_variant_is_refused() -> None:
    variant = add_variant(base=site.build(), name="one", env={"TORCH_X": "1"})
    with pytest.raises(BuildError, match="is a variant itself: vary its base"):
        add_variant(base=variant, name="two", env={"TORCH_X": "2"})
