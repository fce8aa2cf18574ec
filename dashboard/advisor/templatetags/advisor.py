"""What the advisor's templates say in numbers."""

from django import template

from dashboard.advisor.core.advice_text import precise_steps

register = template.Library()

register.filter("steps", precise_steps)


@register.filter
def plain(value: float) -> str:
    """A number as a form's field takes it: without a unit, spaces or an exponent."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
