"""One job with everything that is known about it."""

import zlib
from collections.abc import Sequence
from uuid import UUID

import numpy as np

from dashboard.language.metrics import EAGER
from dashboard.models import Artifact, Config, Job, Samples
from dashboard.results.core.sample_charts import ChartArm
from dashboard.ui.charts import ChartLine
from dashboard.ui.downsampling import Floats

COMPILED = "compiled"  # the arm of whatever config is not eager
MOST_SAMPLED_JOBS = 60  # of a line, whose raw samples are shown
_SINGLE = "_single"  # arms of steps timed one by one


def job(uuid: UUID) -> Job:
    """The job with its run, case, worker, result and artifacts. Raises Job.DoesNotExist. Two
    queries.
    """
    of_run = ("run__build", "run__track", "run__machine")
    related = (*of_run, "benchmark", "config", "worker", "requirements", "result__environment")
    return Job.objects.select_related(*related).prefetch_related("artifacts").get(pk=uuid)


def pair(uuids: Sequence[str]) -> list[Job]:
    """Of these jobs the two (or fewer) that exist, the older first, with what tells them apart. One
    query.
    """
    known = [UUID(uuid) for uuid in uuids if _is_uuid(uuid)]
    related = (
        "run__build",
        "run__track",
        "run__machine",
        "benchmark",
        "config",
        "result__environment",
    )
    return list(
        Job.objects.select_related(*related).filter(pk__in=known).order_by("planned_at")[:2]
    )


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def has_samples(of: Job) -> bool:
    """Whether raw samples are still kept: their retention is shorter than that of the data made
    from them.
    """
    return Samples.objects.filter(job=of).exists()


def arms(uuid: UUID) -> list[ChartArm]:
    """The raw samples of a job, eager first; an arm named like a config has that config's colour.
    Two queries.
    """
    rows = list(Samples.objects.filter(job=uuid).only("arm", "values", "order").order_by("pk"))
    position = dict(
        Config.objects.filter(name__in=[row.arm for row in rows]).values_list("name", "position")
    )
    unknown = Job.objects.filter(pk=uuid).values_list("config__position", flat=True).first() or 1
    found = [_arm(row, position.get(row.arm.removesuffix(_SINGLE), unknown)) for row in rows]
    return sorted(found, key=lambda arm: arm.name != EAGER)


def _arm(row: Samples, position: int) -> ChartArm:
    """Samples as they lie in the database: zlib over little-endian float64, their order as
    int32.
    """
    order = np.frombuffer(zlib.decompress(row.order), "<i4") if row.order else None
    values = np.frombuffer(zlib.decompress(row.values), "<f8")
    return ChartArm(
        row.arm.replace("_", " "), position, values, order, single=row.arm.endswith(_SINGLE)
    )


def raw_samples(lines: Sequence[ChartLine], arm: str = "") -> dict[str, Floats]:
    """The raw samples of the newest jobs of each line that passed, by job. arm: whose; empty: that
    of the line's config. One query.
    """
    newest = {job: line.name for line in lines for job in _newest_passed(line)}
    arms = [arm] if arm else [EAGER, COMPILED]
    rows = Samples.objects.filter(job__in=[*newest], arm__in=arms).values_list(
        "job_id", "arm", "values"
    )
    return {
        str(job): np.frombuffer(zlib.decompress(values), "<f8")
        for job, found, values in rows
        if arm or (found == EAGER) == (newest[str(job)] == EAGER)
    }


def _newest_passed(line: ChartLine) -> list[str]:
    passed = [job for job, status in zip(line.job, line.status, strict=True) if status == "pass"]
    return passed[-MOST_SAMPLED_JOBS:]


def artifact(pk: int) -> Artifact:
    """One artifact. Raises Artifact.DoesNotExist."""
    return Artifact.objects.get(pk=pk)
