"""The words of alerts: how sure, what people make of it, whose fault, what kind, how bad."""

from django.db import models


class EvidenceState(models.TextChoices):
    """Certainty that something changed: the system's answer."""

    SUSPECTED = "suspected"
    CONFIRMING = "confirming"
    CONFIRMED = "confirmed"
    NOT_REPRODUCED = "not_reproduced"
    INCONCLUSIVE = "inconclusive"
    RECOVERED = "recovered"
    MISSING_REPORT = "missing_report"  # nothing was measured, so nothing is shown to have changed


class WorkflowState(models.TextChoices):
    """State that people give it."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    FIXED = "fixed"
    WONTFIX = "wontfix"
    INVALID = "invalid"


class AlertState(models.TextChoices):
    """Both in one word: what an event moved a group to, and what rules and the API's `state` know.

    Of a group it is what people made of it; while that is nothing, how sure it is.
    """

    SUSPECTED = "suspected"
    CONFIRMING = "confirming"
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    FIXED = "fixed"
    WONTFIX = "wontfix"
    INVALID = "invalid"
    NOT_REPRODUCED = "not_reproduced"
    INCONCLUSIVE = "inconclusive"
    RECOVERED = "recovered"
    MISSING_REPORT = "missing_report"


OVER = (EvidenceState.NOT_REPRODUCED, EvidenceState.RECOVERED)
"""There is nothing (any more, or to do): the group is closed, whatever people made of it."""
IN_WORK = (WorkflowState.NEW, WorkflowState.ACKNOWLEDGED)


class Cause(models.TextChoices):
    """Whose fault it is; without positive evidence it is unknown."""

    COMPILER = "compiler"
    EAGER = "eager", "PyTorch eager or a library"
    MACHINE = "machine"
    LIBRARY = "library", "model library"
    BENCHMARK = "benchmark"
    UNKNOWN = "unknown"


class Kind(models.TextChoices):
    STEP = "step"
    DRIFT = "drift"  # slow; of the metric, not of the numbers
    STATUS = "status"
    # Of a group: the machine, its software or the suite changed, the build did not
    ENVIRONMENT = "environment"
    SILENCE = "silence"  # what should have reported did not


class Direction(models.TextChoices):
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    TRADE_OFF = "trade_off"  # some metrics better, some worse
    NEUTRAL = "neutral"


class Severity(models.TextChoices):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
