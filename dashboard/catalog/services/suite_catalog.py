"""Takes in what the suite describes: benchmarks, configs and the torch builds of a worker."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import jsonschema_rs
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model
from packaging.version import InvalidVersion

from dashboard.catalog.core.plan import OWN_SIZE
from dashboard.catalog.core.versions import channel_of, parse_version
from dashboard.catalog.selectors.lookups import measuring_machines
from dashboard.language.contracts import Document, Refused, check_schema, read_schema
from dashboard.models import Benchmark, Config, Machine, TorchBuild

Row = TypeVar("Row", bound=Model)

REQUIRED_BENCHMARK_FIELDS = (
    "version",
    "model",
    "family",
    "size",
    "mode",
    "dtype",
    "shapes",
    "batch_size",
)
BENCHMARK_FIELDS = (*REQUIRED_BENCHMARK_FIELDS, "item", "default_configs", "about")
CONFIG_FIELDS = ("label", "about")
BUILD_FIELDS = ("version", "git_sha", "cuda", "triton", "adopted")
TEXT = {"type": "string"}


class CatalogError(ValueError):
    """A catalog or build that cannot be read; the text says where."""


def sync_catalog(
    *, catalog: Document, retire: bool = False, machine: Machine | None = None
) -> None:
    """Add and update benchmarks and configs, described as `benchmarks_suite list --json` does.

    retire: hide those that are not in it from planning. Right for the one suite of a site, wrong
        for a worker's hello, which may come from an older suite than another worker's.
    machine: whose worker says so; what workers of another machine brought stays as it is.
    Raises CatalogError.
    """
    benchmarks = _read_benchmarks(catalog)
    configs = _read_configs(catalog)
    about_row = ("position", "retired", "brought_by")
    with transaction.atomic():
        _upsert(Benchmark, benchmarks, [*BENCHMARK_FIELDS, *about_row, "imported"], machine)
        _upsert(Config, configs, [*CONFIG_FIELDS, *about_row], machine)
        if retire:
            _retire_others(Benchmark, benchmarks)
            _retire_others(Config, configs)


def without_repositories(catalog: Document) -> Document:
    """A worker's catalog without the names that a repository has: its pinned commit counts."""
    entries = catalog.get("benchmarks")
    from_repositories = Benchmark.objects.filter(repository__isnull=False, retired=False)
    taken = set(from_repositories.values_list("name", flat=True))
    if not taken or not isinstance(entries, list):
        return catalog

    kept = [
        entry
        for entry in entries
        if not (isinstance(entry, Mapping) and entry.get("name") in taken)
    ]
    return {**catalog, "benchmarks": kept}


def record_own_models(*, machine: Machine, catalog: Document) -> None:
    """Note which own models, beyond those of repositories, workers of this machine have.

    A model that no machine has any more is no longer planned.
    """
    offered = {entry["name"] for entry in catalog["benchmarks"] if entry.get("source")}
    own_models = Benchmark.objects.filter(size=OWN_SIZE, repository__isnull=True)
    for benchmark in own_models.select_for_update().order_by("pk"):
        machines = [key for key in benchmark.machines if key != machine.key]
        if benchmark.name in offered:
            machines = sorted([*machines, machine.key])
        retired = not machines
        if machines != benchmark.machines or retired != benchmark.retired:
            benchmark.machines = machines
            benchmark.retired = retired
            if benchmark.brought_by_id == machine.pk and machine.key not in machines:
                benchmark.brought_by = None
            benchmark.save(update_fields=["machines", "retired", "brought_by"])


def sync_build(*, build: Document) -> TorchBuild:
    """Add a torch build as a worker describes it, or fill in what is not known of it yet.

    Raises CatalogError.
    """
    if not isinstance(build, Mapping) or not build.get("label") or not build.get("version"):
        raise CatalogError(f"builds: {repr(build)[:200]} needs a label and a version")
    version = _checked_version(str(build["label"]), str(build["version"]))
    fields = {key: build[key] for key in BUILD_FIELDS if build.get(key) is not None}
    fields["version"] = version
    _check_entry({"label": build["label"], **fields}, _build_validator(), "builds")
    _checked(TorchBuild(label=build["label"], **fields), "builds")
    defaults = {**fields, "channel": channel_of(version)}
    row, is_new = TorchBuild.objects.get_or_create(label=build["label"], defaults=defaults)
    if not is_new:
        for key, value in fields.items():
            setattr(row, key, getattr(row, key) or value)
        row.save(update_fields=[*fields])
    return row


def _checked_version(label: str, version: str) -> str:
    """The version as it is printed: other workers are asked to install it.

    The label is the version, or has what it was built for after it, as 2.13.0+cu130 of 2.13.0.
    Raises CatalogError.
    """
    try:
        parsed = parse_version(version)
        is_its_label = parse_version(label).public == parsed.public and label == label.strip()
    except InvalidVersion:
        is_its_label = False
    if not is_its_label:
        raise CatalogError(
            f"builds: {label[:200]!r} of version {version[:200]!r} is not a version of torch with "
            "its label, as 2.13.0+cu130 of 2.13.0"
        )
    return str(parsed)


def _read_benchmarks(catalog: Document) -> list[Benchmark]:
    rows = []
    for index, entry in enumerate(_entries(catalog, "benchmarks")):
        where = f"catalog.benchmarks[{index}]"
        missing = [key for key in ("name", *REQUIRED_BENCHMARK_FIELDS) if key not in entry]
        if missing:
            raise CatalogError(f"{where} ({entry.get('name', '?')}) lacks {', '.join(missing)}")
        _check_entry(entry, _benchmark_validator(), where)
        fields = {key: entry[key] for key in BENCHMARK_FIELDS if key in entry}
        row = Benchmark(name=entry["name"], position=entry.get("position", index), **fields)
        rows.append(_checked(row, where))
    return rows


def _read_configs(catalog: Document) -> list[Config]:
    rows = []
    for index, entry in enumerate(_entries(catalog, "configs")):
        where = f"catalog.configs[{index}]"
        if "name" not in entry:
            raise CatalogError(f"{where} lacks name")
        _check_entry(entry, _config_validator(), where)
        row = Config(
            name=entry["name"],
            label=entry.get("label", entry["name"]),
            about=entry.get("about", ""),
            position=entry.get("position", index),
        )
        rows.append(_checked(row, where))
    return rows


def _entries(catalog: Document, key: str) -> list[Document]:
    entries = catalog.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise CatalogError(
            f"catalog.{key} must be a list of objects, as `python -m benchmarks_suite list "
            "--json` prints"
        )
    return entries


def _check_entry(
    entry: Document, validator: jsonschema_rs.Draft202012Validator, where: str
) -> None:
    """Raise CatalogError for a name that no job file may have, and for a field of another type."""
    try:
        check_schema(dict(entry), validator, where)
    except Refused as error:
        raise CatalogError(str(error)) from None


@cache
def _benchmark_validator() -> jsonschema_rs.Draft202012Validator:
    names = read_schema("job.v1.json")["properties"]
    texts = ("model", "family", "size", "mode", "dtype", "shapes", "item", "about")
    fields = dict.fromkeys(texts, TEXT)
    configs = {"type": "array", "items": names["config"]}
    named = {"name": names["benchmark"], "default_configs": configs}
    return jsonschema_rs.Draft202012Validator({"properties": {**fields, **named}})


@cache
def _config_validator() -> jsonschema_rs.Draft202012Validator:
    name = read_schema("job.v1.json")["properties"]["config"]
    return jsonschema_rs.Draft202012Validator(
        {"properties": {"name": name, "label": TEXT, "about": TEXT}}
    )


@cache
def _build_validator() -> jsonschema_rs.Draft202012Validator:
    fields = dict.fromkeys(("label", "version", "git_sha", "cuda", "triton"), TEXT)
    return jsonschema_rs.Draft202012Validator({"properties": fields})


def _checked(row: Row, where: str) -> Row:
    """The row, when every field can be stored. Raises CatalogError."""
    try:
        row.clean_fields(exclude=["default_configs"])  # may be empty
    except ValidationError as error:
        problems = [f"{field}: {texts[0]}" for field, texts in error.message_dict.items()]
        raise CatalogError(f"{where}: {'; '.join(problems)}") from None
    return row


def _upsert(
    model: Any, rows: Sequence[Any], fields: Sequence[str], machine: Machine | None
) -> None:
    by_name = {row.name: row for row in rows}
    if machine is not None:
        others = measuring_machines().exclude(pk=machine.pk)
        of_others = model.objects.filter(name__in=by_name, brought_by__in=others)
        for name in of_others.values_list("name", flat=True):
            del by_name[name]
        for row in by_name.values():
            row.brought_by = machine
    in_order = [by_name[name] for name in sorted(by_name)]  # one order: no deadlock
    model.objects.bulk_create(
        in_order, update_conflicts=True, unique_fields=["name"], update_fields=fields
    )


def _retire_others(model: Any, rows: Sequence[Any]) -> None:
    model.objects.exclude(name__in=[row.name for row in rows]).update(retired=True)
