"""Every smoke workload runs on a CPU: forward, backward, the same twice, as its line says."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness.generator import fill_weights, own_draws
from benchmarks_suite.loading import load
from benchmarks_suite.models.sliding_window import SlidingWindow, block_mask
from benchmarks_suite.registry import BENCHMARKS, SUITE
from benchmarks_suite.workload import Inputs, Unsupported, Workload
from tests.builders.workloads import one_model_a_family

NEEDS_MORE = ("_triton", "_int8")  # Triton's interpreter, torchao
NOT_ON_CPU = ("sliding_window", "training")


def smoke_benchmarks() -> list[Benchmark]:
    of_size = [benchmark for benchmark in SUITE.values() if benchmark.size == "smoke"]
    plain = [benchmark for benchmark in of_size if not benchmark.model.endswith(NEEDS_MORE)]
    return [benchmark for benchmark in plain if (benchmark.model, benchmark.mode) != NOT_ON_CPU]


SMOKE = smoke_benchmarks()
LAST_OF_MODEL = {benchmark.model: benchmark for benchmark in SMOKE}


def loaded(benchmark: Benchmark) -> Workload:
    """With weights, in the benchmark's dtype, without dropout."""
    workload = load(benchmark)
    fill_weights(workload.module, seed=0)
    workload.module.to(dtype_of(benchmark)).eval()
    return workload


def dtype_of(benchmark: Benchmark) -> torch.dtype:
    return torch.bfloat16 if benchmark.dtype == "bfloat16" else torch.float32


def batch_of(benchmark: Benchmark, workload: Workload, index: int = 0) -> Inputs:
    with own_draws(index):
        batch = workload.inputs(index, torch.Generator())
    return {name: cast(value, dtype_of(benchmark)) for name, value in batch.items()}


def cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def run(benchmark: Benchmark, workload: Workload, batch: Inputs) -> Any:
    with torch.autocast("cpu", torch.bfloat16, enabled=benchmark.dtype == "autocast_bf16"):
        return workload.call(workload.module, batch)


def smoke(model: str, mode: str, shapes: str = "static") -> Benchmark:
    of_mode = [
        benchmark for benchmark in SMOKE if (benchmark.model, benchmark.mode) == (model, mode)
    ]
    return next(benchmark for benchmark in of_mode if benchmark.shapes == shapes)


@pytest.mark.parametrize("benchmark", one_model_a_family(SMOKE))
def test_smoke_workload_runs(benchmark: Benchmark) -> None:
    workload = loaded(benchmark)
    batch = batch_of(benchmark, workload)
    with torch.set_grad_enabled(benchmark.mode == "training"):
        result = run(benchmark, workload, batch)
    output = workload.output(result)
    assert output.isfinite().all()
    assert output.float().std() > 0
    assert workload.item == benchmark.item
    assert workload.items(batch) > 0
    if benchmark.mode == "training":
        assert_trains(workload, result, batch)


def assert_trains(workload: Workload, result: Any, batch: Inputs) -> None:
    assert workload.loss is not None
    workload.loss(result, batch).backward()
    gradients = [parameter.grad for parameter in workload.module.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("benchmark", one_model_a_family(LAST_OF_MODEL.values()))
def test_equal_inputs_give_equal_outputs(benchmark: Benchmark) -> None:
    workload = loaded(benchmark)
    outputs = []
    with torch.no_grad():
        for index in (0, 1, 0):
            batch = batch_of(benchmark, workload, index)
            outputs.append(workload.output(run(benchmark, workload, batch)))
    assert torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("model", ["gpt2", "llama", "qwen3", "granite_moe"])
def test_decoding_one_token_after_a_prefill_agrees_with_the_whole_text_at_once(model: str) -> None:
    whole = loaded(replace(smoke(model, "inference"), dtype="float32"))
    decode = loaded(replace(smoke(model, "decode"), dtype="float32"))
    decode.module.model = whole.module
    ids = batch_of(smoke(model, "inference"), whole)["input_ids"]
    with torch.no_grad():
        for position in range(8):
            token = ids[:, position : position + 1]
            step = {"input_ids": token, "position": torch.tensor([position])}
            logits = decode.call(decode.module, step)
        expected = whole.call(whole.module, {"input_ids": ids[:, :8]}).logits[:, -1:]
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("model", ["gpt2", "llama", "qwen3", "granite_moe"])
def test_prefill_gives_the_last_tokens_logits(model: str) -> None:
    whole = loaded(replace(smoke(model, "inference"), dtype="float32"))
    prefill = loaded(replace(smoke(model, "prefill"), dtype="float32"))
    prefill.module.model = whole.module
    batch = batch_of(smoke(model, "prefill"), prefill)
    with torch.no_grad():
        logits = prefill.call(prefill.module, batch)
        expected = whole.call(whole.module, {"input_ids": batch["input_ids"]}).logits[:, -1:]
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_captions_have_the_lengths_that_the_captioning_workload_states() -> None:
    benchmark = replace(smoke("captioning", "training", "dynamic"), batch_size=1)
    workload = load(benchmark)
    lengths = [workload.items(batch_of(benchmark, workload, index)) for index in range(400)]
    short = [length for length in lengths if 5 <= length <= 31]
    assert 0.85 < len(short) / len(lengths) < 0.95
    assert max(lengths) <= 255
    assert not {32, 64} & set(lengths)


def test_bucketed_captions_have_at_most_eight_shapes() -> None:
    benchmark = smoke("captioning", "training", "bucketed")
    workload = load(benchmark)
    shapes = {batch_of(benchmark, workload, index)["labels"].shape[1] for index in range(400)}
    assert shapes <= {8, 16, 24, 32, 48, 64, 128, 256}


def test_sliding_window_sees_its_window_and_nothing_else() -> None:
    module = (
        SlidingWindow(
            heads=2,
            width=8,
            length=512,
            window=128,
        )
        .double()
        .requires_grad_(False)
    )
    fill_weights(module, seed=0)
    x = torch.randn(1, 512, 16, dtype=torch.float64)
    query, key, value = module.project(x).unflatten(-1, (6, 8)).transpose(1, 2).chunk(3, dim=1)
    distance = torch.arange(512)[:, None] - torch.arange(512)[None, :]
    visible = (distance >= 0) & (distance < 128)
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=visible
    )
    torch.testing.assert_close(module(x), module.back(expected.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("window", [1, 100, 128, 129, 300])
def test_block_mask_of_the_sliding_window_is_the_librarys(window: int) -> None:
    ours = block_mask(1024, window)
    theirs = create_block_mask(ours.mask_mod, None, None, 1024, 1024, device="cpu")
    assert torch.equal(ours.to_dense(), theirs.to_dense())
    assert ours.full_kv_num_blocks is not None
    assert theirs.full_kv_num_blocks is not None
    assert torch.equal(ours.full_kv_num_blocks, theirs.full_kv_num_blocks)


KERNELS = """
import torch
from benchmarks_suite.loading import load
from benchmarks_suite.registry import BENCHMARKS
from dataclasses import replace

def gradient_and_output(name, batch):
    model = name.split(".")[0].removesuffix(SUFFIX)
    workload = load(replace(BENCHMARKS[name], model=model))
    output = workload.call(workload.module, batch)
    if workload.loss and output.requires_grad:
        workload.loss(output, batch).backward()
    return output, [parameter.grad for parameter in workload.module.parameters()]

for name in BENCHMARKS:
    if "_triton.smoke" in name:
        inputs = load(BENCHMARKS[name]).inputs(0, torch.Generator())
        SUFFIX = ""
        written = gradient_and_output(name, inputs)
        SUFFIX = "_triton"
        torch.testing.assert_close(written, gradient_and_output(name, inputs))
        print(name)
"""


def test_hand_written_kernels_agree_with_plain_torch_in_tritons_interpreter() -> None:
    """In a process of its own: Triton decides at its import whether it interprets."""
    command = ["/usr/bin/env", "TRITON_INTERPRET=1", sys.executable, "-c", KERNELS]
    compared = subprocess.check_output(command, text=True).split()
    assert compared == [name for name in BENCHMARKS if "_triton.smoke" in name]


def test_without_a_gpu_and_an_interpreter_a_triton_kernel_is_unsupported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Unsupported, match="TRITON_INTERPRET=1"):
        load(BENCHMARKS["softmax_triton.smoke.inference.float32.static.b64"])


def test_int8_without_torchao_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="torchao is not installed"):
        load(BENCHMARKS["llama_int8.smoke.decode.bfloat16.static.b2"])
