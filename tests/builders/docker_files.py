"""Declarations in the files under docker/: images and their commands, services, variables."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = DOCKER / "Dockerfile"
COMPOSE_FILES = [DOCKER / "compose.yaml", DOCKER / "compose.workers.yaml"]
VARIABLE = re.compile(r"\$\{(\w+)(:?[-?])?([^}]*)\}")  # ${NAME:-default}, ${NAME:?why}


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    """A compose file, with YAML merges resolved."""
    document: dict[str, Any] = yaml.safe_load((DOCKER / name).read_text())
    return document


def stage(name: str) -> str:
    """The lines of one stage of the Dockerfile, continued ones joined."""
    stages = re.split(r"^FROM \S+ AS ", _joined(), flags=re.MULTILINE)[1:]
    return {text.split()[0]: text for text in stages}[name]


def _joined() -> str:
    return DOCKERFILE.read_text().replace("\\\n", " ")


def command(target: str, instruction: str = "CMD") -> list[str]:
    """The JSON list of CMD or ENTRYPOINT of a stage."""
    return _json_words(rf"^{instruction} (\[.*\])$", target)


def health_command(target: str) -> list[str]:
    """The command of a stage's HEALTHCHECK."""
    return _json_words(r"^HEALTHCHECK .*? CMD (\[.*\])$", target)


def _json_words(pattern: str, target: str) -> list[str]:
    match = re.search(pattern, stage(target), re.MULTILINE)
    assert match, f"the stage {target} has no line {pattern}"
    words: list[str] = json.loads(match[1])
    return words


def targets() -> set[str]:
    """The names of all stages."""
    return set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE.read_text(), re.MULTILINE))


def images() -> set[str]:
    """Every image that is built by somebody else."""
    images = set(re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(), re.MULTILINE)) - targets()
    for path in COMPOSE_FILES:
        for service in compose(path.name)["services"].values():
            if "image" in service:
                images.add(service["image"])
    return images


def pins(path: Path) -> set[str]:
    """The lines `name==version ; marker` of a lock."""
    return set(re.findall(r"^([\w.-]+==.*?) \\$", path.read_text(), re.MULTILINE))


def pinned(name: str) -> str:
    """The version of a package in requirements.txt."""
    versions = dict(line.split("==", 1) for line in pins(ROOT / "requirements.txt"))
    return versions[name]


def torch() -> str:
    """The release of torch that pyproject.toml names."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    version: str = project["tool"]["compilewatch"]["torch"]
    return version


def variables(path: Path) -> list[tuple[str, str, str]]:
    """(name, operator, default or reason) of every ${…} outside comments."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    return VARIABLE.findall("\n".join(lines))


def example() -> dict[str, str]:
    """The variables of .env.example, also those behind a #."""
    text = (DOCKER / ".env.example").read_text()
    return dict(re.findall(r"^#?(\w+)=(.*)$", text, re.MULTILINE))


def image_variables() -> set[str]:
    """The variables that the images themselves set."""
    return set(re.findall(r"\b([A-Z_]+)=", " ".join(re.findall(r"ENV [^\n]*", _joined()))))


def settings_read_in(path: str) -> set[str]:
    """The environment variables that a settings.py reads."""
    reading = r"(?:env\.\w+|required|values\.get)\(\s*\"([A-Z_]+)\"|values\[\"([A-Z_]+)\"\]"
    names: set[str] = set()
    for pair in re.findall(reading, (ROOT / path).read_text()):
        names.update(filter(None, pair))
    return names
