"""The commands of uv and pip, and how their answers are read."""

import json
from pathlib import Path

import pytest

from runner.environments.installation import error_message, is_contradiction
from runner.environments.package_managers import Pip
from runner.environments.package_sources import PackageSources, configured_sources, pip_sources
from runner.environments.target_platform import platform_name, without_unused_packages

CUDA = "nvidia-cublas==13.1.0.3\nnvidia-cusolver-cu12==11.7\ntorch==2.11.0\ntriton==3.6.0\n"


@pytest.fixture
def pip_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip's configuration file; pip is configured with nothing else."""
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    pip_sources.cache_clear()
    return tmp_path / "pip.conf"


def test_cpu_leaves_out_what_only_a_gpu_needs() -> None:
    assert without_unused_packages(CUDA, "cpu") == "nvidia-cublas==13.1.0.3\ntorch==2.11.0\n"
    assert without_unused_packages(CUDA, "cuda") == CUDA


def test_platform_names_kind_of_device() -> None:
    assert platform_name("cuda").endswith("-cuda")
    assert platform_name("cpu") != platform_name("cuda")


def test_uv_uses_all_sources_that_pip_is_configured_with(pip_config: Path) -> None:
    pip_config.write_text(
        "[global]\nindex-url = https://a/simple\nextra-index-url =\n  https://b\n  https://c\n"
    )
    options = configured_sources("").uv_options()
    assert options[:2] == ["--default-index", "https://a/simple"]
    assert options[2:6] == ["--index", "https://b", "--index", "https://c"]


def test_variable_counts_more_than_file_of_pip(
    pip_config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_config.write_text("[global]\nindex-url = https://a/simple\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://b/simple")
    assert configured_sources("").index_url == "https://b/simple"


def test_index_that_is_set_is_the_only_one() -> None:
    sources = configured_sources("https://a/simple")
    assert sources == PackageSources("https://a/simple")


def test_index_of_torch_is_added() -> None:
    sources = PackageSources("https://a")
    assert sources.with_index("").pip_options() == ["--index-url", "https://a"]
    options = sources.with_index("https://t").pip_options()
    assert options[2:] == ["--extra-index-url", "https://t"]


def test_report_of_pip_becomes_pinned_lines(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    install = [{"metadata": {"name": name, "version": "1.0"}} for name in ("torch", "NumPy")]
    report.write_text(json.dumps({"install": install}))
    assert Pip().read_resolved(report) == "numpy==1.0\ntorch==1.0\n"


def test_error_message_begins_with_the_error() -> None:
    output = "Using Python 3.11\nerror: no space\n  cause: disk"
    assert error_message(output) == "error: no space\n  cause: disk"
    assert error_message("Killed") == "Killed"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("No solution found: a depends on b==1 and you require b==2", True),
        ("No solution found: there is no version\n  of torch==9", False),
        ("Failed to fetch http://index", False),
    ],
)
def test_version_that_uv_does_not_see_is_not_a_contradiction(output: str, expected: bool) -> None:
    assert is_contradiction(output) is expected
