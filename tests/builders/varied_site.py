"""A small site with every kind of thing that its pages show: statuses, configs, jobs, imports,
alerts, comparisons, searches.

Results are recorded ones and come in as they always do: from a worker, or by an import.
"""

import json
from contextlib import suppress
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from django.utils import timezone

from benchmarks_suite.commands import listing
from benchmarks_suite.configs import CONFIGS
from dashboard.alerts.services import conclusions, confirmations
from dashboard.catalog.core.plan import Selection
from dashboard.comparisons.services.comparisons import (
    cancel_comparison,
    settle,
    start_comparison,
)
from dashboard.language.contracts import Refused
from dashboard.models import (
    Bisection,
    Cause,
    Direction,
    EvidenceState,
    Job,
    JobState,
    Kind,
    ModelRepository,
    Severity,
    Status,
    Worker,
    WorkflowState,
)
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.import_files import sources_in
from dashboard.results.services.imports import import_results
from dashboard.results.services.ingest import ingest
from dashboard.runs.services import fleet, own_models
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, comparisons, imported_history, importing, site
from tests.builders import confirmations as suspicions

DATA = Path(__file__).parents[1] / "data"
# Status -> where a result that looks like it was recorded, and its status; others have no result
RECORDED = {
    Status.PASS: ("golden/result.pass.json", Status.PASS),
    Status.EAGER_TWO_RUNS_DIFFER: ("golden/result.pass.json", Status.PASS),
    Status.UNSUPPORTED: ("golden/result.unsupported.json", Status.UNSUPPORTED),
    Status.FAIL_ACCURACY: ("configs_cpu/sweep.jsonl.gz", Status.FAIL_ACCURACY),
    Status.FAIL_TO_COMPILE: ("releases_cpu/results.jsonl.gz", Status.FAIL_TO_COMPILE),
    Status.FAIL_TO_RUN: ("configs_h100/seventh.jsonl.gz", Status.FAIL_TO_RUN),
    Status.OOM: ("configs_h100/seventh.jsonl.gz", Status.FAIL_TO_RUN),
}
COMPARISON: dict[str, Any] = {
    "base": comparisons.BASE,
    "new": comparisons.NEW,
    "machine": "cpu-2c",
    "selection": Selection(benchmarks=(site.MLP,)),
    "repeats": 2,
}
OWN = "mine.own.inference.float32.static.b8"
OWN_URL = "https://example.org/ours.git"
IMPORTED = (  # of two GPUs; with call tables, with generated code, with a sweep of shapes
    "configs_h200/two_gpus.jsonl.gz",
    "compiling_h200/counted/mlp",
    "captioning_h200/inference",
    "configs_cpu/sweep.jsonl.gz",
    "configs_cpu/shapes.jsonl.gz",
    "golden",
)


def varied_site() -> None:
    worker = connected_worker()
    ensure_nightly(machine=worker.machine, track=site.track())
    every_alert()
    every_status_in_every_config(worker)
    jobs_of_every_state(worker)
    own_model_of_two_revisions(worker)
    every_comparison(worker)
    every_import()


def connected_worker() -> Worker:
    """A living worker with the suite's own catalog."""
    worker = site.living_worker()
    hello(worker)
    return worker


def hello(worker: Worker) -> None:
    fleet.hello(
        worker=worker,
        boot_id=site.BOOT,
        device="cpu",
        facts={"own_queue": True},
        catalog=listing.catalog(),
        builds=[],
    )


@cache
def recorded(status: Status) -> dict[str, Any]:
    """A recorded result, with this status."""
    name, recorded_status = RECORDED[status]
    documents = [json.loads(source.body) for source in sources_in(DATA / name)]
    return next(each for each in documents if each["status"] == recorded_status)


def deliver(job: Job, worker: Worker, status: str, **fields: Any) -> None:
    """End a job as its worker does, with what was recorded of another case of this status."""
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    job = site.claim(job, worker)
    result = None
    if status in RECORDED:
        document = recorded(Status(status))
        benchmark = document["benchmark"] | {"name": job.benchmark.name}
        of_job = {"job": {**job.spec, "attempt": job.attempt}, "benchmark": benchmark}
        result = {**document, **of_job, "status": status, **fields}
    outcome = Status.PASS if result else status
    body = site.delivery(job, result, outcome, message=f"It ended with {status}.")
    ingest(job_id=job.pk, worker=worker, body=body)


def every_status_in_every_config(worker: Worker) -> None:
    """Each config from a worker; imported a Latin square: each status in each config."""
    run = site.run(configs=list(CONFIGS), purpose="scheduled")
    jobs = run.jobs.select_related("benchmark", "config").order_by("position")
    for job, status in zip(jobs, cycle(Status), strict=False):
        deliver(job, worker, status)
    sources = []
    benchmarks = listing.catalog()["benchmarks"][: len(Status)]
    for row, benchmark in enumerate(benchmarks):
        statuses = islice(cycle(Status), row, None)
        for config, status in zip(CONFIGS, statuses, strict=False):
            document = recorded(status if status in RECORDED else Status.FAIL_TO_RUN)
            case = {"benchmark": benchmark["name"], "config": config}
            changes = {
                "status": status,
                "job": {**document["job"], **case, "job_id": f"{row}-{config}"},
                "benchmark": document["benchmark"] | {"name": benchmark["name"]},
            }
            body = json.dumps({**document, **changes}).encode()
            sources.append(ImportSource(f"{row}-{config}.json", body))
    report = import_results(sources=sources, machine="cpu-2c", track="square")
    assert not report.refused, report.refused[0]


def jobs_of_every_state(worker: Worker) -> None:
    """A job in each state; one whose ablation has statuses alone, one without an eager arm, one
    whose result was refused.
    """
    for state in JobState.values:
        job = site.run().jobs.get()
        Job.objects.filter(pk=job.pk).update(state=state)
    inductor = {"configs": ["inductor"]}
    ablation = {"aot_eager": "pass", "inductor": "fail_to_compile"}
    deliver(site.queued_job(**inductor), worker, Status.FAIL_TO_COMPILE, ablation=ablation)
    metrics = recorded(Status.PASS)["metrics"]
    alone = {name: metrics[name] for name in metrics if not name.startswith(("eager", "speedup"))}
    deliver(site.queued_job(**inductor), worker, Status.PASS, metrics=alone)
    site.running_job(worker)
    refused = site.running_job(worker)
    with suppress(Refused):
        ingest(job_id=refused.pk, worker=worker, body=site.pack({"attempt": 1}))


def own_model_of_two_revisions(worker: Worker) -> None:
    """Measured at two commits of its repository."""
    repository = ModelRepository(key="ours", url=OWN_URL)
    for revision, commit in enumerate(("a" * 40, "b" * 40), start=1):
        repository.commit = commit
        own_models.save_repository(repository=repository)
        entry = site.describe(OWN, "own", ["eager"])
        own_models.record_repository(
            worker=worker, key="ours", revision=revision, benchmarks=[entry], problem=""
        )
        deliver(site.run(OWN).jobs.get(), worker, Status.PASS)


def every_comparison(worker: Worker) -> None:
    """A comparison that is over, one that was cancelled, one that runs; a search of each state."""
    for build in (comparisons.BASE, comparisons.NEW):
        site.build(build)
    over, cancelled, _ = (start_comparison(**COMPARISON) for _ in range(3))
    cancel_comparison(comparison=cancelled)
    for job in comparisons.comparison_jobs(over):
        deliver(job, worker, Status.PASS)
    settle(comparison_id=over.pk)
    for state in Bisection.State.values:
        search = comparisons.started_bisection()
        Bisection.objects.filter(pk=search.pk).update(state=state)


def every_alert() -> None:
    """One that was measured again and cut short, and groups of every kind and state."""
    suspicions.suspected()
    now = timezone.now()
    confirmations.start_due(now=now)
    for job in suspicions.planned()[:2]:
        alerting.end_job(job, {"latency_ms": 100.0})
    conclusions.advance_all(now=now + 2 * confirmations.PATIENCE)
    choices = (Kind, EvidenceState, WorkflowState, Direction, Severity, Cause)
    columns = [cycle(choice.values) for choice in choices]
    names = ("kind", "evidence_state", "workflow_state", "direction", "severity", "cause")
    for values in islice(zip(*columns, strict=True), 30):
        fields = dict(zip(names, values, strict=True))
        group = alerting.group(**fields, base=site.build("2.12.0"), new=site.build())
        kind = fields["kind"] if fields["kind"] in ("step", "drift", "status") else "step"
        alerting.alert(group, kind=kind, planned_at=group.created_at, direction=fields["direction"])
    imported_history.imported(imported_history.history([100.0] * 30 + [120.0] * 10))


def every_import() -> None:
    """Every format of other tools, and of our own what a worker of this site has not brought."""
    importing.imported("", "--track", "imports")
    for name in IMPORTED:
        import_results(sources=sources_in(DATA / name), track=name.partition("/")[0])
