"""Files of other tools, imported by the command."""

import io
from pathlib import Path

from django.core.management import call_command

FOLDER = Path(__file__).parents[1] / "data" / "imports"


def imported(name: str, *options: str) -> str:
    out = io.StringIO()
    call_command("import_results", str(FOLDER / name), *options, stdout=out, stderr=out)
    return out.getvalue()
