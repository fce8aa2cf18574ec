"""One job with everything that is known about it."""

from collections.abc import Sequence
from uuid import UUID

from dashboard.language.metrics import EAGER
from dashboard.models import Config, Job, Samples
from dashboard.results.core.result_format import INTEGERS, unpack_samples
from dashboard.results.core.sample_charts import ChartArm
from dashboard.ui.charts import ChartLine
from dashboard.ui.downsampling import Floats

COMPILED = "compiled"  # the arm of whatever config is not eager
MOST_SAMPLED_JOBS = 60  # of a line, whose raw samples are shown
_SINGLE = "_single"  # arms of steps timed one by one


def job(uuid: UUID) -> Job:
    """The job with all that belongs to it. Raises Job.DoesNotExist. Two queries."""
    of_run = ("run__build", "run__track", "run__machine")
    related = (*of_run, "benchmark", "config", "worker", "requirements", "result__environment")
    return Job.objects.select_related(*related).prefetch_related("artifacts").get(pk=uuid)


def pair(uuids: Sequence[str], *, by_age: bool = False) -> list[Job]:
    """Find the first two (or fewer) of these jobs that exist. One query.

    by_age: the two oldest, the older first; else in the order given.
    """
    valid = [UUID(uuid) for uuid in uuids if _is_uuid(uuid)]
    of_run = ("run__build", "run__track", "run__machine")
    related = (*of_run, "benchmark", "config", "result__environment")
    existing = Job.objects.select_related(*related).filter(pk__in=valid)
    if by_age:
        return list(existing.order_by("planned_at")[:2])
    return sorted(existing, key=lambda job: valid.index(job.pk))[:2]


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def arms(uuid: UUID) -> list[ChartArm]:
    """The raw samples of a job, eager first. Two queries.

    An arm that is named like a config has that config's colour.
    """
    rows = list(Samples.objects.filter(job=uuid).only("arm", "values", "order").order_by("pk"))
    named_configs = Config.objects.filter(name__in=[row.arm for row in rows])
    positions = dict(named_configs.values_list("name", "position"))
    own = Job.objects.filter(pk=uuid).values_list("config__position", flat=True).first() or 1
    chart_arms = [_arm(row, positions.get(row.arm.removesuffix(_SINGLE), own)) for row in rows]
    return sorted(chart_arms, key=lambda arm: arm.name != EAGER)


def _arm(row: Samples, position: int) -> ChartArm:
    return ChartArm(
        row.arm.replace("_", " "),
        position,
        unpack_samples(bytes(row.values)),
        unpack_samples(bytes(row.order), INTEGERS) if row.order else None,
        single=row.arm.endswith(_SINGLE),
    )


def raw_samples(lines: Sequence[ChartLine], arm: str = "") -> dict[str, Floats]:
    """The raw samples of the newest jobs of each line that passed, by job. One query.

    arm: whose samples; empty: those of the line's config.
    """
    config_of: dict[str, str] = {}
    for line in lines:
        passed = [
            job for job, status in zip(line.job, line.status, strict=True) if status == "pass"
        ]
        config_of |= dict.fromkeys(passed[-MOST_SAMPLED_JOBS:], line.name)
    names = [arm] if arm else [EAGER, COMPILED]
    stored = Samples.objects.filter(job__in=[*config_of], arm__in=names)

    samples = {}
    for job_id, name, values in stored.values_list("job_id", "arm", "values"):
        is_eager_job = config_of[str(job_id)] == EAGER
        if arm or (name == EAGER) == is_eager_job:
            samples[str(job_id)] = unpack_samples(bytes(values))
    return samples
