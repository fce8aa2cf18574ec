"""How right alerts were, from counts: shares with their intervals. Pure."""

from dataclasses import dataclass
from math import sqrt

_Z = 1.96  # 95%
FEW = 20
"""With fewer, a share is not shown as a percentage: only what it was made of."""
PROMISED_PER_THOUSAND = 1.0
"""False alerts of points without a change that docs/detection.md promises at most."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`."""

    count: int
    total: int

    @property
    def is_small(self) -> bool:
        return self.total < FEW

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval (1927): it holds for few, and for none of them."""
        if not self.total:
            return 0.0, 1.0
        share, square = self.count / self.total, _Z * _Z
        middle = share + square / (2 * self.total)
        reach = _Z * sqrt((share * (1 - share) + square / (4 * self.total)) / self.total)
        width = 1 + square / self.total
        return max(0.0, (middle - reach) / width), min(1.0, (middle + reach) / width)

    @property
    def text(self) -> str:
        """ "3 of 40: 7.5% (2.6 to 20%)"; of few only the counts and the interval."""
        if not self.total:
            return "–"
        counts = f"{self.count} of {self.total}"
        low, high = (100 * end for end in self.interval)
        interval = f"({_short(low)} to {_short(high)}%)"
        if self.is_small:
            return f"{counts} {interval}"
        return f"{counts}: {_short(100 * self.count / self.total)}% {interval}"


@dataclass(slots=True)
class Rates:
    """What became of the alerts about one metric in one month.

    points: that the detector judged.
    raised: alerts; not_reproduced, invalid: those that were wrong, as measured again and as people
        said; right: those that were confirmed, or that people fixed or keep.
    missed: changes that a bisection found before the detector reported them.
    """

    points: int = 0
    raised: int = 0
    right: int = 0
    not_reproduced: int = 0
    invalid: int = 0
    missed: int = 0

    @property
    def wrong(self) -> int:
        return self.not_reproduced + self.invalid

    @property
    def undecided(self) -> int:
        return self.raised - self.right - self.wrong

    @property
    def false_share(self) -> Share:
        """Of the alerts that were decided."""
        return Share(self.wrong, self.right + self.wrong)

    @property
    def per_point(self) -> Share:
        """Of the points. An alert comes from one."""
        return Share(min(self.wrong, self.points), self.points)

    @property
    def missed_share(self) -> Share:
        """Of the changes that are known to be there."""
        return Share(self.missed, self.right + self.missed)

    @property
    def per_thousand_text(self) -> str:
        """ "0.4 (0.1 to 1.4)" of 1,000 points."""
        if not self.points:
            return "–"
        low, high = (1000 * end for end in self.per_point.interval)
        rate = 1000 * self.per_point.count / self.points
        return f"{_short(rate)} ({_short(low)} to {_short(high)})"

    @property
    def breaks_promise(self) -> bool:
        """The whole interval lies above the promise."""
        return bool(self.points) and 1000 * self.per_point.interval[0] > PROMISED_PER_THOUSAND

    def add(self, other: "Rates") -> None:
        for name in ("points", "raised", "right", "not_reproduced", "invalid", "missed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def _short(value: float) -> str:
    """Two digits, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
