"""The registry is read without torch; its default run is what `make up` begins with."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks_suite import models, registry
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.configs import CONFIGS
from benchmarks_suite.registry import BENCHMARKS, FIELD, SUITE

IN_BOTH_MODES = {"llm", "diffusion", "vision", "multimodal", "toy", "kernels"}
OF_FIELD = {"field-huggingface", "field-timm", "field-torchvision"}
WORDS = {
    "family": IN_BOTH_MODES | OF_FIELD | {"attention", "distributed", "machine"},
    "size": {"smoke", "standard"},
    "mode": {"inference", "training", "prefill", "decode"},
    "dtype": {"float32", "bfloat16", "float16", "autocast_bf16", "autocast_fp16"},
    "shapes": {"static", "dynamic", "bucketed"},
    "item": {"samples", "tokens", "images"},
}


def default_run(size: str) -> list[Benchmark]:
    of_size = [benchmark for benchmark in BENCHMARKS.values() if benchmark.size == size]
    return [benchmark for benchmark in of_size if benchmark.default_configs]


def test_importing_the_registry_imports_no_torch() -> None:
    code = "import sys, benchmarks_suite.registry; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_name_says_all_that_is_fixed() -> None:
    benchmark = Benchmark("gpt2", "llm", "smoke", "inference", "float32", "static", 2, "tokens")
    assert benchmark.name == "gpt2.smoke.inference.float32.static.b2"


def test_benchmark_says_what_its_model_is() -> None:
    of_suite = [benchmark for benchmark in BENCHMARKS.values() if not benchmark.is_of_field]
    assert [benchmark.name for benchmark in of_suite if not benchmark.about] == []
    of_field = next(benchmark for benchmark in BENCHMARKS.values() if benchmark.is_of_field)
    assert of_field.about == ""


def test_every_line_uses_known_words() -> None:
    unknown = [
        f"{name}: {field} {getattr(benchmark, field)!r}"
        for name, benchmark in BENCHMARKS.items()
        for field, words in WORDS.items()
        if getattr(benchmark, field) not in words
    ]
    assert not unknown, "\n".join(unknown)


def test_every_name_has_six_parts() -> None:
    parts = re.compile(r"[a-z0-9_]+\.[a-z]+\.[a-z_]+\.[a-z0-9_]+\.[a-z]+\.b[0-9]+")
    others = [name for name in BENCHMARKS if not parts.fullmatch(name)]
    assert not others, "\n".join(others)


def test_no_two_lines_have_one_name() -> None:
    assert len(registry._ALL) == len(SUITE)
    assert len(SUITE) + len(FIELD) == len(BENCHMARKS)


def test_every_model_file_has_a_line_in_both_sizes() -> None:
    files = {path.stem for path in Path(models.__file__).parent.glob("[a-z]*.py")}
    sizes = defaultdict(set)
    for benchmark in SUITE.values():
        sizes[benchmark.model].add(benchmark.size)
    assert sizes == {model: {"smoke", "standard"} for model in files}


def test_smoke_run_begins_with_the_mlp_and_gpt2_in_inference() -> None:
    first, second, *_ = default_run("smoke")
    assert first.name == "mlp.smoke.inference.float32.static.b64"
    assert second.name == "gpt2.smoke.inference.float32.static.b2"
    assert first.default_configs == second.default_configs == ("eager", "inductor")


@pytest.mark.parametrize("size", ["smoke", "standard"])
def test_default_run_names_configs_of_the_table_and_always_inductor(size: str) -> None:
    for benchmark in default_run(size):
        assert set(benchmark.default_configs) <= CONFIGS.keys()
        assert "inductor" in benchmark.default_configs or benchmark.family == "machine"


@pytest.mark.parametrize("size", ["smoke", "standard"])
def test_default_run_measures_the_machine_itself_in_eager(size: str) -> None:
    of_machine = [benchmark for benchmark in default_run(size) if benchmark.family == "machine"]
    assert of_machine
    assert all(benchmark.default_configs == ("eager",) for benchmark in of_machine)


@pytest.mark.parametrize("size", ["smoke", "standard"])
@pytest.mark.parametrize("mode", ["inference", "training"])
def test_default_run_has_each_family_in_both_modes(size: str, mode: str) -> None:
    families = {benchmark.family for benchmark in default_run(size) if benchmark.mode == mode}
    assert families >= IN_BOTH_MODES
