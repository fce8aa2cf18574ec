"""What every log line of a request or a task carries besides its own fields: which one, and of
which run or job.

A request's lines have `request`, `path` and the ids of its address (`job`, `run`, `alert`); a
task's have `task`,
`task_id` and its arguments by name. The two meet in the ids: a job's lines are found in the web
    server, the dashboard
worker and, by the same name, in the benchmark worker.
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

# What `pk` or `uuid` is: the address's name begins so
ID_OF_VIEW = {"run": "run", "job": "job", "alert": "alert"}
SLOW_S = 1.0  # requests and tasks that take longer are logged

logger = structlog.get_logger(__name__)


class RequestContext:
    """Middleware: names the request in each line that is written while it is answered, and tells of
    slow ones.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        clear_contextvars()
        bind_contextvars(request=uuid.uuid4().hex[:12], path=request.path)
        try:
            response = self._answer(request)
            _tell_slow("slow request", began, status=response.status_code)
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
    """The run, job or alert that an address names: `jobs/<job_id>/claim`, or pk and uuid of the
    view `run_cancel`.
    """
    found = {
        name.removesuffix("_id"): str(value)
        for name, value in arguments.items()
        if name.endswith("_id")
    }
    kind = ID_OF_VIEW.get(view.partition("_")[0])
    own = arguments.get("pk", arguments.get("uuid"))
    return {**found, kind: str(own)} if kind and own is not None else found


@task_prerun.connect(weak=False)
def begin_task(
    task_id: str, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], **_: Any
) -> None:
    """Name the task in each line that is written while it runs."""
    clear_contextvars()
    given = inspect.signature(task.run).bind_partial(*args, **kwargs).arguments
    named = {name.removesuffix("_id"): str(value) for name, value in given.items()}
    bind_contextvars(task=task.name.rpartition(".")[2], task_id=task_id, **named)
    task.request.began = time.monotonic()


@task_postrun.connect(weak=False)
def end_task(task: Any, **_: Any) -> None:
    """Tell of slow ones, and forget the names."""
    _tell_slow("slow task", getattr(task.request, "began", time.monotonic()))
    clear_contextvars()


def _tell_slow(event: str, began: float, **fields: Any) -> None:
    seconds = time.monotonic() - began
    if seconds >= SLOW_S:
        logger.info(event, seconds=round(seconds, 3), **fields)
