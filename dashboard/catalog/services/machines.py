"""Machines that results or workers bring."""

from dashboard.catalog.core.hardware import Hardware
from dashboard.models import Machine


def ensure_machine(hardware: Hardware) -> Machine:
    defaults = {
        "label": hardware.label,
        "device_kind": hardware.device_kind,
        "default_size": hardware.default_size,
    }
    return Machine.objects.get_or_create(key=hardware.key, defaults=defaults)[0]
