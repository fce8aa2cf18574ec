"""The field's own models: every name of PyTorch's lists is built and takes a step, small."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks_suite import field
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.field import _torchvision, huggingface
from benchmarks_suite.field.names import MODELS
from benchmarks_suite.registry import FIELD
from dashboard.catalog.core.pins import family_libraries
from dashboard.local import project
from tests.builders.field_steps import SMOKE, take_compiled_step, take_step

pytestmark = pytest.mark.timeout(900)  # the image models take a step in one process

HUGGINGFACE = [each for each in SMOKE if each.library == "huggingface"]
IMAGES = [each for each in SMOKE if each.library != "huggingface"]
COMPILED = ("bertformaskedlm", "t5small", "googlefnet")
COMPILED_IMAGES = ("mobilenetv2_100", "squeezenet1_1")
NEEDS_OPERATORS = "vision_maskrcnn"
ON_EACH_RUN = {*COMPILED, *COMPILED_IMAGES, NEEDS_OPERATORS}
CALL_AN_OPERATOR = """
import torch, torchvision
torchvision.ops.nms(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.ones(1), 0.5)
"""


def python_beside_field_packages(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(project.ROOT), str(project.FIELD_PACKAGES)])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def run_beside_field_packages(*arguments: str) -> dict[str, str]:
    """What field_steps says of timm's and torchvision's models."""
    done = python_beside_field_packages("-m", "tests.builders.field_steps", *arguments)
    assert done.returncode == 0, done.stderr
    problems: dict[str, str] = json.loads(done.stdout)
    return problems


def parameters(benchmarks: Iterable[Benchmark]) -> list[Any]:
    """All, most of them for `make test-slow` alone."""
    return [
        pytest.param(
            each, id=each.name, marks=() if each.model in ON_EACH_RUN else (pytest.mark.slow,)
        )
        for each in benchmarks
    ]


@pytest.fixture(scope="module")
def image_problems(request: pytest.FixtureRequest) -> dict[str, str]:
    """Of the models whose tests run: one process takes all their steps."""
    selected = " ".join(item.name for item in request.session.items)
    models = {each.model for each in IMAGES if f"[{each.name}]" in selected}
    return run_beside_field_packages("--model", *models)


@pytest.fixture(scope="module")
def has_operators() -> bool:
    """Whether torchvision's nms runs: a torchvision for CUDA next to a torch for CPUs has none.

    Without the suite's own code, whose answer it checks.
    """
    done = python_beside_field_packages("-c", CALL_AN_OPERATOR)
    assert done.returncode == 0 or "torchvision::nms" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("benchmark", parameters(HUGGINGFACE))
def test_every_text_model_takes_a_step(benchmark: Benchmark) -> None:
    take_step(benchmark)


@pytest.mark.parametrize("benchmark", parameters(IMAGES))
def test_every_image_model_takes_a_step(
    benchmark: Benchmark, image_problems: dict[str, str], has_operators: bool
) -> None:
    problem = image_problems[benchmark.name]
    if benchmark.model == NEEDS_OPERATORS and not has_operators:
        assert "torchvision::nms is not there" in problem
    else:
        assert not problem, problem


def test_text_model_is_built_next_to_a_torchvision_for_another_torch() -> None:
    problems = run_beside_field_packages("--model", "t5small")
    assert set(problems.values()) == {""}


@pytest.mark.slow
@pytest.mark.parametrize("model", [key for key in MODELS if key[0] == "huggingface"], ids=str)
def test_text_of_standard_length_has_its_positions(model: tuple[str, str]) -> None:
    field_model = MODELS[model]
    module_class, config = huggingface._class_and_config(field_model.name)
    huggingface._shrink(config, huggingface.KEPT.get(field_model.model, ()))
    batch = huggingface._inputs(field_model.name, config, 2, field_model.length, torch.Generator())
    with torch.no_grad():
        assert module_class(config)(**batch).loss.isfinite()


@pytest.mark.slow
@pytest.mark.parametrize("model", COMPILED)
def test_compiled_step_of_a_text_model_has_eagers_outputs(model: str) -> None:
    take_compiled_step(next(each for each in HUGGINGFACE if each.model == model))


@pytest.mark.slow
def test_compiled_step_of_an_image_model_has_eagers_outputs() -> None:
    problems = run_beside_field_packages("--compiled", *COMPILED_IMAGES)
    assert len(problems) == len(COMPILED_IMAGES)
    assert not any(problems.values()), problems


@pytest.mark.parametrize(
    ("library", "count"), [("huggingface", 39), ("timm", 18), ("torchvision", 13)]
)
def test_all_names_of_the_lists_are_there(library: str, count: int) -> None:
    assert sum(model.library == library for model in MODELS.values()) == count


def test_packages_of_the_image_models_are_those_that_a_worker_installs() -> None:
    pinned = re.findall(r"^(\w+)==(\S+)", project.FIELD_REQUIREMENTS.read_text(), re.MULTILINE)
    assert dict(pinned) == family_libraries(project.torch_version(), "field-timm")


def test_no_name_is_lost_to_another_one() -> None:
    assert len({model.name for model in MODELS.values()}) == len(MODELS)
    assert all(re.fullmatch(r"[a-z0-9_]+", model.model) for model in MODELS.values())


def test_torchvisions_resnet50_is_another_benchmark_than_the_suites_own() -> None:
    names = [name for name in FIELD if name.startswith("resnet50.")]
    assert {FIELD[name].module for name in names} == {"benchmarks_suite.field.torchvision"}


def test_operators_of_torchvision_are_declared_only_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not _torchvision.declare_operators()


def test_adapters_stay_small() -> None:
    adapters = Path(str(field.__file__)).parent.glob("*.py")
    assert sum(len(file.read_text().splitlines()) for file in adapters) <= 600
