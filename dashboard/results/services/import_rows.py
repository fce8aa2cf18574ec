"""The rows that imported results belong to: benchmarks and configs, runs, machines, builds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from django.db.models import F

from dashboard.catalog.core.hardware import Hardware, hardware, machine_key
from dashboard.catalog.services.builds import settings_name, variant_label
from dashboard.catalog.services.machines import ensure_machine
from dashboard.catalog.services.suite_catalog import BENCHMARK_FIELDS
from dashboard.models import (
    Benchmark,
    Config,
    Environment,
    Job,
    Machine,
    Purpose,
    Run,
    RunState,
    TorchBuild,
    Track,
)
from dashboard.results.core.result_format import ResultDocument
from dashboard.results.core.sessions import Sessions, day_of
from dashboard.results.formats import v3
from dashboard.results.formats.documents import plain_word


class ImportCatalog:
    """The benchmarks and configs of a batch, by name.

    Those that no worker has brought are added, retired from planning.
    """

    def __init__(self, results: Collection[ResultDocument]) -> None:
        described = {result.benchmark["name"]: result.benchmark for result in results}
        new_benchmarks = []
        for name, facts in sorted(described.items()):
            fields = {key: facts[key] for key in BENCHMARK_FIELDS if key in facts}
            new_benchmarks.append(Benchmark(name=name, retired=True, imported=True, **fields))
        Benchmark.objects.bulk_create(new_benchmarks, ignore_conflicts=True)
        benchmarks = Benchmark.objects.filter(name__in=described)
        self.benchmarks = {benchmark.name: benchmark for benchmark in benchmarks}

        labels = {}
        for result in results:
            theirs = result.job.get("imported", {})
            config = result.job["config"]
            labels[config] = str(theirs.get("config", config))[:100]
            if theirs:
                self._keep_names(self.benchmarks[result.benchmark["name"]], config, theirs)
        new_configs = [
            Config(name=name, label=labels[name], retired=True) for name in sorted(labels)
        ]
        Config.objects.bulk_create(new_configs, ignore_conflicts=True)
        configs = Config.objects.filter(name__in=labels)
        for config in configs.filter(retired=True, label=F("name")):
            if plain_word(labels[config.name]) == config.name != labels[config.name]:
                Config.objects.filter(pk=config.pk).update(label=labels[config.name])
        self.configs = {config.name: config for config in configs}

    def _keep_names(self, benchmark: Benchmark, config: str, theirs: Mapping[str, str]) -> None:
        """Store what their file calls a benchmark and its config, once."""
        names = benchmark.imported_configs
        is_claim = names.get(config) == ""
        if not benchmark.imported or (benchmark.original and not is_claim):
            return
        benchmark.original = theirs["benchmark"]
        if is_claim:
            names[config] = theirs["config"]
        benchmark.save(update_fields=["original", "imported_configs"])


class ImportRuns:
    """The runs of one import, each made for its first result: one for each build on each machine,
    and one more for what continued a session of the day before.
    """

    def __init__(self, machine: str, track: str, label: str) -> None:
        self.place = track, machine
        self._machine, self._track, self._label = machine, track, label
        self._runs: dict[tuple[str, str, str], Run] = {}
        self._machines: dict[str, Hardware] = {}
        self.sessions = Sessions()

    def run_of(self, result: ResultDocument) -> Run:
        name = self.sessions.name(result)
        session = "" if name == day_of(result.planned_at).isoformat() else name
        described = str(result.environment["machine"])
        if described not in self._machines:
            self._machines[described] = machine_of(result)
        machine = self._machines[described]
        if self._machine:
            machine = replace(machine, key=self._machine)
        key = build_label(result), machine.key, session
        if key not in self._runs:
            self._runs[key] = self._make(result, machine, session)
        return self._runs[key]

    def clear(self) -> None:
        self._runs.clear()

    def date(self, jobs: Sequence[Job]) -> None:
        """Date the runs by what was measured in them, not by their import."""
        for job in jobs:
            run, finished_at = job.run, job.finished_at or job.planned_at
            if run.finished_at is None:
                run.created_at, run.finished_at = job.planned_at, finished_at
            run.created_at = min(run.created_at, job.planned_at)
            run.finished_at = max(run.finished_at, finished_at)
        runs = {job.run.pk: job.run for job in jobs}
        Run.objects.bulk_update(runs.values(), ["created_at", "finished_at"])

    def _make(self, result: ResultDocument, machine: Hardware, session: str) -> Run:
        build = build_of(result)
        return Run.objects.create(
            label=self._label,
            purpose=Purpose.IMPORT,
            session=session,
            state=RunState.COMPLETED,
            build=build,
            track=ensure_track(self._track, build),
            machine=ensure_machine(machine),
        )


def ensure_track(key: str, build: TorchBuild) -> Track:
    # In one series with plain builds, variants would mislead
    own_key = f"{key}-variants" if build.variant else key
    new = {"label": "Imported results", "kind": Track.Kind.VERSIONS}
    return Track.objects.get_or_create(key=own_key, defaults=new)[0]


def machine_of(result: ResultDocument) -> Hardware:
    """Named after its hardware; or as another tool's file names it.

    A name that loses letters as a key gets a digest, unless earlier imports know it without one; so
    does the name of a runner, unless its results were filed under its hardware.
    """
    machine = result.environment["machine"]
    of_hardware = hardware(gpu=machine.get("gpu"), cpu=machine["cpu"], cores=machine["cores"])
    name = machine.get("name", "")
    if not name:
        return _own_hardware(of_hardware, machine) if "imported" in result.job else of_hardware
    key = own_key = machine_key(name)
    if own_key != name:
        own_key = f"{own_key[:51]}-{sha256(name.encode()).hexdigest()[:8]}"
    label = of_hardware.label if machine["cores"] > 1 and own_key == name else name
    if Machine.objects.filter(key=own_key).exists():
        return replace(of_hardware, key=own_key, label=label)
    if own_key != key and _names(key) == {name}:
        own_key = key
    elif result.suite_version == v3.TOOL and _names(of_hardware.key, machine) - {name} == {None}:
        own_key = of_hardware.key
    return replace(of_hardware, key=own_key, label=label)


def _own_hardware(hardware: Hardware, described: Mapping[str, Any]) -> Hardware:
    """Append a digest where its key is of other hardware, as of another CPU with so many cores."""
    labels = Machine.objects.filter(key=hardware.key).values_list("label", flat=True)
    if set(labels) <= {hardware.label} or _names(hardware.key, described):
        return hardware
    digest = sha256(hardware.label.encode()).hexdigest()[:8]
    return replace(hardware, key=f"{hardware.key[:51]}-{digest}")


def _names(key: str, described: Mapping[str, Any] | None = None) -> set[str | None]:
    """Names that imported results of a machine, and of this hardware, have for it."""
    where = {f"document__machine__{fact}": value for fact, value in (described or {}).items()}
    environments = Environment.objects.filter(
        results__job__run__machine__key=key, results__job__run__purpose=Purpose.IMPORT
    )
    same = environments.filter(**{fact: where[fact] for fact in where if "name" not in fact})
    return set(same.values_list("document__machine__name", flat=True).distinct())


def build_label(result: ResultDocument) -> str:
    """As the site that planned the job called it; else torch's version, and what the job varies."""
    version, variant = result.environment["torch"]["version"], result.job.get("variant")
    if result.job.get("build"):
        return str(result.job["build"])
    if variant:
        return str(variant_label(version, settings_name(variant), variant))
    return str(version)


def build_of(result: ResultDocument) -> TorchBuild:
    torch, variant = result.environment["torch"], result.job.get("variant")
    fields = {key: torch.get(key) or "" for key in ("version", "git_sha", "cuda", "triton")}
    if variant:
        base, _ = TorchBuild.objects.get_or_create(label=torch["version"], defaults=fields)
        existing = TorchBuild.objects.filter(base=base, variant=variant).order_by("pk").first()
        if existing and not result.job.get("build"):
            return existing
        fields |= {"base": base, "variant": variant}
    return TorchBuild.objects.get_or_create(label=build_label(result), defaults=fields)[0]
