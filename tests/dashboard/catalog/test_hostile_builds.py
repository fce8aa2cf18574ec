"""Whatever names and versions say, a requirement is one plain line."""

import json
import re
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.catalog.core.package_page import parse_releases
from dashboard.catalog.core.pins import PinError, pinned_line
from dashboard.catalog.services.builds import BuildError, add_build
from dashboard.catalog.services.suite_catalog import CatalogError, sync_build
from runner.environments.requirement_lines import UnsafeRequirement, checked, pinned_lines
from runner.site import RequestedEnvironment

PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?==[a-z0-9.!+]+", re.ASCII)
TAILS = [
    "\n--extra-index-url http://x",
    "\r-e .",
    " ; x",
    "\x0b-r x",
    "\x00",
    "\u2028--y",
    " @ http://x",
]
DIGITS = "9" * 5000
WORDS = st.sampled_from(
    ["", DIGITS, "2.99.0", "torch", "2.13.0+cpu", "-e", "--index-url=http://x", "../x"]
)
HOSTILE = st.one_of(
    st.text(max_size=20), st.builds(str.__add__, WORDS, st.sampled_from(TAILS)), WORDS
)


@given(HOSTILE, HOSTILE)
def test_pin_of_the_site_is_one_plain_line(name: str, version: str) -> None:
    with suppress(PinError):
        assert PLAIN.fullmatch(pinned_line(name, version))


@given(HOSTILE)
def test_set_of_the_site_is_plain_lines_to_a_worker(text: str) -> None:
    try:
        lines = pinned_lines(f"numpy==1.0\n{text}").split("\n")
    except UnsafeRequirement:
        return
    assert all(PLAIN.fullmatch(line) for line in lines[:-1])
    assert not lines[-1]


@given(HOSTILE, HOSTILE)
def test_environment_of_a_job_has_no_option_to_a_worker(package: str, index: str) -> None:
    try:
        environment = checked(RequestedEnvironment("2.13.0", index_url=index, packages=(package,)))
    except UnsafeRequirement:
        return
    assert not environment.index_url or environment.index_url.startswith("http")
    assert not re.search(r"^-|[\n\r@;]", environment.packages[0])


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE, HOSTILE)
def test_build_of_a_worker_has_a_version_that_can_be_asked_for(label: str, version: str) -> None:
    try:
        build = sync_build(build={"label": label, "version": version})
    except CatalogError:
        return
    assert PLAIN.fullmatch(f"torch=={build.version}")
    assert not re.search(r"\s|~", build.label)


@pytest.mark.django_db
def test_build_is_known_by_what_it_was_built_for() -> None:
    build = sync_build(build={"label": "2.13.0+cu130", "version": "2.13.0"})
    assert build.version == "2.13.0"


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["2.13.0+cpu", "2.99.0~x-12345678", "our torch"])
def test_build_under_the_label_of_another_is_refused(label: str) -> None:
    with pytest.raises(CatalogError, match="with its label"):
        sync_build(build={"label": label, "version": "2.99.0"})


@pytest.mark.django_db
def test_refused_build_is_quoted_in_part() -> None:
    with pytest.raises(CatalogError) as refused:
        sync_build(build={"version": "x" * 2_000_000})
    assert len(str(refused.value)) < 300


@pytest.mark.django_db
def test_version_of_too_many_digits_is_refused() -> None:
    with pytest.raises(BuildError, match="is not a version"):
        add_build(version=DIGITS)


def test_wheel_of_too_many_digits_is_left_out() -> None:
    name = f"torch-{DIGITS}-cp311-cp311-linux_x86_64.whl"
    page = json.dumps({"files": [{"filename": name, "url": name}]}).encode()
    assert parse_releases("application/json", page, "http://localhost/") == {}
