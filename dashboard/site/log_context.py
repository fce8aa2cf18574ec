"""Context that each log line of a request or a task carries besides its own fields.

A request's lines have `request`, `path` and the ids of its address (`job`, `run`, `alert`); a
task's have `task`, `task_id` and its arguments by name. The ids connect them: one finds a job's
lines in the web server, the dashboard worker and, by the same name, the benchmark worker.
"""

import inspect
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
from celery.signals import task_postrun, task_prerun
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from structlog.contextvars import bind_contextvars, clear_contextvars

# The first word of an address's name -> what its `pk` or `uuid` identifies
ID_OF_VIEW = {"run": "run", "job": "job", "alert": "alert"}
SLOW_S = 1.0  # requests and tasks that take longer are logged

logger = structlog.get_logger(__name__)


class RequestContext:
    """Middleware: adds the request to each line logged while it is answered; logs slow requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        clear_contextvars()
        bind_contextvars(request=uuid.uuid4().hex[:12], path=request.path)
        try:
            response = self._answer(request)
            _log_slow("slow request", began, status=response.status_code)
        finally:
            clear_contextvars()
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """The address is resolved only now: add its ids."""
        name = request.resolver_match.url_name if request.resolver_match else None
        bind_contextvars(**ids(name or "", kwargs))


def ids(view: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The run, job or alert of an address: `jobs/<job_id>/claim`, or pk or uuid of `run_cancel`."""
    named: dict[str, str] = {}
    for name, value in arguments.items():
        if name.endswith("_id"):
            named[name.removesuffix("_id")] = str(value)
    kind = ID_OF_VIEW.get(view.partition("_")[0])
    key = arguments.get("pk", arguments.get("uuid"))
    if kind and key is not None:
        named[kind] = str(key)
    return named


@task_prerun.connect(weak=False)
def begin_task(
    task_id: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], **_: Any
) -> None:
    """Add the task to each line that is logged while it runs."""
    clear_contextvars()
    given = inspect.signature(task.run).bind_partial(*args, **kwargs).arguments
    named = {name.removesuffix("_id"): str(value) for name, value in given.items()}
    bind_contextvars(task=task.name.rpartition(".")[2], task_id=task_id, **named)
    task.request.began = time.monotonic()


@task_postrun.connect(weak=False)
def end_task(task: Any, **_: Any) -> None:
    """Log slow tasks, and forget the names."""
    _log_slow("slow task", getattr(task.request, "began", time.monotonic()))
    clear_contextvars()


def _log_slow(event: str, began: float, **fields: Any) -> None:
    seconds = time.monotonic() - began
    if seconds >= SLOW_S:
        logger.info(event, seconds=round(seconds, 3), **fields)
