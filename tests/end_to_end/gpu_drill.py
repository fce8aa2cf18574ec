"""The drill for a GPU without a site: real changes of the compiled path, measured in turn, judged
from files.

    python -m tests.end_to_end.gpu_drill measure OUT [--device cuda:0] [--only later]
        with the suite alone
    python -m tests.end_to_end.gpu_drill judge OUT [--device cuda:0]
        where the site is installed

`measure` interleaves the plain build, the same again as the control, and a variant for each
injection: one process each in every turn. Each case begins with a whole turn that is not judged
(OUT/warm_up): on a machine that was just started the disk is cold, and a variant may read files
that no plain job has read. After the fewest turns that the sequential test looks at it continues,
as a confirmation of the site would: one turn more of each case that is not decided, until the most
turns or the minutes are over. That needs numpy and scipy; without them it stops after --turns.

`judge` does with the results what the site does with a confirmation: each turn is a pair, the pairs
go through the sequential test (dashboard/alerts/core/confirmation.py), and what it confirms gets a
cause by the site's own rules (dashboard/alerts/core/attribution.py). OUT has a folder for each
case, with a folder of
results for each build, or a kept file BUILD.jsonl.gz (tests/data/h100_drill). `manage.py
import_results OUT` shows the same numbers on the site's pages. The exit code of `judge` is 1 where
a result differs from what was expected: an undecided one counts as not found.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.end_to_end.drill_injections import EXTRA_CALLS, OWN_MLP, OWN_MODEL

if TYPE_CHECKING:
    from tests.end_to_end.gpu_drill_judging import Finding

PLAIN, CONTROL, WARM_UP = "plain", "again", "warm_up"
JUDGED = (
    "latency_ms",
    "device_ms",
    "peak_memory_gb",
    "cold_start_s",
    "compile_calls",
    "drift",
    "passed",
)


@dataclass(frozen=True)
class Injection:
    """A variant and the metrics in which it must show. case: benchmark and config."""

    name: str
    what: str
    variant: dict[str, Any]
    metrics: tuple[str, ...]
    case: tuple[str, str]
    starts: tuple[str, ...] = ("cold",)


RMS_NORM = ("rms_norm.standard.inference.bfloat16.static.b16384", "inductor")
SWIGLU = ("swiglu.standard.inference.bfloat16.static.b8192", "inductor")
GPT2 = ("gpt2.standard.inference.bfloat16.static.b16", "inductor")
NO_FUSION = {"inductor": {"max_fusion_size": 1, "epilogue_fusion": False}}
SOFTMAX = ("softmax.smoke.inference.float32.static.b256", "inductor")
SMALL_CNN = ("tiny_cnn.smoke.inference.float32.static.b32", "inductor")
SMALL_MLP = ("mlp.smoke.inference.float32.static.b64", "inductor")
BOTH_CLOCKS = ("latency_ms", "device_ms")  # a kernel's change shows on the host's and the device's
BUSIER = Injection(
    "busier",
    "a pass of Inductor makes needless Python calls",
    {"env": {"TORCH_DRILL_EXTRA_CALLS": str(EXTRA_CALLS)}},
    ("compile_calls",),
    (OWN_MLP, "inductor"),
    starts=("cold", "counted"),
)

# fmt: off
ON_GPU = (  # kernels first, whose jobs take seconds, then the first again in a whole model
    Injection("slower", "Inductor fuses nothing", NO_FUSION, BOTH_CLOCKS, RMS_NORM),
    Injection("heavier", "Inductor uses CUDA graphs",
              {"inductor": {"triton.cudagraphs": True}}, ("peak_memory_gb",), RMS_NORM),
    Injection("later", "Inductor tunes each kernel by coordinate descent",
              {"inductor": {"coordinate_descent_tuning": True}}, ("cold_start_s",), RMS_NORM),
    Injection("inexact", "Inductor computes in bfloat16 what it otherwise computes in float32",
              {"inductor": {"triton.codegen_upcast_to_fp32": False}}, ("drift",), SWIGLU),
    BUSIER,
    Injection("unfused", "Inductor fuses nothing", NO_FUSION, BOTH_CLOCKS, GPT2),
)
ON_CPU = (
    Injection("slower", "Inductor may not vectorize",
              {"inductor": {"cpp.simdlen": 1}}, BOTH_CLOCKS, SOFTMAX),
    Injection("heavier", "folded copies of the weights",
              {"inductor": {"freezing": True}}, ("peak_memory_gb",), SMALL_MLP),
    Injection("later", "the code around the kernels is C++",
              {"inductor": {"cpp_wrapper": True}}, ("cold_start_s",), SMALL_MLP),
    Injection("inexact", "Inductor computes relu wrongly",
              {"inductor": {"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}}, ("drift",),
              SMALL_CNN),
    BUSIER,
)
# fmt: on


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("measure", "judge"))
    parser.add_argument("out", type=Path, help="folder of the result files")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--minutes", type=float, default=14)
    parser.add_argument(
        "--turns",
        type=int,
        default=4,
        help="turns before the pairs are looked at",
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        default=2,
        help="seconds of sampling in each job",
    )
    parser.add_argument(
        "--only", action="append", help="an injection by its name; again for another"
    )
    options = parser.parse_args()
    table = ON_CPU if options.device == "cpu" else ON_GPU
    names = options.only or [injection.name for injection in table]
    injections = tuple(injection for injection in table if injection.name in names)
    if not injections:
        parser.error(f"--only names none of {', '.join(injection.name for injection in table)}")
    if options.command == "measure":
        return measure(options, injections)
    import django  # where there is no site there is none

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    return judge(options.out, injections)


def measure(options: argparse.Namespace, injections: Sequence[Injection]) -> int:
    """Each case's warm-up and first turns, then one turn more of those that are not decided.

    Returns the worst exit code.
    """
    deadline = time.monotonic() + options.minutes * 60
    groups: dict[tuple[str, str], list[Injection]] = {}
    for injection in injections:
        groups.setdefault(injection.case, []).append(injection)
    turns, worst = options.turns, 0
    for group in groups.values():
        warmed = _interleave(options, deadline, group, options.out / WARM_UP, 1)
        worst = max(worst, warmed, _interleave(options, deadline, group, options.out, turns))
    undecided = list(groups.values())
    while not worst:
        undecided = [group for group in undecided if _wants_more(options.out, group)]
        if not undecided:
            break
        turns += 1
        for group in undecided:
            worst = max(worst, _interleave(options, deadline, group, options.out, turns))
    return worst


def _wants_more(out: Path, group: list[Injection]) -> bool:
    """An injection is looked at in the metric where it must show, the control in those of all."""
    try:
        from tests.end_to_end.gpu_drill_pairs import wants_more
    except ModuleNotFoundError as missing:
        reason = f"{missing.name} is not installed"
        print(f"{reason}: no look at the pairs, so no further turns", file=sys.stderr)
        return False
    metrics = {injection.name: injection.metrics for injection in group}
    metrics[CONTROL] = tuple(metric for injection in group for metric in injection.metrics)
    return wants_more(out / group[0].name, PLAIN, metrics)


def _interleave(
    options: argparse.Namespace, deadline: float, group: list[Injection], out: Path, turns: int
) -> int:
    """So many turns, less those that are there."""
    folder = out / group[0].name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "list.jsonl").write_text(f"{json.dumps(_job(options, group[0]))}\n" * turns)
    command = [options.python, "-m", "benchmarks_suite", "interleave"]
    command += [str(folder / "list.jsonl"), str(folder)]
    for label in (PLAIN, *(injection.name for injection in group), CONTROL):
        command += ["--build", f"{label}={options.python}"]
    for injection in group:
        command += ["--variant", f"{injection.name}={json.dumps(injection.variant)}"]
    minutes = max(0.0, deadline - time.monotonic()) / 60
    return subprocess.run([*command, "--minutes", str(minutes)], check=False).returncode


def _job(options: argparse.Namespace, injection: Injection) -> dict[str, Any]:
    """A line of the list. Its cold start leaves the fingerprints that a cause is judged by."""
    measure = {
        "budget_s": options.budget_s,
        "single_steps": 0,
        "starts": [*injection.starts],
        "keep_code": False,
    }
    if options.device != "cpu":
        measure |= {"threads": 8, "compile_threads": 16}
    benchmark, config = injection.case
    return {
        "benchmark": benchmark,
        "config": config,
        "sources": [str(OWN_MODEL)],
        "device": options.device,
        "timeout_s": 300,
        "measure": measure,
    }


def judge(out: Path, injections: Sequence[Injection]) -> int:
    """Prints what was found of each injection and of each control.

    Returns 1 where a result differs from what was expected.
    """
    from tests.end_to_end.gpu_drill_judging import findings
    from tests.end_to_end.gpu_drill_pairs import labels, read

    wrong = 0
    print("| injected | found | effect | cause | evidence |\n|---|---|---|---|---|")
    for group in sorted({path.parent for path in out.glob(f"*/{PLAIN}*")}):
        base, measured = read(group, PLAIN), labels(group)
        for injection in injections:
            if injection.name in measured:
                of_variant = findings(base, read(group, injection.name), JUDGED)
                wrong += not _shows(injection, of_variant, base[0]["metrics"])
                model = injection.case[0].partition(".")[0]
                print_rows(f"{injection.what} ({model})", of_variant)
        of_control = findings(base, read(group, CONTROL), JUDGED)
        wrong += any(finding.state != "undecided" for finding in of_control)
        print_rows("nothing: the same build again", of_control)
    if wrong:
        print(f"\n{wrong} came otherwise, or cannot be told yet.")
        return 1
    print("\nAll of it came as it should.")
    return 0


def _shows(injection: Injection, findings: Sequence["Finding"], measured: Collection[str]) -> bool:
    """In each of its metrics that was measured: older results lack the device's time."""
    blamed = {finding.metric for finding in findings if finding.cause == "compiler"}
    expected = {metric for metric in injection.metrics if metric in measured}
    return bool(expected) and expected <= blamed


def print_rows(what: str, findings: Sequence["Finding"]) -> None:
    for finding in findings:
        cells = (finding.metric, finding.effect, finding.cause, finding.evidence)
        print(f"| {what} | {' | '.join(cells)} |", flush=True)
    if not findings:
        print(f"| {what} | nothing | | | |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
