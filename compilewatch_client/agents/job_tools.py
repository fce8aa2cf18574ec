"""How a run stands, and what one job brought or why it failed."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from compilewatch_client.agents.answers import FailedJob, JobAnswer, RunAnswer
from compilewatch_client.agents.shortening import case_name, cut, first, foreign, with_interval
from compilewatch_client.api_types import JobDocument, RunDocument
from compilewatch_client.client import Client

MOST_FAILED = 10
MESSAGE_CHARACTERS = 600
SHORT_MESSAGE_CHARACTERS = 200
LOG_CHARACTERS = 2_000
COMMAND_CHARACTERS = 400
# What a reader asks first; the others are named
MAIN_METRICS = (
    "latency_ms",
    "eager_latency_ms",
    "speedup",
    "device_ms",
    "cold_start_s",
    "warm_start_s",
    "peak_memory_gb",
    "graph_breaks",
    "recompiles",
    "drift",
)


class JobTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def show_run(self, run: Annotated[int, Field(ge=1, description="Its number.")]) -> RunAnswer:
        """How far a run is, and which of its jobs failed and why. Ask again to follow it."""
        document = self._client.run(run)
        failed: list[JobDocument] = []
        is_cut = False
        if document["jobs"]["failed"]:
            ended = (job for job in self._client.jobs(run=run) if _has_failed(job))
            failed, is_cut = first(ended, MOST_FAILED)
        answer = _run(document, [_failed(job) for job in failed])
        if is_cut:
            answer["left_out"] = f"{document['jobs']['failed']} failed in all: on the page"
        return answer

    def show_job(
        self,
        job: Annotated[UUID, Field(description="Its id.")],
        all_metrics: Annotated[
            bool, Field(description="All that it measured, not the main ones alone.")
        ] = False,
    ) -> JobAnswer:
        """One job: how it ended, what it measured, and for a failure its message and the end of its
        log. One process says nothing of how much processes differ.
        """
        document = self._client.job(str(job))
        result = document["result"] or {}
        metrics = _metrics(result)
        names = list(metrics) if all_metrics else [name for name in MAIN_METRICS if name in metrics]
        answer: JobAnswer = {
            "job": document["id"],
            "case": case_name(document["benchmark"], document["config"]),
            "build": document["build"],
            "machine": document["machine"],
            "state": document["state"],
            "status": document["status"],
            "metrics": {name: metrics[name] for name in names},
            "url": document["url"],
        }
        if document["message"]:
            answer["message"] = foreign("the job", document["message"], MESSAGE_CHARACTERS)
        if document["status"] != "pass" and document["log_tail"]:
            answer["log"] = foreign("the job", document["log_tail"], LOG_CHARACTERS, end=True)
        if document["reproduce"]:
            answer["repeat"] = cut(document["reproduce"], COMMAND_CHARACTERS)
        others = [name for name in metrics if name not in names]
        if others:
            answer["left_out"] = [f"all_metrics adds {', '.join(others)}"]
        return answer


def _metrics(result: Mapping[str, Any]) -> dict[str, list[float]]:
    """[value, low, high] by key, in the order of the result; a metric without a value is absent."""
    metrics = {}
    for name, metric in (result.get("metrics") or {}).items():
        if metric.get("value") is not None:
            low, high = metric.get("low"), metric.get("high")
            metrics[name] = with_interval(metric["value"], low, high)
    return metrics


def _has_failed(job: JobDocument) -> bool:
    return job["state"] in {"failed", "timed_out", "lost"} or job["status"] not in {"", "pass"}


def _run(run: RunDocument, failed: list[FailedJob]) -> RunAnswer:
    jobs = run["jobs"]
    answer: RunAnswer = {
        "run": run["id"],
        "state": run["state"],
        "build": run["build"],
        "machine": run["machine"],
        "purpose": run["purpose"],
        "jobs": {
            "total": jobs["total"],
            "passed": jobs["passed"],
            "failed": jobs["failed"],
            "running": jobs["running"],
            "waiting": jobs["waiting"],
            "cancelled": jobs["cancelled"],
        },
        "failed": failed,
        "url": run["url"],
    }
    if run["seconds_left"] is not None:
        answer["minutes_left"] = round(run["seconds_left"] / 60, 1)
    return answer


def _failed(job: JobDocument) -> FailedJob:
    line: FailedJob = {
        "job": job["id"],
        "case": case_name(job["benchmark"], job["config"]),
        "status": job["status"] or job["state"],
    }
    if job["message"]:
        line["message"] = foreign("the job", job["message"], SHORT_MESSAGE_CHARACTERS)
    return line
