"""Qwen3, the shape of Qwen3-0.6B: norms on queries and keys, 596 M parameters (transformers)."""

from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer

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
        "vocab_size": 151936,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
    },
}
LENGTHS = {"smoke": 64, "standard": 1024}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = Qwen3Config(
        **CONFIGS[size],
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        max_position_embeddings=40960,
        tie_word_embeddings=True,
        use_cache=False,
    )
    model = Qwen3ForCausalLM(config)
    return causal_lm(model, Qwen3DecoderLayer, mode, shapes, batch_size, LENGTHS[size])
