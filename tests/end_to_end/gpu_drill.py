"""The drill where there is a GPU and no site: real changes of the compiled path, measured in turn,
judged from files.

    python -m tests.end_to_end.gpu_drill measure OUT [--device cuda:0] [--only later]     the suite
    alone python -m tests.end_to_end.gpu_drill judge OUT [--device cuda:0]
    where the site is installed

`measure` interleaves the plain build, the same again as the control, and a variant for each
    injection: one process
each in every turn. Each case begins with a whole turn that is not judged (OUT/warm_up): on a
machine that was just started the disk is cold, and a variant may read files that no plain job has
read. After the fewest turns that the sequential test looks at it measures on, as a confirmation of
the site would: one turn more of each case that is not decided, until the most turns or the minutes
are over. That needs numpy and scipy; without them it stays with --turns.

`judge` does with the results what the site does with a confirmation: each turn is a pair, the pairs
    go through the
sequential test (dashboard/alerts/core/confirmation.py), and what it confirms gets a cause by the site's own rules
(dashboard/alerts/core/attribution.py). OUT has a folder for each case, with a folder of results for each build,
or a kept file BUILD.jsonl.gz (tests/data/h100_drill). `manage.py import_results OUT` shows the same
numbers on the site's pages. The exit code of `judge` is 1 where something came otherwise than it
should: also what is not decided is not found.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAIN, CONTROL, WARM_UP = "plain", "again", "warm_up"
JUDGED = ("latency_ms", "peak_memory_gb", "cold_start_s", "drift", "passed")


@dataclass(frozen=True)
class Injection:
    """A variant and the metric in which it must show; case: benchmark and config of its list."""

    name: str
    what: str
    variant: dict[str, Any]
    metric: str
    case: tuple[str, str]


RMS_NORM = ("rms_norm.standard.inference.bfloat16.static.b16384", "inductor")
SWIGLU = ("swiglu.standard.inference.bfloat16.static.b8192", "inductor")
GPT2 = ("gpt2.standard.inference.bfloat16.static.b16", "inductor")
NO_FUSION = {"inductor": {"max_fusion_size": 1, "epilogue_fusion": False}}
ON_GPU = (  # kernels first, whose jobs take seconds, then the first again in a whole model
    Injection("slower", "Inductor fuses nothing", NO_FUSION, "latency_ms", RMS_NORM),
    Injection(
        "heavier",
        "CUDA graphs keep a pool of their own",
        {"inductor": {"triton.cudagraphs": True}},
        "peak_memory_gb",
        RMS_NORM,
    ),
    Injection(
        "later",
        "Inductor tunes each kernel by coordinate descent",
        {"inductor": {"coordinate_descent_tuning": True}},
        "cold_start_s",
        RMS_NORM,
    ),
    Injection(
        "inexact",
        "Inductor computes in bfloat16 what it otherwise computes in float32",
        {"inductor": {"triton.codegen_upcast_to_fp32": False}},
        "drift",
        SWIGLU,
    ),
    Injection("unfused", "Inductor fuses nothing", NO_FUSION, "latency_ms", GPT2),
)
SOFTMAX = ("softmax.smoke.inference.float32.static.b256", "inductor")
SMALL_CNN = ("tiny_cnn.smoke.inference.float32.static.b32", "inductor")
SMALL_MLP = ("mlp.smoke.inference.float32.static.b64", "inductor")
ON_CPU = (
    Injection(
        "slower",
        "Inductor may not vectorize",
        {"inductor": {"cpp.simdlen": 1}},
        "latency_ms",
        SOFTMAX,
    ),
    Injection(
        "heavier",
        "folded copies of the weights",
        {"inductor": {"freezing": True}},
        "peak_memory_gb",
        SMALL_MLP,
    ),
    Injection(
        "later",
        "the code around the kernels is C++",
        {"inductor": {"cpp_wrapper": True}},
        "cold_start_s",
        SMALL_MLP,
    ),
    Injection(
        "inexact",
        "Inductor computes relu wrongly",
        {"inductor": {"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}},
        "drift",
        SMALL_CNN,
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("measure", "judge"))
    parser.add_argument("out", type=Path, help="folder of the result files")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--minutes", type=float, default=14)
    parser.add_argument("--turns", type=int, default=4, help="turns before the pairs are looked at")
    parser.add_argument("--budget-s", type=float, default=2, help="seconds of sampling in each job")
    parser.add_argument(
        "--only", action="append", help="an injection by its name; again for another"
    )
    given = parser.parse_args()
    all_of_them = ON_CPU if given.device == "cpu" else ON_GPU
    injections = tuple(one for one in all_of_them if given.only is None or one.name in given.only)
    if not injections:
        parser.error(f"--only names none of {', '.join(one.name for one in all_of_them)}")
    if given.command == "measure":
        return measure(given, injections)
    import django  # where there is no site there is none

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    return judge(given.out, injections)


def measure(given: argparse.Namespace, injections: tuple[Injection, ...]) -> int:
    """Each case's warm-up and first turns, then one turn more of those that are not decided; the
    worst exit code.
    """
    until = time.monotonic() + given.minutes * 60
    cases = dict.fromkeys(one.case for one in injections)
    groups = [[one for one in injections if one.case == case] for case in cases]
    worst, turns = max(_begin(given, until, group) for group in groups), given.turns
    while not worst and (groups := [group for group in groups if _wants_more(given.out, group)]):
        turns += 1
        worst = max(_interleave(given, until, group, given.out, turns) for group in groups)
    return worst


def _begin(given: argparse.Namespace, until: float, injections: list[Injection]) -> int:
    warmed = _interleave(given, until, injections, given.out / WARM_UP, 1)
    return max(warmed, _interleave(given, until, injections, given.out, given.turns))


def _wants_more(out: Path, injections: list[Injection]) -> bool:
    """An injection is looked at in the metric where it must show, the control in those of all."""
    try:
        from tests.end_to_end.gpu_drill_pairs import wants_more
    except ModuleNotFoundError as missing:
        print(
            f"{missing.name} is not installed: no look at the pairs, so no further turns",
            file=sys.stderr,
        )
        return False
    asked = {one.name: [one.metric] for one in injections} | {
        CONTROL: [one.metric for one in injections]
    }
    return wants_more(out / injections[0].name, PLAIN, asked)


def _interleave(
    given: argparse.Namespace, until: float, injections: list[Injection], out: Path, turns: int
) -> int:
    """So many turns, less those that are there; the cold start brings the fingerprints that causes
    are told from.
    """
    first = injections[0]
    (benchmark, config), on_gpu = first.case, given.device != "cpu"
    threads = {"threads": 8, "compile_threads": 16} if on_gpu else {}
    asked = {
        "budget_s": given.budget_s,
        "single_steps": 0,
        "starts": ["cold"],
        "keep_code": False,
        **threads,
    }
    job = {
        "benchmark": benchmark,
        "config": config,
        "device": given.device,
        "timeout_s": 300,
        "measure": asked,
    }
    folder = out / first.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "list.jsonl").write_text(f"{json.dumps(job)}\n" * turns)
    labels = [PLAIN, *(one.name for one in injections), CONTROL]
    builds = [word for label in labels for word in ("--build", f"{label}={given.python}")]
    variants = [
        word
        for one in injections
        for word in ("--variant", f"{one.name}={json.dumps(one.variant)}")
    ]
    command = [
        given.python,
        "-m",
        "benchmarks_suite",
        "interleave",
        str(folder / "list.jsonl"),
        str(folder),
    ]
    minutes = max(0.0, until - time.monotonic()) / 60
    return subprocess.run(
        [*command, *builds, *variants, "--minutes", str(minutes)], check=False
    ).returncode


def judge(out: Path, injections: tuple[Injection, ...]) -> int:
    """Print what was found of each injection and of each control; 1 where something came
    otherwise.
    """
    from tests.end_to_end.gpu_drill_judging import findings
    from tests.end_to_end.gpu_drill_pairs import labels, read

    wrong = 0
    print("| injected | found | effect | cause | evidence |\n|---|---|---|---|---|")
    for group in sorted({path.parent for path in out.glob(f"*/{PLAIN}*")}):
        base, there = read(group, PLAIN), labels(group)
        for one in (one for one in injections if one.name in there):
            found = findings(base, read(group, one.name), JUDGED)
            wrong += not any(
                each.metric == one.metric and each.cause == "compiler" for each in found
            )
            print_rows(f"{one.what} ({one.case[0].partition('.')[0]})", found)
        silent = findings(base, read(group, CONTROL), JUDGED)
        wrong += any(each.state != "undecided" for each in silent)
        print_rows("nothing: the same build again", silent)
    print(
        f"\n{wrong} came otherwise, or cannot be told yet."
        if wrong
        else "\nAll of it came as it should."
    )
    return 1 if wrong else 0


def print_rows(what: str, found: Any) -> None:
    rows: Iterator[str] = (
        f"| {what} | {one.metric} | {one.effect} | {one.cause} | {one.evidence} |" for one in found
    )
    print("\n".join(rows) if found else f"| {what} | nothing | | | |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
