"""A compiled backward pass on a CPU reads the gradient of an upsampling before it is there.

    python wrong_gradients.py            needs torch; no GPU

Two branches share the tensor `shared`: one is upsampled (nearest neighbour), the other goes through
a matmul. Backward, the upsampling adds its gradient into a buffer of zeros. Inductor fuses the
kernel that reads that buffer with one of the other branch, which has other loop ranges. For this it
computes the reader's loops and dependencies again, and forgets that it has to wait for the adding.
The fused kernel is called first and reads the zeros: the loss is right, the gradient is 0.

Prints the error of the loss and of each gradient against eager, and a verdict. Exits with 1 where
a gradient is wrong, with 0 where all are right.
"""

import sys

import torch
from torch.nn.functional import interpolate

LIMIT = 1e-4  # of the relative error: float32 leaves 1e-7


def make(*shape):
    return torch.randn(shape, generator=generator)


generator = torch.Generator().manual_seed(0)
shared = make(1, 4, 8, 8)
channels = make(4, 1, 1)  # broadcast: gives its branch loops of two dimensions
weight = make(64, 64)


def loss_of(upsampled, multiplied):
    up = interpolate(upsampled * shared, scale_factor=2.0)
    product = (multiplied * shared * channels).reshape(4, 64) @ weight
    return up.square().sum() + product.square().sum()


def loss_and_gradients(function, *values):
    inputs = [value.clone().requires_grad_() for value in values]
    loss = function(*inputs)
    return [loss.detach(), *torch.autograd.grad(loss, inputs)]


if __name__ == "__main__":
    values = make(1, 4, 8, 8), make(1, 4, 8, 8)
    expected = loss_and_gradients(loss_of, *values)
    computed = loss_and_gradients(torch.compile(loss_of), *values)
    print(f"torch {torch.__version__}, relative errors against eager:")
    errors = []
    names = ("loss", "upsampled", "multiplied")
    for name, right, value in zip(names, expected, computed, strict=True):
        errors.append(((value - right).norm() / right.norm()).item())
        print(f"  {name:12}{errors[-1]:.1e}")
    wrong = max(errors) > LIMIT
    print(f"verdict: the gradients are {'wrong' if wrong else 'right'}")
    sys.exit(wrong)
