"""Binding: where workers share a machine, a case that is measured in turn stays on one of them."""

from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.alerts.services import confirmations
from dashboard.catalog.core.plan import Selection
from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Confirmation, Job, JobState, Worker
from dashboard.runs.services import leases
from dashboard.runs.services.binding import bind_cases
from dashboard.runs.services.dispatch import dispatch
from dashboard.runs.services.leases import Stale
from dashboard.runs.services.run_state import refresh_runs
from dashboard.tasks import reap
from tests.builders import confirmations as confirming
from tests.builders import site
from tests.builders.queues import waiting

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


def four_cases(repeats: int = 2) -> None:
    """A comparison of two builds in four cases, whose first messages are out."""
    sync_catalog(catalog=site.catalog())
    start_comparison(
        base=site.build().label,
        new=site.build("2.14.0+cpu").label,
        machine=site.machine().key,
        selection=Selection(benchmarks=(site.MLP, site.GPT2), configs=("eager", "inductor")),
        repeats=repeats,
        libraries={},
    )
    dispatch()


def bound_workers() -> dict[Any, set[str | None]]:
    """The workers that the waiting jobs of each case are bound to; None: not bound."""
    queued = Job.objects.filter(state=JobState.QUEUED)
    return _by_case(queued.values_list("benchmark", "config", "bound_to__name"))


def measured_by() -> dict[Any, set[str | None]]:
    """The workers that measured each case."""
    ended = Job.objects.filter(state=JobState.DONE)
    return _by_case(ended.values_list("benchmark", "config", "worker__name"))


def _by_case(rows: Any) -> dict[Any, set[str | None]]:
    names = defaultdict(set)
    for benchmark, config, name in rows:
        names[benchmark, config].add(name)
    return names


def falls_silent(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).update(last_seen=timezone.now() - LONG_AGO)
    running = Job.objects.filter(worker=worker, state=JobState.RUNNING)
    running.update(lease_until=timezone.now() - LONG_AGO)


def is_paused(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).update(paused=True)


def has_a_full_disk(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).update(full_disk="The disk under / has 3 MB free.")


def is_resumed(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).update(paused=False)


def take(broker: EmbeddedBroker, worker: Worker) -> Job | None:
    """The job that the worker claims next, from its own queue or else its machine's."""
    for queue in (worker.queue, worker.machine.queue):
        for job_id, _ in waiting(broker, queue):
            try:
                job = site.claim(Job.objects.get(pk=job_id), worker)
            except Stale:
                continue
            dispatch()
            return job
    return None


def end(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.DONE, finished_at=timezone.now())
    refresh_runs(run_ids=[job.run_id])


def measure_all(broker: EmbeddedBroker, *workers: Worker) -> None:
    """The workers take jobs in turn until none gets any."""
    while any(jobs := [take(broker, worker) for worker in workers]):
        for job in filter(None, jobs):
            end(job)


# --- Binding ---


def test_each_case_is_measured_on_one_of_two_workers(broker: EmbeddedBroker) -> None:
    workers = [site.living_worker("w1"), site.living_worker("w2")]
    four_cases()
    measure_all(broker, *workers)
    assert [len(names) for names in measured_by().values()] == [1, 1, 1, 1]
    assert Job.objects.filter(state=JobState.DONE).count() == 16


def test_cases_are_spread_evenly() -> None:
    site.living_worker("w1")
    site.living_worker("w2")
    four_cases()
    assert Counter(Job.objects.values_list("bound_to__name", flat=True)) == {"w1": 8, "w2": 8}


def test_each_worker_gets_its_share_of_every_config() -> None:
    """Compiling takes long: one worker with all that is compiled would be the last by far."""
    site.living_worker("w1")
    site.living_worker("w2")
    four_cases()
    shares = Counter(Job.objects.values_list("bound_to__name", "config__name"))
    assert set(shares.values()) == {4}


def test_one_worker_takes_all_from_the_queue_of_the_machine(broker: EmbeddedBroker) -> None:
    worker = site.living_worker()
    four_cases()
    assert not Job.objects.filter(bound_to__isnull=False).exists()
    assert len(list(waiting(broker, worker.machine.queue))) == 3


def test_worker_that_is_silent_does_not_count() -> None:
    site.living_worker("w1")
    falls_silent(site.living_worker("w2"))
    four_cases()
    assert not Job.objects.filter(bound_to__isnull=False).exists()


def test_run_that_is_measured_by_itself_is_not_bound() -> None:
    site.living_worker("w1")
    site.living_worker("w2")
    job = site.run().jobs.get()
    dispatch()
    assert site.reload(job).bound_to is None


def test_worker_without_a_queue_of_its_own_gets_no_case() -> None:
    site.living_worker("w1")
    Worker.objects.update(facts={})  # as an older one reports
    site.living_worker("w2")
    four_cases()
    assert set(Job.objects.values_list("bound_to__name", flat=True)) == {"w2"}


def test_case_stays_where_it_was_begun_when_another_worker_comes(broker: EmbeddedBroker) -> None:
    late, first = site.living_worker("w1"), site.living_worker("w2")
    is_paused(late)
    four_cases()
    job = take(broker, first)
    assert job
    end(job)
    is_resumed(late)
    dispatch()
    assert bound_workers()[job.benchmark_id, job.config_id] == {"w2"}


# --- Messages ---


def test_busy_workers_queue_holds_one_message(broker: EmbeddedBroker) -> None:
    busy, other = site.living_worker("w1"), site.living_worker("w2")
    four_cases()
    take(broker, busy)
    while job := take(broker, other):
        end(job)
    assert len(list(waiting(broker, busy.queue))) == 1
    assert Job.objects.filter(worker=other, state=JobState.DONE).count() == 8


def test_confirmation_goes_to_a_queue_that_holds_a_comparisons_message(
    broker: EmbeddedBroker,
) -> None:
    worker, _ = site.living_worker("w1"), site.living_worker("w2")
    four_cases()
    urgent = site.run(purpose="confirmation").jobs.get()
    Job.objects.filter(pk=urgent.pk).update(bound_to=worker)
    dispatch()
    assert next(waiting(broker, worker.queue)) == [str(urgent.pk), 1]


# --- Claims ---


def claim(job: Job, worker: Worker) -> Job:
    return leases.claim(job_id=job.pk, attempt=1, worker=worker, boot_id=site.BOOT)


def bound_job(worker: Worker) -> Job:
    job = site.queued_job()
    Job.objects.filter(pk=job.pk).update(bound_to=worker)
    return job


def test_claim_of_a_job_that_is_bound_to_another_worker_is_stale() -> None:
    job = bound_job(site.living_worker("w1"))
    with pytest.raises(Stale, match="is bound to worker w1, which measures all of its case"):
        claim(job, site.living_worker("w2"))


def test_worker_that_waits_for_its_device_learns_that_the_job_was_bound_to_another() -> None:
    job = bound_job(site.living_worker("w1"))
    other = site.living_worker("w2")
    with pytest.raises(Stale, match="is bound to worker w1"):
        leases.check_waiting(job_id=job.pk, attempt=1, worker=other, boot_id=site.BOOT)


def test_worker_may_claim_what_is_bound_to_it() -> None:
    worker = site.living_worker()
    assert claim(bound_job(worker), worker).pk


def test_worker_that_came_after_the_message_cannot_split_a_case(broker: EmbeddedBroker) -> None:
    late, first = site.living_worker("w1"), site.living_worker("w2")
    is_paused(late)
    four_cases()
    begun = take(broker, first)
    other_side = Job.objects.filter(state=JobState.QUEUED).earliest("turn")
    assert begun
    assert other_side.benchmark == begun.benchmark
    is_resumed(late)
    with pytest.raises(Stale, match="is bound to worker w2"):
        claim(other_side, late)
    reap()
    assert list(waiting(broker, first.queue)) == [[str(other_side.pk), 1]]


# --- A worker that takes jobs no more ---


def is_downgraded(worker: Worker) -> None:
    """It reads its machine's queue alone again."""
    Worker.objects.filter(pk=worker.pk).update(facts={})


@pytest.mark.parametrize("leave", [falls_silent, is_paused, has_a_full_disk, is_downgraded])
def test_jobs_of_a_case_move_together(leave: Any, broker: EmbeddedBroker) -> None:
    leaving, *others = [site.living_worker(name) for name in ("w1", "w2", "w3")]
    four_cases(repeats=4)
    for worker in (leaving, *others):
        assert take(broker, worker)
    leave(leaving)
    reap()
    bound = bound_workers()
    assert [len(names) for names in bound.values()] == [1, 1, 1, 1]
    assert set.union(*bound.values()) == {"w2", "w3"}


def test_nothing_is_stuck_when_one_of_two_workers_dies(broker: EmbeddedBroker) -> None:
    dying, other = site.living_worker("w1"), site.living_worker("w2")
    four_cases()
    for worker in (dying, other):
        job = take(broker, worker)
        assert job
        end(job)
    take(broker, dying)  # and dies while it measures
    falls_silent(dying)
    reap()
    measure_all(broker, other)
    assert set(Job.objects.values_list("state", flat=True)) == {JobState.DONE}
    assert Job.objects.filter(worker=dying).count() == 1


def test_message_of_a_worker_that_came_back_is_refused_after_the_case_has_moved(
    broker: EmbeddedBroker,
) -> None:
    gone, *_ = [site.living_worker(name) for name in ("w1", "w2", "w3")]
    four_cases()
    [old_message] = waiting(broker, gone.queue)
    falls_silent(gone)
    reap()
    with pytest.raises(Stale, match="is bound to worker w"):
        claim(Job.objects.get(pk=old_message[0]), gone)


# --- Confirmations ---


def confirmation() -> list[Job]:
    """The first pairs of a suspected change, bound where they can be."""
    group = confirming.suspected()
    assert confirmations.start(group=group, now=timezone.now())
    bind_cases(machine_id=site.machine().pk)
    return confirming.planned()


def test_both_builds_of_a_confirmation_are_measured_on_one_worker() -> None:
    site.living_worker("w1")
    site.living_worker("w2")
    jobs = confirmation()
    assert {job.run.build.label for job in jobs} >= {confirming.NEW}
    assert [job.bound_to for job in jobs] == [jobs[0].bound_to] * 10
    assert jobs[0].bound_to


def test_further_rounds_of_a_confirmation_stay_on_its_worker() -> None:
    late, first = site.living_worker("w1"), site.living_worker("w2")
    is_paused(late)
    jobs = confirmation()
    measured = Job.objects.filter(pk__in=[job.pk for job in jobs])
    measured.update(state=JobState.DONE, worker=first)
    is_resumed(late)
    begun = Confirmation.objects.get()
    alerts = list(begun.alerts.select_related("series", "job"))
    confirmations.plan_rounds(confirmation=begun, alerts=alerts, rounds=1, now=timezone.now())
    bind_cases(machine_id=late.machine_id)
    assert [job.bound_to for job in confirming.planned()] == [first, first]


def test_build_that_is_measured_alone_is_not_bound() -> None:
    """It is compared with what was recorded, on whichever device that was."""
    site.living_worker("w1")
    site.living_worker("w2")
    group = confirming.suspected()
    group.base = group.new  # as where only the machine changed
    assert confirmations.start(group=group, now=timezone.now())
    bind_cases(machine_id=site.machine().pk)
    assert {job.bound_to for job in confirming.planned()} == {None}
