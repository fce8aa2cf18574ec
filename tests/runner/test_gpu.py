"""The device: which one a job sees, what is known of it, and that one job at a time uses it."""

import os
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from runner import gpu
from runner.gpu import Device, DeviceError
from runner.locks import try_lock


@pytest.mark.parametrize(
    ("device", "given", "visible"),
    [
        ("cpu", {}, ""),
        ("cuda:1", {}, "1"),
        ("cuda:1", {"CUDA_VISIBLE_DEVICES": "4,GPU-7"}, "GPU-7"),
        ("cuda:0,2", {"CUDA_VISIBLE_DEVICES": "4,GPU-7,6"}, "4,6"),
    ],
)
def test_a_job_sees_its_own_device_alone(device: str, given: dict[str, str], visible: str) -> None:
    assert Device.parse(device).visible(given) == visible


def test_a_device_that_the_container_does_not_show_is_refused() -> None:
    with pytest.raises(DeviceError, match="CUDA_VISIBLE_DEVICES shows 1 GPUs"):
        Device.parse("cuda:2").visible({"CUDA_VISIBLE_DEVICES": "0"})


def test_a_gpu_that_the_driver_does_not_know_is_refused() -> None:
    with pytest.raises(DeviceError, match="NVML says"):
        gpu.facts(Device("cuda", (900,)), {})


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

    with (
        gpu.locked(tmp_path, "cpu", give_up),
        pytest.raises(TimeoutError),
        gpu.locked(tmp_path, "cpu", give_up),
    ):
        pass


def test_a_job_for_two_devices_waits_for_both_of_them(tmp_path: Path) -> None:
    def give_up(waited_s: float) -> None:
        # a child that pytest forks meanwhile holds what is open here until it runs its own program
        if waited_s > 2:
            raise TimeoutError

    one, both = (
        partial(gpu.all_locked, tmp_path, names, give_up)
        for names in (["GPU-b"], ["GPU-b", "GPU-a"])
    )
    with one(), pytest.raises(TimeoutError), both():
        pass
    with both(), pytest.raises(TimeoutError), one():
        pass


def test_jobs_that_share_devices_wait_for_each_other_and_never_for_ever(tmp_path: Path) -> None:
    done: list[str] = []

    def use(*names: str) -> None:
        for _ in range(20):
            with gpu.all_locked(tmp_path, names, lambda waited_s: None):
                done.append(names[0])

    users = [threading.Thread(target=use, args=names) for names in (("a", "b"), ("b", "a"), ("b",))]
    for user in users:
        user.start()
    for user in users:
        user.join(timeout=120)
    assert len(done) == 60


@pytest.mark.parametrize("name", ["cuda:0,0", "cuda:", "cuda:0,", "gpu:0"])
def test_what_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Device.parse(name)


def test_waiting_for_a_device_takes_no_computing_time(tmp_path: Path) -> None:
    def give_up(waited_s: float) -> None:
        if waited_s >= 1:
            raise TimeoutError

    begun, used = time.monotonic(), time.process_time()
    with (
        gpu.locked(tmp_path, "cpu", give_up),
        pytest.raises(TimeoutError),
        gpu.locked(tmp_path, "cpu", give_up),
    ):
        pass
    assert time.monotonic() - begun >= 1
    assert time.process_time() - used < 0.3


def test_who_waits_for_a_device_gets_it_before_who_comes_later(tmp_path: Path) -> None:
    order: list[str] = []

    def wait_and_use() -> None:
        with gpu.locked(tmp_path, "cpu", print):
            order.append("waited")

    other = threading.Thread(target=wait_and_use)
    with gpu.locked(tmp_path, "cpu", print):
        other.start()
        time.sleep(0.2)
    time.sleep(0.02)  # what a worker does between two jobs takes longer
    with gpu.locked(tmp_path, "cpu", print):
        order.append("came later")
    other.join()
    assert order == ["waited", "came later"]


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
