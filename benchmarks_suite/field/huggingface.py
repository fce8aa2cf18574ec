"""HuggingFace's names of benchmarks/dynamo, with random weights, from the library's own configs.

Facts are from huggingface.py (commit 032cbcbbb030) and huggingface_llm_models.py (36c1971fa84e).
Most take their class's default config; WRITTEN has those for which theirs downloads one. As there,
the labels are among the inputs in both modes and the model makes the loss. Tokens are drawn from 1
on, so that no padding is among them.
"""

from typing import Any

import torch
import transformers
from torch import Tensor

from benchmarks_suite.field._torchvision import declare_operators
from benchmarks_suite.field.names import HUGGINGFACE, MODELS
from benchmarks_suite.models._rope import LLAMA_3_2
from benchmarks_suite.workload import Inputs, Workload

# name -> its class, and what differs from the class's default config
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "AllenaiLongformerBase": (
        "LongformerForMaskedLM",
        {"vocab_size": 50265, "max_position_embeddings": 4098, "type_vocab_size": 1},
    ),
    "DistillGPT2": ("GPT2LMHeadModel", {"n_layer": 6}),
    "GoogleFnet": ("FNetForMaskedLM", {}),
    # As published: positions are counted from the padding's on. Theirs feeds it padding alone
    "RobertaForCausalLM": ("RobertaForCausalLM", {"max_position_embeddings": 514}),
    "T5Small": ("T5ForConditionalGeneration", {}),
    "YituTechConvBert": ("ConvBertForMaskedLM", {}),
    "openai/whisper-tiny": ("WhisperForConditionalGeneration", {}),
    "google/gemma-2-2b": ("Gemma2ForCausalLM", {}),
    "google/gemma-3-4b-it": (  # its part for text
        "Gemma3ForCausalLM",
        {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        },
    ),
    "meta-llama/Llama-3.2-1B": (
        "LlamaForCausalLM",
        {
            "vocab_size": 128256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "max_position_embeddings": 131072,
            "tie_word_embeddings": True,
            "rope_parameters": LLAMA_3_2,
        },
    ),
    "Qwen/Qwen3-0.6B": (
        "Qwen3ForCausalLM",
        {
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "tie_word_embeddings": True,
        },
    ),
    "mistralai/Mistral-7B-Instruct-v0.3": (
        "MistralForCausalLM",
        {"vocab_size": 32768, "max_position_embeddings": 32768, "sliding_window": None},
    ),
    "openai/gpt-oss-20b": ("GptOssForCausalLM", {"num_hidden_layers": 24, "num_local_experts": 32}),
}
# What configs call the same things; those that a config has are set
SMOKE: dict[str, Any] = {
    **dict.fromkeys(("num_hidden_layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "n_layer", "n_layers"), 2),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "pooler_hidden_size"), 64),
    **dict.fromkeys(("embedding_size", "word_embed_proj_dim"), 64),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "ffn_dim", "d_ff", "d_inner"), 128),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 128),
    **dict.fromkeys(("head_dim", "d_kv", "d_head", "query_pre_attn_scalar"), 16),
    "num_key_value_heads": 2,
    "rotary_dim": 8,
    "vocab_size": 1000,
    "attention_window": 16,
    "num_local_experts": 4,
    "max_source_positions": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
# Its blocks narrow and widen: their sizes depend on each other
KEPT = {"mobilebertformaskedlm": ("hidden_size", "intermediate_size", "embedding_size")}
SMOKE_LENGTH = 32
# A pad token is what finds a text's end
PADDED = ("GPT2ForSequenceClassification", "GPTNeoForSequenceClassification", "RobertaForCausalLM")
ENCODER_DECODERS = ("T5", "M2M100", "MT5", "BlenderbotForConditionalGeneration")


def build(model: str, size: str, mode: str, batch_size: int) -> Workload:
    """The workload of one name. model: its name as benchmarks have it."""
    field_model = MODELS[HUGGINGFACE, model]
    name = field_model.name
    module_class, config = _class_and_config(name)
    length = field_model.length
    if size == "smoke":
        length = SMOKE_LENGTH
        _shrink(config, KEPT.get(model, ()))
    config.use_cache = False
    module = module_class(config)

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return _inputs(name, config, batch_size, length, generator)

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: batch_size,
        item="samples",
        output=_logits,
        loss=lambda result, batch: result.loss,
        axes={"input_ids": ("batch", "length"), "labels": ("batch", "length")},
    )


def _class_and_config(name: str) -> tuple[Any, Any]:
    class_name, changes = WRITTEN.get(name, (name, {}))
    declare_operators()  # transformers imports torchvision where it is installed
    module_class = getattr(transformers, class_name)
    config = module_class.config_class(**changes)
    if name in PADDED:
        config.pad_token_id = 0
    return module_class, config


def _shrink(config: Any, kept: tuple[str, ...]) -> None:
    for name, value in SMOKE.items():
        if name not in kept and getattr(config, name, None) is not None:
            setattr(config, name, value)
    if hasattr(config, "attention_layers"):  # GPT-Neo's, a word for each layer
        config.attention_layers = config.attention_layers[:2]
        config.attention_types = [[["global", "local"], 1]]
    if getattr(config, "layer_types", None):
        kinds = sorted(set(config.layer_types))
        config.layer_types = (kinds * 2)[:2]  # both, where there are two


def _inputs(
    name: str, config: Any, batch_size: int, length: int, generator: torch.Generator
) -> Inputs:
    """Token ids and labels, each (batch, length)."""

    def tokens() -> Tensor:
        return torch.randint(1, config.vocab_size, (batch_size, length), generator=generator)

    if name == "openai/whisper-tiny":
        frames = (batch_size, config.num_mel_bins, 2 * config.max_source_positions)
        return {"input_features": torch.randn(frames, generator=generator), "labels": tokens()}
    ids = tokens()
    batch = {"input_ids": ids}
    if name.startswith(ENCODER_DECODERS):
        batch["decoder_input_ids"] = ids
    if name.endswith("QuestionAnswering"):
        ends = torch.randint(length, (2, batch_size), generator=generator)
        return {**batch, "start_positions": ends[0], "end_positions": ends[1]}
    if name.endswith("SequenceClassification"):
        # Of num_labels - 1, as theirs
        classes = torch.randint(config.num_labels - 1, (batch_size,), generator=generator)
        return {**batch, "labels": classes}
    return {**batch, "labels": tokens()}


def _logits(result: Any) -> Tensor:
    logits: Tensor = result["logits"] if "logits" in result else result["start_logits"]
    return logits
