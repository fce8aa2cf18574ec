"""Differences between two builds besides torch's version: their flavours, for CPUs (cpu) or for a
version of CUDA (cu130), and what is installed next to them.
"""

from typing import NamedTuple

from dashboard.catalog.core.versions import environment_note, flavour_note, flavour_of
from dashboard.models import Job, TorchBuild


class ComparedBuild(NamedTuple):
    """A build and the id of the machine that measured it.

    adopted: it is an interpreter that the worker found there (of a variant, its base is).
    """

    label: str
    machine: int
    adopted: bool


def compared_build(build: TorchBuild, machine: int) -> ComparedBuild:
    return ComparedBuild(build.label, machine, (build.base or build).adopted)


def other_differences(base: ComparedBuild, new: ComparedBuild) -> str:
    """In words; empty where nothing is known to differ. At most a query for each."""
    flavours = [measured_flavour(build.label, build.machine) for build in (base, new)]
    notes = [flavour_note(base.label, new.label, (flavours[0], flavours[1]))]
    if base.machine == new.machine and base.adopted != new.adopted:
        notes.append(environment_note(*(each.label for each in sorted((base, new), key=_is_own))))
    return " ".join(filter(None, notes))


def _is_own(build: ComparedBuild) -> bool:
    return not build.adopted


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
