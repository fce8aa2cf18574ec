"""Commands that pages print, as they can be pasted where this site runs."""

import sys
from pathlib import Path

from django import template
from django.conf import settings

from dashboard.catalog.selectors.lookups import measuring_machines
from dashboard.models import Machine

register = template.Library()


@register.simple_tag
def manage_py() -> str:
    """As ".venv/bin/python manage.py"; in an image, whose PATH has the site's Python, "python"."""
    is_ours = Path(sys.prefix) == settings.BASE_DIR / ".venv"
    return f"{'.venv/bin/python' if is_ours else 'python'} manage.py"


@register.simple_tag
def machine_option() -> str:
    """As "--machine cpu-2c": one that can measure, else one that there is; empty without any."""
    machine = measuring_machines().first() or Machine.objects.filter(hidden=False).first()
    return f"--machine {machine}" if machine else ""
