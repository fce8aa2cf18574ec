"""Builds, machines, tracks and benchmarks by the names that people give them."""

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from dashboard.catalog.core.hardware import CPU_SIZE, GPU_SIZE
from dashboard.catalog.core.plan import (
    NOTHING_KNOWN,
    OWN_SIZE,
    SHOWN_NAMES,
    PlanError,
    hint,
    require_known,
)
from dashboard.models import Benchmark, Machine, TorchBuild, Track, Worker

Row = TypeVar("Row", bound=Model)
# How the local part of a version begins: 2.13.0+cpu, 2.13.0+cu130
FLAVOURS = {"cpu": "cpu", "cuda": "cu"}
NO_TRACK = "There is no track yet: the first worker that says hello makes one called local."


class UnknownBuild(PlanError):
    """No build has this name; the text says what there is, and how to add one."""


def find_named(rows: QuerySet[Row], kind: str, field: str, name: str) -> Row:
    """The one row whose `field` is `name`. Raises PlanError with what is near it."""
    row = rows.filter(**{field: name}).first()
    if row is None:
        existing = list(rows.values_list(field, flat=True))
        raise PlanError(f"Unknown {kind} {name!r}. {hint(name, existing)}")
    return row


def find_build(label: str) -> TorchBuild:
    """Raises PlanError."""
    return find_named(TorchBuild.objects.all(), "torch build", "label", label)


def find_machine(key: str) -> Machine:
    """Raises PlanError."""
    return find_named(Machine.objects.all(), "machine", "key", key)


def find_track(key: str) -> Track:
    """A track on which something can be measured. Raises PlanError."""
    if not Track.objects.exists():
        raise PlanError(NO_TRACK)
    return find_named(Track.objects.all(), "track", "key", key)


def named_build(name: str, machine: Machine) -> TorchBuild:
    """The build of this label, or the only one of this version for this kind of machine.

    Raises PlanError.
    """
    exact = TorchBuild.objects.filter(label=name).first()
    if exact is not None:
        return exact
    flavour = FLAVOURS[machine.device_kind]
    near = list(TorchBuild.objects.filter(label__startswith=f"{name}+{flavour}", base=None))
    if len(near) == 1:
        return near[0]
    if near:
        labels = " or ".join(sorted(map(str, near)))
        raise PlanError(f"{name!r} may be {labels}: write one of them.")
    existing = list(TorchBuild.objects.values_list("label", flat=True))
    raise UnknownBuild(
        f"Unknown torch build {name!r}. {hint(name, existing)} "
        f"`manage.py add_build {name}` adds a release."
    )


def only_machine(key: str) -> Machine:
    """The machine of this key; without one the only machine that can measure, or that there is.

    Raises PlanError.
    """
    if key:
        return find_machine(key)
    machines = list(measuring_machines()) or list(Machine.objects.filter(hidden=False))
    if len(machines) == 1:
        return machines[0]
    if not machines:
        raise PlanError(NOTHING_KNOWN)
    names = " or ".join(machine.key for machine in machines[:SHOWN_NAMES])
    raise PlanError(f"Name the machine (--machine): {names}.")


def measuring_machines() -> QuerySet[Machine]:
    """Machines with a worker whose token still counts."""
    can_sign_in = Worker.objects.filter(machine=OuterRef("pk"), token_hash__isnull=False)
    return Machine.objects.filter(Exists(can_sign_in), hidden=False)


def offered_keys(model: type[Machine] | type[Track], named: str = "") -> list[str]:
    """Keys that a filter offers: without hidden ones, but the one that the address names."""
    rows = model._default_manager.filter(Q(hidden=False) | Q(key=named))
    return list(rows.values_list("key", flat=True))


def family_choices() -> list[tuple[str, str]]:
    """Families that have benchmarks, as a form offers them."""
    benchmarks = Benchmark.objects.filter(retired=False).order_by("family")
    return [(name, name) for name in benchmarks.values_list("family", flat=True).distinct()]


def size_choices(current: str) -> list[tuple[str, str]]:
    """Sizes that a machine may take its default selection from, as a form offers them: those that
    benchmarks have, those that come with the first worker, and the one that the machine has.
    """
    benchmarks = Benchmark.objects.filter(retired=False).exclude(size=OWN_SIZE).order_by()
    sizes = {CPU_SIZE, GPU_SIZE, current, *benchmarks.values_list("size", flat=True).distinct()}
    return [(size, size) for size in sorted(sizes)]


def benchmarks_of_models(models: Sequence[str], machine: Machine) -> list[str]:
    """The benchmarks of these models in the machine's size. Raises PlanError: an unknown model."""
    benchmarks = Benchmark.objects.filter(retired=False, size=machine.default_size)
    existing = benchmarks.order_by().values_list("model", flat=True).distinct()
    require_known("model", models, list(existing))
    return list(benchmarks.filter(model__in=models).values_list("name", flat=True))
