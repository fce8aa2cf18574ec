"""The walk through shapes of a result document, as the rows of the job page. Pure."""

from dataclasses import dataclass

from dashboard.language.contracts import Document
from dashboard.language.durations import duration
from dashboard.language.wording import number

SMALLEST_SHOWN_MB = 0.1  # the grain in which a process takes memory


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """The steps at one shape, as text; empty where nothing of that kind happened.

    host: by how much the process grew. reasons: the guards that failed.
    """

    label: str
    first: str
    later: str
    recompiles: str
    graphs: str
    compiling: str
    slow: str
    host: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class ShapeSweep:
    """summary: what it cost in all.

    steps: at each shape. slow_factor: a step is slow that took more than this many times the later
        steps' time.
    """

    summary: str
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
    return ShapeSweep(
        summary=_summary(walk),
        steps=walk["steps"],
        slow_factor=f"{walk['slow_factor']:g}",
        rows=[_row(shape, walk["steps"]) for shape in walk["shapes"]],
    )


def _summary(walk: Document) -> str:
    """The first shape's compilation is the cold start, and no recompile."""
    later_shapes = walk["shapes"][1:]
    recompiles = sum(shape["recompiles"] for shape in later_shapes)
    lost_s = sum(shape["lost_ms"] for shape in later_shapes) / 1000
    slow = f"{number(walk['slow_percent'])}% of the steps were slow."
    if not recompiles:
        return f"No shape was compiled again; {slow}"
    noun = "recompile" if recompiles == 1 else "recompiles"
    return f"{recompiles} {noun} after the first shape took {duration(lost_s)}; {slow}"


def _row(shape: Document, steps: int) -> ShapeRow:
    return ShapeRow(
        label=shape["label"],
        first=_time(shape["first_ms"]),
        later=_time(shape["later_ms"]),
        recompiles=_count(shape["recompiles"]),
        graphs=_count(shape["graphs"]),
        compiling=_time(shape["compile_ms"]),
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
