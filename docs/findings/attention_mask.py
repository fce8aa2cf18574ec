"""transformers gives compiled attention a mask that it does not need, and the fused kernels refuse.

    python attention_mask.py             needs torch and transformers; a CUDA GPU for times

Where no token is masked, transformers passes no mask to scaled_dot_product_attention, so that a
fused kernel can run. While a model is traced it writes the mask down all the same: ones, of which
one value is repeated along the last axis (a stride of 0). On a GPU the fused kernels ask for a
stride of 1, and attention falls back to the math backend, which computes bfloat16 in float32.

Prints for each model (its class's default config, traced without memory) how many attentions of
the graph have a mask, and how many such a one. The same of causal models, whose mask is another
one, of GPT-2 with a cache, and of BERT with a mask of the tokens from outside, as tokenizers make
it, and of ViT with a mask of its patches: these have no part in the verdict. On a GPU then, for
ViT-B/16 and BERT in bfloat16, the GPU's own time of a step in eager and compiled; compiled with
TF32; compiled with the math backend in bfloat16; and, for BERT, compiled with a mask of ones from
outside, whole in memory. With how many fused attention kernels ran, and how far the output is from
that in float64 (the root of the mean square, of that of the reference).

Prints a verdict; exits with 1 where an attention has a mask with a stride of 0, with 0 where none
has.
"""

import copy
import sys
from functools import partial

import torch
import transformers
from torch.profiler import ProfilerActivity, profile

BATCH = {"ViTForImageClassification": 128, "BertForMaskedLM": 16}
CLASSES = (
    *BATCH,
    "AlbertForMaskedLM",
    "ElectraForCausalLM",
    "DistilBertForMaskedLM",
    "MobileBertForMaskedLM",
    "RobertaForCausalLM",
    "BlenderbotForConditionalGeneration",
    "BlenderbotForCausalLM",
    "M2M100ForConditionalGeneration",
)
CAUSAL = (
    "GPT2LMHeadModel",
    "LlamaForCausalLM",
    "Qwen3ForCausalLM",
    "GraniteMoeForCausalLM",
    "OPTForCausalLM",
)
PATCHES = 197  # of ViT's default config, and the one token that stands for the class
LENGTH = 512  # or as long as the model takes
FUSED = "flash", "fmha", "cudnn_generated"  # parts of the names of fused attention's kernels
STEPS = 10


def model_and_inputs(name, batch, device, dtype=torch.float32):
    model_class = getattr(transformers, name)
    config = model_class.config_class()
    with torch.device(device):
        model = model_class(config).to(dtype).eval()
        if model.main_input_name == "pixel_values":
            return model, {"pixel_values": torch.randn(batch, 3, 224, 224, dtype=dtype)}
        length = min(LENGTH, config.max_position_embeddings)
        inputs = {"input_ids": torch.randint(2, 1000, (batch, length))}
        if config.is_encoder_decoder:
            inputs["decoder_input_ids"] = inputs["input_ids"]
        return model, inputs


def masks(model, inputs, use_cache=False):
    """Of each attention in the graph the strides of its mask, None where it has no mask."""
    strides = []

    def look(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.target is torch.nn.functional.scaled_dot_product_attention:
                mask = node.kwargs.get("attn_mask", node.args[3] if len(node.args) > 3 else None)
                strides.append(None if mask is None else mask.meta["example_value"].stride())
        return graph_module

    torch._dynamo.reset()
    torch.compile(model, backend=look)(**inputs, use_cache=use_cache)
    return strides


def print_masks(name, strides):
    """Returns how many fused kernels refuse."""
    masked = [each for each in strides if each is not None]
    repeating = [each for each in masked if each[-1] == 0]
    print(f"  {name:38}{len(strides):3}{len(masked):4}{len(repeating):4}", flush=True)
    return len(repeating)


def print_others():
    """Of causal models, and with what a user may add."""
    for name in CAUSAL:
        print_masks(name, masks(*model_and_inputs(name, 2, "meta")))
    model, inputs = model_and_inputs("GPT2LMHeadModel", 2, "cpu")
    print_masks("GPT2LMHeadModel with a cache", masks(model, inputs, use_cache=True))
    model, inputs = model_and_inputs("BertForMaskedLM", 2, "meta")
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    print_masks("BertForMaskedLM with a mask of tokens", masks(model, inputs))
    model, inputs = model_and_inputs("ViTForImageClassification", 2, "meta")
    inputs["attention_mask"] = torch.ones(2, PATCHES, device="meta")
    print_masks("ViT with a mask of patches", masks(model, inputs))


def gpu_times(call):
    """Milliseconds of the GPU's own time and fused attention kernels, of one step."""
    for _ in range(3):
        call()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(STEPS):
            call()
        torch.cuda.synchronize()
    kernels = [event for event in profiler.key_averages() if event.self_device_time_total]
    fused = sum(each.count for each in kernels if any(part in each.key for part in FUSED))
    return sum(each.self_device_time_total for each in kernels) / STEPS / 1000, fused // STEPS


def variants(model, inputs):
    """Name, model and inputs; a setting holds while the caller works with it."""
    yield "eager", model, inputs
    yield "compiled", torch.compile(model), inputs
    torch.set_float32_matmul_precision("high")
    yield "compiled, TF32", torch.compile(model), inputs
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    yield "compiled, math in bfloat16", torch.compile(model), inputs
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    if "input_ids" in inputs:
        batch, length = inputs["input_ids"].shape
        mask = torch.ones(batch, 1, length, length, dtype=torch.bool, device=model.device)
        yield "compiled, a whole mask", torch.compile(model), {**inputs, "attention_mask": mask}


def time_on_gpu(name, batch):
    torch.manual_seed(0)
    model, inputs = model_and_inputs(name, batch, "cuda", torch.bfloat16)
    exact = {key: x.double() if x.is_floating_point() else x for key, x in inputs.items()}
    reference = copy.deepcopy(model).double()(**exact).logits
    for variant, called, given in variants(model, inputs):
        torch._dynamo.reset()  # neither guards nor caches know the second setting
        with torch._inductor.config.patch(force_disable_caches=True):
            distance = (called(**given).logits - reference).square().mean().sqrt()
            milliseconds, fused = gpu_times(partial(called, **given))
        relative = (distance / reference.square().mean().sqrt()).item()
        print(f"  {variant:28}{milliseconds:8.2f} ms, {fused:2} fused, off by {relative:.5f}")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    gpu = torch.cuda.is_available() and torch.cuda.get_device_name()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, {gpu or 'CPU'}")
    print("attentions in the graph, of these with a mask, with a stride of 0 on its last axis:")
    refused = 0
    with torch.no_grad():
        for name in CLASSES:
            refused += print_masks(name, masks(*model_and_inputs(name, 2, "meta")))
        print_others()
        for name, batch in BATCH.items() if gpu else ():
            print(f"{name}, {batch} a batch, the GPU's own time of a step:")
            time_on_gpu(name, batch)
    print(f"verdict: {refused} attentions have a mask that the fused kernels refuse")
    sys.exit(refused > 0)
