"""Widgets that the admin's forms share."""

from typing import Any

from django import forms
from unfold.widgets import (
    INPUT_CLASSES,
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelect2MultipleWidget,
)


class TimeOfDay(forms.TimeInput):
    """The browser's own clock, hours and minutes."""

    input_type = "time"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        classes = " ".join([*INPUT_CLASSES, "time-of-day"])
        super().__init__({"class": classes, **(attrs or {})}, format="%H:%M")


class Checkboxes(UnfoldAdminCheckboxSelectMultipleWidget):
    """A few choices side by side."""

    def __init__(self, attrs: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(attrs, **options)
        self.attrs |= attrs or {}  # Unfold's own replaces them

    def get_context(self, *args: Any, **options: Any) -> dict[str, Any]:
        return {**super().get_context(*args, **options), "radio_style": 1}


class Picker(UnfoldAdminSelect2MultipleWidget):
    """Many choices, found by words: "gpt2 training" (admin.js)."""
