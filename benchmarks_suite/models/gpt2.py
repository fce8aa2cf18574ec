"""GPT-2, 124 million parameters (transformers)."""

from transformers import GPT2Config, GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from benchmarks_suite.models._text import causal_lm
from benchmarks_suite.workload import Workload

CONFIGS = {
    "smoke": {"vocab_size": 1000, "n_positions": 64, "n_embd": 128, "n_layer": 4, "n_head": 4},
    "standard": {
        "vocab_size": 50257,
        "n_positions": 1024,
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = GPT2Config(**CONFIGS[size], use_cache=False, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config)
    return causal_lm(model, GPT2Block, mode, shapes, batch_size, length=config.n_positions)
