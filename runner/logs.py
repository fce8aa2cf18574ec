"""How log lines look: one event, its fields, one line; text for people, JSON for log collectors."""

import logging
from typing import Any

import structlog

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,  # the job's id and attempt, in each line of a job
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
NOISY_LOGGERS = (
    "httpx",
    "httpcore",
    "celery.worker.strategy",
    "celery.app.trace",
    "celery.redirected",
)


def configure(log_format: str) -> None:
    """Send structlog's and the standard library's records to stderr as `text` or `json`.

    Celery's are among them.
    """
    rendering: list[Any] = [structlog.dev.ConsoleRenderer(colors=False, pad_event_to=30)]
    if log_format == "json":
        rendering = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED_PROCESSORS,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
