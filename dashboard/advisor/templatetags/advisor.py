"""Numbers in the advisor's templates."""

from django import template

from dashboard.advisor.core.advice_text import precise_steps

register = template.Library()

register.filter("steps", precise_steps)


@register.filter
def gib(gigabytes: float) -> str:
    """10⁹ bytes as GiB, in which vendors name a device's memory: 85.0 -> "79.2"."""
    return f"{gigabytes * 1e9 / 2**30:.1f}"


@register.filter
def plain(value: float) -> str:
    """A number as a form's field takes it: without a unit, spaces or an exponent."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
