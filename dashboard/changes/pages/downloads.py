"""Files about a change: its report, and the script for git bisect."""

import tempfile
from collections.abc import Sequence

from django.http import FileResponse, Http404, HttpRequest, HttpResponse

from dashboard.alerts.core.git_bisect import script
from dashboard.alerts.core.report_files import ReportPart, pack
from dashboard.alerts.selectors import alert_page, since_which_build
from dashboard.alerts.selectors.reports import NOT_OURS
from dashboard.changes.pages import chosen
from dashboard.changes.selectors import alert_change, compared_change
from dashboard.changes.selectors.reports import report_of

_IN_MEMORY = 4 * 2**20  # bytes; what is longer lies in a temporary file


def bisect_script(request: HttpRequest, pk: int) -> HttpResponse:
    """The script that `git bisect run` takes."""
    alert = chosen.main_or_404(request, pk).alert
    task = since_which_build.bisect_task(alert, alert_page.reproduce(alert))
    if task is None:
        raise Http404("The commits, the levels or the command of this alert are not known.")
    headers = {"Content-Disposition": f'attachment; filename="bisect-alert-{pk}.sh"'}
    return HttpResponse(script(task), content_type="text/x-shellscript", headers=headers)


def alert_files(request: HttpRequest, pk: int) -> FileResponse:
    """The issue and its files as one zip, made of what is kept now."""
    main = chosen.main_or_404(request, pk)
    if main.alert.series.benchmark.imported:
        raise Http404(NOT_OURS)
    group, rows = chosen.alert_rows(pk)
    shown = alert_change.shown(group, rows, main, "report")
    return _zip(report_of(shown, main).files, f"compilewatch-alert-{pk}.zip")


def change_files(request: HttpRequest) -> FileResponse:
    """The same zip, of a change without an alert."""
    if chosen.is_of_case(request):
        shown = compared_change.shown(*chosen.compared_row(request))
    elif jobs := chosen.two_jobs(request):
        shown = jobs
    else:
        raise Http404("The address names neither a case of two builds nor two jobs.")
    if shown.subject.is_imported:
        raise Http404(NOT_OURS)
    return _zip(report_of(shown, None).files, "compilewatch-change.zip")


def _zip(files: Sequence[ReportPart], name: str) -> FileResponse:
    # FileResponse closes the file, which removes it
    target = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    pack(target, files)
    target.seek(0)
    return FileResponse(target, as_attachment=True, filename=name, content_type="application/zip")
