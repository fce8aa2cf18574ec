"""``lists``: what the next session on a GPU should measure, by value, from what the results so far
lack.

Each list is a file of OUT, as ``batch`` and ``interleave`` read it, cut off anywhere without harm:

    main.jsonl          for the whole system (docs/offline.md): a few cases of every kind, with all
    of the yardstick's releases.jsonl      for ``interleave``: each case of HISTORY until every
    release has --processes of it, one more
                        process of every case before the next one of any, between two looks at the
                        machine's ceilings
    missing.jsonl       for ``batch``: what never ran on a GPU (missing.py), what is quick first
    distributed.jsonl   for ``batch`` on two GPUs

A job is taken to last as long as the recorded jobs of its case did, else of its family and mode.
Imports no torch.
"""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks_suite.commands import kept
from benchmarks_suite.commands.coverage import GPU, newest
from benchmarks_suite.commands.missing import missing
from benchmarks_suite.harness import recorded
from benchmarks_suite.registry import BENCHMARKS

OK, WRONG_INPUT = 0, 2
GPT2 = "gpt2.standard.inference.bfloat16.static.b16"
GPT2_TRAINING = "gpt2.standard.training.autocast_bf16.static.b16"
VIT = "vit_b16.standard.inference.bfloat16.static.b128"
CAPTIONING = "captioning.standard.training.autocast_bf16.static.b64"
UNET, MLP = (
    "sd_unet.standard.inference.float16.static.b4",
    "mlp.standard.inference.bfloat16.static.b1024",
)
CEILINGS = "ceilings.standard.inference.bfloat16.static.b8192"
HISTORY: tuple[recorded.Case, ...] = (  # the most telling first
    (GPT2, "inductor"),
    ("llama.standard.decode.bfloat16.static.b8", "inductor"),
    (VIT, "inductor"),
    ("resnet50.standard.inference.float16.static.b128", "inductor"),
    (UNET, "regional"),
    (UNET, "inductor"),
    (GPT2_TRAINING, "regional"),
    (CAPTIONING, "regional"),
    (MLP, "inductor"),
    (GPT2_TRAINING, "inductor"),
    (CAPTIONING, "inductor"),
    (GPT2, "inductor_reduce_overhead"),
    (GPT2, "regional"),
    (VIT, "regional"),
    (MLP, "inductor_reduce_overhead"),
    ("rms_norm.standard.inference.bfloat16.static.b16384", "inductor"),
    ("swiglu.standard.inference.bfloat16.static.b8192", "inductor"),
    ("softmax.standard.inference.bfloat16.static.b16384", "inductor"),
    ("convnext.standard.inference.bfloat16.static.b128", "inductor"),
    ("tiny_cnn.standard.inference.float16.static.b256", "inductor"),
    ("qwen3.standard.inference.bfloat16.static.b8", "inductor"),
    ("dit.standard.inference.bfloat16.static.b32", "inductor"),
)
MAIN: tuple[recorded.Case, ...] = (  # tests/perf/yardstick.py measures the first five
    (GPT2, "inductor"),
    (MLP, "inductor"),
    (VIT, "inductor"),
    ("resnet50.standard.inference.float16.static.b128", "inductor"),
    ("rms_norm.standard.inference.bfloat16.static.b16384", "inductor"),
    (CAPTIONING, "regional"),
    ("llama.standard.decode.bfloat16.static.b8", "inductor"),
    (GPT2_TRAINING, "regional"),
)
STARTS = ("cold", "warm", "restored")
# In 6 s two arms give 30 samples of 0.1 s each, 14 of which are the least for an interval
MEASURE = {
    "budget_s": 6,
    "target_percent": 0.5,
    "single_steps": 200,
    "threads": 8,
    "compile_threads": 16,
    "keep_code": False,
}
TIMEOUT_S = 200
# Of a job without starts on an H100; of a start; of a batch around a job
USUAL_S, START_S, BESIDE_S = 20, 10, 3
RANKS_S = 40  # of a distributed job, whose ranks are fresh processes each time
DISTRIBUTED = "distributed"

Line = dict[str, Any]


def declare(parser: ArgumentParser) -> None:
    kept.declare(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder of the lists")
    parser.add_argument("--processes", type=int, default=3, help="of each case in each release (3)")
    parser.add_argument(
        "--no-starts",
        action="store_true",
        help="missing.jsonl asks for none, so that batch may compile ahead",
    )


def run(options: Namespace) -> int:
    documents = kept.read(options)
    if documents is None:
        return WRONG_INPUT
    on_gpu = [
        one for one in documents if one["job"]["device"] != "cpu" and not one["job"].get("variant")
    ]
    releases = sorted({_release(document) for document in on_gpu})
    never = list(_never_run(on_gpu, () if options.no_starts else ("cold",)))
    lists = {
        "main": ([_line((CEILINGS, "eager"), ()), *(_line(case, ("cold",)) for case in MAIN)], 1),
        "releases": (list(_releases(on_gpu, releases, options.processes)), max(1, len(releases))),
        "missing": ([line for line in never if not _spans_devices(line)], 1),
        "distributed": ([line for line in never if _spans_devices(line)], 1),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (lines, builds) in lists.items():
        (options.out / f"{name}.jsonl").write_text(
            "".join(f"{json.dumps(line)}\n" for line in lines)
        )
        minutes = sum(_seconds(line, on_gpu) for line in lines) * builds / 60
        where = f"{builds} build{'s' * (builds > 1)}"
        print(f"{name + '.jsonl':<18} {len(lines):3} jobs in {where}: about {minutes:.0f} min")  # noqa: T201
    return OK


def _releases(
    documents: Sequence[recorded.Document], releases: Sequence[str], processes: int
) -> Iterator[Line]:
    """Lines that bring each case to so many processes in each release; none where nothing lacks."""
    known = Counter((recorded.case(document), _release(document)) for document in documents)
    started = {
        recorded.case(document)
        for document in documents
        if set(STARTS) <= document.get("starts", {}).keys()
    }
    wanted = []
    for process in range(processes):
        for case in HISTORY:
            if min((known[case, release] for release in releases), default=0) <= process:
                wanted.append(_line(case, () if case in started else STARTS))
                started.add(case)
    ceilings = [_line((CEILINGS, "eager"), ())] if wanted else []
    yield from [*ceilings, *wanted, *ceilings]


def _never_run(documents: Sequence[recorded.Document], starts: Sequence[str]) -> Iterator[Line]:
    """What is quick first: inference before training, no search for the fastest kernel before all
    else.
    """
    cases = missing(newest(documents, GPU), GPU.size)
    for case in sorted(cases, key=lambda case: ("autotune" in case[1], "training" in case[0])):
        yield _line(case, starts)


def _line(case: recorded.Case, starts: Iterable[str]) -> Line:
    benchmark, config = case
    measure = {**MEASURE, "starts": list(starts)}
    return {
        "benchmark": benchmark,
        "config": config,
        "device": "cuda:0",
        "timeout_s": TIMEOUT_S,
        "measure": measure,
    }


def _seconds(line: Line, documents: Sequence[recorded.Document]) -> float:
    """How long the line will take in one build."""
    alike, starts = _alike(line, documents), line["measure"]["starts"]
    without = [sum(one["wall_s"].values()) - one["wall_s"].get("starts", 0) for one in alike]
    in_starts = [one["wall_s"]["starts"] / len(one["starts"]) for one in alike if one.get("starts")]
    each = median(in_starts) if in_starts else START_S
    ranks = RANKS_S if _spans_devices(line) else 0
    return (median(without) if without else USUAL_S) + len(starts) * each + BESIDE_S + ranks


def _alike(line: Line, documents: Sequence[recorded.Document]) -> list[recorded.Document]:
    """The recorded jobs of the line's case; where there are none those of its family and mode, or
    else of its mode.

    What was compiled ahead says nothing: its job did not compile.
    """
    case, wanted = (line["benchmark"], line["config"]), BENCHMARKS[line["benchmark"]]
    known = [
        (one, BENCHMARKS[name])
        for one in documents
        if (name := one["benchmark"]["name"]) in BENCHMARKS and "ahead" not in one.get("starts", {})
    ]
    of_case = [one for one, _ in known if recorded.case(one) == case]
    of_mode = [(one, benchmark) for one, benchmark in known if benchmark.mode == wanted.mode]
    of_family = [one for one, benchmark in of_mode if benchmark.family == wanted.family]
    return of_case or of_family or [one for one, _ in of_mode]


def _release(document: recorded.Document) -> str:
    return str(document["environment"]["torch"]["version"])


def _spans_devices(line: Line) -> bool:
    return BENCHMARKS[line["benchmark"]].family == DISTRIBUTED
