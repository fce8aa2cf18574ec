"""Which factor moved an alert's case, where somebody exchanged factors for it."""

from django.conf import settings
from django.db.models import Q

from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.comparisons.core.factorial_words import answer
from dashboard.comparisons.selectors import factorials
from dashboard.language.wording import plural
from dashboard.models import AlertGroup, Factorial


def factorial_of(group: AlertGroup, main: AlertSummary) -> Factorial | None:
    """The newest one of the alert's case on its machine that measured the new build, or a variant
    of it.
    """
    if group.new is None:
        return None
    series = main.alert.series
    base = group.new.base_id or group.new_id
    measured = Q(runs__build=base) | Q(runs__build__base=base)
    of_case = factorials.listing().filter(
        measured,
        machine=series.machine_id,
        benchmark=series.benchmark_id,
        config=series.config_id,
    )
    return of_case.distinct().first()


def factorial_lines(group: AlertGroup, main: AlertSummary) -> list[str]:
    """Each factor's share of the alert's metric, or of the step where that was not analysed; none
    before an arm has measured it.
    """
    factorial = factorial_of(group, main)
    if factorial is None:
        return []
    results = factorials.results(factorial)
    analysis = results.analyses.get(main.alert.series.metric) or results.step
    if analysis is None:
        return []
    result = answer(results.factors, analysis, is_over=not results.so_far)
    rounds = plural(factorial.repeats, "round")
    address = f"{settings.SITE_URL}{factorial.get_absolute_url()}"
    return [
        f"Factors exchanged one by one ({len(factorial.arms)} combinations, {rounds}, measured in "
        f"turn): {analysis.metric.label.lower()}: {result.word}. {result.sentence} "
        f"{results.so_far} {address}".replace("  ", " ")
    ]
