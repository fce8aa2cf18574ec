"""Application of each config: from a row of configs.py to an arm that runs compiled.

What a torch release, device, benchmark or library lacks ends as Unsupported with the reason, before
anything is compiled. Nothing is compiled here: that happens in the arm's first step, which is what
a start measures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from benchmarks_suite.configs import Config
from benchmarks_suite.harness import shapes, torch_versions
from benchmarks_suite.harness.arms import LEARNING_RATE, Arm, Step, arm_around, new_optimizer
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs, Unsupported

GRAPHS_MODES = ("reduce-overhead", "max-autotune")  # these record CUDA graphs


def compiled_arm(working_copy: WorkingCopy, config: Config, dropout: bool = True) -> Arm:
    """The arm that runs ``config``. Raises Unsupported.

    dropout: False sets every dropout rate to 0.
    """
    check_supported(working_copy, config)
    for area in ("inductor", "dynamo", "functorch"):
        torch_versions.set_options(area, getattr(config, area))
    if config.mark_dynamic:
        mark_varying_sizes(working_copy)
    module = working_copy.twin(dropout, own_tensors=config.channels_last)
    if config.channels_last:
        # In place, so that eager's tensors must not be the same. torch's stubs do not know the call
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for block in blocks(working_copy, module)[: config.disable_blocks]:
        block.forward = torch.compiler.disable(block.forward)
    arm = _TARGETS[config.target](working_copy, module, config)
    if config.compile_mode in GRAPHS_MODES and working_copy.device.type == "cuda":
        forward = _marked(arm.forward) if arm.forward else None
        arm = replace(arm, step=_marked(arm.step), forward=forward)
    if config.channels_last:
        arm = _channels_last(arm)
    if not dropout:
        constant = torch_versions.floats_as_constants
        forward = constant(arm.forward) if arm.forward else None
        arm = replace(arm, step=constant(arm.step), forward=forward)
    return replace(arm, step=_with_stance(arm.step, config, len(working_copy.batches)))


def check_supported(working_copy: WorkingCopy, config: Config) -> None:
    """Raises Unsupported where this config cannot say anything about this benchmark here."""
    if torch_versions.release() < config.since:
        since = ".".join(map(str, config.since))
        raise Unsupported(
            f"{config.name} needs torch {since} or newer; this is {torch.__version__}"
        )
    misfit = _misfit(working_copy, config)
    if misfit:
        raise Unsupported(f"{config.name} {misfit}")
    if config.gpu_only and working_copy.device.type != "cuda":
        raise Unsupported(f"{config.name}: {config.gpu_only}")
    if not config.compiles or config.target == "aot_inductor":
        return
    backends = torch._dynamo.list_backends(exclude_tags=())
    if config.backend not in backends:
        raise Unsupported(
            f"torch {torch.__version__} has no backend {config.backend!r}; it has "
            f"{', '.join(backends)}"
        )


def _misfit(working_copy: WorkingCopy, config: Config) -> str:
    """Return why the config does not fit the benchmark; empty where it does."""
    benchmark, workload = working_copy.benchmark, working_copy.workload
    if config.modes and benchmark.mode not in config.modes:
        return f"is for {', '.join(config.modes)}, not for {benchmark.mode}"
    if (config.target == "blocks" or config.disable_blocks) and not workload.blocks:
        return f"needs repeated blocks, and {benchmark.module} names none"
    if config.channels_last and not any(map(_is_convolution, workload.module.modules())):
        return f"lays out convolutions, and {benchmark.module} has none"
    if config.target == "library" and workload.library is None:
        return f"needs a library's form of the module, and {benchmark.module} names none"
    parts, needed = len(workload.parts), len(config.part_modes)
    if config.target == "parts" and parts != needed:
        return f"needs {needed} parts, and {benchmark.module} names {parts}"
    return _shapes_misfit(working_copy, config)


def _shapes_misfit(working_copy: WorkingCopy, config: Config) -> str:
    benchmark = working_copy.benchmark
    if config.shapes and benchmark.shapes not in config.shapes:
        return f"is for {', '.join(config.shapes)} shapes, not for {benchmark.shapes}"
    batch, axes = working_copy.batches[0], working_copy.workload.axes
    if config.sweep and len(shapes.walk_sizes(batch, axes, config.sweep)) < 2:
        return f"walks through shapes, and {benchmark.name} has only one: no axis to cut"
    if config.target == "aot_inductor" and benchmark.shapes != "static":
        return f"is exported for one shape, and {benchmark.shapes} shapes vary"
    return ""


def compile_arguments(config: Config) -> dict[str, Any]:
    """The keyword arguments of torch.compile; None is torch's default."""
    return {
        "backend": config.backend,
        "fullgraph": config.fullgraph,
        "dynamic": config.dynamic,
        "mode": config.compile_mode,
    }


def mark_varying_sizes(working_copy: WorkingCopy) -> None:
    """Marks the sizes that differ between batches, the batch's own where none does.

    A size that only might differ stays a constant: marked next to one that the model ties to a
    constant (the images of a caption of fixed batch), Dynamo would refuse it.
    """
    varying = list(_varying_sizes(working_copy.batches))
    for batch in working_copy.batches:
        tensors = {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}
        for name, axis in varying or [(name, 0) for name in tensors if tensors[name].dim()]:
            if tensors[name].shape[axis] > 1:
                torch._dynamo.mark_dynamic(tensors[name], axis)


def _varying_sizes(batches: Sequence[Inputs]) -> Iterator[tuple[str, int]]:
    """(input, axis) of each size that differs between batches."""
    for name, example in batches[0].items():
        if isinstance(example, torch.Tensor):
            shapes = [batch[name].shape for batch in batches]
            for axis, sizes in enumerate(zip(*shapes, strict=True)):
                if len(set(sizes)) > 1:
                    yield name, axis


# One function for each target: (working copy, module, config) -> the arm


def _nothing(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    return _compiled(working_copy, module, module)


def _library_form(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    assert working_copy.workload.library is not None  # checked by _misfit
    library = working_copy.workload.library().to(working_copy.device, working_copy.dtype)
    library.load_state_dict(module.state_dict(), assign=True)
    return _compiled(working_copy, library.train(working_copy.training), library)


def _fused_optimizer(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    optimizer = new_optimizer(working_copy, module, fused=True)
    return arm_around("compiled", working_copy, module, module, optimizer)


def _whole_module(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    compiled = torch.compile(module, **compile_arguments(config))
    return _compiled(working_copy, module, compiled)


def _each_block(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    for block in blocks(working_copy, module):
        compile_forward(block, compile_arguments(config))
    return _compiled(working_copy, module, module)


def _each_part(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    paths = working_copy.workload.parts.values()
    for path, mode in zip(paths, config.part_modes, strict=True):
        arguments = {**compile_arguments(config), "mode": mode or config.compile_mode}
        compile_forward(module.get_submodule(path), arguments)
    return _compiled(working_copy, module, module)


def _module_and_optimizer(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    optimizer = new_optimizer(working_copy, module)
    optimizer_step = torch.compile(optimizer.step) if optimizer else None
    compiled = torch.compile(module, **compile_arguments(config))
    return arm_around("compiled", working_copy, module, compiled, optimizer, optimizer_step)


def _module_and_static_optimizer(
    working_copy: WorkingCopy, module: nn.Module, config: Config
) -> Arm:
    optimizer = new_optimizer(working_copy, module)
    compiled_step = torch.compile(optimizer.step) if optimizer else None
    parameters = list(module.parameters())

    def optimizer_step() -> Any:
        for parameter in parameters:
            torch._dynamo.mark_static_address(parameter)
            if parameter.grad is not None:
                torch._dynamo.mark_static_address(parameter.grad)
        assert compiled_step is not None  # the config is for training
        return compiled_step()

    compiled = torch.compile(module, **compile_arguments(config))
    return arm_around(
        "compiled",
        working_copy,
        module,
        compiled,
        optimizer,
        optimizer_step,
        keeps_gradients=True,
    )


def _module_and_foreach_map(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    from benchmarks_suite.harness.foreach_map import ForeachMapAdam

    adam = ForeachMapAdam(list(module.parameters()), LEARNING_RATE)
    optimizer = new_optimizer(working_copy, module)
    compiled = torch.compile(module, **compile_arguments(config))
    arm = arm_around("compiled", working_copy, module, compiled, optimizer, adam.step)
    return replace(arm, forget=adam.forget)


def _whole_step(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    arm = _compiled(working_copy, module, module)
    return replace(arm, step=torch.compile(arm.step, **compile_arguments(config)), forward=None)


def _aot_inductor(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    from benchmarks_suite.harness.aot_inductor import Packaged

    return arm_around("compiled", working_copy, module, Packaged(module), None)


def _float8(working_copy: WorkingCopy, module: nn.Module, config: Config) -> Arm:
    try:
        from torchao.float8 import convert_to_float8_training
    except ImportError as error:
        raise Unsupported(f"{config.name} needs torchao: {error}") from error
    if torch.cuda.get_device_capability(working_copy.device) < (8, 9):
        raise Unsupported(f"{config.name}: {config.gpu_only}")
    converted = convert_to_float8_training(module, module_filter_fn=fits_float8)
    if not any(type(child).__module__.startswith("torchao") for child in converted.modules()):
        raise Unsupported(
            f"{config.name}: {working_copy.benchmark.module} has no Linear whose sizes are "
            "multiples of 16"
        )
    return _whole_module(working_copy, converted, config)


def fits_float8(module: nn.Module, _: str) -> bool:
    """Test whether a module can multiply in float8.

    Scaled matmuls want multiples of 16, which a small head is not.
    """
    if not isinstance(module, nn.Linear):
        return False
    return module.in_features % 16 == 0 and module.out_features % 16 == 0


_TARGETS: dict[str, Callable[[WorkingCopy, nn.Module, Config], Arm]] = {
    "nothing": _nothing,
    "library": _library_form,
    "fused_optimizer": _fused_optimizer,
    "module": _whole_module,
    "blocks": _each_block,
    "parts": _each_part,
    "optimizer": _module_and_optimizer,
    "static_optimizer": _module_and_static_optimizer,
    "foreach_map": _module_and_foreach_map,
    "train_step": _whole_step,
    "aot_inductor": _aot_inductor,
    "float8": _float8,
}


def _compiled(working_copy: WorkingCopy, module: nn.Module, callee: Any) -> Arm:
    optimizer = new_optimizer(working_copy, module)
    return arm_around("compiled", working_copy, module, callee, optimizer)


def compile_forward(module: nn.Module, arguments: dict[str, Any]) -> None:
    """Compiles a submodule in its place.

    Not by nn.Module.compile, which does nothing, and says nothing, for torch's own layers
    (nn.Linear); equal blocks share one graph either way, because they share the code of
    ``forward``.
    """
    module.forward = torch.compile(module.forward, **arguments)


def blocks(working_copy: WorkingCopy, module: nn.Module) -> list[nn.Module]:
    return [child for child in module.modules() if isinstance(child, working_copy.workload.blocks)]


def _is_convolution(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d | nn.ConvTranspose2d)


def _channels_last(arm: Arm) -> Arm:
    """An arm whose batches lie with their channels last, as a loader would hand them over."""
    copies: dict[int, Inputs] = {}

    def laid_out(step: Step) -> Step:
        def stepped(batch: Inputs) -> Any:
            if id(batch) not in copies:
                copies[id(batch)] = {name: _images_last(value) for name, value in batch.items()}
            return step(copies[id(batch)])

        return stepped

    forward = laid_out(arm.forward) if arm.forward else None
    return replace(arm, step=laid_out(arm.step), forward=forward)


def _images_last(value: Any) -> Any:
    is_images = isinstance(value, torch.Tensor) and value.dim() == 4
    return value.contiguous(memory_format=torch.channels_last) if is_images else value


def _marked(step: Step) -> Step:
    """Marks for CUDA graphs that the last step's results are free: they may write over them."""

    def marked(batch: Inputs) -> Any:
        torch.compiler.cudagraph_mark_step_begin()
        return step(batch)

    return marked


def _with_stance(step: Step, config: Config, batches: int) -> Step:
    """Enters the config's stance once its graphs exist.

    To catch recompiles that is after one step, else after two passes over the batches.
    """
    if not config.stance:
        return step
    remaining = 1 if config.stance.get("stance") == "fail_on_recompile" else 2 * batches

    def stepped(batch: Inputs) -> Any:
        nonlocal remaining
        if remaining == 0:
            torch_versions.enter_stance(config.stance)
        remaining -= 1
        return step(batch)

    return stepped
