"""Where a training step of the captioning model goes: what `regional` leaves in eager, timed alone.

    python -m tests.perf.captioning_parts [--size standard] [--device cuda]

The step is the suite's: forward, loss and backward under bfloat16 autocast, then Adam. `regional`
compiles the blocks of the ViT and of GPT-2; the head over the vocabulary with the loss, and Adam,
stay as they are. Their time bounds what `regional` can win: the last line says by how much the rest
became faster. Medians; on a machine that does nothing else.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.benchmark import Timer
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.vit.modeling_vit import ViTLayer

from benchmarks_suite.models import captioning

BATCH = {"smoke": 2, "standard": 64}
SECONDS = 3.0  # of each part


def milliseconds(part: Callable[[], object]) -> float:
    for _ in range(3):
        part()
    timer = Timer("part()", globals={"part": part})
    return timer.blocked_autorange(min_run_time=SECONDS).median * 1000


def parts(size: str, device: str) -> dict[str, float]:
    """Milliseconds of the step, in eager and with compiled blocks, and of its uncompiled parts."""
    torch.manual_seed(0)
    workload = captioning.build(size, "training", "static", BATCH[size])
    model: Any = workload.module.to(device)
    drawn = workload.inputs(0, torch.Generator().manual_seed(0))
    batch = {name: tensor.to(device) for name, tensor in drawn.items()}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    head, labels = model.decoder.lm_head, batch["labels"]
    hidden = torch.randn(*labels.shape, head.in_features, device=device, requires_grad=True)

    def head_and_loss() -> None:
        with torch.autocast(device, torch.bfloat16):
            loss = ForCausalLMLoss(head(hidden), labels, head.out_features)
        loss.backward()

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()

    times = {
        "step, eager": milliseconds(step),
        "head and loss": milliseconds(head_and_loss),
        "Adam": milliseconds(optimizer.step),
    }
    for module in model.modules():
        if isinstance(module, ViTLayer | GPT2Block):
            module.compile()
    times["step, blocks compiled"] = milliseconds(step)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=BATCH, default="standard")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    times = parts(options.size, options.device)
    for name, value in times.items():
        print(f"{name:24}{value:8.2f} ms")
    eager, compiled = times["step, eager"], times["step, blocks compiled"]
    rest = times["head and loss"] + times["Adam"]
    print(f"the step: {eager / compiled:.2f} times as fast; without head, loss and Adam: ", end="")
    eager, compiled = eager - rest, compiled - rest
    print(f"{eager:.1f} and {compiled:.1f} ms, {eager / compiled:.2f} times")


if __name__ == "__main__":
    main()
