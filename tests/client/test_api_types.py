"""The client's types are those that the site describes."""

import os
import subprocess
import sys
from pathlib import Path

from tests.builders.docker_files import ROOT
from tests.builders.local_site import OURS

SCRIPT = "docs/api_types.py"


def test_types_are_current(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    subprocess.run(
        [sys.executable, SCRIPT, str(tmp_path)],
        cwd=ROOT,
        env=environment,
        check=True,
    )
    written = (tmp_path / "api_types.py").read_text()
    committed = (ROOT / "compilewatch_client" / "api_types.py").read_text()
    assert written == committed, f"run: python {SCRIPT}"
