"""Result files as an upload: what `manage.py import_results` does, without a shell."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from dashboard.language.wording import plural
from dashboard.models import Purpose, Run
from dashboard.models.catalog import TRACK_KEY
from dashboard.results.formats import Hints, Table, parse_metric_mapping, parse_table
from dashboard.results.services.change_imports import delete_import, move_import
from dashboard.results.services.import_existing import ImportReport
from dashboard.results.services.import_files import IN_ARCHIVES, UnreadableFile, sources_in
from dashboard.results.services.imports import import_results

KEY: dict[str, Any] = {"max_length": 60, "validators": [TRACK_KEY]}
_MOST_LISTED = 10  # refusals that are listed one by one


def optional_text(help_text: str, **options: Any) -> forms.CharField:
    options = {"widget": UnfoldAdminTextInputWidget, "max_length": 200, **options}
    return forms.CharField(required=False, help_text=help_text, **options)


class ImportForm(forms.Form):
    """A file of results, and where they belong."""

    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text="As the suite wrote it: .json, .jsonl.gz or .tar.gz; also the files of other "
        "tools. What is here already is left out.",
    )
    machine = optional_text("Its key. Empty: as the file names it, or its GPU or CPU.", **KEY)
    track = forms.CharField(
        initial="import",
        widget=UnfoldAdminTextInputWidget,
        help_text="The stream whose series these numbers join.",
        **KEY,
    )
    build = optional_text("Label of the build, for a file of another tool that names none.")
    at = forms.DateTimeField(
        required=False,
        label="Measured at",
        widget=UnfoldAdminTextInputWidget,
        help_text="For a file of another tool that does not say when, in UTC: 2026-11-21 03:00.",
    )
    config = optional_text(
        "For a file of another tool that names no way to execute: inductor.", max_length=60
    )
    metrics = optional_text(
        "Which of ours their metric is, one a line: Fwd Time (us)=latency_ms*0.001.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        max_length=None,
    )
    mapping = optional_text(
        "Of any other CSV or JSON: which columns are what (documentation, Import).",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
        max_length=None,
    )
    label = optional_text("")
    dry_run = forms.BooleanField(
        required=False, widget=UnfoldBooleanWidget, label="Only check, change nothing"
    )

    def clean_mapping(self) -> Table | None:
        text = self.cleaned_data["mapping"]
        try:
            return parse_table(text) if text.strip() else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_metrics(self) -> dict[str, tuple[str, float]]:
        lines = self.cleaned_data["metrics"].splitlines()
        try:
            return dict(parse_metric_mapping(line) for line in lines if line.strip())
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class ChangeForm(forms.Form):
    """One of the imports that were made, and where it goes."""

    what = forms.ChoiceField(label="Import", widget=UnfoldAdminSelectWidget)
    to_track = optional_text(
        "Its results move to this track. Their alerts are made again there.", **KEY
    )
    to_machine = optional_text("They move to this machine.", **KEY)
    delete = forms.BooleanField(
        required=False,
        label="Delete them for good",
        widget=UnfoldBooleanWidget,
        help_text="Series and alerts that have no other results go as well.",
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        field = cast(forms.ChoiceField, self.fields["what"])
        choices = []
        imports = Run.objects.filter(purpose=Purpose.IMPORT).values(
            "label", "track__key", "machine__key"
        )
        for each in imports.annotate(results=Count("jobs"), last=Max("pk")).order_by("-last"):
            place = f"track {each['track__key']}, machine {each['machine__key']}"
            text = f"{each['label']}: {plural(each['results'], 'result')}, {place}"
            choices.append((str(each["last"]), text))
        field.choices = choices

    def clean(self) -> None:
        moves = self.cleaned_data.get("to_track") or self.cleaned_data.get("to_machine")
        if bool(moves) == bool(self.cleaned_data.get("delete")):
            self.add_error("to_track", "Say where its results move to, or delete them.")

    def change(self) -> str:
        """Move or delete the import; the count in words."""
        last = Run.objects.get(pk=self.cleaned_data["what"])
        runs = Run.objects.filter(label=last.label, track=last.track, machine=last.machine)
        if self.cleaned_data["delete"]:
            return f"{plural(delete_import(runs=runs), 'result')} deleted."
        track, machine = self.cleaned_data["to_track"], self.cleaned_data["to_machine"]
        return f"{plural(move_import(runs=runs, track=track, machine=machine), 'result')} moved."


@permission_required("dashboard.add_run", raise_exception=True)
def import_page(request: HttpRequest) -> HttpResponse:
    """The form, and what came of it."""
    is_change = "what" in request.POST
    change_form = ChangeForm(request.POST if is_change else None)
    if is_change and request.user.has_perm("dashboard.delete_run") and change_form.is_valid():
        messages.success(request, change_form.change())
        return redirect("import_results")
    form = ImportForm(None if is_change else request.POST or None, request.FILES or None)
    if form.is_valid():
        try:
            show_report(request, import_upload(**form.cleaned_data), form.cleaned_data)
            return redirect("admin:dashboard_run_changelist")
        except UnreadableFile as problem:
            form.add_error("file", str(problem))
    context = {
        **admin.site.each_context(request),
        "title": "Import results",
        "opts": Run._meta,
        "form": form,
        "change_form": change_form,
    }
    return TemplateResponse(request, "admin/import_results.html", context)


def import_upload(*, file: "UploadedFile[bytes]", **options: Any) -> ImportReport:
    """The results of an upload, under its own name: its ending says what it is.

    Raises UnreadableFile.
    """
    hints = Hints(
        options.pop("build"),
        options.pop("at"),
        config=options.pop("config"),
        metrics=options.pop("metrics"),
        table=options.pop("mapping"),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(file.name or "results.json").name
        with path.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        return import_results(sources=sources_in(path), hints=hints, **options)


def show_report(request: HttpRequest, report: ImportReport, options: Mapping[str, Any]) -> None:
    """Report what became of the file, with a link to its results. options: of the form."""
    verb = "would be added" if options["dry_run"] else "added"
    counts = f"{report.added} {verb}, {report.existing} here already"
    counts = f"{counts}, {len(report.refused)} refused."
    if report.is_empty:
        messages.error(request, f"{options['file'].name} has no results. {IN_ARCHIVES}")
    elif report.added and not options["dry_run"]:
        page = f"{reverse('benchmarks')}?{urlencode({'track': options['track']})}"
        messages.success(request, format_html('{} <a href="{}">See them</a>', counts, page))
    else:
        messages.success(request, counts)
    if report.left_out:
        messages.warning(
            request,
            "Left out, because it is not known which metric of this site it is: "
            f"{', '.join(report.left_out)}.",
        )
    for (track, machine), count in report.elsewhere.items():
        messages.warning(
            request,
            f"{count} of them on track {track}, machine {machine}. Import results moves or "
            "deletes an import that is in the wrong place.",
        )
    for name, reason in report.refused[:_MOST_LISTED]:
        messages.error(request, f"{Path(name).name}: {reason}")
