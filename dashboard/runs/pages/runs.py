"""Runs: the list, one run while it works, and what staff may do to it."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.catalog.selectors.lookups import offered_keys
from dashboard.language.wording import plural
from dashboard.models import Machine, Purpose, Run, RunState, Status, Track
from dashboard.runs.selectors import experiments, runs
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs
from dashboard.ui.pages import parameters
from dashboard.ui.rows import one

_PAGE_SIZE, _EXPERIMENTS = 25, 5
_JOBS_SIZE = 200  # of a page of a run's jobs, which is sent every few seconds
may_change_runs = permission_required("dashboard.change_run", raise_exception=True)


def listing(request: HttpRequest) -> HttpResponse:
    choices = {
        "outcome": [*runs.OUTCOMES],
        "state": RunState.values,
        "purpose": Purpose.values,
        "machine": offered_keys(Machine, request.GET.get("machine", "")),
        "track": offered_keys(Track, request.GET.get("track", "")),
    }
    chosen = parameters.filters(request, choices)
    page = parameters.page(request, runs.listed(**chosen), _PAGE_SIZE)
    context = {
        "page": page,
        "rows": runs.with_counts(page.object_list, by_import=not chosen["purpose"]),
        "filters": [(name, choices[name], chosen[name]) for name in choices],
        "is_filtered": any(chosen.values()),
        "outcomes": runs.OUTCOMES,
    }
    if page.number == 1 and not context["is_filtered"]:
        started = experiments.listed()
        context["experiments"] = experiments.read(started[:_EXPERIMENTS])
    return render(request, "runs/list.html", context)


def experiments_list(request: HttpRequest) -> HttpResponse:
    page = parameters.page(request, experiments.listed(), _PAGE_SIZE)
    context = {"page": page, "experiments": experiments.read(page.object_list)}
    return render(request, "runs/experiments.html", context)


def show(request: HttpRequest, pk: int) -> HttpResponse:
    """One run; htmx asks for the live part alone every few seconds until the run has ended."""
    run = one(runs.listing(), "run", pk=pk)
    progress = runs.progress(run, timezone.now())
    in_order = runs.jobs_in_order(run)
    page = parameters.page(request, in_order, _JOBS_SIZE, count=progress.counts.total)
    jobs = list(page.object_list)
    context = {
        "run": run,
        "page": page,
        "jobs": jobs,
        "attention": [job for job in jobs if job.status != Status.PASS],
        "passed": [job for job in jobs if job.status == Status.PASS],
        "counts": progress.counts,
        "is_active": progress.is_active,
        "workers": progress.workers,
        "obstacle": progress.obstacle,
        "seconds_left": progress.seconds_left,
        # Asked for where somebody may
        "can_retry": run.jobs.filter(state__in=runs.RETRYABLE).exists,
    }
    is_live_part = request.headers.get("HX-Request")
    return render(request, "runs/_run_live.html" if is_live_part else "runs/run.html", context)


@require_POST
@may_change_runs
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    count = cancel_run(run=one(Run.objects.all(), "run", pk=pk))
    messages.success(
        request,
        f"Cancelled: {plural(count, 'job')} will not be measured. One that runs stops within "
        "seconds.",
    )
    return redirect("run", pk=pk)


@require_POST
@may_change_runs
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    count = retry_failed_jobs(run=one(Run.objects.all(), "run", pk=pk))
    messages.success(request, f"Queued {plural(count, 'job')} again.")
    return redirect("run", pk=pk)
