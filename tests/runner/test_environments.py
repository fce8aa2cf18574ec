"""Environments are made, tried, reused, checked and evicted: real installers, a real index with
tiny wheels.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner import job
from runner.environments import tools
from runner.environments.providing import NotProvided
from runner.environments.steps import Stopped
from runner.worker import Worker
from tests.builders.environments import Provider, imported, wanted
from tests.builders.package_index import BROKEN, PackageIndex
from tests.builders.worker import SiteServer, wait_for


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    """torch 0.0.1 and 0.0.2, each with the numpy that it wants, and the triton of its CUDA
    build.
    """
    served = PackageIndex(tmp_path / "index")
    for number in ("1", "2"):
        served.add("numpy", f"1.0.{number}")
        served.add_torch(f"0.0.{number}", needs=[f"numpy==1.0.{number}", "triton"])
    served.add("triton", "3.0.0")
    yield served
    served.stop()


@pytest.fixture
def provider(
    worker: Worker, site: SiteServer, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> Provider:
    for installer in ("UV_HTTP", "PIP"):
        monkeypatch.setenv(f"{installer}_RETRIES", "0")
    worker.settings = replace(worker.settings, package_index_url=index.url)
    return Provider(worker, site, index)


@pytest.fixture
def only_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without uv."""
    monkeypatch.setattr(tools, "_uv_program", str)


def test_two_builds_live_side_by_side_with_the_libraries_of_each(provider: Provider) -> None:
    with provider.use("0.0.1") as one, provider.use("0.0.2") as two:
        assert (imported(one), imported(two)) == ("0.0.1", "0.0.2")
        assert (one.build["libraries"], two.build["libraries"]) == (
            {"numpy": "1.0.1"},
            {"numpy": "1.0.2"},
        )


def test_what_a_machine_without_a_gpu_never_loads_is_left_out(provider: Provider) -> None:
    provider.make()
    assert provider.site.jobs["use1"].requirements == "numpy==1.0.1\ntorch==0.0.1\n"


def test_an_environment_is_made_once(provider: Provider) -> None:
    first = provider.make()
    made = (first / "environment.json").stat().st_mtime_ns
    assert provider.make() == first
    assert (first / "environment.json").stat().st_mtime_ns == made
    assert len(provider.site.told("building")) == 1


def test_the_set_that_the_site_knows_is_installed_and_not_resolved_again(
    provider: Provider,
) -> None:
    provider.site.pinned["torch==0.0.1",] = "numpy==1.0.2\ntorch==0.0.1\n"
    with provider.use() as environment:
        assert environment.build["libraries"] == {"numpy": "1.0.2"}


def test_an_adopted_interpreter_serves_its_build_as_it_is(provider: Provider) -> None:
    label = provider.worker.environment.label
    with provider.use(label) as environment:
        assert environment is provider.worker.environment
    assert not provider.folder.exists()


def test_an_adopted_interpreter_serves_its_version_under_another_label(provider: Provider) -> None:
    """PyPI's torch 2.13.0 calls itself 2.13.0+cu130."""
    adopted = provider.worker.environment
    provider.worker.environment = replace(adopted, build={**adopted.build, "version": "0.0.1"})
    with provider.use("0.0.1") as environment:
        assert environment.label == adopted.label
    with provider.use("0.0.1", index_url=provider.index.url) as environment:
        assert environment.label == "0.0.1"


def test_an_adopted_interpreter_with_other_libraries_than_asked_for_does_not_serve(
    provider: Provider,
) -> None:
    label = provider.worker.environment.label
    with provider.use("0.0.1", build=label, libraries={"numpy": "1.0.1"}) as environment:
        assert imported(environment) == "0.0.1"


@pytest.mark.usefixtures("only_pip")
def test_pip_does_it_where_there_is_no_uv(provider: Provider) -> None:
    with provider.use() as environment:
        assert imported(environment) == "0.0.1"
        assert environment.build["libraries"] == {"numpy": "1.0.1"}


def test_pip_is_tried_where_uv_does_not_see_the_version(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PackageIndex(tmp_path / "links").add_torch("0.0.3")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with provider.use("0.0.3") as environment:
        assert imported(environment) == "0.0.3"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("9.9.9", "there is no version of torch==9.9.9"),
        ("0.0.4", "has no wheels with a matching Python"),
        ("0.0.5", "depends on numpy==1.0.1"),
        ("0.0.6", "it was installed, but cannot be imported"),
    ],
    ids=[
        "no such version",
        "no wheel for this Python",
        "two pins that conflict",
        "an import that fails",
    ],
)
def test_a_build_that_cannot_be_had_says_so_in_the_installers_words(
    provider: Provider, version: str, words: str
) -> None:
    provider.index.add_torch("0.0.4", tag="cp27-cp27m-manylinux1_x86_64")
    provider.index.add_torch("0.0.5", needs=["numpy==1.0.1", "numpy==1.0.2"])
    provider.index.add_torch("0.0.6", code=BROKEN)
    with pytest.raises(NotProvided) as failure:
        provider.make(version)
    assert f"The environment of torch build {version} could not be made here." in str(failure.value)
    assert words in " ".join(str(failure.value).split())
    assert words in " ".join(provider.site.told("failed")[0].split())
    assert provider.names() == []


def test_other_builds_go_on_beside_one_that_failed(provider: Provider) -> None:
    with pytest.raises(NotProvided):
        provider.make("9.9.9")
    with provider.use("0.0.2") as environment:
        assert imported(environment) == "0.0.2"


def test_what_failed_a_moment_ago_fails_at_once_for_the_next_job_and_is_tried_again_by_a_retry(
    provider: Provider,
) -> None:
    for attempt, told in (
        (1, "there is no version"),
        (1, "It failed a moment ago for another job"),
        (2, "could not"),
    ):
        with pytest.raises(NotProvided, match=told):
            provider.make("0.0.3", attempt=attempt)
    provider.index.add_torch("0.0.3")
    with provider.use("0.0.3", attempt=2) as environment:
        assert imported(environment) == "0.0.3"


def test_a_failed_environment_is_the_jobs_named_outcome(provider: Provider) -> None:
    added = provider.site.add("job", build="9.9.9", environment=wanted("9.9.9"))
    job.run(provider.worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert "there is no version of torch==9.9.9" in added.outcome["message"]


def test_an_index_that_does_not_answer_is_named(provider: Provider) -> None:
    provider.index.stop()
    with pytest.raises(NotProvided, match=provider.index.url):
        provider.make()


def test_a_job_is_cancelled_while_its_environment_is_installed(provider: Provider) -> None:
    provider.index.delay_s = 60
    added = provider.site.add("job", environment=wanted())
    thread = threading.Thread(target=job.run, args=(provider.worker, "job", 1))
    thread.start()
    wait_for(lambda: provider.site.told("building"))
    wait_for(lambda: added.beats and added.beats[-1]["phase"] == "environment")
    added.cancel = True
    asked = time.monotonic()
    thread.join()
    assert time.monotonic() - asked < 10
    assert (added.state, provider.names()) == ("cancelled", [])


@pytest.mark.parametrize("damage", ["missing", "changed", "no record", "no interpreter"])
def test_a_damaged_environment_is_made_anew_before_it_is_used(
    provider: Provider, damage: str
) -> None:
    folder = provider.make()
    module = next(folder.glob("lib/python3.*/site-packages/torch/__init__.py"))
    if damage == "missing":
        module.unlink()
    elif damage == "changed":
        module.write_text("raise SystemExit('damaged')")
    elif damage == "no record":
        (folder / "environment.json").write_text("{")
    else:
        (folder / "bin" / "python").unlink()
    shutil.rmtree(provider.folder / ".cache")  # which shares the file that was overwritten
    with provider.use() as environment:
        assert imported(environment) == "0.0.1"
    assert len(provider.site.told("building")) == 2


def test_what_a_killed_worker_was_making_is_removed_and_never_used(provider: Provider) -> None:
    folder = provider.make()
    folder.rename(provider.folder / f".new-{folder.name}")
    provider.worker.store.remove_leftovers()
    assert provider.names() == []


def test_what_another_worker_is_making_is_no_leftover(provider: Provider) -> None:
    folder = provider.make()
    with provider.use():
        (provider.folder / f".new-{folder.name}").mkdir()
        provider.worker.store.remove_leftovers()
        assert len(provider.names()) == 2


def test_two_workers_that_want_the_same_one_make_it_once(provider: Provider) -> None:
    provider.index.delay_s = 1
    threads = [threading.Thread(target=provider.make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(provider.site.told("building")) == 1
    assert len(provider.names()) == 1


def test_a_job_that_waits_for_another_worker_can_be_stopped(provider: Provider) -> None:
    provider.index.delay_s = 5
    thread = threading.Thread(target=provider.make)
    thread.start()
    wait_for(lambda: provider.site.told("building"))
    with pytest.raises(Stopped, match="cancelled"):
        provider.make(why_stop=lambda: "cancelled" if provider.site.told("building") else "")
    thread.join()


def test_the_least_recently_used_is_evicted_over_the_limit(provider: Provider) -> None:
    first = provider.make("0.0.1")
    os.utime(first / "used", (1, 1))
    provider.worker.settings = replace(provider.worker.settings, environments_gb=1e-9)
    second = provider.make("0.0.2")
    assert provider.names() == [second.name]
    assert "GB are allowed (WORKER_ENVIRONMENTS_GB)" in provider.site.told("evicted")[0]


def test_an_environment_in_use_is_not_evicted(provider: Provider) -> None:
    provider.worker.settings = replace(provider.worker.settings, environments_gb=1e-9)
    with provider.use("0.0.1") as first:
        provider.make("0.0.2")
        assert imported(first) == "0.0.1"


def test_a_disk_that_cannot_be_written_fails_the_job_by_name(provider: Provider) -> None:
    # a file where the folder should be: writing fails for any user, root too
    provider.folder.touch()
    with pytest.raises(NotProvided, match="could not be made here"):
        provider.make()


def test_hello_tells_adopted_and_made_environments(provider: Provider) -> None:
    folder = provider.make()
    adopted, made = provider.worker.introduction()["environments"]
    assert (adopted["adopted"], adopted["build"]) == (True, provider.worker.environment.label)
    assert (made["key"], made["build"], made["state"], made["adopted"]) == (
        folder.name,
        "0.0.1",
        "ready",
        False,
    )
    assert made["facts"]["git_sha"] == "0123abc"


def test_an_installers_password_never_reaches_the_suite(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_INDEX_OURS_PASSWORD", "hush")
    added = provider.site.add("job")
    job.run(provider.worker, "job", 1)
    assert "hush" not in added.bodies[0]["result"]["environment"].values()
