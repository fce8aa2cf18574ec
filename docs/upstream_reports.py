"""Prints which facts upstream reports needed, and where a ready issue and its files have them."""

import json
import sys
from collections import Counter
from pathlib import Path

REPORTS = Path(__file__).parents[1] / "tests/data/upstream_reports/reports.json"


def table() -> list[str]:
    """The facts, the most needed first, and the share that a ready issue or its files have."""
    data = json.loads(REPORTS.read_text())
    needed = Counter(fact for report in data["reports"] for fact in report["needed"])
    lines = ["| fact | reports | in | what |", "|---|--:|---|---|"]
    present = 0
    for fact, count in needed.most_common():
        place, what = data["facts"][fact]
        lines.append(f"| {fact} | {count} | {place} | {what} |")
        if place != "missing":
            present += count
    total = needed.total()
    return [*lines, "", f"{present} of {total} ({present / total:.0%})"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
