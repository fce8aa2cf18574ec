"""Log lines: one event and its fields on one line; text for people, JSON for log collectors."""

from typing import Any

import structlog

from dashboard.language.plain_text import plain

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# They log a line for each tick or message
CHATTY = ("httpx", "celery.beat", "celery.worker.strategy", "celery.app.trace")
# Tracebacks without local variables, which may hold tokens, and which took seconds to print
TEXT = structlog.dev.ConsoleRenderer(
    colors=False, exception_formatter=structlog.dev.plain_traceback
)


def logging_config(*, as_json: bool) -> dict[str, Any]:
    """A dictConfig that renders structlog's and the standard library's records alike, on stderr."""
    rendering: list[Any] = [TEXT, lambda _, __, line: plain(line)]
    if as_json:
        rendering = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *rendering,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {name: {"level": "WARNING"} for name in CHATTY},
    }


def configure_structlog() -> None:
    """Send structlog's events through the standard library: one configuration for both."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
