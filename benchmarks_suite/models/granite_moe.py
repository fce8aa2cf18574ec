"""A mixture of experts, the shape of Granite-3.0-1B-A400M, 1.33 billion parameters (transformers).

Each token goes to 8 of 32 experts; the library sorts tokens by expert, for one grouped matmul.
"""

from transformers import GraniteMoeConfig, GraniteMoeForCausalLM
from transformers.models.granitemoe.modeling_granitemoe import GraniteMoeDecoderLayer

from benchmarks_suite.models._text import causal_lm
from benchmarks_suite.workload import Sizes, Workload

CONFIGS: Sizes = {
    "smoke": {
        "vocab_size": 1000,
        "hidden_size": 128,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    },
    "standard": {
        "vocab_size": 49155,
        "hidden_size": 1024,
        "intermediate_size": 512,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_local_experts": 32,
        "num_experts_per_tok": 8,
    },
}
LENGTHS = {"smoke": 64, "standard": 1024}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = GraniteMoeConfig(
        **CONFIGS[size],
        embedding_multiplier=12.0,
        attention_multiplier=0.015625,
        residual_multiplier=0.22,
        logits_scaling=6.0,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        use_cache=False,
    )
    model = GraniteMoeForCausalLM(config)
    return causal_lm(model, GraniteMoeDecoderLayer, mode, shapes, batch_size, LENGTHS[size])
