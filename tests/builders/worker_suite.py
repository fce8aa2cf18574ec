"""A suite that does one thing, which the job's config names.

    python worker_suite.py run JOB_FILE RESULT_FILE

Standard library only. As `SUITE_PYTHON` (tests/builders/worker_process.py) it also answers what the
worker asks an interpreter at its start.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CATALOG = {
    "suite_version": "0.1.0",
    "benchmarks": [{"name": "mlp.smoke.inference.float32.static.b64"}],
    "configs": [],
}
BUILD = {
    "label": "2.13.0+cpu",
    "version": "2.13.0+cpu",
    "git_sha": "cf30153",
    "cuda": "",
    "triton": "",
    "python": "3.11",
}


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write_result(folder: Path, **more: Any) -> None:
    result = {"schema": "result.v1", "status": "pass", **more}
    (folder / "result.json").write_text(json.dumps(result))


def spawn(code: str, **options: Any) -> None:
    """A child that runs `code`; its pid is added to the file `children` in $HOME."""
    child = subprocess.Popen([sys.executable, "-c", code], **options)
    with Path(os.environ["HOME"], "children").open("a") as file:
        file.write(f"{child.pid}\n")


DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', "
    "flush=True); time.sleep(600)"
)


def eager(folder: Path) -> None:
    say("phase: sampling")
    work_files = [path.name for path in Path().iterdir()]
    write_result(folder, environment=dict(os.environ), work_files=work_files)


def own_models(folder: Path) -> None:
    """The files of own models that the job names, with their text."""
    job = json.loads((folder / "job.json").read_text())
    files: list[Path] = []
    for source in map(Path, job["sources"]):
        files += sorted(source.rglob("*.py")) if source.is_dir() else [source]
    write_result(folder, files={file.name: file.read_text() for file in files})


def sleep(folder: Path) -> None:
    say("phase: sampling")
    time.sleep(600)


def long(folder: Path) -> None:
    time.sleep(8)
    write_result(folder)


def nap(folder: Path) -> None:
    time.sleep(1.5)
    write_result(folder)


def deaf_children(folder: Path) -> None:
    """One child in our group, one that left it; both ignore SIGTERM, and so do we."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    spawn(DEAF)
    spawn(DEAF, start_new_session=True)
    say("phase: sampling")
    time.sleep(600)


def orphans(folder: Path) -> None:
    """Ends well, but leaves a child behind."""
    spawn(DEAF, start_new_session=True)
    write_result(folder, temporary=tempfile.mkdtemp())


def segfault(folder: Path) -> None:
    say("phase: compile")
    os.kill(os.getpid(), signal.SIGSEGV)


def killed(folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(folder: Path) -> None:
    say("phase: job\nunknown benchmark mlp.huge: `list` shows the known ones")
    sys.exit(2)


def fail(folder: Path) -> None:
    raise RuntimeError("the model fell over")


def malformed(folder: Path) -> None:
    (folder / "result.json").write_text('{"schema": "result.v1", "metrics": {')


def not_a_number(folder: Path) -> None:
    (folder / "result.json").write_text('{"metrics": {"latency_ms": {"value": NaN}}}')


def little_room(folder: Path) -> None:
    """The suite's own writing of a large result, on a disk that takes 50 kB."""
    write_as_the_suite(folder, room_bytes=50_000)


def no_room(folder: Path) -> None:
    write_as_the_suite(folder, room_bytes=1000)


def write_as_the_suite(folder: Path, room_bytes: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from benchmarks_suite.commands import run
    from tests.builders.full_disk import full_disk

    golden = Path(__file__).resolve().parents[1] / "data" / "golden" / "result.pass.json"
    document = json.loads(golden.read_text())
    document["samples"]["eager"]["values"] = [1.5] * 50_000
    say("phase: write")
    with full_disk(room_bytes):
        sys.exit(run._write(document, folder / "result.json"))


def fill(file: Path) -> None:
    """No byte is free on the disk of this file."""
    with suppress(OSError), file.open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 65_536)


def disk_of(folder: Path) -> Path:
    """The disk that a test has given the worker, from the folder of a job."""
    return folder.parent.parent


def fill_disk(folder: Path) -> None:
    """With a file of our own: half of it in our folder, half among the temporary files."""
    (folder / "half").write_bytes(b"x" * 4_000_000)
    fill(Path(tempfile.mkdtemp()) / "rest")
    sys.exit(1)


def fill_disk_of_others(folder: Path) -> None:
    """Somebody else fills it while we run."""
    fill(disk_of(folder) / "other")
    raise OSError("No space left on device")


def fail_to_compile_on_full_disk(folder: Path) -> None:
    write_result(folder, status="fail_to_compile")
    fill(disk_of(folder) / "other")


def pass_on_full_disk(folder: Path) -> None:
    write_result(folder)
    fill(disk_of(folder) / "other")


def flood(folder: Path) -> None:
    line = b"x" * 1023 + b"\n"
    for _ in range(40 * 1024):
        os.write(2, line)
    say("phase: sampling\nthe last line")
    time.sleep(1)
    sys.exit(3)


def hang_after_result(folder: Path) -> None:
    write_result(folder)
    time.sleep(600)


def artifacts(folder: Path) -> None:
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "code.py").write_text("generated")
    write_result(folder)


def binary_noise(folder: Path) -> None:
    os.write(2, b"\xff\x00\xfe caf\xc3\xa9\n")
    sys.exit(1)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["-c"]:
        print(json.dumps(BUILD))
    elif "list" in arguments:
        print(json.dumps(CATALOG))
    else:
        job = json.loads(Path(arguments[-2]).read_text())
        globals()[job["config"]](Path(arguments[-1]).parent)


if __name__ == "__main__":
    main(sys.argv[1:])
