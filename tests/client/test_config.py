"""Where the site is: arguments before variables before the file."""

from pathlib import Path

import pytest

from compilewatch_client import NotConfigured
from compilewatch_client.config import Config, config


@pytest.fixture
def written(tmp_path: Path) -> dict[str, str]:
    """The variables that name a file with an address and a token."""
    file = tmp_path / "compilewatch.toml"
    file.write_text('url = "https://written.example.org/"\ntoken = "cw_written"\n')
    return {"COMPILEWATCH_CONFIG": str(file)}


def test_the_file_is_read(written: dict[str, str]) -> None:
    assert config(environment=written) == Config("https://written.example.org", "cw_written")


def test_a_variable_counts_more_than_the_file(written: dict[str, str]) -> None:
    environment = {**written, "COMPILEWATCH_URL": "http://other", "COMPILEWATCH_TOKEN": "cw_other"}
    assert config(environment=environment) == Config("http://other", "cw_other")


def test_an_argument_counts_most(written: dict[str, str]) -> None:
    assert (
        config("http://mine", environment={**written, "COMPILEWATCH_URL": "http://other"}).url
        == "http://mine"
    )


def test_the_file_lies_where_programs_configurations_do(tmp_path: Path) -> None:
    (tmp_path / "compilewatch.toml").write_text('url = "http://here"')
    assert config(environment={"XDG_CONFIG_HOME": str(tmp_path)}).url == "http://here"


def test_a_file_that_is_no_toml_is_named_with_its_line(written: dict[str, str]) -> None:
    Path(written["COMPILEWATCH_CONFIG"]).write_text("url = here")
    with pytest.raises(NotConfigured, match=r"compilewatch.toml cannot be read: .*line 1"):
        config(environment=written)


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org", "https://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(NotConfigured, match="is no address of a site"):
        config(url, environment={})
