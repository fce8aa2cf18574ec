"""Where the site is: arguments before variables before the file."""

from pathlib import Path

import pytest

from compilewatch_client import NotConfigured
from compilewatch_client.settings import ClientSettings, read_settings


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables that name a file with an address and a token."""
    file = tmp_path / "compilewatch.toml"
    file.write_text('url = "https://file.example.org/"\ntoken = "cw_file"\n')
    return {"COMPILEWATCH_CONFIG": str(file)}


def test_file_is_read(environment: dict[str, str]) -> None:
    settings = read_settings(environment=environment)
    assert settings == ClientSettings("https://file.example.org", "cw_file")


def test_variables_override_the_file(environment: dict[str, str]) -> None:
    environment |= {"COMPILEWATCH_URL": "http://variable", "COMPILEWATCH_TOKEN": "cw_variable"}
    settings = read_settings(environment=environment)
    assert settings == ClientSettings("http://variable", "cw_variable")


def test_arguments_override_variables(environment: dict[str, str]) -> None:
    environment["COMPILEWATCH_URL"] = "http://variable"
    assert read_settings("http://argument", environment=environment).url == "http://argument"


def test_file_is_looked_up_in_the_users_config_folder(tmp_path: Path) -> None:
    (tmp_path / "compilewatch.toml").write_text('url = "http://here"')
    assert read_settings(environment={"XDG_CONFIG_HOME": str(tmp_path)}).url == "http://here"


def test_invalid_toml_is_reported_with_its_line(environment: dict[str, str]) -> None:
    Path(environment["COMPILEWATCH_CONFIG"]).write_text("url = here")
    with pytest.raises(NotConfigured, match=r"compilewatch.toml cannot be read: .*line 1"):
        read_settings(environment=environment)


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org", "https://"])
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(NotConfigured, match="is not the address of a site"):
        read_settings(url, environment={})
