"""What PyTorch's own CI expects of these names, and where what was measured here differs.

expected.csv has facts of benchmarks/dynamo/ci_expected_accuracy of github.com/pytorch/pytorch: file
and commit of each row. Stdlib only.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite.benchmark import FIELD_FAMILY
from benchmarks_suite.field.names import model_of
from benchmarks_suite.harness.contract import Document

_FILE = Path(__file__).with_name("expected.csv")
# model -> what is known of why our status or count of graph breaks is not theirs
REASONS = {
    "allenailongformerbase": "ours is one place, a `Tensor.item()`, counted once; the smoke size"
    " has 2 of their 12 layers, and their two files differ by version as well",
    "distillgpt2": "the library logs that no loss type is set, which leaves the graph: ours are"
    " reasons that dynamo gave, theirs is a counter that can count one break more than once",
    "vision_maskrcnn": "the torchvision of this run was built for another torch and lacks its own"
    " operators; theirs has them",
}
NOT_COMPARED = (
    "their calls captured: the smoke size has fewer layers, so that the numbers cannot agree",
    "their fallbacks to eager: nothing here counts them by that definition",
    "their graph breaks in training: they include those around the optimizer and the loss, 7 to 9"
    " for nearly every name; ours are of the module alone",
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A row. library: ours. graph_breaks: of the whole case."""

    library: str
    file: str
    commit: str
    mode: str
    name: str
    status: str
    graph_breaks: int

    @property
    def is_skipped(self) -> bool:
        """Whether they ran it without a check of its accuracy."""
        return self.status == "pass_due_to_skip"

    @property
    def family(self) -> str:
        return f"{FIELD_FAMILY}{self.library}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row against a result of its name and mode.

    config: of our result. ours: its status word. breaks: None: not counted.
    """

    expected: Expected
    config: str
    ours: str
    breaks: int | None

    @property
    def same_status(self) -> bool:
        return self.ours == self.expected.status

    @property
    def compares_breaks(self) -> bool:
        return self.breaks is not None and self.expected.mode == "inference"

    @property
    def same_breaks(self) -> bool:
        return self.breaks == self.expected.graph_breaks

    @property
    def reason(self) -> str:
        return REASONS.get(model_of(self.expected.name), "not explained yet")


def read() -> Iterator[Expected]:
    with _FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            yield Expected(
                library=row["library"],
                file=row["file"],
                commit=row["commit"],
                mode=row["mode"],
                name=row["name"],
                status=row["status"],
                graph_breaks=int(row["graph_breaks"]),
            )


def compare(results: Mapping[tuple[str, str, str], Document]) -> Iterator[Comparison]:
    """Each row that has a result. results: by family, model and mode, of a compiled case."""
    for expected in read():
        result = results.get((expected.family, model_of(expected.name), expected.mode))
        if result is None or expected.is_skipped:
            continue
        entry = result["metrics"].get("graph_breaks")
        breaks = None if entry is None else int(entry["value"])
        yield Comparison(expected, result["job"]["config"], str(result["status"]), breaks)
