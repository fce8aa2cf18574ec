"""The main job on a "machine" that has torch and reaches no package index.

Packages are packed and unpacked, a list is measured, its results are imported. It takes minutes:
all wheels of the site, from the package index that pip is configured with.
"""

import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dashboard.results.services.import_files import sources_in
from dashboard.results.services.imports import import_results
from runner import portable
from tests.builders.local_site import OURS, ROOT, free_port

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(3600)]
MLP = {
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "inductor",
    "measure": {"budget_s": 1},
}
NO_FUSION = {"variant": {"inductor": {"epilogue_fusion": False}}}
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-offline-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def documented_packages() -> list[str]:
    """What docs/offline.md packs."""
    page = (ROOT / "docs" / "offline.md").read_text()
    _, _, rest = page.partition("pack pieces --python 3.12 ")
    return shlex.split(rest.partition("```")[0].replace("\\\n", " "))


def add_with_dependencies(name: str, names: set[str]) -> None:
    """Add a distribution that is installed here, and everything that it needs, to `names`."""
    if name in names:
        return
    names.add(name)
    for text in importlib.metadata.requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            add_with_dependencies(requirement.name, names)


def a_machine(folder: Path) -> str:
    """An interpreter that has torch and what torch needs, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    installed = Path(sysconfig.get_path("purelib"))
    site = folder / "lib" / f"python{HERE}" / "site-packages"
    names: set[str] = set()
    add_with_dependencies("torch", names)
    for name in names:
        entries = {file.parts[0] for file in importlib.metadata.files(name) or ()}
        for entry in entries - {"..", "__pycache__"}:
            if not (site / entry).exists():
                (site / entry).symlink_to(installed / entry)
    return str(folder / "bin" / "python")


def a_checkout(folder: Path) -> Path:
    """The files of this checkout that git tracks, without any environment."""
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.mark.django_db
def test_list_is_measured_without_a_package_index(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "PRESET", 0)
    monkeypatch.chdir(ROOT)
    portable.pack(documented_packages(), HERE, place / "pieces")
    (place / "list.jsonl").write_text(f"{json.dumps(MLP)}\n{json.dumps(MLP | NO_FUSION)}\n")
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    variables = {
        "PIP_NO_INDEX": "1",
        "VAR_DIR": str(place / "var"),
        "PORT": str(free_port()),
        "WORKER_LOCK_DIR": str(place),
    }
    offline = ["-m", "dashboard.local", "offline", "../pieces", "../list.jsonl", "../out"]
    subprocess.run(
        [a_machine(place / "machine"), *offline],
        cwd=a_checkout(place / "checkout"),
        env={**inherited, **variables},
        check=True,
    )
    results = sorted((place / "out").glob("*.json"))
    statuses = [json.loads(path.read_text())["status"] for path in results]
    assert statuses == ["pass", "pass"]
    assert import_results(sources=sources_in(place / "out")).added == 2
