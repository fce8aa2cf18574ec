"""Workers can be added, paused, and given new tokens; environments are only shown."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from dashboard.models import InstalledEnvironment, Worker
from dashboard.runs.services.fleet import add_worker, renew_token, revoke_token
from dashboard.ui.admin.base import ReadOnlyAdmin, WithoutHiddenForm, confirmed_action


@admin.register(Worker)
class WorkerAdmin(ModelAdmin):
    form = WithoutHiddenForm
    list_display = ("name", "machine", "device", "paused", "can_sign_in", "last_seen")
    list_filter = ("machine", "paused", "last_seen")
    search_fields = ("name", "machine__key", "device")
    readonly_fields = (
        "device",
        "full_disk",
        "device_holder",
        "boot_id",
        "facts",
        "last_seen",
        "created_at",
    )
    actions = ("pause", "resume", "renew", "revoke")

    def get_fields(self, request: HttpRequest, obj: Worker | None = None) -> Any:
        if obj is None:
            return ("name", "machine")
        return ("name", "machine", "paused", *self.readonly_fields)

    @admin.display(boolean=True, description="Has a token")
    def can_sign_in(self, worker: Worker) -> bool:
        return worker.token_hash is not None

    def save_model(self, request: HttpRequest, obj: Worker, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=form.changed_data)
            return
        worker, token = add_worker(name=obj.name, machine=obj.machine)
        obj.pk = worker.pk
        obj.refresh_from_db()
        self.show_token(request, obj, token)

    def show_token(self, request: HttpRequest, worker: Worker, token: str) -> None:
        messages.warning(request, f"The token of {worker}, shown this once: WORKER_TOKEN={token}")

    @confirmed_action("Pause", "change", "Let these workers begin no further job?")
    def pause(self, request: HttpRequest, workers: QuerySet[Worker]) -> str:
        count = workers.update(paused=True)
        return f"{count} paused: a job that runs is finished, none is begun."

    @confirmed_action("Resume", "change", "Let these workers take jobs again?")
    def resume(self, request: HttpRequest, workers: QuerySet[Worker]) -> str:
        return f"{workers.update(paused=False)} resumed."

    @confirmed_action("New token", "add", "Give these workers new tokens?")
    def renew(self, request: HttpRequest, workers: QuerySet[Worker]) -> str:
        for worker in workers:
            self.show_token(request, worker, renew_token(worker=worker))
        return "The old tokens are void."

    @confirmed_action("Revoke token", "add", "Lock these workers out?")
    def revoke(self, request: HttpRequest, workers: QuerySet[Worker]) -> str:
        for worker in workers:
            revoke_token(worker=worker)
        return f"{len(workers)} locked out."


@admin.register(InstalledEnvironment)
class InstalledEnvironmentAdmin(ReadOnlyAdmin):
    list_display = (
        "build",
        "worker",
        "state",
        "adopted",
        "size_mb",
        "libraries",
        "last_used",
        "message",
    )
    list_filter = ("state", "adopted", "worker")
    search_fields = ("build__label", "key")
    list_select_related = ("build", "worker")
