"""The walk through shapes of a result document, as the rows of the job page. Pure."""

from dataclasses import dataclass

from dashboard.language.contracts import Document
from dashboard.language.wording import duration, number

SMALLEST_SHOWN_MB = 0.1  # the grain in which a process takes memory


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """The steps at one shape, as text; empty where nothing of that kind happened.

    lost: of its slow steps, where something was compiled. host: by how much the process grew.
    reasons: the guards that failed.
    """

    label: str
    first: str
    later: str
    recompiles: str
    graphs: str
    compiling: str
    lost: str
    slow: str
    host: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class ShapeSweep:
    """steps: at each shape. slow_factor: how many times the later steps' time is slow."""

    steps: int
    slow_factor: str
    rows: list[ShapeRow]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """(shape, guard) of each recompile."""
        pairs = []
        for row in self.rows:
            pairs += [(row.label, reason) for reason in row.reasons]
        return pairs


def shape_sweep(document: Document) -> ShapeSweep | None:
    """None for a config that walks through no shapes."""
    walk = document.get("sweep")
    if not walk:
        return None
    rows = [_row(shape, walk["steps"]) for shape in walk["shapes"]]
    return ShapeSweep(walk["steps"], number(walk["slow_factor"]), rows)


def _row(shape: Document, steps: int) -> ShapeRow:
    return ShapeRow(
        label=shape["label"],
        first=_time(shape["first_ms"]),
        later=_time(shape["later_ms"]),
        recompiles=_count(shape["recompiles"]),
        graphs=_count(shape["graphs"]),
        compiling=_time(shape["compile_ms"]),
        lost=_time(shape["lost_ms"]),
        slow=f"{shape['slow_steps']} of {steps}" if shape["slow_steps"] else "",
        host=_megabytes(shape.get("host_mb")),
        reasons=shape.get("reasons", []),
    )


def _count(count: int) -> str:
    return str(count) if count else ""


def _time(milliseconds: float) -> str:
    if not milliseconds:
        return ""
    if milliseconds >= 1000:
        return duration(milliseconds / 1000)
    return f"{number(milliseconds)} ms"


def _megabytes(megabytes: float | None) -> str:
    if megabytes is None or abs(megabytes) < SMALLEST_SHOWN_MB:
        return ""
    return f"{megabytes:+.1f} MB".replace("-", "−")
