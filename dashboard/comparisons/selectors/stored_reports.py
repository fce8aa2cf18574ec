"""The report of two sides from what is stored, kept while the data are the same."""

from functools import lru_cache

from dashboard.comparisons.core.case_table import ReportWithTable, report_with_table
from dashboard.comparisons.core.matching import Key, Side
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS
from dashboard.comparisons.selectors import versions
from dashboard.comparisons.selectors.side_choice import Choice
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.language.metrics import Metric

ConfigNames = tuple[str, str]  # of base and of new


def stored_report(choice: Choice, metric: Metric, *, any_libraries: bool) -> ReportWithTable:
    """The report, and the table of one metric."""
    sides = choice.base.measured, choice.new.measured
    metrics = tuple(sorted({*REPORT_METRICS, metric.key}))
    configs = None
    if "config" in choice.differs:
        configs = choice.base.config, choice.new.config
    fingerprint = versions.data_fingerprint(sides, metrics)
    return _report(fingerprint, sides, metrics, configs, metric, any_libraries)


@lru_cache(maxsize=8)
def _report(
    fingerprint: str,
    sources: tuple[MeasuredSide, ...],
    metrics: tuple[str, ...],
    configs: ConfigNames | None,
    metric: Metric,
    any_libraries: bool,
) -> ReportWithTable:
    """Kept while the data are the same (`fingerprint`), because every filter of the page asks for
    it again.
    """
    base, new = versions.sides(sources, metrics)
    if configs:
        base, new = _under_one_name(base, configs), _under_one_name(new, configs)
    return report_with_table(base, new, metric, any_libraries=any_libraries)


def _under_one_name(side: Side, configs: ConfigNames) -> Side:
    """Two configs are compared benchmark by benchmark: both sides' cases get one name."""
    name = " → ".join(configs)
    return {Key(key.benchmark, name): each for key, each in side.items()}
