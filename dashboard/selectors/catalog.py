"""Benchmarks by the names that people give them."""

from collections.abc import Sequence

from dashboard.models import Benchmark, Machine
from dashboard.plan import require_known


def of_models(models: Sequence[str], machine: Machine) -> list[str]:
    """The benchmarks of these models in the size that suits the machine. Raises PlanError for an
    unknown model.
    """
    known = Benchmark.objects.filter(retired=False, size=machine.default_size)
    require_known(
        "model", models, list(known.order_by().values_list("model", flat=True).distinct())
    )
    return list(known.filter(model__in=models).values_list("name", flat=True))
