"""Llama in the shape of Llama-3.2-1B, 1.24 billion parameters (transformers)."""

from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from benchmarks_suite.models._rope import LLAMA_3_2
from benchmarks_suite.models._text import causal_lm
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {
        "vocab_size": 1000,
        "hidden_size": 128,
        "intermediate_size": 384,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
    },
    "standard": {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
    },
}
LENGTHS = {"smoke": 64, "standard": 2048}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = LlamaConfig(
        **CONFIGS[size],
        rope_parameters=LLAMA_3_2,
        max_position_embeddings=131072,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        use_cache=False,
    )
    model = LlamaForCausalLM(config)
    return causal_lm(model, LlamaDecoderLayer, mode, shapes, batch_size, LENGTHS[size])
