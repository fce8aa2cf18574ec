"""Two jobs side by side: chosen on a trend or in its table."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.models import Job
from dashboard.results.core import job_pairs
from dashboard.results.core.environments import environment_differences
from dashboard.results.selectors import jobs

_TWO = 2


def show(request: HttpRequest) -> HttpResponse:
    """What the two jobs of the address measured, and in what they differ; the older one first."""
    found = jobs.pair(request.GET.getlist("job"))
    if len(found) < _TWO:
        return render(request, "results/pair.html", {})
    first, second = found
    documents = [_document(job) for job in found]
    context: dict[str, Any] = {
        "jobs": found,
        "first": first,
        "second": second,
        "pairs": job_pairs.metric_pairs(*documents),
        "code": job_pairs.code_kinds(*documents),
        "reasons": [
            (job, job_pairs.break_reasons(document))
            for job, document in zip(found, documents, strict=True)
        ],
        "differences": environment_differences(
            *(document.get("environment", {}) for document in documents)
        ),
        "other_builds": first.run.build_id != second.run.build_id
        and first.run.machine_id == second.run.machine_id,
        "is_one_case": (first.benchmark_id, first.config_id)
        == (second.benchmark_id, second.config_id),
    }
    return render(request, "results/pair.html", context)


def _document(job: Job) -> dict[str, Any]:
    result = getattr(job, "result", None)
    return result.document if result else {}
