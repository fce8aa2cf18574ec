"""Release candidates: found on the test index, compared once with the last release, judged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from packaging.version import Version

from dashboard.catalog.core.candidates import (
    candidate_label,
    is_same_candidate,
    newest_candidates,
)
from dashboard.catalog.core.package_page import Release
from dashboard.catalog.services.builds import (
    BuildError,
    add_build,
    discover_builds,
    discover_candidates,
)
from dashboard.comparisons.core.candidate_verdicts import NOT_COMPILED, verdicts_of
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.comparisons.selectors import candidates as read
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.newest_release import newest_release
from dashboard.comparisons.services import candidates
from dashboard.comparisons.services.comparisons import measure_more
from dashboard.models import Comparison, InstalledEnvironment, TorchBuild
from tests.builders import compared, site
from tests.builders.candidates import CANDIDATE, RELEASE, candidate, ended, following_track, started
from tests.builders.package_index import PackageIndex
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
LINUX = "cp311-cp311-manylinux_2_28_x86_64"


# --- What a test index has ---


def releases(*versions: str) -> list[Release]:
    return [Release(Version(version), ()) for version in versions]


def test_newest_candidate_of_each_unreleased_version_counts() -> None:
    listed = releases("2.15.0", "2.15.1rc1", "2.16.0rc1", "2.16.0rc2", "2.14.9", "2.17.0.dev1")
    newest = newest_candidates(listed, Version("2.15.0+cpu"))
    assert [str(release.version) for release in newest] == ["2.15.1rc1", "2.16.0rc2"]


def test_final_version_comes_after_its_candidates() -> None:
    newest = newest_candidates(releases("2.16.0+cpu", "2.16.0rc3+cpu"), Version("2.15.0"))
    assert [str(release.version) for release in newest] == ["2.16.0+cpu"]


@pytest.mark.parametrize(
    ("version", "hashes", "label"),
    [
        ("2.16.0rc1", {"a.whl": "1a2b3c4d5e"}, "2.16.0rc1"),
        ("2.16.0+cpu", {"a.whl": "1a2b3c4d5e"}, "2.16.0@1a2b3c4d+cpu"),
        ("2.16.0", {}, "2.16.0@test"),
    ],
)
def test_label_leaves_the_final_version_to_the_release(
    version: str, hashes: dict[str, str], label: str
) -> None:
    assert candidate_label(Version(version), hashes) == label


@pytest.mark.parametrize(
    ("on_index", "same"),
    [
        ({"311": "a", "312": "b"}, True),
        ({"311": "a"}, True),
        ({"311": "a", "312": "b", "313": "c"}, True),
        ({}, True),
        ({"311": "new", "312": "new"}, False),
        ({"311": "new", "312": "b"}, False),
        ({"313": "c"}, False),
    ],
)
def test_candidate_is_another_one_with_the_first_wheel_that_differs(
    on_index: dict[str, str], same: bool
) -> None:
    assert is_same_candidate({"311": "a", "312": "b"}, on_index) is same


def test_candidate_without_stored_hashes_is_taken_for_the_one_on_the_index() -> None:
    assert is_same_candidate({}, {"311": "a"})


@pytest.fixture
def index(tmp_path: Path, settings: Any) -> Iterator[PackageIndex]:
    """An index of releases with 2.13.0, and one of tests with that and 2.14.0."""
    released, tested = PackageIndex(tmp_path / "released"), PackageIndex(tmp_path / "tested")
    released.add_torch("2.13.0", tag=LINUX)
    tested.add_torch("2.13.0", tag=LINUX)
    tested.add_torch("2.14.0", tag=LINUX)
    settings.PACKAGE_INDEX_URL, settings.TEST_INDEX_URL = released.url, tested.url
    worker = site.living_worker()
    worker.facts["platform"] = "linux_x86_64-cp311-cpu"
    worker.save()
    yield tested
    released.stop()
    tested.stop()


def test_version_that_only_the_test_index_has_is_a_candidate(index: PackageIndex) -> None:
    added = {build.label: build for build in discover_builds().added}
    assert added.pop("2.13.0").channel == "release"
    (build,) = added.values()
    assert build.channel == "test"
    [digest] = build.wheel_hashes.values()
    assert build.label == f"2.14.0@{digest[:8]}"
    assert build.version == "2.14.0"
    assert build.index_url == index.url


def test_replaced_wheel_is_another_candidate_and_the_same_one_is_not(index: PackageIndex) -> None:
    discover_builds()
    assert discover_candidates().added == []
    index.add_torch("2.14.0", tag=LINUX, code="__version__ = '2.14.0'\n")
    (second,) = discover_candidates().added
    assert TorchBuild.objects.filter(channel="test", version="2.14.0").count() == 2
    assert read.current() == [second]


def test_release_is_a_build_of_its_own_and_ends_its_candidates(
    index: PackageIndex, settings: Any
) -> None:
    discover_builds()
    settings.PACKAGE_INDEX_URL = index.url  # now the release is out
    assert [build.label for build in discover_builds().added] == ["2.14.0"]
    assert read.current() == []


def test_test_index_that_does_not_answer_holds_up_no_other(
    index: PackageIndex, settings: Any
) -> None:
    settings.TEST_INDEX_URL = "http://127.0.0.1:9/simple"
    discovery = discover_builds()
    assert [build.label for build in discovery.added] == ["2.13.0"]
    assert len(discovery.problems) == 1


def test_without_the_index_of_releases_nothing_is_called_a_candidate(
    index: PackageIndex, settings: Any
) -> None:
    settings.PACKAGE_INDEX_URL = "http://127.0.0.1:9/simple"
    discovery = discover_builds()
    assert discovery.added == []
    assert len(discovery.problems) == 1


def test_candidate_is_not_added_as_if_it_were_a_release(index: PackageIndex) -> None:
    with pytest.raises(BuildError, match="has release candidates"):
        add_build(version="2.14.0", index_url=index.url)


def test_test_index_is_not_asked_without_a_track(index: PackageIndex) -> None:
    assert candidates.discover() is None
    assert index.calls == []
    following_track()
    discovery = candidates.discover()
    assert discovery
    assert [build.channel for build in discovery.added] == ["release", "test"]


# --- The comparison ---


def test_new_candidate_is_compared_with_the_newest_release() -> None:
    site.build("2.12.0+cpu")
    comparison = started()
    assert (str(comparison.base), str(comparison.new)) == (RELEASE, CANDIDATE)
    assert comparison.runs.count() == 2
    assert comparison.track


def test_candidate_is_compared_once() -> None:
    comparison = started()
    assert candidates.start_due(now=timezone.now()) == []
    assert list(Comparison.objects.all()) == [comparison]


def test_each_candidate_gets_its_own_comparison() -> None:
    started()
    candidate("2.14.0rc2+cpu")
    (second,) = candidates.start_due(now=timezone.now())
    assert str(second.new) == "2.14.0rc2+cpu"


def test_track_stands_at_its_newest_candidate() -> None:
    comparison = started()
    assert comparison.track
    comparison.track.refresh_from_db()
    assert comparison.track.build == comparison.new


def test_nothing_is_started_without_a_living_worker() -> None:
    site.worker()
    site.build(RELEASE)
    candidate()
    following_track()
    assert candidates.start_due(now=timezone.now()) == []


def test_machine_that_the_track_does_not_name_compares_nothing() -> None:
    site.living_worker()
    site.build(RELEASE)
    candidate()
    following_track().machines.set([site.machine("other")])
    assert candidates.start_due(now=timezone.now()) == []


def test_candidate_of_another_flavour_is_not_installed_here() -> None:
    site.living_worker()
    site.build(RELEASE)
    candidate("2.14.0rc1+cu130")
    following_track()
    assert candidates.start_due(now=timezone.now()) == []


# --- The verdicts ---


@pytest.mark.parametrize(("latency", "verdict"), [(2.0, "same"), (2.4, "worse"), (1.6, "better")])
def test_words_are_those_of_the_judgement(latency: float, verdict: str) -> None:
    verdicts = read.verdicts(ended(latency))
    [model] = verdicts.models
    assert (model.title, model.verdict) == ("mlp inference", verdict)
    assert verdicts.text == f"{verdict} for 1 model"


def case(values: tuple[float, ...], config: str = "inductor", device: str = "gpu-0") -> Side:
    return compared.side({"latency_ms": compared.samples(values, device=device)}, config)


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (case((100.0,)), case((100.0,))),
        (case((100.0, 100.2)), case((104.0, 104.2))),
        (case(compared.STEADY), case(compared.STEADY, device="gpu-1")),
    ],
    ids=["one process", "too few processes", "no shared session"],
)
def test_too_little_data_is_unclear(base: Side, new: Side) -> None:
    verdicts = verdicts_of(build_report(base, new, is_complete=True))
    assert [model.verdict for model in verdicts.models] == ["unclear"]


def test_eager_alone_says_nothing_of_compiling() -> None:
    eager = case(compared.STEADY, config="eager")
    (model,) = verdicts_of(build_report(eager, eager, is_complete=True)).models
    assert (model.verdict, model.sentences) == ("unclear", (NOT_COMPILED,))


def test_nothing_measured_is_unclear() -> None:
    verdicts = verdicts_of(build_report({}, {}, is_complete=True))
    assert verdicts.text == "unclear"
    assert verdicts.why_none


def test_candidate_that_could_not_be_installed_is_unclear() -> None:
    report = build_report(case(compared.STEADY), compared.side({}, failures={"fail_to_run": 6}))
    assert verdicts_of(report).text == "worse for 1 model"
    assert verdicts_of(report, why_not_installed="no wheel").text == "unclear for 1 model"


def test_failed_environment_says_why_nothing_is_known() -> None:
    comparison = ended(2.0)
    assert [model.verdict for model in read.verdicts(comparison).models] == ["same"]
    InstalledEnvironment.objects.create(
        worker=site.worker("w2"),
        key="k",
        build=comparison.new,
        state=InstalledEnvironment.State.FAILED,
        message="Hash mismatch for torch",
    )
    (model,) = read.verdicts(comparison).models
    assert model.verdict == "unclear"
    assert "Hash mismatch" in model.sentences[0]


def test_comparison_that_goes_on_has_not_ended() -> None:
    comparison = ended(2.0)
    assert list(read.ended()) == [comparison]
    measure_more(comparison=comparison, repeats=1)
    assert list(read.ended()) == []


# --- Pages and API ---


def test_candidate_that_is_being_measured_has_no_verdict_yet() -> None:
    comparison = started()
    (row,) = read.rows("cpu-2c")
    assert row.comparison == comparison
    assert row.verdicts is None


def test_candidate_is_not_the_newest_release() -> None:
    ended(2.4)
    assert newest_release("cpu-2c", measured_builds()) is None


def test_listing_marks_comparisons_of_candidates(reader: Client) -> None:
    started()
    assert "release candidate" in text(reader, "/experiments/")


def test_api_answers_with_the_same_words(reader: Client) -> None:
    comparison = ended(2.4)
    answer = reader.get(f"/api/v1/comparisons/{comparison.uuid}/safety").json()
    assert answer["text"] == "worse for 1 model"
    assert [model["verdict"] for model in answer["models"]] == ["worse"]
    (listed,) = reader.get("/api/v1/comparisons?track=test").json()["results"]
    assert listed["track"] == "test"
