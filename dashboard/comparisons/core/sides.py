"""A side of a comparison from result documents themselves, as the database makes it from theirs.
Pure.

So results that never reached a site are compared by the same statistics: `ratios.py`, `effects.py`,
`comparing.py`.
"""

import math
from collections.abc import Iterable, Sequence

from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key
from dashboard.comparisons.core.metric_effects import CaseSamples, Libraries
from dashboard.comparisons.core.ratios import Level, level, merged
from dashboard.results.core.result_format import Measurement, ResultDocument

# Libraries that make a benchmark's model, as in level_sql.py
OF_A_MODEL = ("diffusers", "transformers")
WIDTH = 3.919928  # of a 95 % interval, in standard errors

Taken = tuple[str, str, Measurement]  # the job, the device, and what it measured there


def side(results: Iterable[ResultDocument]) -> dict[Key, CaseMeasurements]:
    """What these results of one build say, each from a process of its own, in the order taken."""
    found: dict[Key, CaseMeasurements] = {}
    values: dict[tuple[Key, str, int, Libraries], list[Taken]] = {}
    for result in results:
        case = _case(result, len(found))
        key = Key(case.benchmark, case.config)
        measured = found.setdefault(key, CaseMeasurements(case))
        if result.status != "pass":
            measured.failures[result.status] = measured.failures.get(result.status, 0) + 1
            continue
        for metric, one in result.metrics.items():
            place = (key, metric, int(result.benchmark["version"]), libraries(result))
            values.setdefault(place, []).append((str(result.job["job_id"]), result.device, one))
    for (key, metric, version, names), measurements in values.items():
        found[key].parts.setdefault(metric, []).append(part(version, names, measurements))
    return found


def libraries(result: ResultDocument) -> Libraries:
    known = result.environment["libraries"]
    return tuple((name, known[name]) for name in OF_A_MODEL if known.get(name))


def part(version: int, names: Libraries, measurements: Sequence[Taken]) -> CaseSamples:
    """One metric under one benchmark version and library set: a value from each process."""
    values = [one.value for *_, one in measurements]
    return CaseSamples(
        version=version,
        libraries=names,
        level=merged([_level(device, one) for _, device, one in measurements])
        if min(values) > 0
        else None,
        n=len(values),
        least=min(values),
        most=max(values),
        mean=math.fsum(values) / len(values),
        job=measurements[-1][0],
    )


def _level(device: str, one: Measurement) -> Level:
    error = relative_error(one)
    return level([one.value], [] if error is None else [error], device)


def relative_error(one: Measurement) -> float | None:
    """The standard error within the process, of the logarithm; None where no interval tells it."""
    if one.low is None or one.high is None or not 0 < one.low < one.high:
        return None
    return math.log(one.high / one.low) / WIDTH


def _case(result: ResultDocument, place: int) -> ComparedCase:
    told = result.benchmark
    return ComparedCase(
        told["name"], result.job["config"], told["model"], told["family"], told["mode"], (place, 0)
    )
