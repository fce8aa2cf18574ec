"""GPT-2, sharded over all ranks block by block (FSDP2): weights, gradients, optimizer state."""

from dataclasses import replace

from torch import nn
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from benchmarks_suite.models import gpt2
from benchmarks_suite.models._distributed import require_process_group
from benchmarks_suite.workload import Unsupported, Workload


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return replace(gpt2.build(size, mode, shapes, batch_size), wrap=_shard)


def _shard(module: nn.Module) -> nn.Module:
    """Shards in place over all ranks; a block's parameters are gathered just before it runs."""
    require_process_group()
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError as error:
        raise Unsupported(
            "this torch has no torch.distributed.fsdp.fully_shard (FSDP2); it came with 2.6"
        ) from error
    for block in module.modules():
        if isinstance(block, GPT2Block):
            fully_shard(block)
    # By default the root stays whole where no backward pass follows
    fully_shard(module, reshard_after_forward=True)
    return module
