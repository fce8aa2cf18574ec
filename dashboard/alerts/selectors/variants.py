"""Differences of an alert's two builds where the new one is a variant: a torch with settings."""

from dashboard.models import Alert, AlertGroup


def settings_of_variant(alert: Alert | AlertGroup) -> str:
    """List what the new build sets and the base does not."""
    if alert.new is None:
        return ""
    base = alert.base.variant if alert.base else {}
    settings = []
    for kind in ("inductor", "env"):
        before, after = base.get(kind) or {}, alert.new.variant.get(kind) or {}
        for key, value in sorted(after.items()):
            if before.get(key) != value:
                settings.append(f"{key} = {value}")
    return ", ".join(settings)


def differ_in_settings_alone(alert: Alert | AlertGroup) -> bool:
    """Test whether the two builds are one torch, in one environment, with different variants."""
    if alert.base is None or alert.new is None:
        return False
    base_torch = alert.base.base_id or alert.base_id
    new_torch = alert.new.base_id or alert.new_id
    return base_torch == new_torch and alert.base_id != alert.new_id


def differ_in_inductor_alone(alert: Alert | AlertGroup) -> bool:
    """Test whether the two builds are one torch with the same environment variables, and differ in
    settings of Inductor.
    """
    if alert.base is None or alert.new is None:
        return False
    base, new = alert.base.variant, alert.new.variant
    same_environment = base.get("env", {}) == new.get("env", {})
    others_in_inductor = base.get("inductor") != new.get("inductor")
    return differ_in_settings_alone(alert) and same_environment and others_in_inductor
