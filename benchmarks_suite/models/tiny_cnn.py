"""Three convolutions on 32 x 32 images: so small that launching kernels is most of the time."""

from torch import nn

from benchmarks_suite.models.mlp import CLASSES, classifier
from benchmarks_suite.workload import Workload

CHANNELS = {"smoke": (16, 32, 64), "standard": (32, 64, 128)}


class Stage(nn.Sequential):
    """Convolution, batch norm, ReLU; halves the height and the width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        convolution = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    first, second, third = CHANNELS[size]
    module = nn.Sequential(  # (batch, 3, 32, 32)
        Stage(3, first),  # (batch, first, 16, 16)
        Stage(first, second),  # (batch, second, 8, 8)
        Stage(second, third),  # (batch, third, 4, 4)
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),  # (batch, third)
        nn.Linear(third, CLASSES),
    )
    return classifier(module, Stage, "images", batch_size, 3, 32, 32)
