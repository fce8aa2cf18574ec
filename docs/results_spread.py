"""The table of docs/results.py about how much processes of one case differ."""

from collections.abc import Iterator, Sequence

from results_cells import percent, short_name
from results_summary import Groups, by_machine, interval_percent, variation_percent

LEAST_PROCESSES = 4  # of a case, to say how much they differ


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
            if len(processes) >= LEAST_PROCESSES:
                machines = by_machine(processes)
                yield (
                    short_name(benchmark),
                    config,
                    release,
                    f"{len(processes)} ({len(machines)})",
                    percent(interval_percent(processes)),
                    percent(variation_percent(machines)),
                    percent(variation_percent([processes])),
                    percent(variation_percent(machines, "speedup")),
                )
