"""ViT-B/16 on 224 x 224 images, 86.6 million parameters (transformers)."""

from transformers import ViTConfig, ViTForImageClassification
from transformers.models.vit.modeling_vit import ViTLayer

from benchmarks_suite.models._images import classifier
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {
        "image_size": 64,
        "patch_size": 16,
        "hidden_size": 128,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_labels": 100,
    },
    "standard": {
        "image_size": 224,
        "patch_size": 16,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_labels": 1000,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    model = ViTForImageClassification(ViTConfig(**CONFIGS[size]))
    return classifier(model, ViTLayer, mode, batch_size, CONFIGS[size]["image_size"])
