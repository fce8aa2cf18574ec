"""GPT-2 sharded over all ranks by SimpleFSDP: a parameter is a shard, gathered where it is read.

The collectives are ordinary operators of the graph, which the compiler can see, move and overlap;
FSDP2 runs them in hooks. Method: R. Zhang et al., "SimpleFSDP: Simpler Fully Sharded Data Parallel
with torch.compile", 2024, arXiv:2411.00284. Made of torch's own parts: DTensor and
parametrizations.
"""

from dataclasses import replace

import torch.distributed
from torch import Tensor, nn
from torch.nn.utils import parametrize

from benchmarks_suite.models import gpt2
from benchmarks_suite.models._distributed import require_process_group
from benchmarks_suite.workload import Unsupported, Workload


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return replace(gpt2.build(size, mode, shapes, batch_size), wrap=_shard)


class Gathered(nn.Module):
    """A whole parameter from its shards; its gradient, averaged over the ranks, goes back."""

    def forward(self, shard: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor, Partial, Replicate

        assert isinstance(shard, DTensor)
        whole: Tensor = shard.redistribute(placements=[Replicate()]).to_local(
            grad_placements=[Partial("avg")]
        )
        return whole


def _shard(module: nn.Module) -> nn.Module:
    """Shards each parameter in place by its first dimension over all ranks; tied ones stay tied."""
    require_process_group()
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor
    except ImportError as error:
        raise Unsupported(
            "this torch has no public torch.distributed.tensor; it came with 2.5"
        ) from error
    device = next(module.parameters()).device.type
    mesh = init_device_mesh(device, (torch.distributed.get_world_size(),))
    shards: dict[nn.Parameter, nn.Parameter] = {}
    for owner in list(module.modules()):
        for name, whole in list(owner.named_parameters(recurse=False)):
            if whole not in shards:
                shards[whole] = nn.Parameter(distribute_tensor(whole.detach(), mesh, [Shard(0)]))
            owner.register_parameter(name, shards[whole])
            parametrize.register_parametrization(owner, name, Gathered(), unsafe=True)
    return module
