"""Each config compiles what its row says; what does not fit is unsupported, with the reason."""

import dataclasses
import importlib
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import compiling, outcome, torch_versions
from benchmarks_suite.harness.arms import eager_arm, restored_state
from benchmarks_suite.harness.job import parse
from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process
from benchmarks_suite.models import rms_norm
from benchmarks_suite.workload import Unsupported
from tests.builders.workloads import WIDTH, ThreeLayers, a_module, a_workload, working_copy

COUNTED: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    torch_versions.enter_stance({})
    torch._dynamo.reset()
    COUNTED.clear()


@torch._dynamo.register_backend(name="counting")
def counting_backend(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    """Runs the graph as it is, and remembers that it was compiled."""
    COUNTED.append(graph)
    return graph.forward


def steps_of(config: Config, subject: WorkingCopy, steps: int = 3) -> list[Any]:
    """What ``config`` does with a backend that only counts."""
    arm = compiling.compiled_arm(subject, dataclasses.replace(config, backend="counting"))
    return [arm.step(subject.batches[index % len(subject.batches)]) for index in range(steps)]


def test_the_whole_module_is_one_graph() -> None:
    steps_of(CONFIGS["inductor"], working_copy(mode="inference"))
    assert len(COUNTED) == 1


def test_regional_compiles_one_graph_for_all_equal_blocks() -> None:
    steps_of(CONFIGS["regional"], working_copy(mode="inference"))
    assert len(COUNTED) == 1
    assert len([node for node in COUNTED[0].graph.nodes if node.op == "call_function"]) == 1


def test_arm_without_dropout_is_traced_once_beside_the_one_that_drops() -> None:
    """A rate that changed would be a symbol, which no kernel takes: traced, refused, traced."""
    subject = working_copy(a_workload(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout())))
    calls = []
    for dropout in (True, False):
        torch._dynamo.utils.counters.clear()
        config = dataclasses.replace(CONFIGS["inductor"], backend="aot_eager")
        compiling.compiled_arm(subject, config, dropout).step(subject.batches[0])
        calls.append(torch._dynamo.utils.counters["stats"]["calls_captured"])
    assert calls == [2, 2]  # the linear layer and the dropout


def test_channels_last_moves_only_its_own_arms_weights() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3))
    images = {"x": torch.randn(2, 3, 8, 8), "target": torch.randn(2, 4, 6, 6)}
    subject = working_copy(a_workload(module, inputs=lambda *_: images), mode="inference")
    arm = compiling.compiled_arm(subject, CONFIGS["eager_channels_last"])
    own, eager = (next(each.parameters()) for each in (arm.module, subject.module))
    assert own.is_contiguous(memory_format=torch.channels_last)
    assert eager.is_contiguous()
    assert arm.step(subject.batches[0]).is_contiguous(memory_format=torch.channels_last)


def test_library_call_has_the_weights_of_the_module_that_is_written_out() -> None:
    workload = a_workload(rms_norm.RmsNorm(WIDTH), library=lambda: nn.RMSNorm(WIDTH))
    subject = working_copy(workload)
    arm = compiling.compiled_arm(subject, CONFIGS["eager_library"])
    assert isinstance(arm.module, nn.RMSNorm)
    assert arm.module.weight.data_ptr() == next(subject.module.parameters()).data_ptr()


def test_fused_optimizer_takes_the_step_that_eager_takes() -> None:
    subject = working_copy(mode="training")
    arms = [compiling.compiled_arm(subject, CONFIGS["eager_fused_optimizer"]), eager_arm(subject)]
    states = []
    for arm in arms:
        with restored_state(arm):
            arm.step(subject.batches[0])
            states.append([parameter.clone() for parameter in arm.module.parameters()])
    for fused, eager in zip(*states, strict=True):
        torch.testing.assert_close(fused, eager)


def test_modular_compiles_each_part() -> None:
    parts = nn.ModuleDict({"encoder": a_module(1), "decoder": a_module(2)})

    def call(module: Any, batch: Any) -> Any:
        return module["decoder"](module["encoder"](batch["x"]))

    workload = a_workload(parts, call=call, parts={"encoder": "encoder", "decoder": "decoder"})
    config = dataclasses.replace(CONFIGS["modular"], part_modes=(None, None))
    steps_of(config, working_copy(workload, mode="inference"))
    assert len(COUNTED) == 2


def test_a_disabled_block_breaks_the_graph_around_it() -> None:
    subject = working_copy(a_workload(ThreeLayers()), mode="inference")
    steps_of(CONFIGS["inductor_disabled_block"], subject)
    names = []
    for graph in COUNTED:
        names += [str(node.target) for node in graph.graph.nodes]
    assert len([name for name in names if "linear" in name]) == 2


def test_marked_sizes_vary_without_a_recompile() -> None:
    subject = working_copy(mode="inference")
    subject.batches = [{"x": torch.randn(size, 32)} for size in (5, 6, 7, 9)]
    steps_of(CONFIGS["inductor_mark_dynamic"], subject, steps=4)
    assert len(COUNTED) == 1


class _Added(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum(1) + y


def test_a_size_that_never_varies_is_not_marked_next_to_one_that_does() -> None:
    added = a_workload(_Added(), call=lambda module, batch: module(batch["x"], batch["y"]))
    subject = working_copy(added, mode="inference")
    y = torch.randn(5, 32)  # its batch is tied to that of x, which is a constant
    subject.batches = [{"x": torch.randn(5, length, 32), "y": y} for length in (3, 4, 7)]
    steps_of(CONFIGS["inductor_mark_dynamic"], subject)
    assert len(COUNTED) == 1


def test_eager_is_not_touched_by_what_the_other_arm_compiles() -> None:
    subject = working_copy(mode="inference")
    steps_of(CONFIGS["regional"], subject)
    twin = subject.twin()
    assert not any("forward" in vars(child) for child in twin.modules())
    for shared, original in zip(twin.parameters(), subject.module.parameters(), strict=True):
        assert shared is original


@pytest.mark.parametrize("name", ["inductor", "inductor_train_step"])
def test_training_changes_the_weights(name: str) -> None:
    subject = working_copy()
    before = [parameter.detach().clone() for parameter in subject.module.parameters()]
    losses = [float(loss) for loss in steps_of(CONFIGS[name], subject, steps=5)]
    assert losses[-1] < losses[0]
    for old, new in zip(before, subject.module.parameters(), strict=True):
        assert not torch.equal(old, new)


def test_foreach_map_adam_takes_the_steps_of_torchs_adam() -> None:
    losses = []
    for name in ("eager", "foreach_map_optimizer"):
        torch._dynamo.reset()
        subject = working_copy()
        config = dataclasses.replace(CONFIGS[name], backend="eager")
        arm = compiling.compiled_arm(subject, config)
        losses.append([float(arm.step(subject.batches[0])) for _ in range(6)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_a_recompile_after_the_first_step_is_an_error_under_fail_on_recompile() -> None:
    subject = working_copy(mode="inference")
    subject.batches = [{"x": torch.randn(size, 32)} for size in (5, 6)]
    with pytest.raises(RuntimeError, match="recompile"):
        steps_of(CONFIGS["inductor_fail_on_recompile"], subject)


@pytest.mark.parametrize(
    ("name", "mode", "says"),
    [
        ("inductor_optimizer", "inference", "is for training, not for inference"),
        ("inductor_freezing", "training", "is for inference, prefill, decode, not for training"),
        ("inductor_buckets", "inference", "is for bucketed shapes, not for static"),
        ("inductor_float8", "inference", "capability 8.9"),
        ("modular", "inference", "needs 2 parts"),
        ("backend_quux", "inference", "no backend 'quux'"),
    ],
)
def test_a_config_that_does_not_fit_is_unsupported(name: str, mode: str, says: str) -> None:
    with pytest.raises(Unsupported, match=says):
        compiling.check_supported(working_copy(mode=mode), CONFIGS[name])


def test_sweep_of_a_model_that_names_no_axes_is_unsupported() -> None:
    subject = working_copy(a_workload(axes={}), mode="inference")
    with pytest.raises(Unsupported, match="has only one: no axis to cut"):
        compiling.check_supported(subject, CONFIGS["inductor_sweep"])


@pytest.mark.parametrize(
    ("inputs", "outputs", "fits"),
    [
        (64, 48, True),
        (8192, 10, False),
        (10, 64, False),
    ],
)
def test_float8_leaves_out_what_its_matmuls_cannot_take(
    inputs: int, outputs: int, fits: bool
) -> None:
    assert compiling.fits_float8(torch.nn.Linear(inputs, outputs), "head") is fits
    assert not compiling.fits_float8(torch.nn.Embedding(inputs, outputs), "table")


def test_a_config_newer_than_this_torch_is_unsupported() -> None:
    config = dataclasses.replace(CONFIGS["inductor"], since=(9, 9))
    with pytest.raises(Unsupported, match=r"needs torch 9\.9 or newer"):
        compiling.check_supported(working_copy(mode="inference"), config)


def test_a_setting_that_this_torch_lacks_is_unsupported() -> None:
    with pytest.raises(Unsupported, match=r"has no torch\._inductor\.config\.quux"):
        torch_versions.set_options("inductor", {"quux": True})


def test_a_renamed_setting_is_found_under_its_former_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._functorch.config as functorch

    monkeypatch.setitem(torch_versions._FORMER_NAMES, "donated_buffers", "donated_buffer")
    monkeypatch.setattr(functorch, "donated_buffer", False)
    torch_versions.set_options("functorch", {"donated_buffers": True})
    assert functorch.donated_buffer is True


def test_a_gpu_that_is_not_there_is_unsupported() -> None:
    job = {
        "schema": "job.v1",
        "job_id": "x",
        "attempt": 1,
        "benchmark": "mlp.smoke.inference.float32.static.b64",
        "config": "eager",
    }
    with pytest.raises((Unsupported, RuntimeError)) as raised:
        settle_process(parse(job | {"device": "cuda:99"}))
    assert outcome.of(raised.value, "import").status == "unsupported"


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.name)
def test_every_setting_of_every_config_exists_in_this_torch(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for area in ("inductor", "dynamo", "functorch"):
        for path in getattr(config, area):
            owner: Any = importlib.import_module(torch_versions._AREAS[area])
            for name in path.split("."):
                assert hasattr(owner, name), f"{area}.{path}"
                owner = getattr(owner, name)
