"""Results that an import brings, and which of them are here already."""

import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.language.contracts import Document
from dashboard.language.metrics import METRICS
from dashboard.models import Job, Purpose, Result
from dashboard.results.core.result_format import ResultDocument

PLACE = ("run__track__key", "run__machine__key")
HARDWARE = ("gpu", "cpu", "cores")


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file as it came: where from, its bytes, gzip or plain, and the files its job left."""

    name: str
    body: bytes
    artifacts: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """A checked document and the id that its job has or would have."""

    source: str
    digest: str
    job_id: uuid.UUID
    result: ResultDocument
    artifacts: Sequence[Path]


@dataclass(slots=True)
class ImportReport:
    """Outcome of an import: counts, and (source, reason) of what it refused.

    existing: results that were here already; elsewhere: (track, machine) of those of them that are
    not where this import would put them. read: results by format; left_out: metrics that the
    site does not have, how often. artifacts: files of jobs that are kept. series: ids of those that
    have changed.
    """

    added: int = 0
    existing: int = 0
    elsewhere: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)
    read: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    artifacts: int = 0
    series: set[int] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        """True if the files had nothing that may be a result."""
        return not (self.added or self.existing or self.refused or self.left_out)


def leave_out_repeats(
    imports: Iterable[CheckedImport], report: ImportReport
) -> list[CheckedImport]:
    """Each result once; its repeats count as existing."""
    by_id: dict[uuid.UUID, CheckedImport] = {}
    for result in imports:
        report.existing += result.job_id in by_id
        by_id.setdefault(result.job_id, result)
    return list(by_id.values())


def leave_out_existing(
    imports: list[CheckedImport], place: tuple[str, str], report: ImportReport
) -> list[CheckedImport]:
    """Return those that are not here yet; the report says where the others are.

    A result may have been imported before, also by a version that read more or less of its file, or
    delivered by the worker that measured it. place: (track, machine) of this import; machine is
    empty where each result says it.
    """
    ids_of = {each.job_id: {each.job_id, *measured_job_id(each.result)} for each in imports}
    by_id = Result.objects.filter(pk__in=set[uuid.UUID]().union(*ids_of.values()))
    places = {pk: where for pk, *where in by_id.values_list("pk", *(f"job__{f}" for f in PLACE))}
    earlier = earlier_imports(imports)
    new = []
    for each in imports:
        stored_at = [places[job_id] for job_id in ids_of[each.job_id] if job_id in places]
        for document, *where in earlier.get(case_of(each.result.job), []):
            if is_same_measurement(document, each.result.document):
                stored_at.append(where)
        if not stored_at:
            new.append(each)
            continue
        report.existing += 1
        track, machine = stored_at[0]
        if (track, machine) != (place[0], place[1] or machine):
            report.elsewhere[track, machine] += 1
    return new


def measured_job_id(result: ResultDocument) -> list[uuid.UUID]:
    """The id of the job that was measured; none where a job made by hand has no UUID."""
    try:
        return [uuid.UUID(result.job["job_id"])]
    except ValueError:
        return []


def earlier_imports(imports: Iterable[CheckedImport]) -> Mapping[tuple[str, ...], list[Any]]:
    """Documents, tracks and machines of what was imported of these cases, builds and times."""
    foreign = [each.result for each in imports if "imported" in each.result.job]
    jobs = Job.objects.filter(
        run__purpose=Purpose.IMPORT,
        planned_at__in={result.planned_at for result in foreign},
        benchmark__name__in={result.benchmark["name"] for result in foreign},
        result__isnull=False,
    )
    by_case = defaultdict(list)
    for document, *where in jobs.values_list("result__document", *PLACE):
        by_case[case_of(document["job"])].append((document, *where))
    return by_case


def case_of(job: Document) -> tuple[str, ...]:
    return tuple(str(job.get(key)) for key in ("benchmark", "config", "build", "planned_at"))


def is_same_measurement(earlier: Document, document: Document) -> bool:
    """Test whether both have the first value that they share, and the same hardware."""
    machines = earlier["environment"]["machine"], document["environment"]["machine"]
    if any(machines[0].get(key) != machines[1].get(key) for key in HARDWARE):
        return False
    if len({each["name"] for each in machines if "name" in each}) > 1:
        return False
    metrics = earlier["metrics"], document["metrics"]
    for key in METRICS:
        if key in metrics[0] and key in metrics[1]:
            # Another version may have converted a unit in another order
            return math.isclose(metrics[0][key]["value"], metrics[1][key]["value"])
    return bool(metrics[0] == metrics[1] and earlier["status"] == document["status"])
