"""Weights and inputs that no torch release changes: the very numbers are kept here."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from benchmarks_suite.harness import generator
from benchmarks_suite.harness.working_copies import make_room


def test_the_hash_is_the_same_everywhere() -> None:
    stream = generator.key("a")
    assert stream == 3904355907
    assert generator.hashed(0, 4, stream).tolist() == [537083488, 4232540303, 376418265, 3434833091]


def test_positions_do_not_depend_on_where_a_chunk_begins() -> None:
    assert generator.hashed(0, 10, 7)[5:].tolist() == generator.hashed(5, 10, 7).tolist()


def test_normal_numbers_have_mean_0_and_deviation_1() -> None:
    values = generator.normal((200_000,), 1)
    assert abs(float(values.mean())) < 0.01
    assert abs(float(values.std()) - 1) < 0.01


def test_streams_are_not_correlated() -> None:
    streams = torch.stack([generator.normal((100_000,), 1), generator.normal((100_000,), 2)])
    correlation = torch.corrcoef(streams)[0, 1]
    assert abs(float(correlation)) < 0.01


def test_integers_reach_both_ends_and_no_further() -> None:
    assert set(generator.integers(3, 6, (500,), 1).tolist()) == {3, 4, 5}


def test_a_large_tensor_is_filled_alike_in_one_chunk_and_in_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, chunked = torch.empty(1000), torch.empty(1000)
    generator.fill_normal(whole, 5, 1.0)
    monkeypatch.setitem(generator._CHUNK, "cpu", 7)
    generator.fill_normal(chunked, 5, 1.0)
    assert torch.equal(whole, chunked)


def test_weights_depend_on_name_and_seed_not_on_what_was_there() -> None:
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    generator.fill_weights(first, seed=3)
    generator.fill_weights(second, seed=3)
    assert torch.equal(first.weight, second.weight)
    assert not torch.equal(first.weight[0], first.bias)
    generator.fill_weights(second, seed=4)
    assert not torch.equal(first.weight, second.weight)


def test_activations_keep_their_size_through_a_layer() -> None:
    layer = nn.Linear(512, 512, bias=False)
    generator.fill_weights(layer, 0)
    assert float(layer(generator.normal((64, 512), 9)).std()) == pytest.approx(1, abs=0.05)


def test_gains_of_norms_stay_one_and_zero_biases_do_not_stay_zero() -> None:
    norm = nn.LayerNorm(16)
    generator.fill_weights(norm, 0)
    assert bool((norm.weight == 1).all())
    assert float(norm.bias.detach().std()) == pytest.approx(0.02, rel=0.5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.randint(9, (4,)),
        lambda: torch.randint(0, 9, size=(4,)),
        lambda: torch.randint(high=9, size=(4,)),
    ],
)
def test_every_way_to_call_randint_gives_our_numbers(draw: Callable[[], Tensor]) -> None:
    with generator.own_draws("inputs", 0):
        drawn = draw()
    expected = generator.integers(0, 9, (4,), generator.key("draw", "inputs", 0, 1))
    assert torch.equal(drawn, expected)


def one_of_each() -> list[Tensor]:
    return [
        torch.randn(1000, 3),
        torch.rand(1000),
        torch.randint(3, 90, (1000,)),
        torch.randperm(1000),
    ]


def test_draws_do_not_depend_on_torchs_seed() -> None:
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        with generator.own_draws("inputs", 0):
            drawn.append([*one_of_each(), torch.empty(3).normal_()])
    for first, second in zip(*drawn, strict=True):
        assert torch.equal(first, second)


def test_two_draws_in_a_row_differ() -> None:
    with generator.own_draws("inputs", 0):
        assert not torch.equal(torch.randn(8), torch.randn(8))


def test_a_foreign_draw_is_an_error_that_says_what_to_use() -> None:
    with (
        generator.own_draws("inputs", 0),
        pytest.raises(NotImplementedError, match=r"torch\.bernoulli .* draw with rand"),
    ):
        torch.bernoulli(torch.full((3,), 0.5))


def test_filling_overwrites_every_matrix_so_that_none_need_be_copied() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Embedding(3, 4), nn.Conv2d(1, 2, 3))
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.constant_(parameter, float("nan"))
    generator.fill_weights(module, seed=0)
    assert all(bool(parameter.isfinite().all()) for parameter in module.parameters())


@pytest.mark.gpu
def test_weights_are_the_same_for_matrices_that_only_got_room_on_the_gpu() -> None:
    on_cpu = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Embedding(30, 64))
    on_gpu = copy.deepcopy(on_cpu)
    make_room(on_gpu, torch.device("cuda"))
    on_gpu.to("cuda")
    generator.fill_weights(on_cpu, seed=0)
    generator.fill_weights(on_gpu, seed=0)
    for expected, parameter in zip(on_cpu.parameters(), on_gpu.parameters(), strict=True):
        assert torch.equal(expected, parameter.cpu())


@pytest.mark.gpu
def test_the_gpu_draws_the_same_inputs_as_the_cpu() -> None:
    drawn = []
    for device in ("cpu", "cuda"):
        with generator.own_draws("inputs", 1, device=device):
            drawn.append(one_of_each())
    for on_cpu, on_gpu in zip(*drawn, strict=True):
        assert torch.equal(on_cpu, on_gpu)
