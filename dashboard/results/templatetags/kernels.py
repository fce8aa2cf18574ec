"""Numbers in tables of kernels."""

from django import template

from dashboard.results.core.kernel_profile import ArmProfile
from dashboard.results.core.kernel_words import signed_ms

register = template.Library()
register.filter("signed_ms", signed_ms)


@register.simple_tag
def share_of(profile: ArmProfile, ms: float) -> str:
    """Format a part of the time of all kernels: "12.3%"."""
    return f"{profile.share(ms):.1f}%"
