"""ConvNeXt-T on 224 x 224 images: depthwise convolutions, 28.6 M parameters (transformers)."""

from transformers import ConvNextConfig, ConvNextForImageClassification
from transformers.models.convnext.modeling_convnext import ConvNextLayer

from benchmarks_suite.models._images import classifier
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1], "num_labels": 100},
    "standard": {"hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "num_labels": 1000},
}
IMAGE_SIZES = {"smoke": 64, "standard": 224}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    model = ConvNextForImageClassification(ConvNextConfig(**CONFIGS[size]))
    return classifier(model, ConvNextLayer, mode, batch_size, IMAGE_SIZES[size])
