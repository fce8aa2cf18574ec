"""Where a training step of the captioning model goes: the parts that `regional` leaves in eager,
each timed alone.

    python -m tests.perf.captioning_parts [--size standard] [--device cuda]

The step is the suite's: forward, loss and backward under bfloat16 autocast, then Adam. `regional`
compiles the blocks of the ViT and of GPT-2; the head over the vocabulary with the loss, and Adam,
stay as they are. Their time bounds what
`regional` can win: the last line says by how much the rest became faster. Medians; on a machine
    that does nothing
else.
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
    return (
        Timer("part()", globals={"part": part}).blocked_autorange(min_run_time=SECONDS).median
        * 1000
    )


def parts(size: str, device: str) -> dict[str, float]:
    """Milliseconds of the whole step, in eager and with compiled blocks, and of its two uncompiled
    parts.
    """
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

    found = {"step, eager": milliseconds(step)}
    found |= {"head and loss": milliseconds(head_and_loss), "Adam": milliseconds(optimizer.step)}
    for block in (each for each in model.modules() if isinstance(each, ViTLayer | GPT2Block)):
        block.compile()
    return found | {"step, blocks compiled": milliseconds(step)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=BATCH, default="standard")
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    found = parts(given.size, given.device)
    for name, value in found.items():
        print(f"{name:24}{value:8.2f} ms")
    eager, compiled = found["step, eager"], found["step, blocks compiled"]
    rest = found["head and loss"] + found["Adam"]
    print(f"the step: {eager / compiled:.2f} times as fast; without head, loss and Adam: ", end="")
    print(
        f"{eager - rest:.1f} and {compiled - rest:.1f} ms, "
        f"{(eager - rest) / (compiled - rest):.2f} times"
    )


if __name__ == "__main__":
    main()
