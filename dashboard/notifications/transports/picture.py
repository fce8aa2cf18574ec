"""The chart of a change as a PNG for mails, drawn with Pillow. Pure: numbers in, bytes out.

Mail programs show neither scripts nor SVG, so it has to be a bitmap. Plotly would need a browser to
make one, matplotlib ten more packages; what a mail needs is points, two levels and a line, which
Pillow draws. Twice the shown size, so that it is sharp on today's screens; light, because mail
programs do not say which theme they use.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from dashboard.alerts.core.alert_charts import Step, level_before
from dashboard.ui.charts import ChartLine
from dashboard.ui.downsampling import Floats

WIDTH, HEIGHT = 1200, 460
LEFT, RIGHT, TOP, BOTTOM = 130, 30, 60, 60
INK, SOFT, RULE, GROUND = "#12161c", "#4a5461", "#d8dde4", "#ffffff"
OLD, NEW, BAND = "#2b2eb7", "#e0701a", "#fbe8da"
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Scale:
    """Where numbers lie on the picture. x: milliseconds; y: the metric's unit."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )


def change_png(line: ChartLine, step: Step, title: str, unit: str) -> bytes:
    """The points of a series, the levels before and after its change, and the interval of the new
    one.
    """
    image = Image.new("RGB", (WIDTH, HEIGHT), GROUND)
    draw = ImageDraw.Draw(image)
    levels = levels_of(line, step)
    scale = scale_of(line, levels)
    _axes(draw, scale, title, unit)
    if levels:
        _levels(draw, scale, step.at_ms, levels)
    _points(draw, scale, line, step.at_ms)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Levels:
    """The level before, the one after, and the ends of its interval, in the metric's unit."""

    before: float
    after: float
    low: float
    high: float


def levels_of(line: ChartLine, step: Step) -> Levels | None:
    before = level_before(line, step)
    if before is None or step.effect is None:
        return None
    factor = before / 100 if step.unit == "percent" else 1.0
    ends = [
        step.effect if end is None or not np.isfinite(end) else end for end in (step.low, step.high)
    ]
    after, low, high = (before + factor * change for change in (step.effect, *ends))
    return Levels(before, after, low, high)


def scale_of(line: ChartLine, levels: Levels | None) -> Scale:
    """All points and levels with a little room; never of no width."""
    shown: Floats = line.value[~np.isnan(line.value)]
    if levels:
        shown = np.append(shown, [levels.before, levels.low, levels.high])
    low, high = float(shown.min(initial=np.inf)), float(shown.max(initial=-np.inf))
    if not np.isfinite(high - low):
        low, high = 0.0, 1.0
    room = 0.08 * (high - low) or abs(high) * 0.05 or 1.0
    first, last = (float(line.at_ms[end]) for end in (0, -1)) if len(line.at_ms) else (0.0, 1.0)
    side = 0.02 * (last - first) or 3_600_000.0
    return Scale((first - side, last + side), (low - room, high + room))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between ``low`` and ``high``: steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = 10.0 ** floor(log10(rough))
    width = next(factor for factor in (1, 2, 5, 10) if factor * power >= rough) * power
    return [number * width for number in range(ceil(low / width), floor(high / width) + 1)]


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _axes(draw: ImageDraw.ImageDraw, scale: Scale, title: str, unit: str) -> None:
    draw.text((LEFT, 16), title, INK, _font(26))
    for value in ticks(*scale.y):
        _, y = scale.at(scale.x[0], value)
        draw.line([(LEFT, y), (WIDTH - RIGHT, y)], RULE, 2)
        draw.text((LEFT - 14, y), f"{value:.4g} {unit}".strip(), SOFT, _font(22), anchor="rm")
    for place, anchor in ((0.02, "lt"), (0.5, "mt"), (0.98, "rt")):
        at = scale.x[0] + place * (scale.x[1] - scale.x[0])
        x, _ = scale.at(at, scale.y[0])
        draw.text(
            (x, HEIGHT - BOTTOM + 14),
            f"{datetime.fromtimestamp(at / 1000, UTC):%d %b %Y}",
            SOFT,
            _font(22),
            anchor,
        )


def _levels(draw: ImageDraw.ImageDraw, scale: Scale, at_ms: int, levels: Levels) -> None:
    start, end = scale.at(at_ms, levels.high), scale.at(scale.x[1], levels.low)
    draw.rectangle([start[0], min(start[1], end[1]), end[0], max(start[1], end[1])], BAND)
    draw.line([scale.at(scale.x[0], levels.before), scale.at(at_ms, levels.before)], OLD, 6)
    draw.line([scale.at(at_ms, levels.after), scale.at(scale.x[1], levels.after)], NEW, 6)
    _dashed(draw, scale.at(at_ms, scale.y[0])[0])


def _dashed(draw: ImageDraw.ImageDraw, x: float) -> None:
    for y in range(TOP, HEIGHT - BOTTOM, 16):
        draw.line([(x, y), (x, y + 8)], SOFT, 2)


def _points(draw: ImageDraw.ImageDraw, scale: Scale, line: ChartLine, at_ms: int) -> None:
    """Circles before the change, diamonds from it on: not by colour alone."""
    good = ~np.isnan(line.value)  # what failed has no value
    for at, value in zip(line.at_ms[good].tolist(), line.value[good].tolist(), strict=True):
        x, y = scale.at(at, value)
        if at < at_ms:
            draw.ellipse([x - 5, y - 5, x + 5, y + 5], OLD)
        else:
            draw.polygon(_diamond(x, y), NEW)


def _diamond(x: float, y: float) -> Sequence[tuple[float, float]]:
    return [(x, y - 8), (x + 8, y), (x, y + 8), (x - 8, y)]
