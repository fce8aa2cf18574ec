"""Plans a list of jobs, written line by line where a selection would say too little."""

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
    """Make the jobs of a list, in its order; their messages go once the transaction is through.

    Consecutive lines on one build make one run. build: label of the build of lines that name none.
    Raises PlanError, naming what is wrong.
    """
    on_machine = find_machine(machine)
    on_track = find_track(track)
    _check(lines, on_machine)
    ensure_partitions(moments=[timezone.now()])
    jobs: list[Job] = []
    with transaction.atomic():
        for on_build, lines_of_run in groupby(lines, key=partial(_build_of, build)):
            run = Run.objects.create(
                build=on_build,
                machine=on_machine,
                track=on_track,
                label=label,
                request={"measure": {}},
            )
            jobs += _plan_jobs(run, list(lines_of_run))
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
    return add_variant(
        base=base,
        name=settings_name(line.variant),
        env=line.variant.get("env"),
        inductor=line.variant.get("inductor"),
    )


def _plan_jobs(run: Run, lines: Sequence[ListedJob]) -> Iterator[Job]:
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
