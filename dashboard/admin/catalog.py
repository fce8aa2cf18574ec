"""What can be measured, with what, where. Benchmarks and configs come from the workers and are only shown."""

from django.contrib import admin
from unfold.admin import ModelAdmin

from dashboard.admin.base import ReadOnlyAdmin
from dashboard.admin.versions import compare
from dashboard.models import Benchmark, Config, Machine, TorchBuild, Track


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnlyAdmin):
    list_display = ("name", "family", "model", "mode", "dtype", "shapes", "batch_size", "version", "retired")
    list_filter = ("retired", "family", "size", "mode", "dtype", "shapes")
    search_fields = ("name",)


@admin.register(Config)
class ConfigAdmin(ReadOnlyAdmin):
    list_display = ("name", "label", "about", "retired")


@admin.register(Machine)
class MachineAdmin(ModelAdmin):
    list_display = ("key", "label", "device_kind", "default_size")
    search_fields = ("key", "label")


@admin.register(TorchBuild)
class TorchBuildAdmin(ModelAdmin):
    list_display = ("label", "version", "channel", "cuda", "triton", "released_on", "adopted")
    list_filter = ("channel", "adopted")
    search_fields = ("label", "git_sha")
    actions = (compare,)


@admin.register(Track)
class TrackAdmin(ModelAdmin):
    list_display = ("key", "label", "build")
    autocomplete_fields = ("build",)
