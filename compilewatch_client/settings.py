"""The site's address and the user's token: arguments, else environment variables, else a file.

The variables are COMPILEWATCH_URL and COMPILEWATCH_TOKEN. The file is
`~/.config/compilewatch.toml`, unless COMPILEWATCH_CONFIG names another:

    url = "https://compilewatch.example.org"
    token = "cw_…"
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from compilewatch_client.errors import NotConfigured

_HINT = 'give --url, set COMPILEWATCH_URL, or write url = "https://…" into {path}'


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """url: of the site, without a slash at its end. token: empty where the site asks for none."""

    url: str
    token: str


def read_settings(
    url: str = "", token: str = "", environment: Mapping[str, str] = os.environ
) -> ClientSettings:
    """Raises NotConfigured: no address, an unreadable file, or what cannot be a token."""
    path = settings_file(environment)
    file = _read_file(path)
    url = url or environment.get("COMPILEWATCH_URL", "") or file.get("url", "")
    token = token or environment.get("COMPILEWATCH_TOKEN", "") or file.get("token", "")
    hint = _HINT.format(path=path)
    if not url:
        raise NotConfigured(f"Which site? {hint}.")
    if not _is_address(url):
        raise NotConfigured(f"{url!r} is not the address of a site: {hint}.")
    token = token.strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise NotConfigured(
            "The token has characters that no token has: copy it from the site again, and set "
            f"COMPILEWATCH_TOKEN or write it into {path}."
        )
    return ClientSettings(url.rstrip("/"), token)


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.host)


def settings_file(environment: Mapping[str, str] = os.environ) -> Path:
    if path := environment.get("COMPILEWATCH_CONFIG"):
        return Path(path)
    folder = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "compilewatch.toml"


def _read_file(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise NotConfigured(
            f"{path} cannot be read: {error}. Fix it, or set COMPILEWATCH_URL."
        ) from None
    return {key: value for key, value in values.items() if isinstance(value, str)}
