"""Templates are read by people: one element a line, none too wide."""

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
