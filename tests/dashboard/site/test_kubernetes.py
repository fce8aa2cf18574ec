"""docker/kubernetes/ without a cluster: its files follow Kubernetes' schemas, and agree with the
images and with compose.
"""

from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.builders.docker_files import DOCKER, compose, health_command, images, targets

FOLDER = DOCKER / "kubernetes"
KUBERNETES = "1.33"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
SITE_IMAGES = {"web", "dashboard-worker", "scheduler"}


def documents() -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.name != "kustomization.yaml":
            parsed += yaml.safe_load_all(path.read_text())
    return parsed


def pod(document: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = document.get("spec", {}).get("template", {}).get("spec", {})
    return pod


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each container of ours and of others, with the target of the Dockerfile or the image."""
    for document in documents():
        spec = pod(document)
        for container in spec.get("initContainers", []) + spec.get("containers", []):
            image = container["image"]
            if "compilewatch/" in image:
                image = image.rpartition("/")[2].partition(":")[0]
            yield image, container


def variables(container: dict[str, Any]) -> set[str]:
    return {variable["name"] for variable in container["env"]}


@pytest.mark.parametrize("document", documents(), ids=lambda each: each["kind"])
def test_document_follows_the_schema_of_kubernetes(document: dict[str, Any]) -> None:
    validated_as = kubernetes_validate.validate(document, KUBERNETES, strict=True)
    assert validated_as == KUBERNETES  # not by an older release's schema


def test_kustomization_names_its_files_and_every_image_of_ours() -> None:
    listed = {*KUSTOMIZATION["resources"], "kustomization.yaml", "lent-worker.yaml"}
    assert {path.name for path in FOLDER.glob("*.yaml")} == listed
    named = {image["name"].partition("/")[2] for image in KUSTOMIZATION["images"]}
    assert named == SITE_IMAGES | {"benchmark-worker"}


def test_images_are_those_of_compose() -> None:
    assert {image for image, _ in containers()} <= targets() | images()


def test_every_setting_of_the_env_file_reaches_the_site() -> None:
    assert KUSTOMIZATION["secretGenerator"] == [{"name": "settings", "envs": [".env"]}]
    of_site = [container for image, container in containers() if image in SITE_IMAGES]
    assert len(of_site) == 4
    for container in of_site:
        assert container["envFrom"] == [{"secretRef": {"name": "settings"}}]
        assert {"DATABASE_URL", "BROKER_URL"} <= variables(container)


def test_benchmark_worker_gets_what_compose_gives_it_and_no_key_of_the_site() -> None:
    workers = [container for image, container in containers() if image == "benchmark-worker"]
    of_compose = set(compose()["services"]["gpu-worker"]["environment"])
    assert len(workers) == 2
    for container in workers:
        assert "envFrom" not in container
        assert variables(container) == of_compose | {"BROKER", "BROKER_PASSWORD"}


def test_containers_have_the_rights_of_compose() -> None:
    for image, container in containers():
        if image in targets():
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"]
            assert not rights["allowPrivilegeEscalation"]
            assert rights["capabilities"]["drop"] == ["ALL"]
        if image == "benchmark-worker":
            given = compose()["services"]["gpu-worker"]["cap_add"]
            assert rights["capabilities"]["add"] == given


def test_containers_have_a_limit_of_memory() -> None:
    assert all("memory" in each["resources"]["limits"] for _, each in containers())


def test_programs_are_alive_as_the_images_judge_it() -> None:
    for image, container in containers():
        if image in targets() and "exec" in container.get("livenessProbe", {}):
            assert container["livenessProbe"]["exec"]["command"] == health_command(image)


def test_what_is_mounted_is_declared() -> None:
    for document in documents():
        spec = pod(document)
        declared = {volume["name"] for volume in spec.get("volumes", [])}
        claims = document.get("spec", {}).get("volumeClaimTemplates", [])
        declared |= {claim["metadata"]["name"] for claim in claims}
        for container in spec.get("initContainers", []) + spec.get("containers", []):
            assert {mount["name"] for mount in container.get("volumeMounts", [])} <= declared
