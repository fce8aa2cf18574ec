"""The report of an alert upstream: the ready issue and its files."""

import tempfile

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.alerts.core.git_bisect import script
from dashboard.alerts.core.ready_issue import address
from dashboard.alerts.core.report_files import LIMIT_MIB, pack
from dashboard.alerts.pages.alerts import TRIAGE, main_or_404
from dashboard.alerts.selectors import alert_page, reports, since_which_build
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.reports import NOT_OURS, Report

_IN_MEMORY = 4 * 2**20  # bytes; what is longer lies in a temporary file


def issue(request: HttpRequest, pk: int) -> HttpResponse:
    """The text, the link that opens it on GitHub, and the list of its files."""
    main = main_or_404(request, pk)
    report = _report_or_404(main)
    context = {
        "group": report.group,
        "main": main,
        "issue": report.issue,
        "address": address(report.issue, settings.ISSUE_REPOSITORY),
        "repository": settings.ISSUE_REPOSITORY,
        "files": report.files,
        "collected": report.collected,
        "limit_mib": LIMIT_MIB,
        "may_triage": request.user.has_perm(TRIAGE),
        "follows": bool(settings.GITHUB_TOKEN),
    }
    return render(request, "alerts/issue.html", context)


def bisect_script(request: HttpRequest, pk: int) -> HttpResponse:
    """The script that `git bisect run` takes."""
    alert = main_or_404(request, pk).alert
    task = since_which_build.bisect_task(alert, alert_page.reproduce(alert))
    if task is None:
        raise Http404("The commits, the levels or the command of this alert are not known.")
    headers = {"Content-Disposition": f'attachment; filename="bisect-alert-{pk}.sh"'}
    return HttpResponse(script(task), content_type="text/x-shellscript", headers=headers)


def files(request: HttpRequest, pk: int) -> FileResponse:
    """The issue and its files as one zip, made of what is kept now."""
    report = _report_or_404(main_or_404(request, pk))
    # FileResponse closes the file, which removes it
    target = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    pack(target, report.files)
    target.seek(0)
    name = f"compilewatch-alert-{pk}.zip"
    return FileResponse(target, as_attachment=True, filename=name, content_type="application/zip")


def _report_or_404(main: AlertSummary) -> Report:
    """Return the report. Raises Http404 for what another system measured: it is neither PyTorch's
    bug nor reproducible from here.
    """
    if main.alert.series.benchmark.imported:
        raise Http404(NOT_OURS)
    return reports.report_of(main)
