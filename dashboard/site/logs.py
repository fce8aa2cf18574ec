"""How log lines look: one event, its fields, one line; text for people, JSON for log collectors."""

from typing import Any

import structlog

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# a line per tick, per message
CHATTY = ("httpx", "celery.beat", "celery.worker.strategy", "celery.app.trace")
# Tracebacks without local variables, which may hold tokens; with them one page's log line took
# seconds, too.
TEXT = structlog.dev.ConsoleRenderer(
    colors=False, exception_formatter=structlog.dev.plain_traceback
)


def logging_config(*, as_json: bool) -> dict[str, Any]:
    """A dictConfig that renders structlog's and the standard library's records the same way, on
    stderr.
    """
    renderer = structlog.processors.JSONRenderer() if as_json else TEXT
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *([structlog.processors.format_exc_info] if as_json else []),
                    renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {name: {"level": "WARNING"} for name in CHATTY},
    }


def configure_structlog() -> None:
    """Send structlog's events through the standard library, so that one configuration rules
    both.
    """
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
