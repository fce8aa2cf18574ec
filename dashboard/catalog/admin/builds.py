"""The form that adds a torch build, by version or as a variant."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldAdminURLInputWidget,
)

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.core.versions import version_order
from dashboard.catalog.services.builds import add_build, add_variant, index_addresses
from dashboard.models import TorchBuild

VARIANT_FIELDS = ("name", "env", "inductor")


class AddBuildForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """A build by its version, or a variant of one that is known."""

    FORM_FIELDS: ClassVar = ("version", "index_url", "base", *VARIANT_FIELDS)
    version = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="Of torch, as 2.13.0. Empty for a variant.",
    )
    index_url = forms.URLField(
        required=False,
        assume_scheme="https",
        widget=UnfoldAdminURLInputWidget,
        label="Index URL",
        help_text="Where it is installed from. Empty: the workers' own package index.",
    )
    base = forms.ModelChoiceField(
        TorchBuild.objects.filter(base=None),
        required=False,
        widget=UnfoldAdminSelectWidget,
        label="Variant of",
        help_text="Empty for a plain build. A variant runs in its environment, with the "
        "settings below.",
    )
    name = forms.CharField(
        required=False, widget=UnfoldAdminTextInputWidget, label="Name of the variant"
    )
    env = forms.JSONField(
        required=False,
        initial=dict,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        label="Environment variables",
        help_text='As {"TORCHINDUCTOR_MAX_AUTOTUNE": "1"}',
    )
    inductor = forms.JSONField(
        required=False,
        initial=dict,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        label="Inductor settings",
        help_text='Attributes of torch._inductor.config, as {"max_fusion_size": 1}',
    )
    added: TorchBuild
    may_choose_index = False  # workers run what they install from there

    class Meta:
        model = TorchBuild
        fields = ("version", "index_url", "base")

    def clean(self) -> dict[str, Any]:
        """Adds it: only the index knows whether there is such a version.

        Its answer is awaited in the admin's transaction, which holds no row yet.
        """
        cleaned = super().clean() or self.cleaned_data
        for name in ("env", "inductor"):
            if not isinstance(cleaned.get(name) or {}, dict):
                self.add_error(name, "Write an object, with names and their values.")
        index = (cleaned.get("index_url") or "").rstrip("/")
        if index and not self.may_choose_index and index not in index_addresses():
            known = ", ".join(index_addresses())
            self.add_error("index_url", f"Only an administrator may name another than {known}.")
        if not self.errors:
            self._refuse_other_half(cleaned)
        if not self.errors:
            try:
                self.added = self._add(cleaned)
            except PlanError as error:
                raise forms.ValidationError(str(error)) from None
        return cleaned

    def _refuse_other_half(self, cleaned: dict[str, Any]) -> None:
        """A plain build has no settings and a variant no version: neither is dropped in silence."""
        if cleaned["base"]:
            for field in ("version", "index_url"):
                if cleaned[field]:
                    self.add_error(field, "Leave it empty for a variant.")
        elif any(cleaned[field] for field in VARIANT_FIELDS):
            self.add_error(
                "base",
                "Choose the build that this is a variant of, or leave the name and the settings "
                "empty.",
            )
        elif not cleaned["version"]:
            self.add_error("version", "Give a version, or choose what it is a variant of.")

    def _add(self, cleaned: dict[str, Any]) -> TorchBuild:
        """Raises PlanError."""
        if not cleaned["base"]:
            return add_build(
                version=cleaned["version"], index_url=cleaned["index_url"], may_be_private=False
            )
        return add_variant(
            base=cleaned["base"], **{field: cleaned[field] for field in VARIANT_FIELDS}
        )

    def _post_clean(self) -> None:
        """The service makes the row: there is none here for Django's own checks."""


@admin.action(description="Compare", permissions=["view"])
def compare(
    admin_page: ModelAdmin, request: HttpRequest, chosen: QuerySet[TorchBuild]
) -> HttpResponse | None:
    """Opens the form for a comparison of the two selected builds, the older one as base."""
    if not request.user.has_perm("dashboard.add_comparison"):
        messages.error(
            request, "You may not start a comparison: ask for the permission “add comparison”."
        )
        return None
    if chosen.count() != 2:
        messages.error(request, f"Select two builds to compare; {chosen.count()} were selected.")
        return None
    base, new = sorted(chosen, key=lambda build: version_order(build.version))
    query = urlencode({"base": base.pk, "new": new.pk})
    return redirect(f"{reverse('admin:dashboard_comparison_add')}?{query}")
