"""The device: which one a job sees, what is known of it, and that one job at a time uses it."""

import os
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from runner.device import (
    DeviceError,
    WorkerDevice,
    gpu_info,
    lock_device,
    lock_devices,
    lock_holder,
)
from runner.locks import try_lock
from tests.builders.waiting import wait_for


def give_up(waited_s: float) -> None:
    raise TimeoutError


@pytest.mark.parametrize(
    ("device", "environment", "visible"),
    [
        ("cpu", {}, ""),
        ("cuda:1", {}, "1"),
        ("cuda:1", {"CUDA_VISIBLE_DEVICES": "4,GPU-7"}, "GPU-7"),
        ("cuda:0,2", {"CUDA_VISIBLE_DEVICES": "4,GPU-7,6"}, "4,6"),
    ],
)
def test_job_sees_only_its_own_device(
    device: str, environment: dict[str, str], visible: str
) -> None:
    assert WorkerDevice.parse(device).visible(environment) == visible


def test_device_that_the_container_does_not_show_is_refused() -> None:
    with pytest.raises(DeviceError, match="CUDA_VISIBLE_DEVICES shows 1 GPUs"):
        WorkerDevice.parse("cuda:2").visible({"CUDA_VISIBLE_DEVICES": "0"})


def test_gpu_that_the_driver_does_not_know_is_refused() -> None:
    with pytest.raises(DeviceError, match="NVML says"):
        gpu_info(WorkerDevice("cuda", (900,)), {})


@pytest.mark.gpu
def test_gpu_describes_itself() -> None:
    info = gpu_info(WorkerDevice("cuda"), os.environ)
    assert info
    assert info["uuid"].startswith("GPU-")
    assert info["memory_gb"] > 1
    assert info["name"]
    assert info["driver"]


def test_device_is_used_by_one_job_at_a_time(tmp_path: Path) -> None:
    with (
        lock_device(tmp_path, "cpu", give_up),
        pytest.raises(TimeoutError),
        lock_device(tmp_path, "cpu", give_up),
    ):
        pass


def test_job_for_two_devices_waits_for_both(tmp_path: Path) -> None:
    def give_up_after_2_s(waited_s: float) -> None:
        # A child that pytest forks meanwhile holds what is open here until it runs its own program
        if waited_s > 2:
            raise TimeoutError

    lock_b = partial(lock_devices, tmp_path, ["GPU-b"], give_up_after_2_s)
    lock_both = partial(lock_devices, tmp_path, ["GPU-b", "GPU-a"], give_up_after_2_s)
    with lock_b(), pytest.raises(TimeoutError), lock_both():
        pass
    with lock_both(), pytest.raises(TimeoutError), lock_b():
        pass


def test_jobs_that_share_devices_do_not_deadlock(tmp_path: Path) -> None:
    done: list[str] = []

    def use(*names: str) -> None:
        for _ in range(20):
            with lock_devices(tmp_path, names, lambda waited_s: None):
                done.append(names[0])

    users = [threading.Thread(target=use, args=names) for names in (("a", "b"), ("b", "a"), ("b",))]
    for user in users:
        user.start()
    for user in users:
        user.join(timeout=120)
    assert len(done) == 60


@pytest.mark.parametrize("name", ["cuda:0,0", "cuda:", "cuda:0,", "gpu:0"])
def test_wrong_device_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        WorkerDevice.parse(name)


def test_waiting_for_device_takes_no_computing_time(tmp_path: Path) -> None:
    def give_up_after_1_s(waited_s: float) -> None:
        if waited_s >= 1:
            raise TimeoutError

    started, used_before = time.monotonic(), time.process_time()
    with (
        lock_device(tmp_path, "cpu", give_up_after_1_s),
        pytest.raises(TimeoutError),
        lock_device(tmp_path, "cpu", give_up_after_1_s),
    ):
        pass
    assert time.monotonic() - started >= 1
    assert time.process_time() - used_before < 0.3


def test_job_that_waits_for_device_gets_it_before_later_ones(tmp_path: Path) -> None:
    order: list[str] = []

    def wait_and_use() -> None:
        with lock_device(tmp_path, "cpu", print):
            order.append("waited")

    other = threading.Thread(target=wait_and_use)
    with lock_device(tmp_path, "cpu", print):
        other.start()
        time.sleep(0.2)
    time.sleep(0.1)  # what a worker does between two jobs takes longer
    with lock_device(tmp_path, "cpu", print):
        order.append("came later")
    other.join()
    assert order == ["waited", "came later"]


def test_living_process_of_killed_worker_keeps_device_locked(tmp_path: Path) -> None:
    with lock_device(tmp_path, "cpu", print) as lock:
        job = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
    probe = os.open(tmp_path / "compilewatch-cpu.lock", os.O_RDONLY)
    try:
        assert not try_lock(probe)
        job.kill()
        job.wait()
        assert try_lock(probe)
    finally:
        os.close(probe)


def test_holder_of_a_device_is_named_with_its_folder(tmp_path: Path) -> None:
    lock = tmp_path / "compilewatch-cpu.lock"
    holder = subprocess.Popen(["flock", "--no-fork", lock, "sleep", "60"], cwd=tmp_path)
    name = f"process {holder.pid} in {tmp_path}"
    try:
        wait_for(lambda: lock.exists() and lock_holder(tmp_path, ["cpu"]) == name)
    finally:
        holder.kill()
        holder.wait()
