"""One job: its numbers, its samples, and everything that explains them."""

from uuid import UUID

from csp.decorators import csp_update
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from dashboard.models import Artifact, Job
from dashboard.results.core import report, sample_charts
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.selectors import generated_code, jobs
from dashboard.runs.core.reproduce import command
from dashboard.runs.selectors import runs
from dashboard.ui.pages import failures, parameters
from dashboard.ui.pages.figures import figure_response

_MOST_SHOWN = 400_000  # characters of one file: a page of more is slow to scroll


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page; htmx asks for the live part alone while the job is not over."""
    job = _job_or_404(uuid)
    result = getattr(job, "result", None)
    document = result.document if result else {}
    context = {
        "job": job,
        "result": result,
        "document": document,
        "is_active": job.state not in runs.ENDED,
        "has_samples": jobs.has_samples(job),
        "has_code": any(artifact.name == ARCHIVE for artifact in job.artifacts.all()),
        "groups": report.metric_groups(document),
        "absent": report.absent(document),
        "starts": report.starts(document),
        "phases": report.phases(document),
        "memory": report.memory(document),
        "stages": report.stages(document),
        "drifts": report.drifts(document),
        "distances": report.distances(document),
        "environment": report.environment(document),
        "start_details": report.start_details(document),
        "compiler_facts": report.compiler_facts(document),
        "command": command(job.spec, document.get("reproduce", "")),
    }
    if not request.headers.get("HX-Request"):
        return render(request, "results/job.html", context)
    if not context["is_active"]:
        # It ended: the page has more to show than its live part
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "results/_job_live.html", context)


def _job_or_404(uuid: UUID) -> Job:
    try:
        return jobs.job(uuid)
    except Job.DoesNotExist:
        raise Http404(f"There is no job {uuid}. Its run may have been deleted.") from None


def samples(request: HttpRequest, uuid: UUID, figure: str) -> HttpResponse:
    """The raw samples as a figure: their distribution, or in the order taken."""
    arms = jobs.arms(uuid)
    if not arms:
        raise Http404("This job has no raw samples: it brought none, or their retention has ended.")
    make = (
        sample_charts.distribution_figure
        if figure == "distribution"
        else sample_charts.over_time_figure
    )
    return figure_response(make(arms))


def code(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the compiler wrote, a file at a time: the one of the address (`file`), else the
    first.
    """
    job = _job_or_404(uuid)
    written = generated_code.of_job(job)
    name = parameters.one_of(request, "file", list(written.files)) or next(iter(written.files), "")
    text = written.files.get(name, "")
    context = {
        "job": job,
        "written": written,
        "sizes": [(file, len(content.splitlines())) for file, content in written.files.items()],
        "name": name,
        "text": text[:_MOST_SHOWN],
        "is_cut": len(text) > _MOST_SHOWN,
    }
    return render(request, "results/code.html", context)


def artifact(request: HttpRequest, pk: int) -> HttpResponseBase:
    """A file that a job left, as a download: never shown in the page's own origin."""
    try:
        found = jobs.artifact(pk)
        file = found.file.open("rb")
    except (Artifact.DoesNotExist, FileNotFoundError):
        raise Http404(
            "There is no such file any more: artifacts are kept for a limited time."
        ) from None
    except OSError as error:
        return failures.unavailable(
            "The file cannot be had now", f"{error} The job's numbers are not touched by it."
        )
    return FileResponse(
        file, as_attachment=True, filename=found.name, content_type="application/octet-stream"
    )
