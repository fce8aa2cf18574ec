"""Parts that the admin pages share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from dashboard.models import Machine, Track
from dashboard.ui.admin.widgets import Picker

Apply = Callable[[QuerySet[Any]], str]


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences on what a form would do, and on what is odd about it."""

    facts: Sequence[str]
    warnings: Sequence[str] = ()


class PlainChoicesAdmin(ModelAdmin):
    """Chooses rows of other tables, and has no buttons that change or delete those."""

    def formfield_for_dbfield(self, *args: Any, **options: Any) -> forms.Field | None:
        field: forms.Field | None = super().formfield_for_dbfield(*args, **options)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field


class PickersAdmin(ModelAdmin):
    """Chooses many rows with pickers: Django's two lists side by side move the page."""

    def formfield_for_manytomany(self, db_field: Any, *args: Any, **options: Any) -> Any:
        field = super().formfield_for_manytomany(db_field, *args, **options, widget=Picker())
        field.help_text = db_field.help_text  # no "Hold down Control"
        return field


class BeginningAdmin(PlainChoicesAdmin):
    """For forms that begin something: one button, which says what; nothing is only saved."""

    begins: str

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        page: HttpResponse = super().add_view(
            request, form_url, {"begins": self.begins, **(extra_context or {})}
        )
        return page


def preview_response(
    request: HttpRequest, form: forms.BaseForm, sentences: Callable[[], Sentences]
) -> HttpResponse:
    """Render what the posted form would do, as lines of HTML, or why it would do nothing."""
    lines = sentences() if form.is_valid() else Sentences(_reasons(form))
    context = {"sentences": lines.facts, "warnings": lines.warnings}
    return render(request, "admin/preview.html", context)


def _reasons(form: forms.BaseForm) -> list[str]:
    """List why the form does nothing: what is not filled in yet, as one line, and what is wrong."""
    missing, reasons = list[str](), list[str]()
    for name, errors in form.errors.as_data().items():
        label = str(form[name].label) if name in form.fields else ""
        for error in errors:
            if error.code == "required":
                missing.append(label.lower())
            else:
                reasons += [f"{label}: {text}" if label else text for text in error.messages]
    return [f"Still to choose: {', '.join(missing)}.", *reasons] if missing else reasons


class WithoutHiddenForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """Offers no hidden machine or track, but those that what is edited has already."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, field in self.fields.items():
            if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
                continue
            if field.queryset.model in (Machine, Track):
                own = self.initial.get(name) if self.instance.pk else None
                keys = [row.pk for row in own] if isinstance(own, list) else [own]
                field.queryset = field.queryset.filter(Q(hidden=False) | Q(pk__in=keys))


class ReadOnlyAdmin(ModelAdmin):
    """For tables that only workers and services write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_delete_permission = has_change_permission


def confirmed_action(description: str, permission: str, question: str) -> Callable[[Any], Any]:
    """Make a method an action that asks `question` first; the method returns what it did."""

    def decorate(apply: Callable[[Any, HttpRequest, QuerySet[Any]], str]) -> Any:
        @admin.action(description=description, permissions=[permission])
        @wraps(apply)
        def act(page: Any, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
            deed = partial(apply, page, request)
            return confirmed(page, request, chosen, question=question, apply=deed)

        return act

    return decorate


def confirmed(
    page: ModelAdmin, request: HttpRequest, chosen: QuerySet[Any], *, question: str, apply: Apply
) -> HttpResponse | None:
    """Ask `question` on a page of its own; on yes, `apply` and show what it returns."""
    if request.POST.get("confirmed"):
        messages.success(request, apply(chosen))
        return None
    context = {
        **page.admin_site.each_context(request),
        "title": question,
        "opts": page.model._meta,
        "chosen": chosen,
        "action": request.POST["action"],
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
