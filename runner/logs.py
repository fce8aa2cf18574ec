"""Format of log lines: one event, its fields, one line; text for people, JSON for collectors."""

import logging
import re
from typing import Any

import structlog

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,  # the job's id and attempt, in each line of a job
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# As dashboard/language/plain_text.py has them
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)
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
    rendering: list[Any] = [
        structlog.dev.ConsoleRenderer(colors=False, pad_event_to=30),
        without_control,
    ]
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


def without_control(_: object, __: str, line: str) -> str:
    """A line without what a terminal obeys: jobs and servers write some of it."""
    return _CONTROL.sub("", line)
