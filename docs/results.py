"""Writes docs/results.md from the recorded results: python docs/results.py [FOLDER]. A test holds
that it is current.

The tables are made of tests/data/h100_*, h200_* and gpu_history; what they say in words is in
docs/results.template, and has to be read again when they change. A session may leave beside its
results what a script printed there (`yardstick.md`, `drill.md`, `int8_parts.md`,
`captioning_parts.md`). The newest of each is shown.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks_suite.commands.batch import measurement_s  # noqa: E402
from benchmarks_suite.harness import recorded  # noqa: E402
from dashboard.comparisons.core.matching import compare_latency  # noqa: E402
from dashboard.comparisons.core.sides import side_from_results  # noqa: E402
from dashboard.results.core.result_format import parse_result  # noqa: E402

RECORDED = ROOT / "tests" / "data"
Document = dict[str, Any]
PHASES = ("dynamo", "aot", "inductor", "triton")
VERDICTS = {"better": "faster", "worse": "slower", "same": "the same", "unknown": "not known"}
STARTS = ("cold", "warm", "restored")
# (benchmark, config) -> release -> processes
Groups = dict[tuple[str, str], dict[str, list[Document]]]
DISTRIBUTED = "distributed"  # the family that spans GPUs
LISTED = 4  # so many processes are told one by one

TEMPLATE = ROOT / "docs" / "results.template"
NOT_YET = "Not measured yet on a GPU: `{command}` prints the table."


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    sessions = {
        path: list(recorded.read(path))
        for path in (*RECORDED.glob("h[12]00_*"), RECORDED / "gpu_history")
    }
    in_order = sorted(
        sessions, key=lambda path: max(str(one["started_at"]) for one in sessions[path])
    )
    (folder / "results.md").write_text(page({path: sessions[path] for path in in_order}))


def page(sessions: Mapping[Path, Sequence[Document]]) -> str:
    """The page from what each folder holds, the newest last."""
    documents = list(chain(*sessions.values()))
    plain = [one for one in documents if not one["job"].get("variant")]
    several = [one for one in plain if one["benchmark"]["family"] == DISTRIBUTED]
    groups = _grouped(one for one in plain if one not in several)
    tables = {
        make.__name__: _table(make(groups)) for make in (releases, configs, starts, phases, spread)
    }
    return TEMPLATE.read_text().format(
        **tables,
        distributed=_table(distributed(_grouped(several))),
        ramp=ramp(plain),
        told=_told(documents),
        cost=cost(documents),
        newest_share=f"{share([*filter(_compiled_by_themselves, sessions.values())][-1]):.0%}",
        int8_parts=_kept(sessions, "int8_parts.md", "python -m tests.perf.int8_parts"),
        captioning_parts=_kept(
            sessions, "captioning_parts.md", "python -m tests.perf.captioning_parts"
        ),
        yardstick=_kept(sessions, "yardstick.md", "python tests/perf/yardstick.py RESULTS"),
        drill=_kept(sessions, "drill.md", "python -m tests.end_to_end.gpu_drill judge OUT"),
    )


def _grouped(documents: Iterable[Document]) -> Groups:
    groups: Groups = defaultdict(lambda: defaultdict(list))
    for one in sorted(documents, key=lambda one: str(one["started_at"])):
        groups[recorded.case(one)][_release(one)].append(one)
    return groups


def releases(groups: Groups) -> Iterator[Sequence[str]]:
    """Cases of the two newest releases: the step of each process, and the change as the site's
    comparison judges it.
    """
    yield (
        "benchmark",
        "config",
        "step, ms",
        "change (95 % interval)",
        "verdict",
        "eager step, ms",
        "speedup",
    )
    old, new = sorted({release for by_release in groups.values() for release in by_release})[-2:]
    sides = (
        side_from_results(
            parse_result(one) for by in groups.values() for one in by.get(release, ())
        )
        for release in (old, new)
    )
    for row in compare_latency(*sides, any_libraries=True).rows:
        by_release = groups[row.case.benchmark, row.case.config]
        step, eager, speedup = (
            _arrow(by_release[old], by_release[new], metric, digits)
            for metric, digits in (("latency_ms", 4), ("eager_latency_ms", 4), ("speedup", 3))
        )
        verdict = f"{VERDICTS[row.effect.verdict]} {row.changed_part}".strip()
        yield (
            _short(row.case.benchmark),
            row.case.config,
            step,
            row.effect.change.text,
            verdict,
            eager,
            speedup,
        )


def configs(groups: Groups) -> Iterator[Sequence[str]]:
    yield (
        "benchmark",
        "config",
        "speedup",
        "cold start, s",
        "peak memory, GB (eager)",
        "break-even, steps",
    )
    for (benchmark, config), by_release in sorted(groups.items(), key=lambda group: group[0][0]):
        newest = by_release[max(by_release)]
        if config == "eager":
            continue
        cold = _median(newest, "cold_start_s") or _median(
            list(chain(*by_release.values())), "cold_start_s"
        )
        memory, eager = _median(newest, "peak_memory_gb"), _median(newest, "eager_peak_memory_gb")
        shown = f"{_digits(memory, 3)} ({_digits(eager, 3)})"
        speedup, pays = _median(newest, "speedup"), _median(newest, "break_even_steps")
        yield (
            _short(benchmark),
            config,
            _digits(speedup, 3),
            _digits(cold, 3),
            shown,
            _digits(pays, 2),
        )


def starts(groups: Groups) -> Iterator[Sequence[str]]:
    """The processes that had all three starts."""
    yield "benchmark", "config", "torch", "cold", "warm", "restored", "artifacts, MB"
    for (benchmark, config), by_release in groups.items():
        for release, processes in sorted(by_release.items()):
            complete = [one for one in processes if set(STARTS) <= one.get("starts", {}).keys()]
            if complete:
                times = [_digits(_median(complete, f"{kind}_start_s"), 3) for kind in STARTS]
                yield (
                    _short(benchmark),
                    config,
                    release,
                    *times,
                    _digits(_median(complete, "artifact_size_mb"), 3),
                )


def phases(groups: Groups) -> Iterator[Sequence[str]]:
    """The last process of each case, in the newest release, that had a cold start."""
    yield (
        "benchmark",
        "config",
        "cold start, s",
        "dynamo",
        "AOTAutograd",
        "Inductor",
        "kernels",
        "the rest",
    )
    for (benchmark, config), by_release in groups.items():
        colds = [
            one
            for release in sorted(by_release)
            for one in by_release[release]
            if "cold" in one.get("starts", {})
        ]
        if not colds:
            continue
        cold = _median(colds[-1:], "cold_start_s") or 0.0
        parts = [_median(colds[-1:], f"compile_{phase}_s") or 0.0 for phase in PHASES]
        shares = [f"{part / cold:.0%}" for part in (*parts, max(0.0, cold - sum(parts)))]
        yield _short(benchmark), config, _digits(cold, 3), *shares


def spread(groups: Groups) -> Iterator[Sequence[str]]:
    """Releases of cases with several processes; between processes as coefficients of variation."""
    yield (
        "benchmark",
        "config",
        "torch",
        "processes (machines)",
        "within one, ±",
        "between, one machine",
        "between, all",
        "speedup, one machine",
    )
    for (benchmark, config), by_release in groups.items():
        for release, processes in sorted(by_release.items()):
            if len(processes) > 1:
                machines = list(_by_machine(processes))
                count = f"{len(processes)} ({len(machines)})"
                between = (
                    _variation(machines),
                    _variation([processes]),
                    _variation(machines, "speedup"),
                )
                yield (
                    _short(benchmark),
                    config,
                    release,
                    count,
                    *map(_percent, (_within(processes), *between)),
                )


def distributed(groups: Groups) -> Iterator[Sequence[str]]:
    """Memory is that of one GPU."""
    yield (
        "benchmark",
        "eager step, ms",
        "compiled step, ms",
        "speedup",
        "cold start, s",
        "peak memory, GB (eager)",
    )
    for (benchmark, _), by_release in groups.items():
        for processes in by_release.values():
            steps = [_each(processes, metric, 4) for metric in ("eager_latency_ms", "latency_ms")]
            memory, eager = (
                _digits(_median(processes, f"{arm}peak_memory_gb"), 3) for arm in ("", "eager_")
            )
            cold = _digits(_median(processes, "cold_start_s"), 3)
            yield (
                _short(benchmark),
                *steps,
                _each(processes, "speedup", 3),
                cold,
                f"{memory} ({eager})",
            )


def ramp(documents: Sequence[Document]) -> str:
    """What the beginning of a sample costs: told from steps timed one by one, where the GPU kept
    its clock.
    """
    idle_ms, percents = [], []
    for one in documents:
        arm, single = (one["samples"].get(name, {}) for name in ("compiled", "compiled_single"))
        if one["marks"] or not single.get("values") or arm["inner"] == 1:
            continue
        step, alone = median(arm["values"]), median(single["values"])
        idle_ms.append((alone - step) * arm["inner"] / (arm["inner"] - 1))
        percents.append(100 * idle_ms[-1] / arm["inner"] / step)
    most_ms, most = (quantiles(values, n=10)[-1] for values in (idle_ms, percents))
    return (
        f"{median(idle_ms):.2f} ms in the median of {len(idle_ms)} results, in one of ten "
        f"{most_ms:.2f} ms or more "
        f"({median(percents):.1f} and {most:.1f} % of a step)"
    )


def cost(documents: Sequence[Document]) -> str:
    wall = _wall_s(documents)
    return (
        f"{len(documents)} jobs, each in processes of its own, took {wall / 60:.0f} minutes: "
        f"{3600 * len(documents) / wall:.0f} cases per GPU hour. "
        f"{share(documents):.0%} of that time was compile, warm-up and samples."
    )


def share(documents: Sequence[Document]) -> float:
    """Of the jobs' time, what was compile, warm-up and samples."""
    return sum(map(measurement_s, documents)) / _wall_s(documents)


def _compiled_by_themselves(documents: Sequence[Document]) -> bool:
    return not any("ahead" in one.get("starts", {}) for one in documents)


def _wall_s(documents: Sequence[Document]) -> float:
    return float(sum(sum(one["wall_s"].values()) for one in documents))


def _told(documents: Sequence[Document]) -> str:
    machines = sorted({one["environment"]["machine"]["gpu"] for one in documents})
    cases = len({recorded.case(one) for one in documents})
    told = ", ".join(sorted({_release(one) for one in documents}))
    return f"{len(documents)} results of {cases} cases on {', '.join(machines)}, torch {told}."


def _kept(folders: Iterable[Path], name: str, command: str) -> str:
    kept = [(folder / name).read_text().strip() for folder in folders if (folder / name).exists()]
    return kept[-1] if kept else NOT_YET.format(command=command)


def _table(rows: Iterable[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *body])


def _arrow(old: Sequence[Document], new: Sequence[Document], metric: str, digits: int) -> str:
    told = [_each(side, metric, digits) for side in (old, new)]
    return " → ".join(told) if all(told) else "–"


def _each(processes: Sequence[Document], metric: str, digits: int) -> str:
    """The value of each process; of many their median."""
    values = _values(processes, metric)
    if len(values) > LISTED:
        return f"{_digits(median(values), digits)} (median of {len(values)})"
    return ", ".join(_digits(value, digits) for value in values)


def _by_machine(processes: Iterable[Document]) -> Iterable[list[Document]]:
    machines: dict[str, list[Document]] = defaultdict(list)
    for one in processes:
        machines[one["environment"]["machine"]["device_id"]].append(one)
    return machines.values()


def _variation(groups: Iterable[Sequence[Document]], metric: str = "latency_ms") -> float | None:
    """Coefficient of variation of a metric, percent, pooled over groups: the standard deviation of
    its logarithm.
    """
    logs = [
        logged
        for group in groups
        if (logged := [math.log(value) for value in _values(group, metric)])
    ]
    freedom = sum(len(group) - 1 for group in logs)
    squares = sum((value - fmean(group)) ** 2 for group in logs for value in group)
    return 100 * math.sqrt(squares / freedom) if freedom else None


def _within(processes: Sequence[Document]) -> float | None:
    """Half the interval of the step, percent, in the median process; None where too few samples
    told one.
    """
    entries = [one["metrics"]["latency_ms"] for one in processes]
    told = [
        50 * (each["high"] - each["low"]) / each["value"]
        for each in entries
        if each.get("high") is not None
    ]
    return median(told) if told else None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} %"


def _values(processes: Sequence[Document], metric: str) -> list[float]:
    return [float(one["metrics"][metric]["value"]) for one in processes if metric in one["metrics"]]


def _median(processes: Sequence[Document], metric: str) -> float | None:
    values = _values(processes, metric)
    return median(values) if values else None


def _digits(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{float(f'{value:.{digits}g}'):,.6g}"


def _short(benchmark: str) -> str:
    """gpt2.standard.inference.bfloat16.static.b16 -> gpt2, inference, bfloat16, static, b16."""
    return ", ".join(part for part in benchmark.split(".") if part != "standard")


def _release(document: Document) -> str:
    return str(document["environment"]["torch"]["version"]).partition("+")[0]


if __name__ == "__main__":
    main()
