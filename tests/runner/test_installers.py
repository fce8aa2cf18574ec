"""What installers are told, and what is made of their answers."""

import json
from pathlib import Path

import pytest

from runner.environments.index import Index, configured, pips
from runner.environments.making import complaint, is_contradiction
from runner.environments.target import needed, platform_of
from runner.environments.tools import Pip

CUDA = "nvidia-cublas==13.1.0.3\nnvidia-cusolver-cu12==11.7\ntorch==2.11.0\ntriton==3.6.0\n"


@pytest.fixture
def pip_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip's configuration file, and nothing else that it is told."""
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    pips.cache_clear()
    return tmp_path / "pip.conf"


def test_a_cpu_leaves_out_what_only_a_gpu_needs() -> None:
    assert needed(CUDA, "cpu") == "nvidia-cublas==13.1.0.3\ntorch==2.11.0\n"
    assert needed(CUDA, "cuda") == CUDA


def test_the_platform_tells_python_and_kind_of_device() -> None:
    assert platform_of("cuda").endswith("-cuda")
    assert platform_of("cpu") != platform_of("cuda")


def test_uv_is_told_all_that_pip_is_configured_with(pip_of: Path) -> None:
    pip_of.write_text(
        "[global]\nindex-url = https://a/simple\nextra-index-url =\n  https://b\n  https://c\n"
    )
    options = configured("").for_uv()
    assert options[:6] == [
        "--default-index",
        "https://a/simple",
        "--index",
        "https://b",
        "--index",
        "https://c",
    ]


def test_a_variable_counts_more_than_pips_file(
    pip_of: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_of.write_text("[global]\nindex-url = https://a/simple\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://b/simple")
    assert configured("").url == "https://b/simple"


def test_a_set_index_is_the_only_one() -> None:
    assert configured("https://a/simple") == Index("https://a/simple")
    assert Index("https://a").beside("").for_pip() == ["--index-url", "https://a"]
    assert Index("https://a").beside("https://t").for_pip()[2:] == [
        "--extra-index-url",
        "https://t",
    ]


def test_pips_report_becomes_pinned_lines(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    install = [{"metadata": {"name": name, "version": "1.0"}} for name in ("torch", "NumPy")]
    report.write_text(json.dumps({"install": install}))
    assert Pip().read(report) == "numpy==1.0\ntorch==1.0\n"


def test_an_error_is_told_without_what_came_before_it() -> None:
    assert (
        complaint("Using Python 3.11\nerror: no space\n  cause: disk")
        == "error: no space\n  cause: disk"
    )
    assert complaint("Killed") == "Killed"


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        ("No solution found: a depends on b==1 and you require b==2", True),
        ("No solution found: there is no version\n  of torch==9", False),
        ("Failed to fetch http://index", False),
    ],
)
def test_a_contradiction_is_told_from_a_version_that_uv_does_not_see(
    words: str, is_one: bool
) -> None:
    assert is_contradiction(words) is is_one
