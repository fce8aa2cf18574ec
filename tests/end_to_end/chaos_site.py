"""Actions of the chaos test on the running system: request jobs, wait, count what is there."""

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
from dashboard.runs.selectors.runs import ACTIVE
from dashboard.runs.services.runs import cancel_run, trigger_run
from tests.builders.chaos_suite import SPOILED
from tests.builders.local_site import LocalSite
from tests.builders.receivers import Mailbox, Receiver

Answer = TypeVar("Answer")
CONFIGS = ("eager", "inductor", "inductor_reduce_overhead", "inductor_dynamic")
ROUNDS = 3
PATIENCE_S = 1200
UNSETTLED = (AlertState.SUSPECTED, AlertState.CONFIRMING)
NAMED_FAILURES = (JobState.FAILED, JobState.TIMED_OUT, JobState.LOST)


class ChaosSite:
    """The machine, track and worker that `make up` made, with channels that get every message."""

    def __init__(self, site: LocalSite, *channels: str) -> None:
        self.site = site
        for run in Run.objects.all():
            cancel_run(run=run)  # the first run that `make up` triggers
        self.track = Track.objects.select_related("build").get(key="local")
        self.machine = Machine.objects.get()
        self.variant = add_variant(
            base=self.base, name="chaos", env={"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
        )
        rule = Rule.objects.create(name="Chaos", states=AlertState.values)
        for number, url in enumerate(channels):
            rule.channels.add(Channel.objects.create(name=f"chaos {number}", url=url))

    @property
    def base(self) -> TorchBuild:
        assert self.track.build is not None
        return self.track.build

    def measure_before(self) -> None:
        """Measure the cases that will change on the plain build, so that the change can be seen."""
        benchmarks = Benchmark.objects.filter(model=SPOILED, size="smoke")
        spoiled = list(benchmarks.values_list("name", flat=True))
        for _ in range(ROUNDS):
            self._wait_for(self._is_over, self._measure(self.base, spoiled))

    def trigger(self, jobs: int) -> Run:
        """The run of so many jobs during which faults strike; the last one may not be over yet."""
        return query(lambda: self._trigger(jobs), self.site)

    def _trigger(self, jobs: int) -> Run:
        smoke = Benchmark.objects.filter(size="smoke", retired=False)
        names = [*smoke.filter(model=SPOILED).values_list("name", flat=True)]
        names += smoke.exclude(model=SPOILED).values_list("name", flat=True)
        run = self._measure(self.variant, names[: jobs // len(CONFIGS)])
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
        return query(lambda: self._ended(run), self.site)

    def _ended(self, run: Run) -> int:
        return run.jobs.exclude(state__in=ACTIVE).count()

    def wait_until_settled(self) -> None:
        """Wait for the ends of jobs, detection, confirmations, deliveries, and a ready site."""
        self._wait_for(lambda: not Job.objects.filter(state__in=ACTIVE).exists())
        self._wait_for(lambda: not DetectorState.objects.filter(due=True).exists())
        self._wait_for(lambda: not AlertGroup.objects.filter(evidence_state__in=UNSETTLED).exists())
        self._wait_for(lambda: not Job.objects.filter(state__in=ACTIVE).exists())
        self._wait_for(lambda: not AlertEvent.objects.filter(considered_at=None).exists())
        unsent = ("waiting", "sending")
        self._wait_for(lambda: not Delivery.objects.filter(state__in=unsent).exists())
        self._wait_for(is_ready)

    def _is_over(self, run: Run) -> bool:
        return not run.jobs.filter(state__in=ACTIVE).exists()

    def _wait_for(self, condition: Callable[..., bool], *arguments: object) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not query(lambda: condition(*arguments), self.site):
            if time.monotonic() > deadline:
                jobs = states(Job.objects.all())
                raise AssertionError(f"not healed within {PATIENCE_S} s; jobs: {jobs}")
            time.sleep(0.2)

    def count(
        self,
        triggered: Sequence[Run],
        measured: Sequence[str],
        mails: Mailbox,
        hooks: Receiver,
        orphans: int,
    ) -> int:
        """Print what is there; 1 where something was lost, doubled or left."""
        jobs = Job.objects.exclude(run__state=RunState.CANCELLED)
        runs = Run.objects.exclude(state=RunState.CANCELLED)
        groups = AlertGroup.objects.all()
        left = {"orphans of a killed supervisor": orphans}
        problems = {**losses(jobs), **unsent_webhooks(hooks), **doubles(mails, hooks), **left}
        print(f"jobs: {jobs.count()} of {runs.count()} runs, {states(jobs)}")
        for run in triggered:
            ended = f"{states(run.jobs.all())}; failures: {failures(run)}"
            print(f"the run of {run.jobs.count()}: {ended}")
        print(
            f"results {Result.objects.count()}, data {Datum.objects.count()}, "
            f"arms of samples {Samples.objects.count()}"
        )
        again = len(measured) - len({line.split()[0] for line in measured})
        print(f"attempts measured {len(measured)}, of jobs that had been measured before: {again}")
        evidence = describe_counts(Counter(groups.values_list("evidence_state", flat=True)))
        print(f"alert groups {groups.count()} ({evidence}), alerts {Alert.objects.count()}")
        arrived = f"{len(mails.mails)} mails, {len(hooks.requests)} webhook calls"
        print(f"messages {states(Delivery.objects.all())}; arrived: {arrived}")
        for name, count in problems.items():
            print(f"{name}: {count}")
        return int(any(problems.values()) or not groups.exists())


def losses(jobs: "QuerySet[Job]") -> dict[str, int]:
    """Jobs without an end, without a result or a named failure, and results with data missing."""
    done, failed = jobs.filter(state=JobState.DONE), jobs.filter(state__in=NAMED_FAILURES)
    stored = Datum.objects.values("job").annotate(n=Count("*")).values_list("job", "n")
    data_per_job = dict(stored)
    incomplete = 0
    for job, document in Result.objects.filter(job__in=done).values_list("job", "document"):
        if data_per_job.get(job, 0) < len(document["metrics"]):
            incomplete += 1
    measured = failed.exclude(state=JobState.LOST)  # of lost ones the message says why
    without_name = measured.filter(status="").count() + failed.filter(message="").count()
    return {
        "lost: jobs that never ended": jobs.filter(state__in=ACTIVE).count(),
        "lost: done without a result": done.filter(result=None).count(),
        "lost: failures without a name": without_name,
        "lost: results with data missing": incomplete,
    }


def doubles(mails: Mailbox, hooks: Receiver) -> dict[str, int]:
    """Count what exists twice; of a webhook, what was called more often than it was tried."""
    calls = webhook_calls(hooks)
    tries = Delivery.objects.filter(channel__url=hooks.url).values_list("pk", "attempts")
    sent = Delivery.objects.exclude(state="waiting")
    sent_mails = sent.filter(channel__url=mails.url).count()
    return {
        "doubled: data": twice(Datum.objects.values("job", "series")),
        "doubled: samples": twice(Samples.objects.values("job", "arm")),
        "doubled: alerts": twice(Alert.objects.values("series", "new", "kind", "planned_at")),
        "doubled: alert groups": twice(
            AlertGroup.objects.values("machine", "track", "new", "kind", "title")
        ),
        "doubled: messages": twice(Delivery.objects.values("channel", "event", "digest")),
        "doubled: webhook calls": sum(max(calls[f"{key}"] - tried, 0) for key, tried in tries),
        "doubled: mails": max(len(mails.mails) - sent_mails, 0),
    }


def webhook_calls(hooks: Receiver) -> "Counter[str]":
    """Count how often each delivery arrived, by its id: a receiver drops what it has seen."""
    return Counter(headers["X-Compilewatch-Delivery"] for headers, _ in hooks.requests)


def unsent_webhooks(hooks: Receiver) -> dict[str, int]:
    messages = Delivery.objects.filter(channel__url=hooks.url).values_list("pk", flat=True)
    arrived = webhook_calls(hooks)
    return {"lost: webhook messages": sum(f"{key}" not in arrived for key in messages)}


def twice(rows: "QuerySet[Any, Any]") -> int:
    return int(rows.annotate(n=Count("*")).filter(n__gt=1).count())


def states(rows: "QuerySet[Any]") -> str:
    return describe_counts(Counter(rows.values_list("state", flat=True)))


def failures(run: Run) -> str:
    failed = run.jobs.filter(state__in=NAMED_FAILURES)
    return describe_counts(Counter(failed.values_list("status", flat=True))) or "none"


def describe_counts(counts: "Counter[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def query(question: Callable[[], Answer], site: LocalSite) -> Answer:
    """Its answer, queried again while the database is down; fails where the site ended."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        site.require_running()
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
