"""Runs: the list, one run while it works, and what staff may do to it."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.catalog.selectors.lookups import offered_keys
from dashboard.language.wording import plural
from dashboard.models import Machine, Purpose, Run, RunState, Status, Track
from dashboard.runs.selectors import runs
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs
from dashboard.ui.pages import parameters

_PAGE_SIZE = 25
_SHOWN_JOBS = 200  # on the page of a run, unless ?all: the page is sent every few seconds
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
        "rows": runs.with_counts(page.object_list),
        "filters": [(name, choices[name], chosen[name]) for name in choices],
        "is_filtered": any(chosen.values()),
        "outcomes": runs.OUTCOMES,
    }
    return render(request, "runs/list.html", context)


def show(request: HttpRequest, pk: int) -> HttpResponse:
    """One run; htmx asks for the live part alone every few seconds until the run has ended."""
    run = get_object_or_404(runs.listing(), pk=pk)
    jobs = runs.jobs_of(run)
    is_active = run.state in runs.ACTIVE_RUNS
    workers, seconds_left = 0, None
    if is_active:
        now = timezone.now()
        workers = runs.workers_alive(run.machine_id, now)
        seconds_left = runs.seconds_left(jobs, runs.expected_seconds(run), workers, now)
    shown = jobs if "all" in request.GET else jobs[:_SHOWN_JOBS]
    context = {
        "run": run,
        "jobs": shown,
        "attention": [job for job in shown if job.status != Status.PASS],
        "passed": [job for job in shown if job.status == Status.PASS],
        "counts": runs.count_jobs(jobs),
        "is_active": is_active,
        "workers": workers,
        "seconds_left": seconds_left,
        "can_retry": any(job.state in runs.RETRYABLE for job in jobs),
    }
    is_live_part = request.headers.get("HX-Request")
    return render(request, "runs/_run_live.html" if is_live_part else "runs/run.html", context)


@require_POST
@may_change_runs
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    count = cancel_run(run=get_object_or_404(Run, pk=pk))
    messages.success(
        request,
        f"Cancelled: {plural(count, 'job')} will not be measured. One that runs stops within "
        "seconds.",
    )
    return redirect("run", pk=pk)


@require_POST
@may_change_runs
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    count = retry_failed_jobs(run=get_object_or_404(Run, pk=pk))
    messages.success(request, f"Queued {plural(count, 'job')} again.")
    return redirect("run", pk=pk)
