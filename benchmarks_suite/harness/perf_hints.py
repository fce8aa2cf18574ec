"""Facts that the compiler logs and counts nowhere: performance hints, and that dynamo gave up."""

import logging

from benchmarks_suite.harness.portable_text import portable

_GAVE_UP = "torch._dynamo hit config."  # since 2.1, with the same arguments


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


class RecompileLimits(logging.Handler):
    """``texts``: the functions that reached the limit of compilations, so far."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith(_GAVE_UP) and isinstance(record.args, tuple):
            limit, count, function, guard = record.args[:4]
            text = f"{function} was compiled {count} times ({limit}) and runs in eager since"
            failed = " ".join(str(guard).partition(" (HINT")[0].split())
            self.texts.append(portable(f"{text}. The last guard that failed: {failed}")[:500])


def recompile_limits() -> RecompileLimits:
    """Collects them from here on; they are printed as well."""
    limits = RecompileLimits()
    logging.getLogger("torch._dynamo.convert_frame").addHandler(limits)
    return limits
