"""Models that a person depends on."""

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import Benchmark, StarredModel


def star(*, user_id: int, model: str) -> None:
    """Raises ActionNotAllowed where no benchmark is of that model."""
    if not Benchmark.objects.filter(model=model).exists():
        raise ActionNotAllowed(f"No benchmark measures a model “{model}”.")
    StarredModel.objects.get_or_create(user_id=user_id, model=model)


def unstar(*, user_id: int, model: str) -> None:
    StarredModel.objects.filter(user=user_id, model=model).delete()
