"""Raises the alert of a case that fails on a build on which it has never passed: that needs no
history, so it is raised at the first measurement, on whatever track, also of a run by hand.

Imported results are left alone. The detector (detection.py) finds what passed before and fails now.
"""

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.alerts.selectors.alerts import OF_STANDING_GROUP
from dashboard.alerts.services import recovery
from dashboard.alerts.services.alert_groups import reinstate, save_in_group, withdraw
from dashboard.detection import VERSION, status_value
from dashboard.language.metrics import EAGER, STATUS_METRIC
from dashboard.models import (
    Alert,
    Datum,
    Direction,
    InvalidPoint,
    Kind,
    Purpose,
    Series,
    Status,
    Track,
)
from dashboard.results.selectors import history

OF_THE_COMPILER = (Status.FAIL_ACCURACY, Status.FAIL_TO_COMPILE)
"""The suite says so only where eager ran in the same process."""
FAILURES = (*OF_THE_COMPILER, Status.FAIL_TO_RUN)
"""A timeout or a crash may be the doing of a busy machine: it takes a history to judge those."""
NEVER_PASSED = ""
"""In place of the status word before, in an alert's `words`."""


def check(*, series: Series) -> None:
    """Raise or end the alerts of a case whose status has a new value.

    Eager may come after the compiled cases whose failure it explains.
    """
    if series.config.name != EAGER:
        _check_case(series)
        return
    cases = Series.objects.filter(
        benchmark=series.benchmark_id,
        machine=series.machine_id,
        track=series.track_id,
        metric=STATUS_METRIC,
    ).exclude(pk=series.pk)
    for case in cases.select_related("benchmark", "config", "machine", "track"):
        _check_case(case)


def _check_case(series: Series) -> None:
    _withdraw_unsupported(series)
    newest = _measured(series).filter(series=series).order_by("-planned_at").first()
    if newest is None:
        return
    if newest.status == Status.PASS:
        _end_alerts(series, newest)
    elif newest.status in FAILURES and not series.mutes.filter(until__gt=timezone.now()).exists():
        Track.objects.select_for_update(no_key=True).get(pk=series.track_id)
        if _has_never_passed(series, newest) and not _is_known(series, newest):
            _raise(series, newest)


def _withdraw_unsupported(series: Series) -> None:
    """Withdraw the alerts of the case whose failures were all taken out, until one is back."""
    alerts = _alerts_of_case(series).filter(base=None, recovered_at=None)
    for alert in alerts.select_related("group", "series__benchmark", "series__config"):
        if _measured(series).filter(build=alert.new_id, status__in=FAILURES).exists():
            reinstate(alert=alert)
        else:
            withdraw(alert=alert)


def _alerts_of_case(series: Series) -> QuerySet[Alert]:
    """Every alert about a failure of the case on its machine, on whatever track."""
    alerts = Alert.objects.filter(
        kind=Kind.STATUS,
        series__benchmark=series.benchmark_id,
        series__config=series.config_id,
        series__machine=series.machine_id,
    )
    return alerts.exclude(direction=Direction.IMPROVEMENT)


def _measured(series: Series) -> QuerySet[Datum]:
    """Every valid status of the case on its machine that we measured ourselves."""
    invalid = InvalidPoint.objects.filter(series=OuterRef("series"), job=OuterRef("job"))
    data = Datum.objects.filter(
        ~Exists(invalid),
        series__benchmark=series.benchmark_id,
        series__config=series.config_id,
        series__machine=series.machine_id,
        series__metric=STATUS_METRIC,
    )
    return data.exclude(purpose=Purpose.IMPORT)


def _has_never_passed(series: Series, failed: Datum) -> bool:
    """Test whether the case failed on the build each time, and eager did not.

    A scheduled failure after a scheduled pass, of whatever build, is the detector's.
    """
    if failed.purpose == Purpose.SCHEDULED:
        passed = history.judged([series.pk]).filter(status=Status.PASS)
        if passed.filter(planned_at__lt=failed.planned_at).exists():
            return False
    if _measured(series).filter(build=failed.build_id, status=Status.PASS).exists():
        return False
    if failed.status in OF_THE_COMPILER:
        return True
    eager = Datum.objects.filter(
        series__benchmark=series.benchmark_id,
        series__config__name=EAGER,
        series__machine=series.machine_id,
        series__metric=STATUS_METRIC,
        build=failed.build_id,
        status=Status.PASS,
    )
    return eager.exists()


def _is_known(series: Series, failed: Datum) -> bool:
    """Test whether the failure has an alert: of this build whatever people made of it, of another
    one while it stands.
    """
    stands = OF_STANDING_GROUP & Q(recovered_at=None)
    return _alerts_of_case(series).filter(Q(new=failed.build_id) | stands).exists()


def _raise(series: Series, failed: Datum) -> None:
    save_in_group(
        alert=Alert(
            series=series,
            kind=Kind.STATUS,
            direction=Direction.REGRESSION,
            job_id=failed.job_id,
            planned_at=failed.planned_at,
            seen_at=failed.planned_at,
            new_id=failed.build_id,
            effect=status_value(failed.status) - status_value(Status.PASS),
            unit="difference",
            detector_version=str(VERSION),
            decision={"words": [NEVER_PASSED, failed.status]},
        )
    )


def _end_alerts(series: Series, passed: Datum) -> None:
    """A case that passes on the build on which it had failed is not to blame any more.

    Of a case that had passed the detector notices that, unless the plain build, which a variant is
    compared with, passed in between.
    """
    alerts = Alert.objects.filter(
        OF_STANDING_GROUP,
        Q(base=None) | Q(new__label__contains="~"),
        series=series,
        kind=Kind.STATUS,
        new=passed.build_id,
        recovered_at=None,
    )
    for alert in alerts.filter(planned_at__lt=passed.planned_at).select_related("group"):
        alert.recovered_at = passed.planned_at
        recovery.mark_recovered(alert=alert)
