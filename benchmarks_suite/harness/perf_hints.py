"""What Inductor logs as performance hints, collected without printing it."""

import logging


class PerfHints(logging.Handler):
    """``texts``: the hints so far."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage()[:2000])


def collect() -> PerfHints:
    """Turns the perf_hints log on, into the handler that is returned.

    Call it after torch_versions.import_compiler.
    """
    hints = PerfHints()
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.endswith(".__perf_hints") and isinstance(logger, logging.Logger):
            logger.setLevel(logging.DEBUG)
            logger.addHandler(hints)
            logger.propagate = False
    return hints
