"""Writes docs/results.md from recorded results: python -m tests.lab.results [FOLDER].

A test checks that the page is current. results.template has the text, results_tables.py the tables.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks_suite.harness import recorded
from tests.lab import results_tables as tables
from tests.lab.recordings import (
    RECORDED,
    Document,
    Groups,
    gpu_of,
    grouped,
    read_all,
    release_of,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEMPLATE = Path(__file__).with_name("results.template")
DISTRIBUTED = "distributed"  # the family that spans GPUs
NOT_JUDGED = (None, "no_reference", "not_judged")
CELL = re.compile(r"([\d.]+) / ([\d.]+) \(")  # of the yardstick: the script, the suite


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    (folder / "results.md").write_text(TEMPLATE.read_text().format(**fields()))


def fields() -> dict[str, str]:
    """Fields that the template asks for."""
    documents = read_all()
    one_gpu = [each for each in documents if each["benchmark"]["family"] != DISTRIBUTED]
    several_gpus = [each for each in documents if each["benchmark"]["family"] == DISTRIBUTED]
    on_h100, on_h200 = _of_gpu(one_gpu, "H100"), _of_gpu(one_gpu, "H200")
    yardstick = (RECORDED / "configs_h100" / "yardstick.md").read_text()
    yardstick_gpu = (RECORDED / "configs_h200" / "yardstick_device_time.md").read_text()
    rows = {
        "fair_eager": tables.fair_eager(),
        "article": tables.article(),
        "against_inductor": tables.against_inductor([on_h100, on_h200, _read("fair_eager")]),
        "speedups": tables.speedups(on_h100),
        "lists": tables.lists(on_h100),
        "lists_changes": tables.lists_changes(on_h100),
        "releases": tables.releases(on_h200),
        "starts": tables.starts(on_h100),
        "starts_in_turn": tables.starts_in_turn(_read("compiling_h200/starts.jsonl.gz")),
        "calls_on_cpu": tables.compile_calls(_read("releases_cpu")),
        "calls_on_gpu": tables.compile_calls(_read("compiling_h200/counted")),
        "two_gpus": tables.two_gpus(grouped(several_gpus)),
        "spread": tables.spread(on_h100),
    }
    return {
        "summary": summary(documents),
        "machines": machines(documents),
        "yardstick": yardstick.strip(),
        "within": within(yardstick, 2.0),
        "within_gpu": within(yardstick_gpu, 0.5, columns=2),
        **{name: tables.markdown(each) for name, each in rows.items()},
    }


def _of_gpu(documents: Iterable[Document], name: str) -> Groups:
    return grouped(each for each in documents if name in gpu_of(each))


def _read(recording: str) -> Groups:
    """Results with no setting changed."""
    documents = recorded.read(RECORDED / recording)
    return grouped(each for each in documents if not each["job"].get("variant"))


def summary(documents: Sequence[Document]) -> str:
    cases = set(map(recorded.case, documents))
    releases = ", ".join(sorted(set(map(release_of, documents))))
    statuses = [each.get("accuracy", {}).get("status") for each in documents]
    judged = len(statuses) - sum(map(statuses.count, NOT_JUDGED))
    return (
        f"{len(documents)} results of {len(cases)} cases, torch {releases}. Of {judged} results "
        f"whose outputs were compared with a reference in float64 {statuses.count('pass')} pass"
    )


def machines(documents: Sequence[Document]) -> str:
    """Numbers of GPUs of each kind, in words."""
    devices: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        devices[gpu_of(document)].add(document["environment"]["machine"]["device_id"])
    return " and ".join(f"{len(ids)} {gpu}" for gpu, ids in sorted(devices.items()))


def within(yardstick: str, goal_percent: float, columns: int = 3) -> str:
    """In how many cells of a yardstick's table the suite and the script agree.

    columns: eager's and the compiled step's time, and the speedup.
    """
    cells = [cell for line in yardstick.splitlines() for cell in CELL.findall(line)[:columns]]
    percents = [100 * abs(float(suite) / float(script) - 1) for script, suite in cells]
    return f"{sum(each <= goal_percent for each in percents)} of {len(percents)} cells"


if __name__ == "__main__":
    main()
