"""GPT-2, 124 million parameters at standard size (transformers)."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from benchmarks_suite.workload import Inputs, Workload

CONFIGS = {
    "smoke": {"vocab_size": 1000, "n_positions": 64, "n_embd": 128, "n_layer": 4, "n_head": 4},
    "standard": {"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12},
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = GPT2Config(**CONFIGS[size], use_cache=False, bos_token_id=None, eos_token_id=None, attn_implementation="sdpa")
    model = GPT2LMHeadModel(config)
    model.loss_function = ForCausalLMLoss  # unset, the library warns while dynamo traces it: two graph breaks

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        ids = torch.randint(config.vocab_size, (batch_size, config.n_positions), generator=generator)  # (batch, length)
        return {"input_ids": ids, "labels": ids} if mode == "training" else {"input_ids": ids}

    return Workload(
        module=model,
        inputs=inputs,
        items=lambda batch: batch["input_ids"].numel(),
        item="tokens",
        output=lambda result: result.logits,  # (batch, length, vocabulary)
        loss=lambda result, batch: result.loss,
        blocks=(GPT2Block,),
    )
