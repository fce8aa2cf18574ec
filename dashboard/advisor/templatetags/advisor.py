"""What the advisor's templates say in numbers."""

from django import template

from dashboard.advisor.core.advice_text import number_of

register = template.Library()

register.filter("steps", number_of)


@register.filter
def plain(value: float) -> str:
    """A number as a form's field takes it: without a unit, spaces or an exponent."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
