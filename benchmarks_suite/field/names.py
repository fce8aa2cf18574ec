"""Models that PyTorch's benchmarks/dynamo runs, with their batches; and our lines for them.

Facts are from github.com/pytorch/pytorch: huggingface_models_list.txt (commit 0fb2b95fb850) and
huggingface.yaml (33c040b56dbc), timm_models_list.txt (06d9861d5197) and timm_models.yaml
(1869dff181f4), torchbench_models_list.txt (95f60443c8fe). A batch is theirs after their divisor;
it serves both modes. Stdlib only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks_suite.benchmark import FIELD_FAMILY, Benchmark

HUGGINGFACE, TIMM, TORCHVISION = "huggingface", "timm", "torchvision"
BOTH, INFERENCE = ("inference", "training"), ("inference",)
SMOKE_BATCH = 2
# Theirs run float32, bfloat16 and amp; on CUDA amp is autocast's own dtype, float16
STANDARD_DTYPES = {
    "inference": ("bfloat16", "float32", "autocast_fp16"),
    "training": ("autocast_fp16", "float32"),
}


@dataclass(frozen=True, slots=True)
class FieldModel:
    """One name of their lists.

    batch_size: theirs for both modes. length: of the text in tokens, 0 for images. modes: those
        that they run. dtypes: empty: all.
    """

    name: str
    library: str
    batch_size: int
    length: int = 0
    modes: tuple[str, ...] = BOTH
    dtypes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """Their name as benchmarks have it, and as an import of their CSV makes it."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower())


# fmt: off
_TEXT = (  # name, batch, length
    ("AlbertForMaskedLM", 4, 512), ("AllenaiLongformerBase", 4, 1024), ("BartForCausalLM", 4, 1024),
    ("BertForMaskedLM", 16, 512), ("BlenderbotForCausalLM", 4, 128),
    ("BlenderbotForConditionalGeneration", 16, 128), ("DebertaV2ForMaskedLM", 2, 512),
    ("DistilBertForMaskedLM", 128, 128), ("DistillGPT2", 16, 512), ("ElectraForCausalLM", 32, 512),
    ("GPT2ForSequenceClassification", 4, 1024), ("GPTJForCausalLM", 1, 128),
    ("GPTJForQuestionAnswering", 1, 128), ("GPTNeoForCausalLM", 32, 128),
    ("GPTNeoForSequenceClassification", 32, 128), ("LayoutLMForMaskedLM", 16, 512),
    ("MBartForCausalLM", 4, 1024), ("MT5ForConditionalGeneration", 16, 128),
    ("MegatronBertForCausalLM", 4, 512), ("MobileBertForMaskedLM", 128, 128),
    ("OPTForCausalLM", 2, 2048), ("PLBartForCausalLM", 8, 1024), ("PegasusForCausalLM", 32, 128),
    ("RobertaForCausalLM", 16, 512), ("T5ForConditionalGeneration", 4, 1024), ("T5Small", 4, 1024),
    ("TrOCRForCausalLM", 32, 256), ("XGLMForCausalLM", 8, 128), ("XLNetLMHeadModel", 8, 512),
    ("YituTechConvBert", 16, 512),
)
_GENERATING = (  # they run generate(); here one pass over their prompt of 1,000 tokens
    "meta-llama/Llama-3.2-1B", "google/gemma-2-2b", "google/gemma-3-4b-it", "Qwen/Qwen3-0.6B",
    "mistralai/Mistral-7B-Instruct-v0.3", "openai/gpt-oss-20b",
)
_TIMM = (  # name, batch
    ("adv_inception_v3", 128), ("beit_base_patch16_224", 64),
    ("convnextv2_nano.fcmae_ft_in22k_in1k", 128), ("deit_base_distilled_patch16_224", 64),
    ("deit_tiny_patch16_224.fb_in1k", 128), ("dm_nfnet_f0", 128), ("ghostnet_100", 512),
    ("inception_v3", 128), ("mobilenetv2_100", 128), ("mobilenetv3_large_100", 512),
    ("mobilevit_s", 64), ("nfnet_l0", 128), ("repvgg_a2", 128),
    ("swin_base_patch4_window7_224", 64), ("tf_efficientnet_b0", 128), ("visformer_small", 128),
    ("vit_base_patch14_dinov2.lvd142m", 128), ("vit_base_patch16_siglip_256", 128),
)
_TORCHVISION = (  # name, batch; ours for the last two, which the list lacks, and
    # for resnet50, of which the suite has its own with their 128
    ("alexnet", 1024), ("densenet121", 64), ("mnasnet1_0", 256), ("mobilenet_v2", 128),
    ("mobilenet_v3_large", 256), ("resnet18", 512), ("resnet50", 32), ("resnext50_32x4d", 128),
    ("shufflenet_v2_x1_0", 512), ("squeezenet1_1", 512), ("vgg16", 128),
    ("resnet152", 32), ("vision_maskrcnn", 4),
)
# fmt: on


def _models() -> Iterator[FieldModel]:
    for name, batch_size, length in _TEXT:
        yield FieldModel(name, HUGGINGFACE, batch_size, length)
    yield FieldModel("GoogleFnet", HUGGINGFACE, 16, 512, dtypes=("float32",))
    yield FieldModel("M2M100ForConditionalGeneration", HUGGINGFACE, 16, 128, INFERENCE)
    for name in _GENERATING:
        yield FieldModel(name, HUGGINGFACE, 1, 1000, INFERENCE)
    # 30 seconds of sound, 128 tokens
    yield FieldModel("openai/whisper-tiny", HUGGINGFACE, 1, 128, INFERENCE)
    for name, batch_size in _TIMM:
        yield FieldModel(name, TIMM, batch_size)
    for name, batch_size in _TORCHVISION:
        yield FieldModel(name, TORCHVISION, batch_size)


MODELS: dict[tuple[str, str], FieldModel] = {(each.library, each.model): each for each in _models()}


def lines() -> Iterator[Benchmark]:
    """Yield the registry's lines for them. No default run measures them."""
    for model in MODELS.values():
        for mode in model.modes:
            yield _line(model, "smoke", mode, "float32", SMOKE_BATCH)
    for model in MODELS.values():
        for mode in model.modes:
            for dtype in STANDARD_DTYPES[mode]:
                if dtype in (model.dtypes or STANDARD_DTYPES[mode]):
                    yield _line(model, "standard", mode, dtype, model.batch_size)


def _line(model: FieldModel, size: str, mode: str, dtype: str, batch_size: int) -> Benchmark:
    item = "samples" if model.library == HUGGINGFACE else "images"
    family = f"{FIELD_FAMILY}{model.library}"
    return Benchmark(model.model, family, size, mode, dtype, "static", batch_size, item)
