"""The chart of a change as a PNG for mails, drawn with Pillow. Pure: numbers in, bytes out.

Mail programs show neither scripts nor SVG, so it has to be a bitmap. Plotly would need a browser to
make one, matplotlib ten more packages; a mail needs points, two levels and a line, which Pillow
draws. It has twice the size at which it is shown, so that it is sharp on today's screens, and a
light ground, because mail programs do not say which theme they use.
"""

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from dashboard.alerts.core.alert_charts import Step, median_after, median_before
from dashboard.language.moments import day, stamp
from dashboard.ui.charts import ChartLine
from dashboard.ui.downsampling import Floats

WIDTH, HEIGHT = 1200, 560
LEFT, RIGHT, TOP, BOTTOM = 190, 30, 76, 72
TITLE_SIZE, TITLE_LEFT = 34, 16
TICK_SIZE = 32  # a phone shows the picture at a quarter of its size
INK, SOFT, RULE, GROUND = "#12161c", "#4a5461", "#d8dde4", "#ffffff"
OLD, NEW, BAND = "#2b2eb7", "#e0701a", "#fbe8da"
_TICKS = 4
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_HOUR_MS = 3_600_000.0
_SHORT_MS = 72 * _HOUR_MS  # of a shorter axis the hours are shown, too


@dataclass(frozen=True, slots=True)
class Scale:
    """The ends of both axes of the picture. x: milliseconds; y: the metric's unit."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a point."""
        x_share = (x - self.x[0]) / (self.x[1] - self.x[0])
        y_share = (y - self.y[0]) / (self.y[1] - self.y[0])
        x_pixel = LEFT + x_share * (WIDTH - LEFT - RIGHT)
        y_pixel = HEIGHT - BOTTOM - y_share * (HEIGHT - TOP - BOTTOM)
        return x_pixel, y_pixel


def change_png(line: ChartLine, step: Step, title: str, unit: str) -> bytes:
    """The points of a series, and the levels before and after its change."""
    image = Image.new("RGB", (WIDTH, HEIGHT), GROUND)
    draw = ImageDraw.Draw(image)
    levels = levels_of(line, step)
    scale = Scale(_time_range(line), _value_range(line, levels))
    _axes(draw, scale, title, unit)
    if levels:
        _levels(draw, scale, step.at_ms, levels)
    _points(draw, scale, line, step.at_ms)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels before and after, in the metric's unit."""

    before: float
    after: float


def levels_of(line: ChartLine, step: Step) -> Levels | None:
    before, after = median_before(line, step), median_after(line, step)
    if before is None or after is None:
        return None
    return Levels(before, after)


def _time_range(line: ChartLine) -> tuple[float, float]:
    """The ends of an axis that shows all points with a little room; never of no width."""
    first, last = 0.0, 1.0
    if len(line.at_ms):
        first, last = float(line.at_ms[0]), float(line.at_ms[-1])
    room = 0.02 * (last - first) or _HOUR_MS
    return first - room, last + room


def _value_range(line: ChartLine, levels: Levels | None) -> tuple[float, float]:
    """As _time_range, for points and levels."""
    shown: Floats = line.value[~np.isnan(line.value)]
    if levels:
        shown = np.append(shown, [levels.before, levels.after])
    low = float(shown.min(initial=np.inf))
    high = float(shown.max(initial=-np.inf))
    if not np.isfinite(high - low):
        low, high = 0.0, 1.0
    room = 0.08 * (high - low) or abs(high) * 0.05 or 1.0
    return low - room, high + room


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between ``low`` and ``high``: steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(factor for factor in (1, 2, 5, 10) if factor * power >= rough) * power
    first, last = ceil(low / step), floor(high / step)
    return [number * step for number in range(first, last + 1)]


def _axes(draw: ImageDraw.ImageDraw, scale: Scale, title: str, unit: str) -> None:
    title_font = ImageFont.load_default(TITLE_SIZE)
    # A long title is smaller, so that it ends within the picture
    room = (WIDTH - TITLE_LEFT - RIGHT) / draw.textlength(title, title_font)
    if room < 1:
        title_font = ImageFont.load_default(TITLE_SIZE * room)
    draw.text((TITLE_LEFT, 16), title, INK, title_font)
    font = ImageFont.load_default(TICK_SIZE)
    _, bottom = scale.at(scale.x[0], scale.y[0])
    for value in ticks(*scale.y):
        _, y = scale.at(scale.x[0], value)
        draw.line([(LEFT, y), (WIDTH - RIGHT, y)], RULE, 2)
        draw.text((LEFT - 14, y), f"{value:.4g} {unit}".strip(), SOFT, font, anchor="rm")
    first, last = scale.x
    write = day if last - first > _SHORT_MS else stamp
    for share, anchor in ((0.02, "lt"), (0.5, "mt"), (0.98, "rt")):
        at = first + share * (last - first)
        x, _ = scale.at(at, scale.y[0])
        date = write(datetime.fromtimestamp(at / 1000, UTC))
        draw.text((x, bottom + 14), date, SOFT, font, anchor)


def _levels(draw: ImageDraw.ImageDraw, scale: Scale, at_ms: int, levels: Levels) -> None:
    first, last = scale.x
    x, _ = scale.at(at_ms, levels.after)
    draw.line([scale.at(first, levels.before), scale.at(at_ms, levels.before)], OLD, 6)
    draw.line([scale.at(at_ms, levels.after), scale.at(last, levels.after)], NEW, 6)
    for y in range(TOP, HEIGHT - BOTTOM, 16):  # the dashed line at the change
        draw.line([(x, y), (x, y + 8)], SOFT, 2)


def _points(draw: ImageDraw.ImageDraw, scale: Scale, line: ChartLine, at_ms: int) -> None:
    """Circles before the change, diamonds from it on: not by colour alone."""
    passed = ~np.isnan(line.value)  # a failed job has no value
    for at, value in zip(line.at_ms[passed].tolist(), line.value[passed].tolist(), strict=True):
        x, y = scale.at(at, value)
        if at < at_ms:
            draw.ellipse([x - 7, y - 7, x + 7, y + 7], OLD)
        else:
            draw.polygon([(x, y - 10), (x + 10, y), (x, y + 10), (x - 10, y)], NEW)
