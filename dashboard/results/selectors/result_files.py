"""Result documents as the suite wrote them, put together again from what the site keeps."""

from typing import Any
from uuid import UUID

from dashboard.models import Result, Samples
from dashboard.results.core.result_format import INTEGERS, unpack_samples


def result_file(job: UUID) -> dict[str, Any] | None:
    """The result.v1 of a job, for import_results elsewhere; None where the job brought none.

    Raw samples whose retention has ended are absent from it.
    """
    document = Result.objects.filter(pk=job).values_list("document", flat=True).first()
    if document is None or "schema" not in document:
        return None
    arms = Samples.objects.filter(job=job).order_by("pk")
    return {**document, "samples": {arm.arm: _arm(arm) for arm in arms}}


def _arm(kept: Samples) -> dict[str, Any]:
    """Values, CPU time: milliseconds per step; order: places in the interleaved sequence."""
    arm = {
        "unit": kept.unit,
        "inner": kept.inner,
        "values": unpack_samples(bytes(kept.values)).tolist(),
    }
    if kept.cpu_ms is not None:
        arm["cpu_ms"] = unpack_samples(bytes(kept.cpu_ms)).tolist()
    if kept.order is not None:
        arm["order"] = unpack_samples(bytes(kept.order), INTEGERS).tolist()
    return arm
