"""Environments are installed, verified, reused, checked and evicted.

Real installers and a real index with tiny wheels.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner import job
from runner.commands import JobStopped
from runner.environments.provisioning import EnvironmentUnavailable
from tests.builders.environments import Provider, imported_version, requested_environment
from tests.builders.package_index import BROKEN, PackageIndex
from tests.builders.waiting import wait_for


def test_two_builds_have_their_own_libraries(provider: Provider) -> None:
    with provider.use("0.0.1") as first, provider.use("0.0.2") as second:
        assert imported_version(first) == "0.0.1"
        assert imported_version(second) == "0.0.2"
        assert first.build["libraries"] == {"numpy": "1.0.1"}
        assert second.build["libraries"] == {"numpy": "1.0.2"}


def test_packages_that_are_unused_without_a_gpu_are_left_out(provider: Provider) -> None:
    provider.make()
    assert provider.site.jobs["use1"].requirements == "numpy==1.0.1\ntorch==0.0.1\n"


def test_environment_is_made_once(provider: Provider) -> None:
    first = provider.make()
    made = (first / "environment.json").stat().st_mtime_ns
    assert provider.make() == first
    assert (first / "environment.json").stat().st_mtime_ns == made
    assert len(provider.site.messages("building")) == 1


def test_pinned_set_of_the_site_is_installed(
    provider: Provider,
) -> None:
    provider.index.add_torch("0.0.7", needs=["numpy"])
    provider.site.pinned["torch==0.0.7",] = "numpy==1.0.1\ntorch==0.0.7\n"
    with provider.use("0.0.7") as environment:
        assert environment.build["libraries"] == {"numpy": "1.0.1"}


def test_package_that_another_worker_added_to_the_set_is_not_installed(provider: Provider) -> None:
    provider.index.add("evilpkg", "1.0")
    provider.site.pinned["torch==0.0.1",] = "evilpkg==1.0\nnumpy==1.0.1\ntorch==0.0.1\n"
    with provider.use() as environment:
        assert environment.build["libraries"] == {"numpy": "1.0.1"}
        assert not list(Path(environment.command[0]).parents[1].rglob("*evilpkg*"))


@pytest.mark.parametrize(
    "other",
    [
        {"requirements": "torch==0.0.1\n--index-url http://elsewhere\n"},
        {"packages": ["torch==0.0.1\n--extra-index-url http://elsewhere"]},
        {"packages": ["torch @ http://elsewhere/t.whl"]},
        {"packages": ["torch==0.0.1 ; python_version > '3'"]},
        {"index_url": "--find-links=http://elsewhere"},
        {"index_url": "file:///srv/wheels"},
    ],
)
def test_line_that_could_install_from_elsewhere_is_refused(
    provider: Provider, other: dict[str, Any]
) -> None:
    if "requirements" in other:
        provider.site.pinned["torch==0.0.1",] = other.pop("requirements")
    with pytest.raises(EnvironmentUnavailable, match="is not made: "), provider.use(**other):
        pass


def test_adopted_interpreter_serves_its_build_as_it_is(provider: Provider) -> None:
    label = provider.worker.environment.label
    with provider.use(label) as environment:
        assert environment is provider.worker.environment
    assert not provider.folder.exists()


def test_adopted_interpreter_serves_its_version_under_another_label(provider: Provider) -> None:
    """PyPI's torch 2.13.0 calls itself 2.13.0+cu130."""
    adopted = provider.worker.environment
    provider.worker.environment = replace(adopted, build={**adopted.build, "version": "0.0.1"})
    with provider.use("0.0.1") as environment:
        assert environment.label == adopted.label
    with provider.use("0.0.1", index_url=provider.index.url) as environment:
        assert environment.label == "0.0.1"


def test_adopted_interpreter_without_the_requested_libraries_does_not_serve(
    provider: Provider,
) -> None:
    label = provider.worker.environment.label
    with provider.use("0.0.1", build=label, libraries={"numpy": "1.0.1"}) as environment:
        assert imported_version(environment) == "0.0.1"


@pytest.mark.usefixtures("only_pip")
def test_pip_is_used_without_uv(provider: Provider) -> None:
    with provider.use() as environment:
        assert imported_version(environment) == "0.0.1"
        assert environment.build["libraries"] == {"numpy": "1.0.1"}


def test_pip_is_tried_where_uv_does_not_see_the_version(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PackageIndex(tmp_path / "links").add_torch("0.0.3")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with provider.use("0.0.3") as environment:
        assert imported_version(environment) == "0.0.3"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        pytest.param("9.9.9", "there is no version of torch==9.9.9", id="no such version"),
        pytest.param("0.0.4", "has no wheels with a matching Python", id="no wheel for us"),
        pytest.param("0.0.5", "depends on numpy==1.0.1", id="pins that contradict"),
        pytest.param("0.0.6", "installed, but cannot be imported", id="an import that fails"),
    ],
)
def test_failure_is_reported_in_the_words_of_the_installer(
    provider: Provider, version: str, words: str
) -> None:
    provider.index.add_torch("0.0.4", tag="cp27-cp27m-manylinux1_x86_64")
    provider.index.add_torch("0.0.5", needs=["numpy==1.0.1", "numpy==1.0.2"])
    provider.index.add_torch("0.0.6", code=BROKEN)
    with pytest.raises(EnvironmentUnavailable) as failure:
        provider.make(version)
    error = " ".join(str(failure.value).split())
    report = " ".join(provider.site.messages("failed")[0].split())
    assert f"The environment of torch build {version} could not be made here." in error
    assert words in error
    assert words in report
    assert provider.names() == []


def test_failed_build_does_not_stop_other_builds(provider: Provider) -> None:
    with pytest.raises(EnvironmentUnavailable):
        provider.make("9.9.9")
    with provider.use("0.0.2") as environment:
        assert imported_version(environment) == "0.0.2"


def test_recent_failure_fails_the_next_job_at_once_but_not_a_retry(
    provider: Provider,
) -> None:
    with pytest.raises(EnvironmentUnavailable, match="there is no version"):
        provider.make("0.0.3", attempt=1)
    with pytest.raises(EnvironmentUnavailable, match="It failed a moment ago for another job"):
        provider.make("0.0.3", attempt=1)
    with pytest.raises(EnvironmentUnavailable, match="could not"):
        provider.make("0.0.3", attempt=2)
    provider.index.add_torch("0.0.3")
    with provider.use("0.0.3", attempt=2) as environment:
        assert imported_version(environment) == "0.0.3"


def test_failed_environment_is_the_named_outcome_of_the_job(provider: Provider) -> None:
    added = provider.site.add("job", build="9.9.9", environment=requested_environment("9.9.9"))
    job.run(provider.worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert "there is no version of torch==9.9.9" in added.outcome["message"]


def test_index_that_does_not_answer_is_named(provider: Provider) -> None:
    provider.index.stop()
    with pytest.raises(EnvironmentUnavailable, match=provider.index.url):
        provider.make()


def test_job_is_cancelled_while_its_environment_is_installed(provider: Provider) -> None:
    provider.index.delay_s = 60
    added = provider.site.add("job", environment=requested_environment())
    thread = threading.Thread(target=job.run, args=(provider.worker, "job", 1))
    thread.start()
    wait_for(lambda: provider.site.messages("building"))
    wait_for(lambda: added.beats and added.beats[-1]["phase"] == "environment")
    added.cancel = True
    cancelled = time.monotonic()
    thread.join()
    assert time.monotonic() - cancelled < 10
    assert added.state == "cancelled"
    assert provider.names() == []


def remove_module(environment: Path) -> None:
    torch_module(environment).unlink()


def change_module(environment: Path) -> None:
    torch_module(environment).write_text("raise SystemExit('damaged')")


def change_record(environment: Path) -> None:
    (environment / "environment.json").write_text("{")


def change_manifest(environment: Path) -> None:
    (environment / "manifest.txt").write_text("not a manifest")


def remove_interpreter(environment: Path) -> None:
    (environment / "bin" / "python").unlink()


def torch_module(environment: Path) -> Path:
    return next(environment.glob("lib/python3.*/site-packages/torch/__init__.py"))


@pytest.mark.parametrize(
    "damage", [remove_module, change_module, change_record, change_manifest, remove_interpreter]
)
def test_damaged_environment_is_made_again(
    provider: Provider, damage: Callable[[Path], None]
) -> None:
    damage(provider.make())
    shutil.rmtree(provider.folder / ".cache")  # which shares the file that was overwritten
    with provider.use() as environment:
        assert imported_version(environment) == "0.0.1"
    assert len(provider.site.messages("building")) == 2


def test_environment_that_a_killed_worker_was_making_is_removed(provider: Provider) -> None:
    folder = provider.make()
    folder.rename(provider.folder / f".new-{folder.name}")
    provider.worker.store.remove_leftovers()
    assert provider.names() == []


def test_environment_that_another_worker_is_making_is_not_removed(provider: Provider) -> None:
    folder = provider.make()
    with provider.use():
        (provider.folder / f".new-{folder.name}").mkdir()
        provider.worker.store.remove_leftovers()
        assert len(provider.names()) == 2


def test_two_workers_make_the_same_environment_once(provider: Provider) -> None:
    provider.index.delay_s = 1
    threads = [threading.Thread(target=provider.make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(provider.site.messages("building")) == 1
    assert len(provider.names()) == 1


def test_job_that_waits_for_another_worker_can_be_stopped(provider: Provider) -> None:
    provider.index.delay_s = 5
    thread = threading.Thread(target=provider.make)
    thread.start()
    wait_for(lambda: provider.site.messages("building"))
    with pytest.raises(JobStopped, match="cancelled"):
        provider.make(why_stop=lambda: "cancelled")
    thread.join()


def test_least_recently_used_environment_is_evicted_over_the_limit(provider: Provider) -> None:
    first = provider.make("0.0.1")
    os.utime(first / "used", (1, 1))
    provider.worker.settings = replace(provider.worker.settings, environments_gb=1e-9)
    second = provider.make("0.0.2")
    assert provider.names() == [second.name]
    assert "GB are allowed (WORKER_ENVIRONMENTS_GB)" in provider.site.messages("evicted")[0]


def test_environment_in_use_is_not_evicted(provider: Provider) -> None:
    provider.worker.settings = replace(provider.worker.settings, environments_gb=1e-9)
    with provider.use("0.0.1") as first:
        provider.make("0.0.2")
        assert imported_version(first) == "0.0.1"


def test_disk_that_cannot_be_written_is_a_named_failure(provider: Provider) -> None:
    # A file where the folder should be: writing fails for any user, root included
    provider.folder.touch()
    with pytest.raises(EnvironmentUnavailable, match="could not be made here"):
        provider.make()


def test_hello_reports_adopted_and_installed_environments(provider: Provider) -> None:
    folder = provider.make()
    adopted, installed = provider.worker.introduction()["environments"]
    assert adopted["adopted"] is True
    assert adopted["build"] == provider.worker.environment.label
    assert installed["adopted"] is False
    assert installed["key"] == folder.name
    assert installed["build"] == "0.0.1"
    assert installed["state"] == "ready"
    assert installed["facts"]["git_sha"] == "0123abc"


def test_password_of_an_installer_does_not_reach_the_suite(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_INDEX_OURS_PASSWORD", "hush")
    added = provider.site.add("job")
    job.run(provider.worker, "job", 1)
    assert "hush" not in added.result["environment"].values()
