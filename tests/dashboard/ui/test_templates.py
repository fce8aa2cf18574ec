"""Templates are read by people: one element a line, none too wide."""

import re
from pathlib import Path

from django.conf import settings

FOLDER = Path(settings.BASE_DIR) / "dashboard" / "templates"
COLUMNS = 120


def test_template_has_no_line_over_120_columns() -> None:
    wide = []
    for template in FOLDER.rglob("*.html"):
        for number, line in enumerate(template.read_text().splitlines(), start=1):
            if len(line) > COLUMNS:
                wide.append(f"{template.relative_to(FOLDER)}:{number}: {len(line)} columns")
    assert not wide, "\n".join(wide)


def test_form_that_submits_itself_is_loaded_again_with_its_answer() -> None:
    outside = []
    for template in FOLDER.rglob("*.html"):
        for form in re.findall(
            r"<form[^>]*data-submits.*?</form>", template.read_text(), re.DOTALL
        ):
            if "<label>" in form and 'hx-target="#content"' not in form:
                outside.append(str(template.relative_to(FOLDER)))
    assert outside == []
