"""Jobs and refused results: to look at. Runs are cancelled and retried as wholes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.language.contracts import Refused
from dashboard.models import Job, RefusedResult
from dashboard.results.core.untrusted import unpack
from dashboard.ui.admin.base import ReadOnlyAdmin

SHOWN_BYTES = 20_000


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = (
        "benchmark",
        "config",
        "state",
        "status",
        "run",
        "worker",
        "attempt",
        "planned_at",
        "finished_at",
    )
    list_filter = ("state", "status", "run__machine", "config", "benchmark__family")
    list_select_related = ("benchmark", "config", "run", "worker")
    search_fields = ("uuid", "benchmark__name", "message")
    show_full_result_count = False


@admin.register(RefusedResult)
class RefusedResultAdmin(ReadOnlyAdmin):
    list_display = ("id", "source", "reason", "job", "received_at")
    list_filter = ("received_at",)
    list_select_related = ("job__benchmark", "job__config")
    search_fields = ("source", "reason")
    fields = ("source", "reason", "job", "received_at", "beginning")

    def get_queryset(self, request: HttpRequest) -> QuerySet[RefusedResult]:
        refused: QuerySet[RefusedResult] = super().get_queryset(request)
        return refused.defer("body")

    @admin.display(description="Body")
    def beginning(self, refused: RefusedResult) -> SafeString:
        """The first part of the body, unpacked where that is possible."""
        body = bytes(refused.body)
        try:
            shown = unpack(body, 32 * 2**20)[:SHOWN_BYTES]
        except Refused:
            shown = body[:SHOWN_BYTES]
        return format_html("<pre>{}</pre>", shown.decode(errors="replace"))
