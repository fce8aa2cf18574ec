"""Libraries that go with each torch."""

import pytest

from dashboard.catalog.core.pins import (
    PINS,
    PinError,
    changed_libraries,
    family_libraries,
    needs_bridge,
    newest_set,
    requirement_lines,
    shared_set,
)

RELEASES = [f"2.{minor}.0" for minor in range(1, 16)]


@pytest.mark.parametrize("torch", RELEASES)
def test_every_release_has_a_set(torch: str) -> None:
    assert set(newest_set(torch)) == {"numpy", "transformers", "diffusers"}


@pytest.mark.parametrize(
    ("torch", "library", "version"),
    [
        ("2.2.2", "numpy", "1.26.4"),
        ("2.3.0", "numpy", "2.4.6"),
        ("2.5.1", "transformers", "5.19.0"),
        ("2.6.0+cu124", "transformers", "5.23.0"),
        ("2.16.0.dev20261120+cpu", "diffusers", "0.42.1"),
    ],
)
def test_newest_library_for_this_torch_is_chosen(
    torch: str,
    library: str,
    version: str,
) -> None:
    assert newest_set(torch)[library] == version


def test_only_families_that_need_more_libraries_get_them() -> None:
    torchvision = {"torchvision": "0.28.0"}
    assert family_libraries("2.13.0+cpu", "field-torchvision") == torchvision
    assert family_libraries("2.13.0", "field-timm") == {"timm": "1.0.31", **torchvision}
    assert family_libraries("2.13.0", "llm") == {}


def test_two_builds_share_the_newest_set_that_both_take() -> None:
    assert shared_set("2.5.1", "2.15.0") == newest_set("2.5.1")
    assert shared_set("2.11.0", "2.13.0+cpu") == newest_set("2.13.0")


def test_any_two_releases_have_a_set_in_common() -> None:
    for older in RELEASES:
        for newer in RELEASES:
            assert shared_set(older, newer)


def test_a_change_of_pins_needs_a_bridge() -> None:
    before, after = newest_set("2.5.1"), newest_set("2.6.0")
    assert needs_bridge(before, after)
    assert changed_libraries(before, after)["transformers"] == ("5.19.0", "5.23.0")
    assert not needs_bridge(before, dict(before))


def test_older_or_invalid_version_has_no_set() -> None:
    for torch in ("2.0.1", "newest"):
        with pytest.raises(PinError):
            newest_set(torch)


def test_an_environment_is_resolved_from_torch_its_libraries_and_what_torch_needs_to_build() -> (
    None
):
    assert requirement_lines("2.11.0", {"numpy": "2.4.6"}) == [
        "torch==2.11.0",
        "numpy==2.4.6",
        "setuptools<82",
    ]


def test_the_newest_row_of_a_library_comes_first() -> None:
    for library in {pin.library for pin in PINS}:
        versions = [
            tuple(map(int, pin.version.split("."))) for pin in PINS if pin.library == library
        ]
        assert versions == sorted(versions, reverse=True)
