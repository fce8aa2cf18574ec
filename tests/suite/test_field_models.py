"""The field's own models: every name of PyTorch's lists is built and takes a step, small."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks_suite import field
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.field import _torchvision, expected, huggingface
from benchmarks_suite.field.names import MODELS, model_of
from benchmarks_suite.harness.generator import fill_weights, own_draws
from benchmarks_suite.loading import load
from benchmarks_suite.registry import FIELD
from benchmarks_suite.workload import Inputs, Unsupported, Workload

SMOKE = [benchmark for benchmark in FIELD.values() if benchmark.size == "smoke"]
COMPILED = ("bertformaskedlm", "t5small", "googlefnet", "mobilenetv2_100", "squeezenet1_1")


def workload_of(benchmark: Benchmark) -> tuple[Workload, Inputs]:
    """With weights, without dropout, and its first batch. Skips where the library is missing."""
    if benchmark.library != "huggingface" and importlib.util.find_spec(benchmark.library) is None:
        pytest.skip(f"{benchmark.library} is not installed")
    try:
        workload = load(benchmark)
    except Unsupported as reason:
        pytest.skip(str(reason))
    fill_weights(workload.module, seed=0)
    workload.module.train(benchmark.mode == "training")
    with own_draws(0):
        return workload, workload.inputs(0, torch.Generator())


@pytest.mark.parametrize("benchmark", SMOKE, ids=lambda benchmark: benchmark.name)
def test_every_name_takes_a_step(benchmark: Benchmark) -> None:
    workload, batch = workload_of(benchmark)
    is_training = benchmark.mode == "training"
    with torch.set_grad_enabled(is_training):
        result = workload.call(workload.module, batch)
    if is_training:
        assert_trains(workload, result, batch)
    else:
        assert workload.output(result).isfinite().all()
        assert workload.output(result).float().std() > 0


def assert_trains(workload: Workload, result: Any, batch: Inputs) -> None:
    assert workload.loss is not None
    workload.loss(result, batch).backward()
    gradients = [parameter.grad for parameter in workload.module.parameters()]
    present = [gradient for gradient in gradients if gradient is not None]
    assert len(present) > len(gradients) / 2
    assert all(gradient.isfinite().all() for gradient in present)


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
def test_compiled_step_has_eagers_outputs(model: str) -> None:
    benchmark = next(each for each in SMOKE if each.model == model)
    workload, batch = workload_of(benchmark)
    with torch.no_grad():
        eager = workload.output(workload.call(workload.module, batch))
        workload.module.compile()
        compiled = workload.output(workload.call(workload.module, batch))
    torch.testing.assert_close(compiled, eager, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("library", "count"), [("huggingface", 39), ("timm", 18), ("torchvision", 13)]
)
def test_all_names_of_the_lists_are_there(library: str, count: int) -> None:
    assert sum(model.library == library for model in MODELS.values()) == count


def test_no_name_is_lost_to_another_one() -> None:
    assert len({model.name for model in MODELS.values()}) == len(MODELS)
    assert all(re.fullmatch(r"[a-z0-9_]+", model.model) for model in MODELS.values())


def test_torchvisions_resnet50_is_another_benchmark_than_the_suites_own() -> None:
    names = [name for name in FIELD if name.startswith("resnet50.")]
    assert {FIELD[name].module for name in names} == {"benchmarks_suite.field.torchvision"}


def test_each_expected_name_is_one_of_the_lists() -> None:
    for row in expected.read():
        assert MODELS[row.library, model_of(row.name)].name == row.name


def test_difference_from_what_pytorch_expects_has_its_reason() -> None:
    result = {
        "status": "pass",
        "job": {"config": "inductor"},
        "metrics": {"graph_breaks": {"value": 2}},
    }
    key = ("field-huggingface", "distillgpt2", "inference")
    comparison = next(expected.compare({key: result}))
    assert comparison.same_status
    assert not comparison.same_breaks
    assert "loss type" in comparison.reason


def test_what_they_skip_is_not_counted_as_agreement() -> None:
    result = {"status": "pass", "metrics": {}}
    key = ("field-huggingface", "debertav2formaskedlm", "inference")
    assert list(expected.compare({key: result})) == []


def test_operators_of_torchvision_are_declared_only_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not _torchvision.declare_operators()


def test_adapters_stay_small() -> None:
    files = Path(str(field.__file__)).parent.glob("*.py")
    adapters = [file for file in files if file.stem != "expected"]
    assert sum(len(file.read_text().splitlines()) for file in adapters) <= 600
