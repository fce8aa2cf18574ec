"""One job with everything that is known about it."""

import zlib
from uuid import UUID

import numpy as np

from dashboard.models import Artifact, Config, Job, Samples
from dashboard.sample_charts import Arm
from dashboard.selectors.rollup import EAGER

_SINGLE = "_single"  # arms of steps timed one by one


def job(uuid: UUID) -> Job:
    """The job with its run, case, worker, result and artifacts. Raises Job.DoesNotExist. Two queries."""
    of_run = ("run__build", "run__track", "run__machine")
    related = (*of_run, "benchmark", "config", "worker", "requirements", "result__environment")
    return Job.objects.select_related(*related).prefetch_related("artifacts").get(pk=uuid)


def has_samples(of: Job) -> bool:
    """Whether raw samples are still kept: their retention is shorter than that of the data made from them."""
    return Samples.objects.filter(job=of).exists()


def arms(uuid: UUID) -> list[Arm]:
    """The raw samples of a job, eager first; an arm named like a config has that config's colour. Two queries."""
    rows = list(Samples.objects.filter(job=uuid).only("arm", "values", "order").order_by("pk"))
    position = dict(Config.objects.filter(name__in=[row.arm for row in rows]).values_list("name", "position"))
    unknown = Job.objects.filter(pk=uuid).values_list("config__position", flat=True).first() or 1
    found = [_arm(row, position.get(row.arm.removesuffix(_SINGLE), unknown)) for row in rows]
    return sorted(found, key=lambda arm: arm.name != EAGER)


def _arm(row: Samples, position: int) -> Arm:
    """Samples as they lie in the database: zlib over little-endian float64, their order as int32."""
    order = np.frombuffer(zlib.decompress(row.order), "<i4") if row.order else None
    values = np.frombuffer(zlib.decompress(row.values), "<f8")
    return Arm(row.arm.replace("_", " "), position, values, order, single=row.arm.endswith(_SINGLE))


def artifact(pk: int) -> Artifact:
    """One artifact. Raises Artifact.DoesNotExist."""
    return Artifact.objects.get(pk=pk)
