"""What docs/results.py says of all recordings together: how many, on what, how long, how sure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from results_summary import (
    RECORDED,
    Document,
    Groups,
    gpu_of,
    idle_starts,
    measuring_share,
    release_of,
    wall_s,
)

from benchmarks_suite.harness import recorded

POWER_CAP = "gpu_throttled"
_NOT_JUDGED = (None, "no_reference", "not_judged")  # next to other work, or without memory for one
DEVICE_GOAL_PERCENT = 0.5
# Of the yardstick's table: the suite's difference
CELL = re.compile(r"([\d.]+) / ([\d.]+) \(")  # the script, the suite; its rounded percent follows


def summary(documents: Sequence[Document]) -> str:
    machines = sorted(set(map(gpu_of, documents)))
    cases = set(map(recorded.case, documents))
    torch_releases = ", ".join(sorted(set(map(release_of, documents))))
    return (
        f"{len(documents)} results of {len(cases)} cases on {', '.join(machines)}, "
        f"torch {torch_releases}."
    )


def accurate(documents: Sequence[Document]) -> str:
    """How many of them are as exact as the suite asks."""
    statuses = [document.get("accuracy", {}).get("status") for document in documents]
    passed, judged = statuses.count("pass"), len(documents) - sum(map(statuses.count, _NOT_JUDGED))
    return (
        f"Of {judged} results whose outputs were compared with a reference in float64 {passed} pass"
    )


def gpus(documents: Sequence[Document]) -> str:
    """How many machines of each kind measured, and on how many days."""
    machines: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        machine = document["environment"]["machine"]
        machines[machine["gpu"]].add(machine["device_id"])
    days = {document["started_at"][:10] for document in documents}
    counts = [f"{len(devices)} with {name}" for name, devices in sorted(machines.items())]
    return f"Machines: {', '.join(counts)}, on {len(days)} days"


def single_processes(groups: Groups) -> str:
    """How many releases of cases one process alone speaks for."""
    sides = [processes for by_release in groups.values() for processes in by_release.values()]
    single = sum(len(processes) == 1 for processes in sides)
    return f"{single} of {len(sides)}"


def capped(documents: Sequence[Document]) -> str:
    marked = sum(
        any(mark["kind"] == POWER_CAP for mark in document["marks"]) for document in documents
    )
    return f"{marked} of {len(documents)} results"


def unreferenced(documents: Iterable[Document]) -> str:
    """The models and modes whose newest result found no memory for a reference; not what was
    counted next to other work, which took the memory.
    """
    newest = {}
    for document in sorted(documents, key=lambda document: str(document["started_at"])):
        if document["job"]["measure"]["starts"] != ["counted"]:
            newest[document["benchmark"]["name"]] = document
    cases = set()
    for document in newest.values():
        if document.get("accuracy", {}).get("status") == "no_reference":
            cases.add(f"{document['benchmark']['model']} ({document['benchmark']['mode']})")
    return ", ".join(sorted(cases))


def ramp(documents: Sequence[Document]) -> str:
    """What the beginning of a sample costs."""
    idle_ms, percents = zip(*idle_starts(documents), strict=True)
    one_in_ten_ms, one_in_ten_percent = quantiles(idle_ms, n=10)[-1], quantiles(percents, n=10)[-1]
    return (
        f"{median(idle_ms):.2f} ms in the median of {len(idle_ms)} results, in one of ten "
        f"{one_in_ten_ms:.2f} ms or more "
        f"({median(percents):.1f} and {one_in_ten_percent:.1f}% of a step)"
    )


def cost(documents: Sequence[Document]) -> str:
    """Of the jobs that had a GPU for themselves: who takes no time may have shared it."""
    documents = [each for each in documents if not each["job"]["measure"].get("accuracy_only")]
    seconds = wall_s(documents)
    return (
        f"{len(documents)} jobs, each in processes of its own, took {seconds / 60:.0f} minutes: "
        f"{3600 * len(documents) / seconds:.0f} cases per GPU hour. "
        f"{measuring_share(documents):.0%} of that time was compile, warm-up and samples."
    )


def newest_share(sessions: Iterable[Sequence[Document]]) -> str:
    """The share of measuring in the newest session that compiled nothing ahead of its jobs, which
    measured times.
    """
    newest: Sequence[Document] = ()
    for documents in sessions:
        is_ahead = any("ahead" in document.get("starts", {}) for document in documents)
        is_timed = any(not each["job"]["measure"].get("accuracy_only") for each in documents)
        if is_timed and not is_ahead:
            newest = documents
    return f"{measuring_share(newest):.0%}"


def device_goal() -> dict[str, str]:
    """By the GPU's own time: how close the yardstick's times should be, and how many are."""
    yardstick = (RECORDED / "configs_h200" / "yardstick_device_time.md").read_text()
    return {
        "device_goal": f"{DEVICE_GOAL_PERCENT:g}%",
        "within_device_goal": within(yardstick, DEVICE_GOAL_PERCENT, columns=2),
    }


def within(yardstick: str, goal_percent: float, columns: int = 3) -> str:
    """In how many cells of the yardstick's table the suite and the script agree.

    columns: eager's and the compiled step's time, and the speedup.
    """
    cells = [cell for line in yardstick.splitlines() for cell in CELL.findall(line)[:columns]]
    percents = [100 * abs(float(suite) / float(script) - 1) for script, suite in cells]
    return f"{sum(percent <= goal_percent for percent in percents)} of {len(percents)} cells"
