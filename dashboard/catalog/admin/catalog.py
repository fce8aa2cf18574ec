"""Admin of what can be measured, with what, where. Benchmarks and configs are only shown."""

from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Model, URLField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget

from dashboard.catalog.admin.builds import AddBuildForm, compare
from dashboard.catalog.selectors.lookups import family_choices, size_choices
from dashboard.catalog.services.builds import discover_builds, index_addresses
from dashboard.models import Benchmark, Config, Machine, Requirements, TorchBuild, Track
from dashboard.ui.admin.base import ReadOnlyAdmin
from dashboard.ui.admin.widgets import Checkboxes, Picker

# Copied for each widget: Picker adds its classes to it
ONLY_CANDIDATES = {"data-only-when": f"kind={Track.Kind.TEST}"}
CHANGEABLE = ("git_sha", "channel", "released_on", "index_url")  # of a build: where it comes from


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "family",
        "model",
        "mode",
        "dtype",
        "shapes",
        "batch_size",
        "version",
        "retired",
    )
    list_filter = ("retired", "family", "size", "mode", "dtype", "shapes")
    search_fields = ("name",)


@admin.register(Config)
class ConfigAdmin(ReadOnlyAdmin):
    list_display = ("name", "label", "about", "retired")
    list_filter = ("retired",)
    search_fields = ("name", "label", "about")


class MachineForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """A machine; its default size is one that benchmarks have, else nothing could be measured."""

    default_size = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget(),
        help_text="The benchmarks of this size are its default selection.",
    )

    class Meta:
        model = Machine
        fields = ("key", "label", "device_kind", "default_size", "hidden", "timeout_s")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        size = self.fields.get("default_size")  # None: a viewer who may not change it
        if isinstance(size, forms.ChoiceField):
            size.initial = self.instance.default_size
            size.choices = size_choices(self.instance.default_size)


@admin.register(Machine)
class MachineAdmin(ModelAdmin):
    form = MachineForm
    list_display = ("key", "label", "device_kind", "default_size", "timeout_s", "hidden")
    list_filter = ("device_kind", "default_size", "hidden")
    search_fields = ("key", "label")


@admin.register(TorchBuild)
class TorchBuildAdmin(ModelAdmin):
    list_display = (
        "label",
        "version",
        "channel",
        "cuda",
        "triton",
        "released_on",
        "adopted",
        "settings",
    )
    list_filter = ("channel", "adopted")
    search_fields = ("label", "git_sha")
    actions = (compare,)
    actions_list = ("discover",)
    formfield_overrides: ClassVar = {URLField: {"assume_scheme": "https"}}
    compressed_fields = True

    def get_form(self, request: HttpRequest, obj: TorchBuild | None = None, **options: Any) -> Any:
        if obj is None:
            options["form"] = AddBuildForm
        form = super().get_form(request, obj, **options)
        form.may_choose_index = _may_choose_index(request)
        return form

    def get_fields(self, request: HttpRequest, obj: TorchBuild | None = None) -> Any:
        if obj is None:
            return AddBuildForm.FORM_FIELDS
        return [field.name for field in TorchBuild._meta.fields if field.name != "id"]

    def get_readonly_fields(self, request: HttpRequest, obj: TorchBuild | None = None) -> Any:
        """Fix all of a build but where it comes from: what was measured on it stays true."""
        if obj is None:
            return ()
        fixed = [name for name in self.get_fields(request, obj) if name not in CHANGEABLE]
        return fixed if _may_choose_index(request) else [*fixed, "index_url"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {}

    def save_model(self, request: HttpRequest, obj: TorchBuild, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=form.changed_data)
            return
        obj.pk = form.added.pk
        obj.refresh_from_db()

    @admin.display(description="Variant")
    def settings(self, build: TorchBuild) -> str:
        values = {**build.variant.get("env", {}), **build.variant.get("inductor", {})}
        return ", ".join(f"{name}={value}" for name, value in values.items())

    @action(description="Look for new builds", url_path="discover", permissions=["add"])
    def discover(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            hosts = [urlsplit(address).netloc.rpartition("@")[2] for address in index_addresses()]
            context = {
                **self.admin_site.each_context(request),
                "title": "Ask these package indexes for builds that are not known yet?",
                "opts": self.model._meta,
                "chosen": hosts,
            }
            return TemplateResponse(request, "admin/confirm_action.html", context)
        discovery = discover_builds()
        for problem in discovery.problems:
            messages.error(request, problem)
        new = ", ".join(map(str, discovery.added)) or "nothing that was not known already"
        messages.success(request, f"Found {new}.")
        return redirect("admin:dashboard_torchbuild_changelist")


def _may_choose_index(request: HttpRequest) -> bool:
    """Test whether this person may choose whose code workers run: an administrator."""
    return bool(request.user.has_perm("dashboard.add_modelrepository"))


# Kind of a track -> setting that finds its builds, and what a person reads without it
INDEXES = {
    Track.Kind.TEST: (
        "TEST_INDEX_URL",
        "No release candidates are looked for: set TEST_INDEX_URL to the index of PyTorch's test "
        "channel, and start the site again.",
    ),
    Track.Kind.NIGHTLY: (
        "NIGHTLY_INDEX_URL",
        "No nightlies are looked for: set NIGHTLY_INDEX_URL to the index of PyTorch's nightlies, "
        "and start the site again.",
    ),
}


class TrackForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """A track, and for one that does not move by itself the build where it stands."""

    machines = forms.ModelMultipleChoiceField(
        Machine.objects.filter(hidden=False),
        required=False,
        widget=Picker({**ONLY_CANDIDATES}),
        help_text="Where each candidate is compared with the newest release. None: on every "
        "machine with a worker.",
    )
    families = forms.MultipleChoiceField(
        choices=family_choices,
        required=False,
        widget=Checkboxes({**ONLY_CANDIDATES}),
        help_text="What is measured for it. None: the machine's default selection.",
    )

    class Meta:
        model = Track
        fields = (
            "key",
            "label",
            "kind",
            "build",
            "machines",
            "families",
            "hidden",
        )
        help_texts = {
            "kind": "stable, nightly and release candidates follow the newest build of their "
            "channel; pinned never moves: the control that shows when the machine moved.",
            "build": "Where it stands. stable, nightly and release candidates find it themselves.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("kind") == Track.Kind.PINNED and not cleaned.get("build"):
            self.add_error("build", "A pinned track needs the build that it is pinned to.")
        return cleaned


@admin.register(Track)
class TrackAdmin(ModelAdmin):
    form = TrackForm
    list_display = ("key", "label", "kind", "build", "hidden")
    list_filter = ("kind", "hidden")
    search_fields = ("key", "label")
    autocomplete_fields = ("build",)

    def save_model(self, request: HttpRequest, obj: Track, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        name, without = INDEXES.get(Track.Kind(obj.kind), ("", ""))
        if name and not getattr(settings, name):
            messages.warning(request, without)
        elif obj.kind == Track.Kind.TEST:
            messages.info(request, "The test index is asked for candidates every half hour.")


@admin.register(Requirements)
class RequirementsAdmin(ReadOnlyAdmin):
    """After one is deleted, the next job of its build resolves again."""

    list_display = ("build", "libraries", "platform", "created_at")
    list_filter = ("platform",)
    search_fields = ("build__label", "text")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("dashboard.delete_requirements"))
