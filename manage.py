#!/usr/bin/env python
"""Django's command line for the site: migrate, setup_local, trigger_run, import_results, ..."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line

        from dashboard.site.removed import COMMANDS
    except ImportError:
        sys.exit(
            f"{sys.executable} has no Django: use .venv/bin/python manage.py, which `make up` makes"
        )
    if removed := COMMANDS.get(next(iter(sys.argv[1:]), "")):
        sys.exit(removed)
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))  # it says what to do; a traceback would hide that
