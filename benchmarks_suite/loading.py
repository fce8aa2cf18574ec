"""From a line of the registry to the Workload that the harness measures. Imports torch."""

from benchmarks_suite import own_workload
from benchmarks_suite.benchmark import Benchmark, import_module_or_file
from benchmarks_suite.workload import Workload, weights_not_drawn


def load(benchmark: Benchmark) -> Workload:
    """Builds the benchmark's model on the CPU, in seconds even for billions of parameters.

    Its random weights are not drawn but empty memory (``workload.weights_not_drawn``): fill them
    before use. Raises workload.Unsupported where a library, device or version that the model needs
    is missing.
    """
    if benchmark.source:
        return own_workload.build(benchmark)
    module = import_module_or_file(benchmark.module)
    sizes = (benchmark.size, benchmark.mode)
    with weights_not_drawn():
        workload: Workload
        if benchmark.is_of_field:
            workload = module.build(benchmark.model, *sizes, benchmark.batch_size)
        else:
            workload = module.build(*sizes, benchmark.shapes, benchmark.batch_size)
    return workload
