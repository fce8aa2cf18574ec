"""Replays a recorded history: results of one machine, as if its worker measured them now.

The results are taken in the order in which they were measured:

1. The result of a round triggers a run on its build, as a schedule does, and is stored as that
   run's job. A result with the purpose `confirmation` answers the next job that a confirmation has
   planned of its case on its build; where none waits, it is passed over.
2. After each result the site does what it always does: it looks for changes, measures again, and
   concludes. Its alerts follow from the numbers alone; all of it is dated by the recorded clock.
3. Where the code that a result's compiler wrote is kept next to the history, the job has it, too;
   and what lies beside a result that has a folder of its own.
4. After the last result the worker is gone. Whatever a confirmation still waits for ends as on a
   site where nobody measures any more: when its patience is over.

It is one transaction: a history is replayed whole or not at all, and no worker is asked for jobs
that have been answered.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection
from dashboard.catalog.services.machines import ensure_machine
from dashboard.language.contracts import Refused
from dashboard.models import (
    AlertEvent,
    AlertGroup,
    Confirmation,
    Job,
    JobState,
    Purpose,
    Result,
    Run,
    TorchBuild,
    Track,
    Worker,
)
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.result_format import ResultDocument, parse_result
from dashboard.results.core.untrusted import parse_json, unpack
from dashboard.results.services.artifacts import store_artifact
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.import_rows import build_of, machine_of
from dashboard.results.services.store import JobResult, store_results
from dashboard.runs.selectors.runs import WAITING
from dashboard.runs.services.run_state import refresh_runs
from dashboard.runs.services.runs import trigger_run

# What the services date by the wall clock, and how a row leads to its track: what others do on the
# site meanwhile keeps its date
DATED_FIELDS = (
    (Run, "created_at", "track"),
    (Run, "finished_at", "track"),
    (Result, "received_at", "job__run__track"),
    (AlertGroup, "created_at", "track"),
    (AlertGroup, "closed_at", "track"),
    (AlertEvent, "at", "group__track"),
    (Confirmation, "finished_at", "group__track"),
)


def replay_history(
    *, key: str, sources: Iterable[ImportSource], code: Mapping[str, bytes] | None = None
) -> int:
    """Replay one history on a track of its own, named `key`; how many results were stored.

    code: archives of generated code, by the fingerprint of their kernels, which results state.

    0 where it was replayed before. Raises Refused: a result breaks the contract; PlanError: the
    catalog lacks its benchmark or config.
    """
    if Run.objects.filter(track__key=key).exists():
        return 0
    recorded = sorted(map(_read, sources), key=lambda recording: recording.result.started_at)
    if not recorded:
        raise Refused(
            "it holds no result. Put result files of the suite in it (.json, .jsonl.gz), or "
            "leave it out"
        )
    with transaction.atomic():
        return _Replay(key, recorded, code or {}).run()


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A result as it was written, checked and read."""

    document: dict[str, Any]
    result: ResultDocument
    artifacts: Sequence[Path]


def _read(source: ImportSource) -> _Recorded:
    """Raises Refused."""
    try:
        document = parse_json(unpack(source.body, settings.RESULT_LIMIT_BYTES))
        return _Recorded(document, parse_result(document), source.artifacts)
    except Refused as error:
        raise Refused(f"{source.name}: {error}") from None


class _Replay:
    """One history, and the worker, machine and track of its replay."""

    def __init__(self, key: str, recorded: Sequence[_Recorded], code: Mapping[str, bytes]) -> None:
        self.recorded = recorded
        self.code = code
        self.ends = recorded[-1].result.finished_at
        self.began = timezone.now()
        self.machine = ensure_machine(machine_of(recorded[0].result))
        self.track, _ = Track.objects.get_or_create(
            key=key, defaults={"label": "A recorded history"}
        )
        self.worker = Worker.objects.create(name=key, machine=self.machine, last_seen=self.ends)

    def run(self) -> int:
        """Replay the history; return how many results were stored."""
        stored = sum(self._take(recording) for recording in self.recorded)
        conclusions.advance_all(now=self.ends + confirmations.PATIENCE + timedelta(seconds=1))
        self._date(self.ends)
        self.worker.delete()  # otherwise it would be reported as silent
        return stored

    def _take(self, recording: _Recorded) -> bool:
        """Store one result, and have the site act on it; False where nothing waits for it."""
        result = recording.result
        build = build_of(result)
        job: Job | None
        if result.job["purpose"] == Purpose.CONFIRMATION:
            job = self._next_confirmation_job(result, build)
        else:
            job = self._new_round(result, build)
        if job is None:
            return False
        self._store(job, recording)
        self._date(result.finished_at)
        detection.detect_due()
        conclusions.advance_all(now=result.finished_at)
        confirmations.start_due(now=result.finished_at, track=self.track)
        self._date(result.finished_at)
        return True

    def _new_round(self, result: ResultDocument, build: TorchBuild) -> Job:
        """The job of a new round, planned when the result was measured."""
        self.track.build = build
        self.track.save(update_fields=["build"])
        run = trigger_run(
            build=build.label,
            machine=self.machine.key,
            track=self.track.key,
            purpose=Purpose.SCHEDULED,
            benchmarks=[result.job["benchmark"]],
            configs=[result.job["config"]],
            measure=result.job["measure"],
            label="Recorded round",
            planned_at=result.started_at,
        )
        return run.jobs.select_related("run", "benchmark", "config").get()

    def _next_confirmation_job(self, result: ResultDocument, build: TorchBuild) -> Job | None:
        """The next job of a confirmation that this result answers."""
        waiting = Job.objects.filter(
            run__track=self.track,
            run__purpose=Purpose.CONFIRMATION,
            run__build=build,
            state__in=WAITING,
            benchmark__name=result.job["benchmark"],
            config__name=result.job["config"],
        )
        related = waiting.select_related("run", "benchmark", "config")
        return related.order_by("planned_at", "position").first()

    def _store(self, job: Job, recording: _Recorded) -> None:
        """End the job with the recorded result; only its job id and attempt are replaced."""
        job_fields = {**recording.document["job"], "job_id": str(job.pk), "attempt": job.attempt}
        document = {**recording.document, "job": job_fields}
        digest = hashlib.sha256(orjson.dumps(document)).hexdigest()
        result = parse_result(document)
        job.state = JobState.DONE
        job.status = result.status
        job.message = result.message
        job.worker = self.worker
        job.claimed_at = result.started_at
        job.finished_at = result.finished_at
        job.save(
            update_fields=["state", "status", "message", "worker", "claimed_at", "finished_at"]
        )
        store_results([JobResult(job, digest, job.status, None, result)])
        # The code that has the fingerprint of the result, if it was recorded
        fingerprints = document.get("compile", {}).get("fingerprints") or {}
        archive = self.code.get(fingerprints.get("kernels") or "")
        if archive is not None:
            self._keep(job, ARCHIVE, archive)
        for artifact in recording.artifacts:
            self._keep(job, artifact.name, artifact.read_bytes())
        refresh_runs(run_ids=[job.run_id])

    def _keep(self, job: Job, name: str, content: bytes) -> None:
        store_artifact(
            job_id=job.pk, attempt=job.attempt, worker=self.worker, name=name, content=content
        )

    def _date(self, now: datetime) -> None:
        """Date what happened since the last call by the recorded clock, not by the wall clock."""
        for model, field, track in DATED_FIELDS:
            recent = model.objects.filter(**{f"{field}__gte": self.began, track: self.track})
            recent.update(**{field: now})
