"""Templates are read by people: one element a line, none too wide."""

from pathlib import Path

import pytest
from django.conf import settings

FOLDER = Path(settings.BASE_DIR) / "dashboard" / "templates"
COLUMNS = 120


@pytest.mark.parametrize("template", sorted(FOLDER.rglob("*.html")), ids=lambda path: path.name)
def test_template_has_no_line_over_120_columns(template: Path) -> None:
    lines = template.read_text().splitlines()
    assert [line for line in lines if len(line) > COLUMNS] == []
