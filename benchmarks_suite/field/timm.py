"""timm's names of benchmarks/dynamo, with random weights.

Facts are from timm_models.py (commit 0260ed17d429): dropout 0; images of the size that the model is
trained with, in inference of the size that it is tested with; the mean of all logits is the loss,
divided by 1,000 where theirs is.
"""

from typing import Any

from benchmarks_suite.field._torchvision import declare_operators
from benchmarks_suite.field.names import MODELS, TIMM
from benchmarks_suite.workload import Unsupported, Workload

_TWO_BLOCKS = {"depth": 2, "embed_dim": 64, "num_heads": 4}
# What makes a name small: convolutions keep their layers and get small images
SMOKE: dict[str, dict[str, Any]] = {
    "beit_base_patch16_224": {**_TWO_BLOCKS, "img_size": 64},
    "convnextv2_nano.fcmae_ft_in22k_in1k": {"depths": (1, 1, 1, 1), "dims": (16, 32, 64, 128)},
    "deit_base_distilled_patch16_224": {**_TWO_BLOCKS, "img_size": 64},
    "deit_tiny_patch16_224.fb_in1k": {**_TWO_BLOCKS, "img_size": 64},
    "swin_base_patch4_window7_224": {"depths": (1, 1, 1, 1), "embed_dim": 32, "img_size": 224},
    "visformer_small": {"img_size": 64, "embed_dim": 96, "num_heads": 3},
    "vit_base_patch14_dinov2.lvd142m": {**_TWO_BLOCKS, "img_size": 56},
    "vit_base_patch16_siglip_256": {**_TWO_BLOCKS, "img_size": 64},
}
SMOKE_IMAGE = 64
# Its layers without padding leave nothing of smaller images
SMOKE_IMAGES = {"adv_inception_v3": 96, "inception_v3": 96}
SCALED_LOSS = {"mobilevit_s": 1000.0}


def build(model: str, size: str, mode: str, batch_size: int) -> Workload:
    """The workload of one name. model: its name as benchmarks have it."""
    from benchmarks_suite.field._images import images

    name = MODELS[TIMM, model].name
    declare_operators()
    try:
        import timm
    except ImportError as error:
        raise Unsupported(f"timm cannot be imported ({error}): pip install timm") from error
    options = SMOKE.get(name, {}) if size == "smoke" else {}
    module = timm.create_model(name, pretrained=False, drop_rate=0.0, **options)
    if size == "smoke":
        side = options.get("img_size", SMOKE_IMAGES.get(name, SMOKE_IMAGE))
    else:
        config = module.pretrained_cfg
        tested = config.get("test_input_size") if mode == "inference" else None
        side = int((tested or config["input_size"])[-1])
    return images(module, batch_size, side, SCALED_LOSS.get(name, 1.0))
