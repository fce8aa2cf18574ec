"""A wheel is installed only where it has the hash that was seen: its index's, or a release
candidate's, whose wheels the index replaces under one version.
"""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from runner.environments.provisioning import EnvironmentUnavailable
from tests.builders.environments import Provider

SECOND = """
__version__ = "0.0.3"


class version:
    git_version, cuda = "second", None
"""


def test_wheel_that_differs_from_the_hash_of_its_index_is_not_installed(
    provider: Provider,
) -> None:
    provider.index.sha256["torch-0.0.1-py3-none-any.whl"] = "0" * 64
    with pytest.raises(EnvironmentUnavailable, match="Hash mismatch for"):
        provider.make()


@pytest.mark.usefixtures("only_pip")
def test_pip_compares_a_wheel_with_the_hash_of_its_index(provider: Provider) -> None:
    provider.index.sha256["torch-0.0.1-py3-none-any.whl"] = "0" * 64
    with pytest.raises(EnvironmentUnavailable, match="DO NOT MATCH THE HASHES"):
        provider.make()


def sha256_of(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def candidate_of(wheel: Path) -> dict[str, Any]:
    """What a claim's answer says of the candidate that this wheel is."""
    digest = sha256_of(wheel)
    return {"build": f"0.0.3@{digest[:8]}", "hashes": [digest]}


def test_replaced_wheel_of_one_version_is_installed_next_to_the_first(provider: Provider) -> None:
    first = candidate_of(provider.index.add_torch("0.0.3"))
    made_first = provider.make("0.0.3", **first)
    second = candidate_of(provider.index.add_torch("0.0.3", code=SECOND))
    with provider.use("0.0.3", **second) as environment:
        assert environment.build["git_sha"] == "second"
        assert Path(environment.command[0]).parents[1] != made_first


def test_wheel_that_was_replaced_since_it_was_seen_is_not_installed(provider: Provider) -> None:
    seen = candidate_of(provider.index.add_torch("0.0.3"))
    provider.index.add_torch("0.0.3", code=SECOND)
    with pytest.raises(EnvironmentUnavailable, match="Hash mismatch"):
        provider.make("0.0.3", **seen)


def test_release_of_the_same_version_has_an_environment_of_its_own(provider: Provider) -> None:
    wheel = provider.index.add_torch("0.0.3")
    assert provider.make("0.0.3", **candidate_of(wheel)) != provider.make("0.0.3")


@pytest.mark.usefixtures("only_pip")
def test_candidate_is_not_installed_by_pip_which_cannot_check_it(provider: Provider) -> None:
    candidate = candidate_of(provider.index.add_torch("0.0.3"))
    with pytest.raises(EnvironmentUnavailable, match="installed by uv alone"):
        provider.make("0.0.3", **candidate)
