"""Which of NVML's devices is read for torch's: NVML does not know CUDA_VISIBLE_DEVICES."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks_suite.harness import nvml

UUIDS = ["GPU-aa00", "GPU-ab11", "GPU-cc22", "GPU-dd33"]
BY_BUS = "PCI_BUS_ID"


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The UUIDs of a machine's cards, as a library that is asked by torch before 2.5 has them."""
    cards = list(UUIDS)
    library = SimpleNamespace(
        nvmlDeviceGetCount=lambda: len(cards),
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: cards[handle],
    )
    monkeypatch.setattr(nvml, "_library", lambda: library)
    without_uuid = SimpleNamespace(name="NVIDIA H100")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: without_uuid)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", BY_BUS)
    return cards


def uuid_of(index: int) -> str | None:
    device = nvml.Device.of(index)
    return None if device is None else device.uuid()


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize(
    ("visible", "index", "uuid"),
    [
        ("3", 0, "GPU-dd33"),
        ("2, 1", 1, "GPU-ab11"),
        ("0,GPU-cc22", 1, "GPU-cc22"),
        ("GPU-c", 0, "GPU-cc22"),
        ("GPU-a", 0, None),  # the beginning of two
        ("MIG-GPU-aa00/1/0", 0, None),
        ("MIG-0b1c", 0, None),
        ("3", 1, None),
        ("", 0, None),
    ],
)
def test_device_before_torch_2_5_is_found_by_the_variable(
    monkeypatch: pytest.MonkeyPatch, visible: str, index: int, uuid: str | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert uuid_of(index) == uuid


@pytest.mark.usefixtures("cards")
def test_every_card_is_visible_without_the_variable() -> None:
    assert uuid_of(2) == "GPU-cc22"


@pytest.mark.usefixtures("cards")
def test_numbers_in_the_order_of_speed_are_not_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER")
    assert uuid_of(0) is None


def test_order_of_a_single_card_does_not_matter(
    cards: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER")
    del cards[1:]
    assert uuid_of(0) == "GPU-aa00"
