"""For fusions that it then refuses, Inductor reindexes loops of a GPU's graph, and puts them back.

    python loop_reindexing.py    needs torch, 2.13 or later, and Triton; no GPU

Lowers, schedules and generates code for an H100 that is made up (fake tensors, properties written
below; no kernel is compiled, nothing runs): two layers of a transformer, two of a Swin, and the
quantizing of activations to float8 in groups, with TORCHINDUCTOR_LOOP_REINDEXING_AFTER_FUSION at 1,
the default, and at 0, each in its own process. Prints how many Python calls that took, how many of
them below _try_reindex_pointwise_for_reduction, how often that was called, how often it reindexed,
how many of these stayed (the fusion was allowed), the Triton kernels of the generated code, and the
start of the code's hash. It is no GPU's time. Exits with 1 where a graph takes a tenth more calls
for the same code, with 0 where none does, and with 2 where it cannot be told: 2.11 has no such
function, and a build for CPUs alone makes no graph of a GPU.
"""

import cProfile
import hashlib
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import torch
from torch import nn
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import Scheduler
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

SWITCH, NAME = "TORCHINDUCTOR_LOOP_REINDEXING_AFTER_FUSION", "_try_reindex_pointwise_for_reduction"
GRAPHS = TRANSFORMER, SWIN, FLOAT8 = "transformer", "Swin", "float8"
COLUMNS = "graph", "switch", "calls", "below", "called", "reindexed", "stayed", "kernels", "code"
BATCH, SIDE, WINDOW, WIDTH, HEADS, LAYERS = 8, 32, 8, 256, 8, 2


class Layer(nn.Module):
    def __init__(self, kind, shift):
        super().__init__()
        self.kind, self.shift = kind, shift
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.bias = nn.Parameter(torch.randn(HEADS, WINDOW**2, WINDOW**2))

    def attention(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, HEADS, WIDTH // HEADS)).unbind(2)
        bias = self.bias.expand(len(x), -1, -1, -1) if self.kind == SWIN else None
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        attention = torch.ops.aten._scaled_dot_product_efficient_attention
        return self.out(attention(q, k, v, bias, False)[0].transpose(1, 2).flatten(2))

    def in_windows(self, x):
        many, shifts = SIDE // WINDOW, (self.shift, self.shift)
        x = x.view(BATCH, SIDE, SIDE, WIDTH).roll([-each for each in shifts], (1, 2))
        x = x.view(BATCH, many, WINDOW, many, WINDOW, WIDTH).transpose(2, 3)
        x = self.attention(x.reshape(-1, WINDOW**2, WIDTH))
        x = x.view(BATCH, many, many, WINDOW, WINDOW, WIDTH).transpose(2, 3)
        x = x.reshape(BATCH, SIDE, SIDE, WIDTH).roll(shifts, (1, 2))
        return x.reshape(BATCH, SIDE**2, WIDTH)

    def forward(self, x):
        x = x + (self.in_windows if self.kind == SWIN else self.attention)(self.norms[0](x))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def pretend_a_gpu():
    """Answers what Inductor asks of a GPU, as an H100 does."""
    import triton
    from triton.backends.compiler import GPUTarget

    hopper = SimpleNamespace(
        name="H100",
        major=9,
        minor=0,
        multi_processor_count=132,
        warp_size=32,
        total_memory=80 << 30,
        L2_cache_size=50 << 20,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
    )
    for place in (torch.cuda, CudaInterface, CudaInterface.Worker):
        place.get_device_properties = staticmethod(lambda *_: hopper)
        place.current_device = staticmethod(lambda: 0)
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    CudaInterface.get_compute_capability = staticmethod(lambda *_: 90)
    for name in ("is_available", "is_bf16_supported"):
        setattr(CudaInterface, name, staticmethod(lambda *_, **__: True))
    target = GPUTarget("cuda", 90, 32)
    triton.runtime.driver.set_active(SimpleNamespace(get_current_target=lambda: target))


def in_float8(x, weight):
    """Activations in float8 with a scale for each 128 of them."""
    y = nn.functional.gelu(x * weight)
    groups = y.view(len(x), -1, 128)
    scale = groups.abs().amax(-1, True)
    return scale, (y * scale.expand_as(groups).reshape(y.shape) + weight).to(torch.float8_e4m3fn)


def graph_of(kind):
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = nn.Sequential(*(Layer(kind, n % 2 * WINDOW // 2) for n in range(LAYERS)))
    names, shapes = zip(
        *((name, each.shape) for name, each in model.named_parameters()), strict=True
    )

    def in_layers(x, *values):
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))

    call, of_inputs = in_layers, [(BATCH, SIDE**2, WIDTH), *shapes]
    if kind == FLOAT8:
        call, of_inputs = in_float8, [(1024, 8192), (8192,)]
    with FakeTensorMode(), torch.no_grad():
        inputs = [torch.empty(shape, device="cuda") for shape in of_inputs]
        return make_fx(call)(*inputs), inputs


def calls_of(profile):
    codes = ((each.code, each.callcount) for each in profile.getstats())
    return sum(count for code, count in codes if getattr(code, "co_filename", "") != __file__)


def as_function(method):
    def call(*arguments, **options):
        return method(*arguments, **options)

    return call


class Counting:
    """The calls of a compilation, and what became of each reindexing."""

    def __init__(self):
        self.below, self.rest = (cProfile.Profile(builtins=False) for _ in range(2))
        self.called = self.reindexed = self.stayed = 0
        self.code = ""
        self._asked = []  # reindexings of each fusion that is asked about, the outermost first
        self._attempt, self._fuse = getattr(Scheduler, NAME), Scheduler.can_fuse
        self._lower = GraphLowering.run

    def replace(self):
        # As functions: methods would be bound to these objects, not to those that they get
        for owner, name, method in (
            (Scheduler, NAME, self.attempt),
            (Scheduler, "can_fuse", self.fuse),
            (GraphLowering, "run", self.lower),
            (GraphLowering, "compile_to_module", self.generate_and_stop),
        ):
            setattr(owner, name, as_function(method))

    def attempt(self, *arguments):
        self.rest.disable()
        self.below.enable()
        reindexed = self._attempt(*arguments)
        self.below.disable()
        self.rest.enable()
        self.called += 1
        self.reindexed += reindexed
        self._asked[-1] += reindexed
        return reindexed

    def fuse(self, *arguments, **options):
        self._asked.append(0)
        allowed = self._fuse(*arguments, **options)
        stayed = allowed * self._asked.pop()
        if self._asked:  # it was asked for another fusion, which may be refused
            self._asked[-1] += stayed
        else:
            self.stayed += stayed
        return allowed

    def lower(self, *arguments):
        self.rest.enable()
        return self._lower(*arguments)

    def generate_and_stop(self, graph):
        self.code = graph.codegen()[0].value
        self.rest.disable()
        raise InterruptedError


def measure(kind):
    """The columns of the table for this graph, with the switch as the environment has it."""
    pretend_a_gpu()
    graph = graph_of(kind)
    config.shape_padding = config.fx_graph_cache = False
    counting = Counting()
    counting.replace()
    try:
        with torch.no_grad():
            compile_fx(*graph)
    except Exception:
        if not counting.code:
            raise
    code = re.sub(r"^\s*#.*\n", "", counting.code, flags=re.MULTILINE)  # comments name files
    below = calls_of(counting.below)
    became = counting.called, counting.reindexed, counting.stayed
    kernels, digest = code.count("async_compile.triton("), hashlib.sha256(code.encode()).hexdigest()
    return below + calls_of(counting.rest), below, *became, kernels, digest[:8]


def compare(kind):
    """Prints a row with the switch at 1 and one at 0; the verdict, and whether calls are wasted."""
    rows = []
    for switch in "10":
        command, environment = [sys.executable, __file__, kind], os.environ | {SWITCH: switch}
        rows.append(subprocess.check_output(command, env=environment, text=True).split())
        print("".join(f"{value:>12}" for value in (kind, switch, *rows[-1])))
    more, same = int(rows[0][0]) / int(rows[1][0]) - 1, rows[0][-1] == rows[1][-1]
    return f"{kind} {more:+.0%} calls, {'the same' if same else 'other'} code", same and more > 0.1


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(print(*measure(sys.argv[1])))
    print(f"torch {torch.__version__}\n{''.join(f'{column:>12}' for column in COLUMNS)}")
    try:
        if torch.version.cuda is None:
            raise RuntimeError("torch was built without CUDA")
        if not hasattr(Scheduler, NAME):
            raise RuntimeError(f"it has no {NAME}")
        verdicts, wasted = zip(*map(compare, GRAPHS), strict=True)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"verdict: cannot be told: {error}")
        sys.exit(2)
    print(f"verdict: {'; '.join(verdicts)}")
    sys.exit(any(wasted))
