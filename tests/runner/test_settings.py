"""Settings are typed, and what is missing or wrong is told by name, with what to do."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner import environments, folder, gpu
from runner.gpu import Device, DeviceError
from runner.locks import try_lock
from runner.settings import Settings, SettingsError, read

COMPLETE = {"SITE_URL": "http://site", "WORKER_TOKEN": "token", "BROKER_URL": "redis://broker"}


def settings(tmp_path: Path, **changes: str) -> Settings:
    return read({**COMPLETE, "VAR_DIR": str(tmp_path), **changes})


def test_what_is_not_set_is_read_from_local_env(tmp_path: Path) -> None:
    (tmp_path / "local.env").write_text(
        "# made by make up\nWORKER_TOKEN='a token'\nSITE_URL=http://other\nBROKER_URL=redis://b\n"
    )
    found = read({"SITE_URL": "http://site", "VAR_DIR": str(tmp_path)})
    assert (found.site_url, found.token) == ("http://site", "a token")


def test_every_missing_variable_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"SITE_URL: set it to the site's address.*\n.*WORKER_TOKEN.*\n.*BROKER_URL"
    ):
        read({"VAR_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("SITE_URL", "site:8000", "SITE_URL begins with 'site'"),
        ("BROKER_URL", "postgres://x", "BROKER_URL begins with 'postgres'"),
        ("WORKER_DEVICE", "gpu0", "set it to cpu or to cuda:0"),
        ("SUITE_PYTHON", "/nowhere/python", "SUITE_PYTHON is '/nowhere/python', which cannot be run"),
        ("LOG_FORMAT", "xml", "set it to one of text, json"),
    ],
)
def test_a_wrong_value_is_told_with_what_to_do(tmp_path: Path, name: str, value: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        settings(tmp_path, **{name: value})


def test_secrets_are_not_in_the_text_of_the_settings(tmp_path: Path) -> None:
    text = repr(settings(tmp_path, WORKER_TOKEN="hush", BROKER_URL="redis://:hush@broker"))
    assert "hush" not in text


def test_defaults_are_a_cpu_worker_with_our_own_interpreter(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert (found.device, found.suite_python, found.worker_dir) == (Device("cpu"), sys.executable, tmp_path / "worker")


def test_a_folder_that_another_worker_uses_is_refused(tmp_path: Path) -> None:
    folder.hold(tmp_path, patience_s=0)
    with pytest.raises(SettingsError, match="which another worker uses"):
        folder.hold(tmp_path, patience_s=0)


def test_an_interpreter_without_torch_is_refused_by_name(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(environments.UnfitEnvironment, match=rf"SUITE_PYTHON is {bare}.*No module named 'torch'"):
        environments.adopt(settings(tmp_path, SUITE_PYTHON=str(bare)))


@pytest.mark.parametrize(
    ("device", "given", "visible"),
    [("cpu", {}, ""), ("cuda:1", {}, "1"), ("cuda:1", {"CUDA_VISIBLE_DEVICES": "4,GPU-7"}, "GPU-7")],
)
def test_a_job_sees_its_own_device_alone(device: str, given: dict[str, str], visible: str) -> None:
    assert Device.parse(device).visible(given) == visible


def test_a_device_that_the_container_does_not_show_is_refused() -> None:
    with pytest.raises(DeviceError, match="CUDA_VISIBLE_DEVICES shows 1 GPUs"):
        Device.parse("cuda:2").visible({"CUDA_VISIBLE_DEVICES": "0"})


def test_a_gpu_that_the_driver_does_not_know_is_refused() -> None:
    with pytest.raises(DeviceError, match="NVML says"):
        gpu.facts(Device("cuda", 900), {})


@pytest.mark.gpu
def test_a_gpu_tells_what_it_is() -> None:
    found = gpu.facts(Device("cuda"), os.environ)
    assert found
    assert found["uuid"].startswith("GPU-")
    assert found["memory_gb"] > 1
    assert found["name"]
    assert found["driver"]


def test_a_device_is_used_by_one_job_at_a_time(tmp_path: Path) -> None:
    def give_up(waited_s: float) -> None:
        raise TimeoutError

    with gpu.locked(tmp_path, "cpu", give_up), pytest.raises(TimeoutError), gpu.locked(tmp_path, "cpu", give_up):
        pass


def test_waiting_for_a_device_takes_no_computing_time(tmp_path: Path) -> None:
    def give_up(waited_s: float) -> None:
        if waited_s >= 1:
            raise TimeoutError

    begun, used = time.monotonic(), time.process_time()
    with gpu.locked(tmp_path, "cpu", give_up), pytest.raises(TimeoutError), gpu.locked(tmp_path, "cpu", give_up):
        pass
    assert time.monotonic() - begun >= 1
    assert time.process_time() - used < 0.1


def test_a_living_process_of_a_killed_workers_job_keeps_the_device_locked(tmp_path: Path) -> None:
    with gpu.locked(tmp_path, "cpu", print) as lock:
        job = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
    probe = os.open(tmp_path / "compilewatch-cpu.lock", os.O_RDONLY)
    try:
        assert not try_lock(probe)
        job.kill()
        job.wait()
        assert try_lock(probe)
    finally:
        os.close(probe)
