"""What the chaos test does on the running system: ask for jobs, wait whatever dies meanwhile, count
what is there.
"""

import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.db.models import Count, QuerySet

from dashboard.catalog.services.builds import add_variant
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Benchmark,
    Channel,
    Config,
    Datum,
    Delivery,
    DetectorState,
    Job,
    JobState,
    Machine,
    Purpose,
    Result,
    Rule,
    Run,
    RunState,
    Samples,
    TorchBuild,
    Track,
)
from dashboard.runs.services.run_state import ACTIVE
from dashboard.runs.services.runs import cancel_run, trigger_run
from tests.builders.chaos_suite import SPOILED
from tests.builders.receivers import Mailbox, Receiver

Answer = TypeVar("Answer")
CONFIGS = ("eager", "inductor", "inductor_reduce_overhead", "inductor_dynamic")
ROUNDS = 3
PATIENCE_S = 1200
UNSETTLED = (AlertState.SUSPECTED, AlertState.CONFIRMING)
NAMED_FAILURES = (JobState.FAILED, JobState.TIMED_OUT, JobState.LOST)


class ChaosSite:
    """The machine, track and worker that `make up` made, with two channels that are told of
    everything.
    """

    def __init__(self, *channels: str) -> None:
        for run in Run.objects.all():
            cancel_run(run=run)  # the first run that `make up` triggers
        self.track = Track.objects.select_related("build").get(key="local")
        self.machine = Machine.objects.get()
        rule = Rule.objects.create(name="Chaos", states=AlertState.values)
        rule.channels.set(
            [Channel.objects.create(name=f"chaos {n}", url=url) for n, url in enumerate(channels)]
        )

    @property
    def base(self) -> TorchBuild:
        assert self.track.build is not None
        return self.track.build

    def measure_before(self) -> None:
        """Rounds of the cases that will change, on the plain build, so that the change can be
        seen.
        """
        spoiled = list(
            Benchmark.objects.filter(model=SPOILED, size="smoke").values_list("name", flat=True)
        )
        for _ in range(ROUNDS):
            self._wait_for(self._is_over, self._measure(self.base, spoiled))

    def trigger(self, jobs: int) -> Run:
        """The run of so many jobs in whose middle things die."""
        smoke = Benchmark.objects.filter(size="smoke", retired=False)
        names = [*smoke.filter(model=SPOILED).values_list("name", flat=True)]
        names += smoke.exclude(model=SPOILED).values_list("name", flat=True)
        variant = add_variant(
            base=self.base, name="chaos", env={"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
        )
        run = self._measure(variant, names[: jobs // len(CONFIGS)])
        assert run.jobs.count() == jobs, (
            f"{run.jobs.count()} jobs, not {jobs}: take a multiple of {len(CONFIGS)}"
        )
        return run

    def _measure(self, build: TorchBuild, benchmarks: Sequence[str]) -> Run:
        assert set(CONFIGS) <= set(Config.objects.values_list("name", flat=True))
        return trigger_run(
            build=build.label,
            machine=self.machine.key,
            track=self.track.key,
            benchmarks=benchmarks,
            configs=CONFIGS,
            purpose=Purpose.SCHEDULED,
            label="chaos",
        )

    def wait_for_jobs(self, run: Run, count: int) -> int:
        """Wait until so many jobs of the run have ended; how many have."""
        self._wait_for(lambda: self._ended(run) >= count)
        return asked(lambda: self._ended(run))

    def _ended(self, run: Run) -> int:
        return run.jobs.exclude(state__in=ACTIVE).count()

    def wait_until_settled(self) -> None:
        """Until every job has ended, everything is judged, measured again and told, and the site
        says it is ready.
        """
        self._wait_for(lambda: not Job.objects.filter(state__in=ACTIVE).exists())
        self._wait_for(lambda: not DetectorState.objects.filter(due=True).exists())
        self._wait_for(lambda: not AlertGroup.objects.filter(state__in=UNSETTLED).exists())
        self._wait_for(lambda: not Job.objects.filter(state__in=ACTIVE).exists())
        self._wait_for(lambda: not AlertEvent.objects.filter(considered_at=None).exists())
        self._wait_for(
            lambda: not Delivery.objects.filter(state__in=("waiting", "sending")).exists()
        )
        self._wait_for(is_ready)

    def _is_over(self, run: Run) -> bool:
        return not run.jobs.filter(state__in=ACTIVE).exists()

    def _wait_for(self, condition: Callable[..., bool], *arguments: object) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not asked(lambda: condition(*arguments)):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not healed within {PATIENCE_S} s; jobs: {states(Job.objects.all())}"
                )
            time.sleep(0.2)

    def count(self, run: Run, measured: Sequence[str], mails: Mailbox, hooks: Receiver) -> int:
        """Print what is there; 1 where something was lost or doubled."""
        jobs = Job.objects.exclude(run__state=RunState.CANCELLED)
        wrong = {**losses(jobs), **doubles(mails, hooks)}
        results, groups = Result.objects.count(), AlertGroup.objects.count()
        print(
            f"jobs: {jobs.count()} of {Run.objects.exclude(state=RunState.CANCELLED).count()} "
            f"runs, {states(jobs)}"
        )
        print(f"the run of {run.jobs.count()}: {states(run.jobs.all())}; failures: {failures(run)}")
        print(
            f"results {results}, data {Datum.objects.count()}, arms of samples "
            f"{Samples.objects.count()}"
        )
        again = len(measured) - len({line.split()[0] for line in measured})
        print(f"attempts measured {len(measured)}, of jobs that had been measured before: {again}")
        print(
            f"alert groups {groups} ({states(AlertGroup.objects.all())}), alerts "
            f"{Alert.objects.count()}"
        )
        arrived = f"{len(mails.mails)} mails, {len(hooks.requests)} webhook calls"
        print(f"messages {states(Delivery.objects.all())}; arrived: {arrived}")
        for name, found in wrong.items():
            print(f"{name}: {found}")
        return int(any(wrong.values()) or not groups)


def losses(jobs: "QuerySet[Job]") -> dict[str, int]:
    """Jobs without an end, ended without a result or a named failure, and results whose data are
    not all there.
    """
    done, failed = jobs.filter(state=JobState.DONE), jobs.filter(state__in=NAMED_FAILURES)
    landed = Datum.objects.values("job").annotate(n=Count("*")).values_list("job", "n")
    per_job = dict(landed)
    documents = Result.objects.filter(job__in=done).values_list("job", "document")
    short = [key for key, document in documents if per_job.get(key, 0) < len(document["metrics"])]
    return {
        "lost: jobs that never ended": jobs.filter(state__in=ACTIVE).count(),
        "lost: done without a result": done.filter(result=None).count(),
        "lost: failures without a name": failed.filter(status="").count()
        + failed.filter(message="").count(),
        "lost: results with data missing": len(short),
    }


def doubles(mails: Mailbox, hooks: Receiver) -> dict[str, int]:
    """What is there twice."""
    delivered = [headers["X-Compilewatch-Delivery"] for headers, _ in hooks.requests]
    sent = Delivery.objects.exclude(state="waiting")
    return {
        "doubled: data": twice(Datum.objects.values("job", "series")),
        "doubled: samples": twice(Samples.objects.values("job", "arm")),
        "doubled: alerts": twice(Alert.objects.values("series", "new", "kind")),
        "doubled: alert groups": twice(
            AlertGroup.objects.values("machine", "track", "new", "kind", "title")
        ),
        "doubled: messages": twice(Delivery.objects.values("channel", "event", "digest")),
        "doubled: webhook calls": len(delivered) - len(set(delivered)),
        "doubled: mails": max(len(mails.mails) - sent.filter(channel__url=mails.url).count(), 0),
    }


def twice(rows: "QuerySet[Any, Any]") -> int:
    return int(rows.annotate(n=Count("*")).filter(n__gt=1).count())


def states(rows: "QuerySet[Any]") -> str:
    return ", ".join(
        f"{count} {state}"
        for state, count in Counter(rows.values_list("state", flat=True)).most_common()
    )


def failures(run: Run) -> str:
    found = Counter(run.jobs.filter(state__in=NAMED_FAILURES).values_list("status", flat=True))
    return ", ".join(f"{count} {status}" for status, count in found.most_common()) or "none"


def asked(question: Callable[[], Answer]) -> Answer:
    """Its answer, asked again while the database is down."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return question()
        except DatabaseError:
            if time.monotonic() > deadline:
                raise
            close_old_connections()
            time.sleep(0.2)


def is_ready() -> bool:
    try:
        with urllib.request.urlopen(f"{settings.SITE_URL}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
