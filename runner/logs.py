"""How log lines look: one event, its fields, one line; text for people, JSON for log collectors."""

import logging
from typing import Any

import structlog

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,  # the job's id and attempt, in each line of a job
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
QUIET = ("httpx", "httpcore", "celery.worker.strategy", "celery.app.trace", "celery.redirected")


def configure(log_format: str) -> None:
    """Send structlog's and the standard library's records, Celery's too, to stderr as `text` or
    `json`.
    """
    as_json = log_format == "json"
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=30)
    )
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=SHARED,
            processors=[
                remove,
                *([structlog.processors.format_exc_info] if as_json else []),
                renderer,
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
