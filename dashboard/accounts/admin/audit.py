"""Logs of who changed what, who signed in, who tried to: read-only, but for lifting a lock."""

from axes.models import AccessAttempt, AccessLog
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.models import AuditChange
from dashboard.ui.admin.base import ReadOnlyAdmin, confirmed_action


@admin.register(AuditChange)
class AuditChangeAdmin(ReadOnlyAdmin):
    """Every request of a person that changed something, or tried to."""

    list_display = ("at", "name", "with_token", "method", "path", "asked", "status", "address")
    list_filter = ("at", "with_token", "status", "by")
    search_fields = ("name", "path")


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyAdmin):
    """The admin's own log: which fields."""

    list_display = ("action_time", "user", "content_type", "object_repr", "get_change_message")
    list_filter = ("action_time", "user", "content_type")
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "user__username")


@admin.register(AccessLog)
class AccessLogAdmin(ReadOnlyAdmin):
    """Log of who signed in."""

    list_display = ("attempt_time", "username", "ip_address", "path_info", "logout_time")
    list_filter = ("attempt_time",)
    search_fields = ("username", "ip_address")


@admin.register(AccessAttempt)
class AccessAttemptAdmin(ReadOnlyAdmin):
    """Wrong passwords. At the limit they lock an account out for the address they came from."""

    list_display = ("attempt_time", "username", "ip_address", "failures_since_start", "path_info")
    list_filter = ("attempt_time",)
    search_fields = ("username", "ip_address")
    actions = ("lift",)

    def has_lift_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("axes.delete_accessattempt"))

    @confirmed_action("Let in again", "lift", "Forget these wrong passwords?")
    def lift(self, request: HttpRequest, attempts: QuerySet[AccessAttempt]) -> str:
        return f"{attempts.delete()[0]} forgotten."
