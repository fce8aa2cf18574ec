"""Badges for a README: two words in an SVG, whole in themselves."""

from html import escape
from typing import Literal

from django.http import HttpResponse

Tone = Literal["good", "bad", "quiet"]

# 4.5:1 or more under white
_COLOURS: dict[Tone, str] = {"good": "#07578f", "bad": "#9a3b00", "quiet": "#59636e"}
_LABEL_COLOUR = "#2b323b"
_LETTER = 6.4  # mean width in pixels at 11 px; textLength makes the text fit in any font
FRESH_S = 300  # how long proxies of code hosts may keep a badge
_MARGIN = 7
_HEIGHT = 20


def badge(label: str, text: str, tone: Tone) -> str:
    """An SVG, 20 pixels high: `label` on a dark ground, `text` on the colour of its tone."""
    left, right = _width(label), _width(text)
    description = escape(f"{label}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" '
        f'role="img" aria-label="{description}"><title>{description}</title>'
        f'<rect width="{left}" height="{_HEIGHT}" fill="{_LABEL_COLOUR}"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{_COLOURS[tone]}"/>'
        '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f"{_text(label, _MARGIN, left)}{_text(text, left + _MARGIN, right)}</g></svg>"
    )


def badge_response(label: str, text: str, tone: Tone) -> HttpResponse:
    return HttpResponse(badge(label, text, tone), content_type="image/svg+xml; charset=utf-8")


def _width(text: str) -> int:
    return round(len(text) * _LETTER) + 2 * _MARGIN


def _text(text: str, x: int, width: int) -> str:
    return f'<text x="{x}" y="14" textLength="{width - 2 * _MARGIN}">{escape(text)}</text>'
