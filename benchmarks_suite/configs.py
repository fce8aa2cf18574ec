"""Every config, one row each: a named way to run a benchmark. To add one: docs/add-a-config.md.

Stdlib only, like registry.py. harness/compiling.py reads the facts here and applies them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Target = Literal[
    "nothing",  # eager
    "library",  # nothing: the module's library form, in eager
    "fused_optimizer",  # nothing: eager with the optimizer's fused kernel
    "module",
    "blocks",  # each of the module's repeated blocks
    "parts",  # each of its parts
    "optimizer",  # the module, and the optimizer's step
    "static_optimizer",  # the same; weights and gradients keep their addresses, and are marked so
    "foreach_map",  # the module, and an optimizer written with foreach_map
    "train_step",  # the whole training step
    "aot_inductor",  # instead of torch.compile: ahead-of-time compilation
    "float8",  # the module, after its linear layers were converted to float8
]


@dataclass(frozen=True, slots=True)
class Config:
    """How one config executes a benchmark.

    target: what is handed to torch.compile.
    backend, compile_mode, dynamic, fullgraph: arguments of torch.compile.
    inductor, dynamo, functorch: attributes of torch._inductor.config, torch._dynamo.config and
        torch._functorch.config.
    stance: arguments of torch.compiler.set_stance, entered after the first call.
    part_modes: for ``parts``, the compile_mode of each part, in the workload's order.
    modes: the benchmark modes it is for; empty: all.
    shapes: the shape profiles it is for; empty: all.
    since: the first torch release that has what it needs.
    gpu_only: the reason why it says nothing on a CPU; empty: it runs on both.
    disable_blocks: how many repeated blocks run outside of the compiler (torch.compiler.disable).
    mark_dynamic: whether the sizes that vary are marked by torch._dynamo.mark_dynamic.
    sweep: the shapes that its cold start walks through, in order; empty: none. Each is the share of
        the benchmark's batch and of its length (harness/shapes.py); the first is (1, 1).
    channels_last: images and convolutions lie in memory with their channels last.
    """

    name: str
    label: str
    about: str
    target: Target = "module"
    backend: str = "inductor"
    compile_mode: str | None = None
    dynamic: bool | None = None
    fullgraph: bool = False
    inductor: Mapping[str, Any] = field(default_factory=dict)
    dynamo: Mapping[str, Any] = field(default_factory=dict)
    functorch: Mapping[str, Any] = field(default_factory=dict)
    stance: Mapping[str, Any] = field(default_factory=dict)
    part_modes: tuple[str | None, ...] = ()
    modes: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    since: tuple[int, int] = (2, 1)
    gpu_only: str = ""
    disable_blocks: int = 0
    mark_dynamic: bool = False
    sweep: tuple[tuple[float, float], ...] = ()
    channels_last: bool = False

    @property
    def compiles(self) -> bool:
        return self.target not in ("nothing", "library", "fused_optimizer")

    @property
    def compares(self) -> bool:
        """Whether the case has an arm of its own next to plain eager's."""
        return self.target != "nothing" or self.channels_last


INFERENCE = ("inference", "prefill", "decode")
_GRAPHS = "CUDA graphs exist on CUDA devices only"
# (share of the batch, share of the length); why these: docs/measuring.md, "A walk through shapes"
_WALK = ((1, 1), (1, 0.5), (1, 0.75), (0.5, 0.75), (0.75, 0.25), (0.25, 0.3), (0, 1), (1, 1))

# fmt: off
_ALL = (
    Config("eager", "Eager", "No compiler: the control of every other config.", target="nothing"),
    # What a competent user of eager runs; a speedup over these is fair: docs/measuring.md
    Config("eager_channels_last", "Eager, channels last",
           "No compiler; images and convolutions lie with their channels last.",
           target="nothing", channels_last=True),
    Config("eager_library", "Eager, library call",
           "No compiler; what the model writes out is one call of a library.", target="library"),
    Config("eager_fused_optimizer", "Eager, fused optimizer",
           "No compiler; Adam is one fused kernel.", target="fused_optimizer", modes=("training",)),
    Config("inductor", "Inductor", "torch.compile with its defaults."),
    Config("inductor_channels_last", "Inductor, channels last",
           "torch.compile with its defaults; images and convolutions lie with their channels last.",
           channels_last=True),
    Config("inductor_reduce_overhead", "Inductor, reduce-overhead",
           "Inductor with CUDA graphs; on a CPU the same as inductor.",
           compile_mode="reduce-overhead"),
    Config("inductor_dynamic", "Inductor, dynamic",
           "Sizes are symbols from the first compile on (dynamic=True).", dynamic=True),
    Config("regional", "Regional",
           "Each repeated block is compiled by itself, once for all of its copies.",
           target="blocks", since=(2, 3)),
    Config("inductor_max_autotune", "Inductor, max-autotune",
           "Candidate kernels are timed and the fastest is kept; CUDA graphs on.",
           compile_mode="max-autotune"),
    Config("inductor_max_autotune_no_cudagraphs", "Inductor, max-autotune without CUDA graphs",
           "Candidate kernels are timed and the fastest is kept.",
           compile_mode="max-autotune-no-cudagraphs"),
    Config("inductor_autotune_capped", "Inductor, capped autotuning",
           "max-autotune with at most 8 candidates per matmul, and no search over block sizes.",
           compile_mode="max-autotune-no-cudagraphs", since=(2, 6),
           inductor={"autotune_num_choices_displayed": 0,
                     "max_autotune_gemm_search_space": "DEFAULT",
                     "test_configs.max_mm_configs": 8}),
    Config("inductor_mark_dynamic", "Inductor, mark_dynamic",
           "Only the sizes that vary between batches are symbols.", mark_dynamic=True),
    Config("inductor_buckets", "Inductor, buckets",
           "dynamic=False: one graph for each of a fixed set of padded lengths.",
           dynamic=False, dynamo={"recompile_limit": 64}, shapes=("bucketed",)),
    Config("inductor_sweep", "Inductor, shape sweep",
           "Walks through a list of batch sizes and lengths with torch.compile's defaults.",
           sweep=_WALK, shapes=("static",)),
    Config("inductor_dynamic_sweep", "Inductor, dynamic, shape sweep",
           "The same walk, where sizes are symbols from the first compile on (dynamic=True).",
           dynamic=True, sweep=_WALK, shapes=("static",)),
    Config("inductor_fullgraph", "Inductor, fullgraph",
           "A graph break is an error.", fullgraph=True),
    Config("inductor_fail_on_recompile", "Inductor, fail on recompile",
           "A check: a compilation after the first step is an error.",
           stance={"stance": "fail_on_recompile"}, since=(2, 6)),
    Config("modular", "Modular",
           "Encoder and decoder are compiled apart, each with its own mode.",
           target="parts", part_modes=(None, "max-autotune-no-cudagraphs")),
    Config("inductor_disabled_block", "Inductor, one block disabled",
           "The first repeated block runs outside of the compiler (torch.compiler.disable).",
           disable_blocks=1),
    Config("inductor_optimizer", "Inductor, compiled optimizer",
           "The module and the optimizer's step, each compiled.",
           target="optimizer", modes=("training",), since=(2, 2)),
    Config("inductor_static_optimizer", "Inductor, compiled optimizer, static addresses",
           "As inductor_optimizer; weights and gradients stay in place, and are marked by "
           "torch._dynamo.mark_static_address.",
           target="static_optimizer", modes=("training",), since=(2, 2)),
    Config("foreach_map_optimizer", "Inductor, foreach_map optimizer",
           "The module, and Adam written with foreach_map, each compiled.",
           target="foreach_map", modes=("training",), since=(2, 7)),
    Config("inductor_train_step", "Inductor, whole step",
           "Forward, loss, backward and optimizer as one compiled function.",
           target="train_step", modes=("training",), since=(2, 2)),
    Config("inductor_shape_padding", "Inductor, shape padding",
           "Matmul sizes are padded to what the tensor cores like.",
           inductor={"shape_padding": True, "force_shape_pad": True}),
    Config("inductor_fusion_limit", "Inductor, fusion limit",
           "At most 2 nodes in one fused kernel.", inductor={"max_fusion_size": 2}),
    Config("inductor_freezing", "Inductor, freezing",
           "Weights become constants of the graph.", inductor={"freezing": True}, modes=INFERENCE),
    Config("inductor_cpp_wrapper", "Inductor, C++ wrapper",
           "The code around the kernels is C++ instead of Python.",
           inductor={"cpp_wrapper": True}, modes=INFERENCE),
    Config("inductor_skip_guards", "Inductor, guards skipped",
           "After warm-up few guards are checked (skip_guard_eval_unsafe).",
           stance={"skip_guard_eval_unsafe": True}, modes=INFERENCE, since=(2, 6)),
    Config("inductor_memory_budget", "Inductor, half the activations",
           "Backward recomputes until activations take half the memory (activation_memory_budget 0.5).",
           functorch={"activation_memory_budget": 0.5}, modes=("training",), since=(2, 4)),
    Config("aot_inductor", "AOTInductor",
           "Exported and compiled ahead of time into a package, then loaded.",
           target="aot_inductor", modes=INFERENCE, since=(2, 6)),
    Config("inductor_float8", "Inductor, float8",
           "Linear layers in float8 (torchao), compiled.",
           target="float8", gpu_only="float8 matmuls need a GPU of capability 8.9 or newer"),
    Config("aot_eager", "AOTAutograd, eager",
           "Traced by dynamo and AOTAutograd, run without Inductor.", backend="aot_eager"),
    Config("dynamo_only", "Dynamo only",
           "Traced by dynamo, run as it was traced (backend eager).", backend="eager"),
    Config("backend_cudagraphs", "CUDA graphs only",
           "Traced, not optimized, replayed as CUDA graphs (backend cudagraphs).",
           backend="cudagraphs", gpu_only=_GRAPHS),
)
# fmt: on


class _Configs(dict[str, Config]):
    """The table; any other registered backend has a config, too, by the name ``backend_<name>``."""

    def __missing__(self, name: str) -> Config:
        if name not in self:
            raise KeyError(name)
        backend = name.removeprefix("backend_")
        about = f"torch.compile with the registered backend {backend}."
        return Config(name, f"Backend {backend}", about, backend=backend)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        return isinstance(name, str) and name.startswith("backend_") and name != "backend_"


CONFIGS: dict[str, Config] = _Configs({config.name: config for config in _ALL})
ABLATION = ("dynamo_only", "aot_eager", "inductor")  # one stage of the compiler more each time


def listed() -> Iterator[dict[str, Any]]:
    """The table for ``list --json``."""
    for position, config in enumerate(CONFIGS.values()):
        row = {"name": config.name, "label": config.label, "about": config.about}
        yield {**row, "position": position}
