"""A compiled backward pass for any length asserts a stride of the length that it was compiled at.

    python dynamic_backward_stride.py    needs torch; a CPU will do

Trains a head over an odd number of words, which returns its loss and its logits as the models of
transformers do, with three lengths. The first is compiled as it is, the second for any length
(automatic dynamic shapes), and the third stops in the backward pass. The head's matmul is padded to
a multiple of words, so the logits that the forward pass saves have another stride than its graph
says, and that stride is written into the backward graph as a number. On a GPU Inductor pads where
that is faster; this forces it (force_shape_pad). A CPU never pads: there the check of the device is
replaced, and nothing else. Prints a verdict; exits with 1 where the third length stops, with 0
where all gradients are those of eager.
"""

import sys

import torch
from torch import nn
from torch._inductor import config
from torch._inductor.fx_passes import pad_mm

WORDS, WIDTH, BATCH, LENGTHS = 1027, 64, 2, (16, 24, 32)
LIMIT = 1e-4  # of the relative error: float32 leaves 1e-6


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, hidden):
        logits = self.words(hidden)
        return logits.logsumexp(-1).mean(), logits


def gradient(model, module, hidden):
    module.zero_grad()
    model(hidden)[0].backward()
    return module.words.weight.grad.clone()


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}, {device}")
    config.force_shape_pad = True
    if device == "cpu":
        pad_mm.can_pad = lambda *_, **__: True
    torch.manual_seed(0)
    module = Head().to(device)
    compiled = torch.compile(module)
    for length in LENGTHS:
        hidden = torch.randn(BATCH, length, WIDTH, device=device)
        expected = gradient(module, module, hidden)
        try:
            error = (gradient(compiled, module, hidden) - expected).norm() / expected.norm()
        except AssertionError as failure:
            print(f"length {length}: {str(failure).splitlines()[0]}")
            print(f"verdict: the backward pass stops at length {length}")
            sys.exit(1)
        print(f"length {length}: the gradient's relative error is {error.item():.1e}")
        if error > LIMIT:
            print(f"verdict: the gradient is wrong at length {length}")
            sys.exit(1)
    print("verdict: all lengths run")
