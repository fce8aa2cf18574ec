"""The standard sizes are the published shapes: built and run without memory."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch._subclasses import FakeTensorMode

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.loading import load
from benchmarks_suite.models import convnext, gpt2, resnet50, swin, vit_b16
from benchmarks_suite.published import MADE_HERE, SOURCES, Source
from benchmarks_suite.registry import SUITE
from benchmarks_suite.workload import Workload
from tests.builders.workloads import one_model_a_family

# Millions of parameters; shape of the output for a batch of one in the first mode that is listed
PUBLISHED = {
    "gpt2": (124.4, (1, 1024, 50257)),
    "llama": (1235.8, (1, 1, 128256)),
    "qwen3": (596.0, (1, 1024, 151936)),
    "granite_moe": (1334.6, (1, 1024, 49155)),
    "sd_unet": (859.5, (1, 4, 64, 64)),
    "sdxl_unet": (2567.5, (1, 4, 128, 128)),
    # 675 in the paper, where all blocks share their label embedding
    "dit": (749.8, (1, 8, 32, 32)),
    "resnet50": (25.56, (1, 1000)),
    "vit_b16": (86.6, (1, 1000)),
    "convnext": (28.6, (1, 1000)),
    "swin": (28.3, (1, 1000)),
    "captioning": (200.8, (1, 256, 1024)),  # its source has a vocabulary of 1,024 words
    "captioning_article": (200.8, (1, 256, 1024)),
}


def standard(model: str) -> Benchmark:
    """The first line of the model, with a batch of one."""
    for line in SUITE.values():
        if (line.model, line.size, line.shapes) == (model, "standard", "static"):
            return replace(line, batch_size=1)
    raise LookupError(model)


def loaded(model: str) -> Workload:
    with torch.device("meta"):
        return load(standard(model))


@pytest.mark.parametrize("model", PUBLISHED)
def test_standard_model_has_the_published_number_of_parameters(model: str) -> None:
    count = sum(parameter.numel() for parameter in loaded(model).module.parameters())
    assert count / 1e6 == pytest.approx(PUBLISHED[model][0], rel=1e-3)


@pytest.mark.parametrize("benchmark", one_model_a_family(map(standard, PUBLISHED)))
def test_standard_model_takes_its_inputs_to_the_published_shape(benchmark: Benchmark) -> None:
    workload = loaded(benchmark.model)
    module = workload.module.to(torch.bfloat16).eval()
    batch = {name: on_meta(value) for name, value in workload.inputs(0, torch.Generator()).items()}
    # Fake: libraries read no values while they trace
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
        output = workload.output(workload.call(module, batch))
    assert tuple(output.shape) == PUBLISHED[benchmark.model][1]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.model)
def test_number_of_parameters_that_the_list_of_sources_names_is_the_models(source: Source) -> None:
    named = re.search(r"([\d,]+) parameters", source.same)
    if named is None:
        pytest.skip("it names none")
    module = loaded(source.model).module
    count = sum(parameter.numel() for parameter in module.parameters())
    assert f"{count:,}" == named[1]


def test_every_model_has_a_source_or_was_made_here() -> None:
    models = {benchmark.model for benchmark in SUITE.values()}
    named = [*(source.model for source in SOURCES), *MADE_HERE]
    assert sorted(named) == sorted(models)


@pytest.mark.parametrize(
    ("name", "standard_config"),
    [
        ("GPT2Config", gpt2.CONFIGS["standard"]),
        ("ViTConfig", vit_b16.CONFIGS["standard"]),
        ("ConvNextConfig", convnext.CONFIGS["standard"]),
        ("SwinConfig", swin.CONFIGS["standard"]),
        ("ResNetConfig", resnet50.CONFIGS["standard"]),
    ],
)
def test_standard_config_is_the_published_one_that_is_the_librarys_default(
    name: str, standard_config: dict[str, Any]
) -> None:
    ours = getattr(transformers, name)(**standard_config)
    default = getattr(transformers, name)(num_labels=ours.num_labels)
    assert ours.to_dict() == default.to_dict()


def on_meta(tensor: Tensor) -> Tensor:
    return tensor.to("meta", torch.bfloat16 if tensor.is_floating_point() else None)


def test_billion_weights_are_allocated_and_not_touched() -> None:
    before = resident_gb()
    module = load(standard("llama")).module
    assert sum(parameter.nbytes for parameter in module.parameters()) > 4e9
    assert resident_gb() - before < 1


def resident_gb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def test_values_computed_while_a_model_is_built_are_right() -> None:
    """Rotary frequencies are a buffer, a norm's gain is a constant: neither is drawn."""
    module: Any = load(standard("llama")).module
    model = module.model.model
    assert model.rotary_emb.inv_freq[0] == 1
    # The lowest is slowed 32 times
    assert model.rotary_emb.inv_freq[-1] == pytest.approx(5e5 ** (-62 / 64) / 32)
    assert (model.norm.weight == 1).all()
