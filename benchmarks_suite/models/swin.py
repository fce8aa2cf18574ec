"""Swin-T on 224 x 224 images: attention in shifted windows, 28.3 M parameters (transformers)."""

from transformers import SwinConfig, SwinForImageClassification
from transformers.models.swin.modeling_swin import SwinLayer

from benchmarks_suite.models._images import classifier
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {
        "image_size": 64,
        "patch_size": 4,
        "window_size": 4,
        "embed_dim": 32,
        "depths": [2, 2],
        "num_heads": [2, 4],
        "num_labels": 100,
    },
    "standard": {
        "image_size": 224,
        "patch_size": 4,
        "window_size": 7,
        "embed_dim": 96,
        "depths": [2, 2, 6, 2],
        "num_heads": [3, 6, 12, 24],
        "num_labels": 1000,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    model = SwinForImageClassification(SwinConfig(**CONFIGS[size]))
    return classifier(model, SwinLayer, mode, batch_size, CONFIGS[size]["image_size"])
