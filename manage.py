#!/usr/bin/env python
"""Django's command line for the site: migrate, setup_local, trigger_run, import_results, ..."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
