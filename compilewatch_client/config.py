"""Where the site is and who asks: arguments, else variables, else a file.

COMPILEWATCH_URL, COMPILEWATCH_TOKEN; or `~/.config/compilewatch.toml` (COMPILEWATCH_CONFIG names
another):

    url = "https://compilewatch.example.org"
    token = "cw_…"
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from compilewatch_client.errors import NotConfigured

_HOW = 'give --url, set COMPILEWATCH_URL, or write url = "https://…" into {path}'


@dataclass(frozen=True, slots=True)
class Config:
    """url: of the site, without a slash at its end. token: empty where the site asks for none."""

    url: str
    token: str


def config(url: str = "", token: str = "", environment: Mapping[str, str] = os.environ) -> Config:
    """What counts. Raises NotConfigured: no address, or a file that cannot be read."""
    path = config_file(environment)
    written = _written(path)
    found = url or environment.get("COMPILEWATCH_URL", "") or written.get("url", "")
    if not found:
        raise NotConfigured(f"Which site? {_HOW.format(path=path)}.")
    parts = urlsplit(found)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NotConfigured(f"{found!r} is no address of a site: {_HOW.format(path=path)}.")
    return Config(
        found.rstrip("/"),
        token or environment.get("COMPILEWATCH_TOKEN", "") or written.get("token", ""),
    )


def config_file(environment: Mapping[str, str] = os.environ) -> Path:
    if named := environment.get("COMPILEWATCH_CONFIG"):
        return Path(named)
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "compilewatch.toml"


def _written(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise NotConfigured(
            f"{path} cannot be read: {error}. Mend it, or set COMPILEWATCH_URL."
        ) from None
    return {key: value for key, value in found.items() if isinstance(value, str)}
