"""torchvision's names of TorchBench, as benchmarks/dynamo runs them, with random weights.

Images are of 224 pixels; the mean of all logits is the loss. Mask R-CNN detects in images of
several sizes in theirs; here one image of 800 pixels, and its own losses in training.
"""

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.field._images import images
from benchmarks_suite.field._torchvision import declare_operators
from benchmarks_suite.field.names import MODELS, TORCHVISION
from benchmarks_suite.workload import Inputs, Unsupported, Workload

IMAGE, SMOKE_IMAGE, DETECTED_IMAGE = 224, 64, 800
MASK_RCNN = "vision_maskrcnn"
# Narrower; the others keep layers and widths
SMOKE: dict[str, dict[str, Any]] = {
    "resnet152": {"width_per_group": 16},
    "resnet50": {"width_per_group": 16},
}
# Their first two Linear layers are most of the model
WIDE_HEADS = ("alexnet", "vgg16")


def build(model: str, size: str, mode: str, batch_size: int) -> Workload:
    """The workload of one name. model: its name as benchmarks have it."""
    name = MODELS[TORCHVISION, model].name
    has_operators = declare_operators()
    try:
        from torchvision import models
        from torchvision.models import detection
    except ImportError as error:
        raise Unsupported(
            f"torchvision cannot be imported ({error}): pip install torchvision"
        ) from error
    if name == MASK_RCNN:
        if not has_operators:
            raise Unsupported(
                "torchvision::nms is not there: this torchvision is not built for this torch"
            )
        return _mask_rcnn(detection, size, mode, batch_size)
    options = SMOKE.get(name, {}) if size == "smoke" else {}
    module = models.get_model(name, weights=None, **options)
    if size == "smoke" and name in WIDE_HEADS:
        _narrow_head(module)
    return images(module, batch_size, SMOKE_IMAGE if size == "smoke" else IMAGE)


def _narrow_head(module: Any) -> None:
    head: nn.Sequential = module.classifier
    linear = [index for index, part in enumerate(head) if isinstance(part, nn.Linear)]
    first = head[linear[0]]
    assert isinstance(first, nn.Linear)
    features = first.in_features
    for index, width in zip(linear, (128, 128, 1000), strict=True):
        head[index] = nn.Linear(features, width)
        features = width


def _mask_rcnn(detection: Any, size: str, mode: str, batch_size: int) -> Workload:
    side = SMOKE_IMAGE if size == "smoke" else DETECTED_IMAGE
    module = detection.maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, min_size=side, max_size=side
    )

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {"images": torch.rand(batch_size, 3, side, side, generator=generator)}

    def call(called: nn.Module, batch: Inputs) -> Any:
        pictures = list(batch["images"])
        return called(pictures, _targets(pictures)) if called.training else called(pictures)

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: batch_size,
        item="images",
        call=call,
        output=lambda result: result[0]["scores"],
        loss=lambda result, batch: torch.stack(list(result.values())).sum(),
    )


def _targets(pictures: list[Tensor]) -> list[dict[str, Tensor]]:
    """One object in the middle of each picture."""
    side = pictures[0].shape[-1]
    device = pictures[0].device
    box = torch.tensor([[side / 4, side / 4, side / 2, side / 2]], device=device)
    masks = torch.ones(1, side, side, dtype=torch.uint8, device=device)
    labels = torch.ones(1, dtype=torch.int64, device=device)
    return [{"boxes": box, "labels": labels, "masks": masks} for _ in pictures]
