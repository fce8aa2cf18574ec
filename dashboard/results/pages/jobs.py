"""One job: its numbers, its samples, and everything that explains them."""

from uuid import UUID

from csp.decorators import csp_update
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from dashboard.models import Artifact, Job
from dashboard.results.core import sample_charts
from dashboard.results.selectors import job_pages, jobs
from dashboard.ui.pages import failures
from dashboard.ui.pages.figures import figure_response

_FIGURES = {
    "distribution": sample_charts.distribution_figure,
    "order": sample_charts.over_time_figure,
}


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page; htmx asks for the live part alone while the job is not over."""
    context = job_pages.job_page(_job_or_404(uuid))
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
    return figure_response(_FIGURES[figure](arms))


def code(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Show one file that the compiler wrote: that of the address (`file`), or of its `kernel`, else
    the first.
    """
    file, kernel = request.GET.get("file", ""), request.GET.get("kernel", "")
    context = job_pages.code_page(_job_or_404(uuid), file, kernel)
    return render(request, "results/code.html", context)


def artifact(request: HttpRequest, pk: int) -> HttpResponseBase:
    """A file that a job left, as a download: never shown in the page's own origin."""
    try:
        stored = Artifact.objects.get(pk=pk)
        file = stored.file.open("rb")
    except (Artifact.DoesNotExist, FileNotFoundError):
        raise Http404(
            "There is no such file any more: artifacts are kept for a limited time."
        ) from None
    except OSError as error:
        why = f"{error} The job's numbers are not touched by it."
        return failures.unavailable("The file cannot be had now", why)
    return FileResponse(
        file, as_attachment=True, filename=stored.name, content_type="application/octet-stream"
    )
