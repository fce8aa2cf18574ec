"""The admin: Django looks for this module; each subject describes its own tables."""

from dashboard.accounts.admin import accounts, audit, tokens
from dashboard.alerts.admin import alerts
from dashboard.catalog.admin import catalog
from dashboard.comparisons.admin import versions
from dashboard.notifications.admin import channels, deliveries, rules
from dashboard.results.admin import jobs
from dashboard.runs.admin import fleet, own_models, runs, schedules
from dashboard.site.admin import beat
