"""A side of a comparison from result documents themselves, as the database makes it from theirs.
Pure.

So results that never reached a site are compared by the same statistics: `matching.py`,
`tables.py`.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.comparisons.core.case_samples import CaseSamples, ProcessValue
from dashboard.comparisons.core.failures import UNSUPPORTED
from dashboard.comparisons.core.levels import Block, Level, level_of, merge_levels
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key
from dashboard.results.core.result_format import Measurement, ResultDocument
from dashboard.results.core.sessions import Sessions

# Libraries that make a benchmark's model, as in level_sql.py
MODEL_LIBRARIES = ("diffusers", "transformers")
BEFORE_MODEL = {"job", "import"}  # stages
INTERVAL_WIDTH = 3.919928  # of a 95% interval, in standard errors


class ProcessMeasurement(NamedTuple):
    """Measurement of one metric by one job. start: in seconds."""

    job: str
    block: Block
    start: float
    measurement: Measurement


def side_from_results(results: Iterable[ResultDocument]) -> dict[Key, CaseMeasurements]:
    """Collect a side from results of one build, in the order taken, each from its own process."""
    side: dict[Key, CaseMeasurements] = {}
    groups: dict[tuple[Key, str, int, Libraries], list[ProcessMeasurement]] = {}
    every = list(results)
    sessions = Sessions(every)
    for result in every:
        case = _case(result, len(side))
        measured = side.setdefault(case.key, CaseMeasurements(case))
        if result.status != "pass":
            status = _failure(result)
            measured.failures[status] = measured.failures.get(status, 0) + 1
            measured.messages[status] = result.message
            continue
        job = str(result.job["job_id"])
        block = Block(result.device, sessions.name(result))
        version = int(result.benchmark["version"])
        versions = result.environment["libraries"]
        libraries = tuple((name, versions[name]) for name in MODEL_LIBRARIES if versions.get(name))
        for metric, measurement in result.metrics.items():
            group = groups.setdefault((case.key, metric, version, libraries), [])
            start = result.planned_at.timestamp()
            group.append(ProcessMeasurement(job, block, start, measurement))

    for (key, metric, version, libraries), processes in groups.items():
        samples = case_samples(version, libraries, processes)
        side[key].samples.setdefault(metric, []).append(samples)
    return side


def _failure(result: ResultDocument) -> str:
    """The status word of a result that did not pass. Before there is a model, an import that fails
    and a process that dies, without an exception, are the environment's.
    """
    error = (result.document.get("error") or {}).get("type", "")
    is_environments = error in {"", "ImportError", "ModuleNotFoundError"}
    if is_environments and result.document.get("stage") in BEFORE_MODEL:
        return UNSUPPORTED
    return result.status


def case_samples(
    version: int, libraries: Libraries, processes: Sequence[ProcessMeasurement]
) -> CaseSamples:
    """One metric under one benchmark version and library set: a value from each process."""
    values = [process.measurement.value for process in processes]
    level = None
    if min(values) > 0:
        level = merge_levels(list(map(_level, processes)))
    return CaseSamples(
        version=version,
        libraries=libraries,
        level=level,
        n=len(values),
        least=min(values),
        most=max(values),
        mean=math.fsum(values) / len(values),
        job=processes[-1].job,
        processes=tuple(
            ProcessValue(each.block, each.start, each.measurement.value) for each in processes
        ),
    )


def _level(process: ProcessMeasurement) -> Level:
    """With the standard error within the process, of the logarithm, where it has an interval."""
    low, high = process.measurement.low, process.measurement.high
    errors = []
    if low is not None and high is not None and 0 < low < high:
        errors.append(math.log(high / low) / INTERVAL_WIDTH)
    return level_of([process.measurement.value], errors, process.block)


def _case(result: ResultDocument, place: int) -> ComparedCase:
    benchmark = result.benchmark
    return ComparedCase(
        benchmark=benchmark["name"],
        config=result.job["config"],
        model=benchmark["model"],
        family=benchmark["family"],
        mode=benchmark["mode"],
        place=(place, 0),
    )
