"""Schedules, read and triggered at once. The admin makes and changes them."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, READ, caller_of
from dashboard.models import Schedule
from dashboard.runs.api.runs import RunProgress, progress_of
from dashboard.runs.selectors.schedules import in_words
from dashboard.runs.services.schedules import trigger_now
from dashboard.ui.api.paging import Pages
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["runs"])


class ScheduleOut(Schema):
    """families, benchmarks and configs all empty: the default selection of the machine's size."""

    id: int = Field(description="Number of the schedule, as `trigger` takes it.")
    name: str
    enabled: bool = Field(description="Whether it triggers by itself.")
    when: str = Field(description="In words, with its time zone: Every day at 02:30, Etc/UTC.")
    machine: str = Field(alias="machine.key")
    track: str = Field(alias="track.key")
    families: list[str] = Field(description="Names of families of models.")
    benchmarks: list[str] = Field(description="Names of benchmarks.")
    configs: list[str] = Field(description="Names of configs.")
    repeats: int = Field(
        description="Number of runs after which a build is measured enough; 0: never."
    )
    problem: str = Field(
        description="Why it triggered nothing when it was last due; empty if it did."
    )

    @staticmethod
    def resolve_when(schedule: Schedule) -> str:
        return in_words(schedule.crontab)

    @staticmethod
    def resolve_benchmarks(schedule: Schedule) -> list[str]:
        return [benchmark.name for benchmark in schedule.benchmarks.all()]

    @staticmethod
    def resolve_configs(schedule: Schedule) -> list[str]:
        return [config.name for config in schedule.configs.all()]


@router.get("schedules", response=list[ScheduleOut])
@paginate(Pages)
def listing(request: HttpRequest) -> QuerySet[Schedule]:
    """Schedules, the newest first."""
    return _schedules()


@router.post("schedules/{int:pk}/trigger", response={201: RunProgress}, auth=ADD_RUN)
def trigger(request: HttpRequest, pk: int) -> Any:
    """Trigger its run now, as when it is due, also where it is switched off; follow it at `GET
    runs/{id}`.
    """
    run = trigger_now(schedule=one(_schedules(), "schedule", pk=pk), user=caller_of(request))
    return Status(201, progress_of(run.pk))


def _schedules() -> QuerySet[Schedule]:
    related = Schedule.objects.select_related("crontab", "machine", "track__build")
    return related.prefetch_related("benchmarks", "configs")
