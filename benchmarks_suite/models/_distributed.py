"""What the distributed workloads share: they are measured under torchrun, or not at all."""

import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks_suite.workload import Unsupported


def require_process_group() -> None:
    """Raises Unsupported where this process is alone."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise Unsupported(
            "it spans several processes: start the suite with torchrun, one process for each device"
        )


def data_parallel(module: nn.Module) -> nn.Module:
    """The module, with its gradients averaged over all ranks."""
    require_process_group()
    return DistributedDataParallel(module)
