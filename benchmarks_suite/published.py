"""Origins of the models: what each standard size shares with its origin, and what differs.

docs/reference-models.md shows it; tests/suite/test_models_standard.py checks sizes against it.
Stdlib only.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """model: as in the registry. name, address: what it is taken from. same: what was compared.
    differs: what does not agree, and why.
    """

    model: str
    name: str
    address: str
    same: str
    differs: str


_LENGTH = "short enough to train on one GPU"

SOURCES = (
    Source(
        "gpt2",
        "GPT-2, the smallest",
        "https://huggingface.co/openai-community/gpt2/blob/main/config.json",
        "12 layers of width 768, 12 heads, 50,257 tokens, texts of 1,024, dropout 0.1, tied head:"
        " 124,439,808 parameters",
        "no beginning and end of a text (nothing is generated). Published in float32; here in"
        " bfloat16 and float16 as well, as it is run today",
    ),
    Source(
        "llama",
        "Llama-3.2-1B",
        "https://huggingface.co/meta-llama/Llama-3.2-1B/blob/main/config.json",
        "16 layers of width 2,048, MLP 8,192, 32 heads on 8 of keys and values, 128,256 tokens,"
        " rotary base 500,000 slowed 32 times, tied head, bfloat16: 1,235,814,400 parameters",
        f"texts and caches of 2,048 tokens of the 131,072 that it can read, {_LENGTH}",
    ),
    Source(
        "llama_int8",
        "the model above",
        "https://github.com/pytorch/ao",
        "every Linear in int8 with one scale for each output row, torchao's weight-only recipe",
        "nobody published this checkpoint: the recipe is torchao's, the shape Llama's",
    ),
    Source(
        "qwen3",
        "Qwen3-0.6B",
        "https://huggingface.co/Qwen/Qwen3-0.6B/blob/main/config.json",
        "28 layers of width 1,024, MLP 3,072, 16 heads of 128 on 8 of keys and values, norms on"
        " queries and keys, 151,936 tokens, rotary base 1,000,000, tied head, bfloat16:"
        " 596,049,920 parameters",
        f"texts and caches of 1,024 tokens of the 40,960 that it can read, {_LENGTH}",
    ),
    Source(
        "granite_moe",
        "Granite-3.0-1B-A400M",
        "https://huggingface.co/ibm-granite/granite-3.0-1b-a400m-base/blob/main/config.json",
        "24 layers of width 1,024, 32 experts of 512 of which 8 serve a token, 16 heads on 8 of"
        " keys and values, 49,155 tokens, the four multipliers, tied head, bfloat16:"
        " 1,334,628,352 parameters",
        f"texts and caches of 1,024 tokens of the 4,096 that it can read, {_LENGTH}. The loss"
        " lacks the term that balances experts, as the config's default does",
    ),
    Source(
        "sd_unet",
        "Stable Diffusion 1.5, its UNet",
        "https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/blob/main/unet/config.json",
        "widths 320, 640, 1,280, 1,280, 8 heads, latents of 64 × 64 (an image of 512), 77 tokens of"
        " text of width 768: 859,520,964 parameters",
        "one step of the UNet alone, without text encoder, decoder of images and scheduler. A batch"
        " of 4 is two images with guidance",
    ),
    Source(
        "sdxl_unet",
        "Stable Diffusion XL, its UNet",
        "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0/blob/main/unet/config.json",
        "widths 320, 640, 1,280, transformer blocks 1, 2, 10, latents of 128 × 128 (an image of"
        " 1,024), text of width 2,048, the prompt's 1,280 and six numbers of size and crop:"
        " 2,567,463,684 parameters",
        "as above. bfloat16 where the published weights are float16. A batch of 2 is one image with"
        " guidance; training has a batch of 1, which fits with its optimizer",
    ),
    Source(
        "dit",
        "DiT-XL/2 for 256 × 256 images",
        "https://huggingface.co/facebook/DiT-XL-2-256/blob/main/transformer/config.json",
        "28 layers, 16 heads of 72, patches of 2 in latents of 32 × 32, 1,000 classes, noise and"
        " variance as output",
        "749.8 million parameters where [the paper](https://arxiv.org/abs/2212.09748) counts 675:"
        " diffusers gives every block its own embedding of label and time. The loss is that of the"
        " noise, without the variance's term. A batch of 32, where the paper trains with 256",
    ),
    Source(
        "resnet50",
        "ResNet-50 (v1.5)",
        "https://docs.pytorch.org/vision/stable/models/resnet.html",
        "3, 4, 6, 3 bottlenecks with the stride in the 3 × 3 convolution, 1,000 classes, images of"
        " 224: 25,557,032 parameters, as torchvision counts them",
        "transformers' implementation, not torchvision's",
    ),
    Source(
        "vit_b16",
        "ViT-B/16",
        "https://huggingface.co/google/vit-base-patch16-224/blob/main/config.json",
        "12 layers of width 768, MLP 3,072, 12 heads, patches of 16 in images of 224, 1,000"
        " classes: 86,567,656 parameters, as torchvision counts them",
        "norms add 1e-12, transformers' default, where torchvision and timm add 1e-6",
    ),
    Source(
        "convnext",
        "ConvNeXt-T",
        "https://huggingface.co/facebook/convnext-tiny-224/blob/main/config.json",
        "3, 3, 9, 3 layers of width 96, 192, 384, 768, 1,000 classes, images of 224: 28,589,128"
        " parameters, as torchvision counts them",
        "no layer is dropped in training, as in the config; the paper drops up to one in ten",
    ),
    Source(
        "swin",
        "Swin-T",
        "https://huggingface.co/microsoft/swin-tiny-patch4-window7-224/blob/main/config.json",
        "2, 2, 6, 2 layers, width 96, 3, 6, 12, 24 heads, windows of 7, 1,000 classes, images of"
        " 224: 28,288,354 parameters, as torchvision counts them",
        "up to one layer in ten is dropped in training, as in the config; the paper drops up to one"
        " in five",
    ),
    Source(
        "captioning",
        "an experiment on a Hopper GPU",
        "results.md",
        "ViT-B/16 and the smallest GPT-2 with cross attention, a vocabulary of 1,024",
        "its code was not at hand: batch, lengths, their mixture and precision are not compared",
    ),
    Source(
        "captioning_article",
        "an experiment on a Hopper GPU",
        "results.md",
        "the model above, with captions of 5 to 256 words, padded, and the decoder's mask",
        "its loader of twelve workers is left out",
    ),
    Source(
        "ddp_gpt2",
        "GPT-2, as above",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
        "the model above in DistributedDataParallel",
        "16 texts for each rank; the source prescribes no model",
    ),
    Source(
        "fsdp2_gpt2",
        "GPT-2, as above",
        "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html",
        "the model above, each block sharded by itself and then the root, as the documentation"
        " recommends",
        "weights in bfloat16, without its mixed precision policy",
    ),
    Source(
        "simple_fsdp_gpt2",
        "SimpleFSDP (Zhang et al. 2024)",
        "https://arxiv.org/abs/2411.00284",
        "parameters are shards, gathered by an operator of the graph where they are read",
        "the method alone, of GPT-2 (the paper: of Llama 3), without its bucketing and reordering"
        " of collectives",
    ),
)

# Without a published model to compare with: small networks and single kernels, written here
MADE_HERE = (
    "mlp",
    "mlp_wide",
    "tiny_cnn",
    "ddp_mlp",
    "sliding_window",
    "rms_norm",
    "rms_norm_triton",
    "softmax",
    "softmax_triton",
    "swiglu",
    "swiglu_triton",
    "ceilings",
)
