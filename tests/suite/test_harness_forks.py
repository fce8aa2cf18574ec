"""Forked children: as fresh as a new process, kept apart, ended with what they started."""

import json
import multiprocessing.util
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from benchmarks_suite.harness import forks
from tests.builders.measured_jobs import MLP

FIXED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}


def _exits(code: int) -> None:
    sys.exit(code)


def _kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleeps(notes: Path) -> None:
    grandchild = subprocess.Popen(["sleep", "60"])
    notes.write_text(str(grandchild.pid))
    time.sleep(60)


def _leaves_a_process_and_a_farewell(notes: Path) -> int:
    """As Inductor of 2.13 does, which waits at the end for the workers that it started."""
    left = subprocess.Popen(["sleep", "60"])
    multiprocessing.util.Finalize(None, left.wait, exitpriority=1)
    notes.write_text(str(left.pid))
    return 5


def _draws(notes: Path) -> None:
    notes.write_text(str(random.random()))


def _is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_exit_code_of_a_child_is_returned() -> None:
    assert forks.run(partial(_exits, 3), 10) == 3


def test_a_child_that_crashes_is_a_signal_and_the_next_one_is_unharmed() -> None:
    assert forks.run(_kills_itself, 10) == -signal.SIGKILL
    assert forks.run(partial(_exits, 0), 10) == 0


def test_a_child_over_its_limit_ends_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        forks.run(partial(_sleeps, tmp_path / "notes"), 1)
    grandchild = int((tmp_path / "notes").read_text())
    for _ in range(50):
        if _is_gone(grandchild):
            return
        time.sleep(0.1)
    pytest.fail("the grandchild lives on")


def test_a_child_whose_work_is_done_waits_for_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    assert forks.run(partial(_leaves_a_process_and_a_farewell, tmp_path / "notes"), 30) == 5
    assert _is_gone(int((tmp_path / "notes").read_text()))


def test_children_draw_other_random_numbers_than_their_siblings(tmp_path: Path) -> None:
    forks.run(partial(_draws, tmp_path / "first"), 10)
    forks.run(partial(_draws, tmp_path / "second"), 10)
    assert (tmp_path / "first").read_text() != (tmp_path / "second").read_text()


@pytest.mark.parametrize(
    ("done_before", "reason"),
    [
        ("", ""),
        (
            "import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()",
            "more threads than a child would get",
        ),
        ("import subprocess; subprocess.Popen(['sleep', '1'])", "started 1 process,"),
        (
            (
                "import multiprocessing as m, time; "
                "m.get_context('fork').Process(target=int).start(); time.sleep(0.5)"
            ),
            "",  # its own child, which has ended and was not waited for
        ),
        ("import torch; torch.cuda.is_initialized = lambda: True", "initialized CUDA"),
        (
            "import torch; torch.compile(lambda x: x + 1, backend='eager')(torch.ones(1))",
            "compiled something",
        ),
    ],
)
def test_a_process_that_did_more_than_import_is_not_forked(done_before: str, reason: str) -> None:
    script = f"""
from benchmarks_suite.harness import forks
{done_before}
print(forks.why_unfit(), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | FIXED,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    why_unfit = done.stdout.strip()
    assert reason in why_unfit
    assert bool(reason) == bool(why_unfit)


def test_a_process_with_random_hashes_is_not_forked() -> None:
    script = "from benchmarks_suite.harness import forks; print(forks.why_unfit())"
    environment = os.environ | {"PYTHONHASHSEED": "random"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    assert "hashes are random" in done.stdout


def test_importing_everything_leaves_a_process_that_can_be_forked(tmp_path: Path) -> None:
    """Also with several threads: they begin with the first operator, which no import runs."""
    script = """
import json, sys
from benchmarks_suite.harness import forks, job, warm_imports
warm_imports.set_variables(job.parse(json.loads(sys.argv[1])))
warm_imports.import_torch("inductor")
for model in ("gpt2", "captioning", "resnet50", "sd_unet", "granite_moe", "sliding_window"):
    warm_imports.import_model(f"benchmarks_suite.models.{model}")
print(forks.why_unfit())
"""
    case = {
        "benchmark": MLP,
        "config": "inductor",
        "measure": {"threads": 2, "compile_threads": 4},
    }
    document = {
        "schema": "job.v1",
        "job_id": "test",
        "attempt": 1,
        **case,
    }
    command = [sys.executable, "-c", script, json.dumps(document)]
    done = subprocess.run(
        command, env=os.environ | FIXED, check=True, capture_output=True, text=True
    )
    assert done.stdout == "\n"


DRIVER_ASKED = """
import pathlib, torch, triton
from benchmarks_suite.harness import warm_imports
asked = lambda *_: exit("the driver was asked")
torch._C._accelerator_getAccelerator = torch.cuda.is_available = torch.cuda.device_count = asked
type(triton.runtime.driver).active = property(asked)
warm_imports._DRIVER, torch.version.cuda = pathlib.Path("/dev/null"), "13.0"
"""


@pytest.mark.parametrize(
    "imports",
    [
        "warm_imports.import_torch('inductor')",
        "warm_imports.import_model('benchmarks_suite.models.rms_norm_triton')",
        "warm_imports.import_model('benchmarks_suite.models.softmax_triton')",
        "warm_imports.import_model('benchmarks_suite.models.swiglu_triton')",
    ],
)
def test_imports_never_ask_the_driver_for_a_gpu(imports: str) -> None:
    """Asking CUDA or NVML would open the device, and the process could not be forked any more."""
    script = f"{DRIVER_ASKED}\n{imports}\nassert torch.cuda.is_available is asked"
    subprocess.run(
        [sys.executable, "-c", script], check=True, env=os.environ | {"TRITON_INTERPRET": ""}
    )


def test_imports_learn_of_the_gpu_from_its_drivers_file() -> None:
    script = f"""{DRIVER_ASKED}
warm_imports.import_model("benchmarks_suite.models.sd_unet")
from diffusers.utils import torch_utils
assert torch_utils.torch_device == "cuda", torch_utils.torch_device
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_forked_children_draw_what_a_process_that_just_imported_draws() -> None:
    script = """
from benchmarks_suite.harness import forks, warm_imports
warm_imports.import_torch("inductor")
warm_imports.import_model("benchmarks_suite.models.gpt2")
import torch
draw = lambda: print(torch.rand(3).tolist(), torch.nn.Linear(2, 2).weight.tolist(), flush=True)
for _ in range(2):
    forks.run(draw, 60)
draw()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    first, second, own = done.stdout.splitlines()
    assert first == second == own
