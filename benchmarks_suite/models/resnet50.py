"""ResNet-50 on 224 x 224 images: convolutions, batch norm, 25.6 M parameters (transformers)."""

from transformers import ResNetConfig, ResNetForImageClassification
from transformers.models.resnet.modeling_resnet import ResNetBottleNeckLayer

from benchmarks_suite.models._images import classifier
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {
        "embedding_size": 16,
        "hidden_sizes": [32, 64, 128, 256],
        "depths": [1, 2, 2, 1],
        "num_labels": 100,
    },
    "standard": {
        "embedding_size": 64,
        "hidden_sizes": [256, 512, 1024, 2048],
        "depths": [3, 4, 6, 3],
        "num_labels": 1000,
    },
}
IMAGE_SIZES = {"smoke": 64, "standard": 224}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    model = ResNetForImageClassification(ResNetConfig(**CONFIGS[size], layer_type="bottleneck"))
    return classifier(model, ResNetBottleNeckLayer, mode, batch_size, IMAGE_SIZES[size])
