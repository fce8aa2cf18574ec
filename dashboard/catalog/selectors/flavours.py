"""Of which flavour a build is: for CPUs (cpu) or for a version of CUDA (cu130)."""

from dashboard.catalog.core.versions import flavour_note, flavour_of
from dashboard.models import Job


def flavour_difference(base: tuple[str, int], new: tuple[str, int]) -> str:
    """What else differs between two builds of different flavours, in words; else empty.

    base, new: (label of the build, id of the machine that measured it). At most a query for each.
    """
    flavours = measured_flavour(*base), measured_flavour(*new)
    return flavour_note(base[0], new[0], flavours)


def measured_flavour(label: str, machine: int) -> str:
    """By its label, else as a result of this machine says it: an index may install 2.13.0 as
    2.13.0+cpu on one machine and as 2.13.0+cu130 on another. Empty: not known.
    """
    if flavour := flavour_of(label.partition("~")[0]):
        return flavour
    measured = Job.objects.filter(
        run__build__label=label,
        run__machine=machine,
        result__environment__document__torch__has_key="version",
    )
    versions = measured.values_list("result__environment__document__torch__version", flat=True)
    return flavour_of(str(versions.order_by("-planned_at").first() or ""))
