"""A compiled backward pass for any length asserts a stride of the length that it was compiled at.

    python dynamic_backward_stride.py    needs torch; a CPU will do

Trains a head over an odd number of words, which returns its loss and its logits as the models of
transformers do, with three lengths. The first is compiled as it is, the second for any length
(automatic dynamic shapes), and the third stops in the backward pass. Where the loss is that of the
flattened logits, it does not stop: the length becomes a constant, and each is compiled again. The
head's matmul is padded to a multiple of words, so the logits that the forward pass saves have
another stride than its graph says, and the backward graph is compiled with that stride as a number.
On a GPU Inductor pads where that is faster; this forces it (force_shape_pad). A CPU never pads:
there the check of the device is replaced, and nothing else. Prints a verdict; exits with 1 where
the third length stops or is compiled again, with 0 where two graphs serve all lengths and all
gradients are those of eager.
"""

import sys

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.fx_passes import pad_mm
from torch.nn import functional

WORDS, WIDTH, BATCH, LENGTHS = 1027, 64, 2, (16, 24, 32)
LIMIT = 1e-4  # of the relative error: float32 leaves 1e-6


class Head(nn.Module):
    def __init__(self, flat):
        super().__init__()
        self.words = nn.Linear(WIDTH, WORDS, bias=False)
        self.flat = flat

    def forward(self, hidden, labels):
        logits = self.words(hidden)
        if self.flat:
            return functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits
        return logits.logsumexp(-1).mean(), logits


def gradient(model, module, inputs):
    module.zero_grad()
    model(*inputs)[0].backward()
    return module.words.weight.grad.clone()


def failure_of(flat, device):
    """What goes wrong in the training of this head; None where nothing does."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    module = Head(flat).to(device)
    compiled = torch.compile(module)
    for length in LENGTHS:
        hidden = torch.randn(BATCH, length, WIDTH, device=device)
        inputs = hidden, torch.randint(WORDS, (BATCH, length), device=device)
        expected = gradient(module, module, inputs)
        try:
            error = (gradient(compiled, module, inputs) - expected).norm() / expected.norm()
        except AssertionError as failure:
            print(f"  length {length}: {str(failure).splitlines()[0]}")
            return f"the backward pass stops at length {length}"
        graphs = counters["stats"]["unique_graphs"]
        print(f"  length {length}: {graphs} graphs, relative error {error.item():.1e}")
        if error > LIMIT:
            return f"the gradient is wrong at length {length}"
    if graphs == len(LENGTHS):
        return "each length is compiled again"
    return None


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}, {device}")
    config.force_shape_pad = True
    if device == "cpu":
        pad_mm.can_pad = lambda *_, **__: True
    failures = []
    for flat, name in ((False, "logits"), (True, "flattened logits")):
        print(name)
        failure = failure_of(flat, device)
        if failure:
            failures.append(f"{name}: {failure}")
    print(f"verdict: {'; '.join(failures) or 'two graphs serve all lengths'}")
    sys.exit(bool(failures))
