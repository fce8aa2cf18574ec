"""Every benchmark, one line each, the most informative first. To add one: docs/add-a-model.md.
The field's own models have their lines in field/names.py.

Stdlib only, so that the list can be read where no torch is installed; loading.py builds the models.
"""

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.field import names

# What a default run measures of a benchmark. A compiled case measures its own eager control, so the
# short run of the smoke size leaves out some eager ones.
_EAGER = ("eager",)
_COMPILED = ("inductor",)
_BOTH = ("eager", "inductor")
_BLOCKS = (*_BOTH, "regional")
_GRAPHS = (*_BOTH, "inductor_reduce_overhead")
_LENGTHS = (*_BOTH, "inductor_dynamic", "inductor_mark_dynamic")
_BUCKETS = (*_BOTH, "inductor_buckets")

# fmt: off
_ALL = (
    # model, family, size, mode, dtype, shapes, batch_size, item, default_configs
    Benchmark("mlp", "toy", "smoke", "inference", "float32", "static", 64, "samples", _BOTH),
    Benchmark("gpt2", "llm", "smoke", "inference", "float32", "static", 2, "tokens", _BOTH),
    Benchmark("ceilings", "machine", "smoke", "inference", "float32", "static", 512, "samples", _EAGER),
    Benchmark("mlp", "toy", "smoke", "training", "float32", "static", 64, "samples", _BOTH),
    Benchmark("resnet50", "vision", "smoke", "inference", "float32", "static", 4, "images", _BOTH),
    Benchmark("captioning", "multimodal", "smoke", "training", "autocast_bf16", "static", 2, "tokens", _BOTH),
    Benchmark("sd_unet", "diffusion", "smoke", "inference", "float32", "static", 1, "images", _BOTH),
    Benchmark("gpt2", "llm", "smoke", "training", "float32", "static", 2, "tokens", _BLOCKS),
    Benchmark("vit_b16", "vision", "smoke", "training", "float32", "static", 4, "images", _BOTH),
    Benchmark("captioning", "multimodal", "smoke", "inference", "float32", "static", 2, "tokens", _BOTH),
    Benchmark("dit", "diffusion", "smoke", "training", "float32", "static", 1, "images", _BOTH),
    Benchmark("sliding_window", "attention", "smoke", "inference", "float32", "static", 1, "tokens", _COMPILED),
    Benchmark("rms_norm", "kernels", "smoke", "inference", "float32", "static", 256, "samples", _COMPILED),
    Benchmark("rms_norm", "kernels", "smoke", "training", "float32", "static", 256, "samples", _COMPILED),
    # llm
    Benchmark("gpt2", "llm", "smoke", "inference", "float32", "dynamic", 2, "tokens"),
    Benchmark("gpt2", "llm", "smoke", "training", "float32", "bucketed", 2, "tokens"),
    Benchmark("gpt2", "llm", "smoke", "prefill", "float32", "static", 2, "tokens"),
    Benchmark("gpt2", "llm", "smoke", "decode", "float32", "static", 2, "tokens"),
    Benchmark("llama", "llm", "smoke", "inference", "float32", "static", 2, "tokens"),
    Benchmark("llama", "llm", "smoke", "inference", "bfloat16", "static", 2, "tokens"),
    Benchmark("llama", "llm", "smoke", "training", "float32", "static", 2, "tokens"),
    Benchmark("llama", "llm", "smoke", "prefill", "float32", "static", 2, "tokens"),
    Benchmark("llama", "llm", "smoke", "decode", "float32", "static", 2, "tokens"),
    Benchmark("llama_int8", "llm", "smoke", "decode", "bfloat16", "static", 2, "tokens"),
    Benchmark("qwen3", "llm", "smoke", "inference", "float32", "static", 2, "tokens"),
    Benchmark("qwen3", "llm", "smoke", "training", "float32", "static", 2, "tokens"),
    Benchmark("qwen3", "llm", "smoke", "prefill", "float32", "static", 2, "tokens"),
    Benchmark("qwen3", "llm", "smoke", "decode", "float32", "static", 2, "tokens"),
    Benchmark("granite_moe", "llm", "smoke", "inference", "bfloat16", "static", 2, "tokens"),
    Benchmark("granite_moe", "llm", "smoke", "training", "bfloat16", "static", 2, "tokens"),
    Benchmark("granite_moe", "llm", "smoke", "prefill", "bfloat16", "static", 2, "tokens"),
    Benchmark("granite_moe", "llm", "smoke", "decode", "bfloat16", "static", 2, "tokens"),
    # diffusion
    Benchmark("sd_unet", "diffusion", "smoke", "training", "float32", "static", 1, "images"),
    Benchmark("sdxl_unet", "diffusion", "smoke", "inference", "float32", "static", 1, "images"),
    Benchmark("sdxl_unet", "diffusion", "smoke", "training", "float32", "static", 1, "images"),
    Benchmark("dit", "diffusion", "smoke", "inference", "float32", "static", 1, "images"),
    # vision
    Benchmark("resnet50", "vision", "smoke", "training", "float32", "static", 4, "images"),
    Benchmark("vit_b16", "vision", "smoke", "inference", "float32", "static", 4, "images"),
    Benchmark("convnext", "vision", "smoke", "inference", "float32", "static", 4, "images"),
    Benchmark("convnext", "vision", "smoke", "training", "float32", "static", 4, "images"),
    Benchmark("swin", "vision", "smoke", "inference", "float32", "static", 4, "images"),
    Benchmark("swin", "vision", "smoke", "training", "float32", "static", 4, "images"),
    # multimodal
    Benchmark("captioning", "multimodal", "smoke", "training", "autocast_bf16", "dynamic", 2, "tokens"),
    Benchmark("captioning", "multimodal", "smoke", "training", "autocast_bf16", "bucketed", 2, "tokens"),
    Benchmark("captioning_article", "multimodal", "smoke", "training", "autocast_bf16", "static", 2, "tokens"),
    Benchmark("captioning_article", "multimodal", "smoke", "training", "autocast_bf16", "dynamic", 2, "tokens"),
    Benchmark("captioning_article", "multimodal", "smoke", "training", "autocast_bf16", "bucketed", 2, "tokens"),
    # toy
    Benchmark("mlp_wide", "toy", "smoke", "inference", "float32", "static", 64, "samples"),
    Benchmark("mlp_wide", "toy", "smoke", "training", "float32", "static", 64, "samples"),
    Benchmark("tiny_cnn", "toy", "smoke", "inference", "float32", "static", 32, "images"),
    Benchmark("tiny_cnn", "toy", "smoke", "training", "float32", "static", 32, "images"),
    # attention, kernels, distributed
    Benchmark("sliding_window", "attention", "smoke", "training", "float32", "static", 1, "tokens"),
    Benchmark("rms_norm_triton", "kernels", "smoke", "inference", "float32", "static", 64, "samples"),
    Benchmark("rms_norm_triton", "kernels", "smoke", "training", "float32", "static", 64, "samples"),
    Benchmark("softmax", "kernels", "smoke", "inference", "float32", "static", 256, "samples"),
    Benchmark("softmax_triton", "kernels", "smoke", "inference", "float32", "static", 64, "samples"),
    Benchmark("swiglu", "kernels", "smoke", "inference", "float32", "static", 256, "samples"),
    Benchmark("swiglu_triton", "kernels", "smoke", "inference", "float32", "static", 64, "samples"),
    Benchmark("ddp_mlp", "distributed", "smoke", "training", "float32", "static", 64, "samples"),
    Benchmark("ddp_gpt2", "distributed", "smoke", "training", "float32", "static", 2, "tokens"),
    Benchmark("fsdp2_gpt2", "distributed", "smoke", "training", "float32", "static", 2, "tokens"),
    Benchmark("fsdp2_gpt2", "distributed", "smoke", "inference", "float32", "static", 2, "tokens"),
    Benchmark("simple_fsdp_gpt2", "distributed", "smoke", "training", "float32", "static", 2, "tokens"),
    # The published shapes, for one GPU of 80 GB, the most informative first;
    # before them what the machine itself can do
    Benchmark("ceilings", "machine", "standard", "inference", "bfloat16", "static", 8192, "samples", _EAGER),
    Benchmark("ceilings", "machine", "standard", "inference", "float32", "static", 8192, "samples", _EAGER),
    Benchmark("captioning", "multimodal", "standard", "training", "autocast_bf16", "static", 64, "tokens", _BLOCKS, version=2),
    Benchmark("gpt2", "llm", "standard", "inference", "bfloat16", "static", 16, "tokens", _GRAPHS),
    Benchmark("gpt2", "llm", "standard", "training", "autocast_bf16", "static", 16, "tokens", _BLOCKS),
    Benchmark("llama", "llm", "standard", "decode", "bfloat16", "static", 8, "tokens", _GRAPHS),
    Benchmark("sd_unet", "diffusion", "standard", "inference", "float16", "static", 4, "images", _BLOCKS),
    Benchmark("vit_b16", "vision", "standard", "training", "autocast_bf16", "static", 128, "images", _BLOCKS),
    Benchmark("resnet50", "vision", "standard", "training", "autocast_bf16", "static", 128, "images", _BOTH),
    Benchmark("llama", "llm", "standard", "training", "autocast_bf16", "static", 2, "tokens", _BLOCKS),
    Benchmark("sliding_window", "attention", "standard", "inference", "bfloat16", "static", 1, "tokens", _BOTH),
    Benchmark("sliding_window", "attention", "standard", "training", "bfloat16", "static", 1, "tokens", _BOTH),
    Benchmark("rms_norm", "kernels", "standard", "inference", "bfloat16", "static", 16384, "samples", _BOTH),
    Benchmark("rms_norm_triton", "kernels", "standard", "inference", "bfloat16", "static", 16384, "samples", _BOTH),
    Benchmark("captioning_article", "multimodal", "standard", "training", "autocast_bf16", "static", 64, "tokens"),
    Benchmark("captioning_article", "multimodal", "standard", "training", "autocast_bf16", "dynamic", 64, "tokens"),
    Benchmark("captioning_article", "multimodal", "standard", "training", "autocast_bf16", "bucketed", 64, "tokens"),
    Benchmark("captioning", "multimodal", "standard", "training", "autocast_bf16", "dynamic", 64, "tokens", _LENGTHS, version=2),
    Benchmark("captioning", "multimodal", "standard", "training", "autocast_bf16", "bucketed", 64, "tokens", _BUCKETS, version=2),
    Benchmark("captioning", "multimodal", "standard", "inference", "bfloat16", "static", 64, "tokens", _BOTH, version=2),
    Benchmark("dit", "diffusion", "standard", "training", "autocast_bf16", "static", 32, "images", _BOTH),
    Benchmark("resnet50", "vision", "standard", "inference", "float16", "static", 128, "images", _BOTH),
    Benchmark("rms_norm", "kernels", "standard", "training", "bfloat16", "static", 16384, "samples", _BOTH),
    Benchmark("mlp", "toy", "standard", "inference", "bfloat16", "static", 1024, "samples", _GRAPHS),
    Benchmark("mlp", "toy", "standard", "training", "float32", "static", 1024, "samples", _BOTH),
    Benchmark("llama", "llm", "standard", "inference", "bfloat16", "static", 4, "tokens"),
    Benchmark("llama", "llm", "standard", "prefill", "bfloat16", "static", 4, "tokens"),
    Benchmark("llama_int8", "llm", "standard", "decode", "bfloat16", "static", 8, "tokens"),
    Benchmark("qwen3", "llm", "standard", "inference", "bfloat16", "static", 8, "tokens"),
    Benchmark("qwen3", "llm", "standard", "training", "autocast_bf16", "static", 4, "tokens"),
    Benchmark("qwen3", "llm", "standard", "prefill", "bfloat16", "static", 8, "tokens"),
    Benchmark("qwen3", "llm", "standard", "decode", "bfloat16", "static", 8, "tokens"),
    Benchmark("granite_moe", "llm", "standard", "inference", "bfloat16", "static", 8, "tokens"),
    Benchmark("granite_moe", "llm", "standard", "training", "bfloat16", "static", 4, "tokens"),
    Benchmark("granite_moe", "llm", "standard", "prefill", "bfloat16", "static", 8, "tokens"),
    Benchmark("granite_moe", "llm", "standard", "decode", "bfloat16", "static", 8, "tokens"),
    Benchmark("gpt2", "llm", "standard", "inference", "float16", "static", 16, "tokens"),
    Benchmark("gpt2", "llm", "standard", "inference", "bfloat16", "dynamic", 16, "tokens"),
    Benchmark("gpt2", "llm", "standard", "training", "autocast_bf16", "bucketed", 16, "tokens"),
    Benchmark("gpt2", "llm", "standard", "training", "float32", "static", 8, "tokens"),
    # Eager does not fit into one GPU: what the compiler, and its budget for activations, make possible
    Benchmark("gpt2", "llm", "standard", "training", "autocast_bf16", "static", 128, "tokens"),
    Benchmark("gpt2", "llm", "standard", "prefill", "bfloat16", "static", 16, "tokens"),
    Benchmark("gpt2", "llm", "standard", "decode", "bfloat16", "static", 16, "tokens"),
    Benchmark("sd_unet", "diffusion", "standard", "training", "autocast_bf16", "static", 4, "images"),
    Benchmark("sdxl_unet", "diffusion", "standard", "inference", "bfloat16", "static", 2, "images"),
    Benchmark("sdxl_unet", "diffusion", "standard", "training", "bfloat16", "static", 1, "images"),
    Benchmark("dit", "diffusion", "standard", "inference", "bfloat16", "static", 32, "images"),
    Benchmark("resnet50", "vision", "standard", "training", "float32", "static", 128, "images"),
    Benchmark("vit_b16", "vision", "standard", "inference", "bfloat16", "static", 128, "images"),
    Benchmark("convnext", "vision", "standard", "inference", "bfloat16", "static", 128, "images"),
    Benchmark("convnext", "vision", "standard", "training", "autocast_bf16", "static", 128, "images"),
    Benchmark("swin", "vision", "standard", "inference", "bfloat16", "static", 128, "images"),
    Benchmark("swin", "vision", "standard", "training", "autocast_bf16", "static", 128, "images"),
    Benchmark("rms_norm_triton", "kernels", "standard", "training", "bfloat16", "static", 16384, "samples"),
    Benchmark("softmax", "kernels", "standard", "inference", "bfloat16", "static", 16384, "samples"),
    Benchmark("softmax_triton", "kernels", "standard", "inference", "bfloat16", "static", 16384, "samples"),
    Benchmark("swiglu", "kernels", "standard", "inference", "bfloat16", "static", 8192, "samples"),
    Benchmark("swiglu_triton", "kernels", "standard", "inference", "bfloat16", "static", 8192, "samples"),
    Benchmark("mlp_wide", "toy", "standard", "inference", "bfloat16", "static", 1024, "samples"),
    Benchmark("mlp_wide", "toy", "standard", "training", "bfloat16", "static", 1024, "samples"),
    Benchmark("tiny_cnn", "toy", "standard", "inference", "float16", "static", 256, "images"),
    Benchmark("tiny_cnn", "toy", "standard", "training", "float32", "static", 256, "images"),
    Benchmark("ddp_mlp", "distributed", "standard", "training", "float32", "static", 1024, "samples"),
    Benchmark("ddp_gpt2", "distributed", "standard", "training", "autocast_bf16", "static", 16, "tokens"),
    Benchmark("fsdp2_gpt2", "distributed", "standard", "training", "bfloat16", "static", 16, "tokens"),
    Benchmark("fsdp2_gpt2", "distributed", "standard", "inference", "bfloat16", "static", 16, "tokens"),
    Benchmark("simple_fsdp_gpt2", "distributed", "standard", "training", "bfloat16", "static", 16, "tokens"),
)
# fmt: on

SUITE: dict[str, Benchmark] = {line.name: line for line in _ALL}
# No default run measures them
FIELD: dict[str, Benchmark] = {line.name: line for line in names.lines()}
BENCHMARKS: dict[str, Benchmark] = SUITE | FIELD
