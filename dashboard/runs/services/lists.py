"""Plans a list of jobs: what a person wrote down line by line, where a selection would say too
little.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from dashboard.catalog.core.plan import PlanError, require_known
from dashboard.catalog.selectors.lookups import find_build, find_machine, find_track
from dashboard.catalog.services.builds import add_variant, settings_name
from dashboard.models import Benchmark, Config, Job, Machine, Run, TorchBuild
from dashboard.runs.core.job_lists import ListedJob
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.runs import plan_job


def trigger_list(
    *, lines: Sequence[ListedJob], machine: str, track: str, build: str, label: str = ""
) -> list[Job]:
    """Make the jobs of a list, in its order, and send their messages once the transaction is
    through.

    Each stretch of lines on one build is a run of its own. build: label of the build of lines that
    name none. Raises PlanError, naming what is wrong.
    """
    on_machine, on_track = find_machine(machine), find_track(track)
    _check(lines, on_machine)
    ensure_partitions(moments=[timezone.now()])
    with transaction.atomic():
        jobs: list[Job] = []
        for on_build, stretch in groupby(lines, key=partial(_build_of, build)):
            run = Run(
                build=on_build,
                machine=on_machine,
                track=on_track,
                label=label,
                request={"measure": {}},
            )
            run.save()
            jobs += _jobs(run, list(stretch))
        Job.objects.bulk_create(assign_queue_order(jobs))
        transaction.on_commit(dispatch)
    return jobs


def _check(lines: Sequence[ListedJob], machine: Machine) -> None:
    benchmarks = list(Benchmark.objects.filter(retired=False).values_list("name", flat=True))
    configs = list(Config.objects.filter(retired=False).values_list("name", flat=True))
    for line in lines:
        require_known("benchmark", [line.benchmark], benchmarks)
        require_known("config", [line.config], configs)
        if line.device.partition(":")[0] not in {"", machine.device_kind}:
            raise PlanError(
                f"Line {line.number} is for {line.device}, and {machine} measures on "
                f"{machine.device_kind}."
            )


def _build_of(default: str, line: ListedJob) -> TorchBuild:
    base = find_build(line.build or default)
    if not line.variant:
        return base
    env, inductor = line.variant.get("env"), line.variant.get("inductor")
    return add_variant(base=base, name=settings_name(line.variant), env=env, inductor=inductor)


def _jobs(run: Run, lines: Sequence[ListedJob]) -> Iterator[Job]:
    benchmarks = Benchmark.objects.select_related("repository").in_bulk(
        [line.benchmark for line in lines], field_name="name"
    )
    configs = Config.objects.in_bulk([line.config for line in lines], field_name="name")
    for position, line in enumerate(lines):
        yield plan_job(
            run,
            position,
            benchmarks[line.benchmark],
            configs[line.config],
            timezone.now(),
            line.measure,
            line.timeout_s,
        )
