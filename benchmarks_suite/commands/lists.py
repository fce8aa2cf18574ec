"""``lists``: what the next session on a GPU should measure, by value, from what the results so far
lack.

Each list is a file of OUT, as ``batch`` and ``interleave`` read it; it can be cut off anywhere
without harm:

    main.jsonl          for the whole system (docs/offline.md): a few cases of every kind, with all
                        of the yardstick's
    releases.jsonl      for ``interleave``: each case of HISTORY until every release has --processes
                        of it, one more process of every case before the next one of any, between
                        two measurements of the machine's ceilings
    missing.jsonl       for ``batch``: what never ran on a GPU (missing.py), what is quick first
    distributed.jsonl   for ``batch`` on two GPUs
    field.jsonl         for ``interleave``: the field's names in inference, with Inductor and with
                        CUDA graphs on top

A job is taken to last as long as the recorded jobs of its case did, else of its family and mode.
Imports no torch.
"""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks_suite.commands import result_paths
from benchmarks_suite.commands.coverage import GPU, newest
from benchmarks_suite.commands.missing import missing
from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.recorded import Case
from benchmarks_suite.registry import BENCHMARKS, FIELD

OK = 0
GPT2 = "gpt2.standard.inference.bfloat16.static.b16"
GPT2_TRAINING = "gpt2.standard.training.autocast_bf16.static.b16"
VIT = "vit_b16.standard.inference.bfloat16.static.b128"
CAPTIONING = "captioning.standard.training.autocast_bf16.static.b64"
UNET = "sd_unet.standard.inference.float16.static.b4"
MLP = "mlp.standard.inference.bfloat16.static.b1024"
RESNET = "resnet50.standard.inference.float16.static.b128"
LLAMA = "llama.standard.decode.bfloat16.static.b8"
RMS_NORM = "rms_norm.standard.inference.bfloat16.static.b16384"
CEILINGS = "ceilings.standard.inference.bfloat16.static.b8192"
HISTORY: tuple[Case, ...] = (  # the most informative first
    (GPT2, "inductor"),
    (LLAMA, "inductor"),
    (VIT, "inductor"),
    (RESNET, "inductor"),
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
    (RMS_NORM, "inductor"),
    ("swiglu.standard.inference.bfloat16.static.b8192", "inductor"),
    ("softmax.standard.inference.bfloat16.static.b16384", "inductor"),
    ("convnext.standard.inference.bfloat16.static.b128", "inductor"),
    ("tiny_cnn.standard.inference.float16.static.b256", "inductor"),
    ("qwen3.standard.inference.bfloat16.static.b8", "inductor"),
    ("dit.standard.inference.bfloat16.static.b32", "inductor"),
)
MAIN: tuple[Case, ...] = (  # tests/perf/yardstick.py measures the first five
    (GPT2, "inductor"),
    (MLP, "inductor"),
    (VIT, "inductor"),
    (RESNET, "inductor"),
    (RMS_NORM, "inductor"),
    (CAPTIONING, "regional"),
    (LLAMA, "inductor"),
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
JOB_S = 20  # of a job without starts on an H100
START_S = 10
BATCH_S = 3  # of the batch, around each job
RANKS_S = 40  # of a distributed job, whose ranks are fresh processes each time
DISTRIBUTED = "distributed"

Line = Document


def declare(parser: ArgumentParser) -> None:
    result_paths.declare(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder of the lists")
    parser.add_argument("--processes", type=int, default=3, help="of each case in each release (3)")
    parser.add_argument(
        "--no-starts",
        action="store_true",
        help="missing.jsonl asks for none, so that batch may compile ahead",
    )


def run(options: Namespace) -> int:
    documents = result_paths.read(options)
    on_gpu = []
    for document in documents:
        job = document["job"]
        if job["device"] != "cpu" and not job.get("variant"):
            on_gpu.append(document)
    releases = sorted({_release(document) for document in on_gpu})
    lists: dict[str, list[Line]] = {
        "main": [_line((CEILINGS, "eager"), ()), *(_line(case, ("cold",)) for case in MAIN)],
        "releases": _releases(on_gpu, releases, options.processes),
        "missing": [],
        "distributed": [],
        "field": [_line(case, ()) for case in _field_cases()],
    }
    for line in _never_run(on_gpu, () if options.no_starts else ("cold",)):
        lists["distributed" if _spans_devices(line) else "missing"].append(line)
    _write(lists, options.out)
    for name, lines in lists.items():
        builds = len(releases) or 1 if name == "releases" else 1
        where = "1 build" if builds == 1 else f"{builds} builds"
        minutes = sum(_seconds(line, on_gpu) for line in lines) * builds / 60
        print(f"{name + '.jsonl':<18} {len(lines):3} jobs in {where}: about {minutes:.0f} min")  # noqa: T201
    return OK


def _write(lists: dict[str, list[Line]], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in lists.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (out / f"{name}.jsonl").write_text(text)


def _releases(documents: Sequence[Document], releases: Sequence[str], processes: int) -> list[Line]:
    """Lines that bring each case to so many processes in each release; none where nothing lacks."""
    counts = Counter((recorded.case(document), _release(document)) for document in documents)
    have_starts = set[Case]()
    for document in documents:
        if set(STARTS) <= document.get("starts", {}).keys():
            have_starts.add(recorded.case(document))
    lines = []
    for process in range(processes):
        for case in HISTORY:
            fewest = min((counts[case, release] for release in releases), default=0)
            if fewest <= process:
                lines.append(_line(case, () if case in have_starts else STARTS))
                have_starts.add(case)
    if not lines:
        return []
    ceilings = _line((CEILINGS, "eager"), ())
    return [ceilings, *lines, ceilings]


def _never_run(documents: Sequence[Document], starts: Sequence[str]) -> list[Line]:
    """What is quick first: inference before training, and all else before a search for the fastest
    kernel.
    """
    cases = missing(newest(documents, GPU), GPU.size)
    quick_first = sorted(cases, key=lambda case: ("autotune" in case[1], "training" in case[0]))
    return [_line(case, starts) for case in quick_first]


def _field_cases() -> Iterator[Case]:
    """Every name with the first config before any with the second."""
    for config in ("inductor", "inductor_reduce_overhead"):
        for benchmark in FIELD.values():
            is_inference = (benchmark.size, benchmark.mode) == ("standard", "inference")
            if is_inference and benchmark.dtype == _field_dtype(benchmark.model):
                yield benchmark.name, config


def _field_dtype(model: str) -> str:
    return "float32" if model == "googlefnet" else "bfloat16"  # theirs is float32 alone


def _line(case: Case, starts: Iterable[str]) -> Line:
    benchmark, config = case
    return {
        "benchmark": benchmark,
        "config": config,
        "device": "cuda:0",
        "timeout_s": TIMEOUT_S,
        "measure": {**MEASURE, "starts": list(starts)},
    }


def _seconds(line: Line, documents: Sequence[Document]) -> float:
    """How long the line will take in one build."""
    without_starts, each_start = [], []
    for document in _alike(line, documents):
        starts_s = document["wall_s"].get("starts", 0)
        without_starts.append(sum(document["wall_s"].values()) - starts_s)
        if document.get("starts"):
            each_start.append(document["wall_s"]["starts"] / len(document["starts"]))
    seconds: float = median(without_starts or [JOB_S]) + BATCH_S
    seconds += median(each_start or [START_S]) * len(line["measure"]["starts"])
    if _spans_devices(line):
        seconds += RANKS_S
    return seconds


def _alike(line: Line, documents: Sequence[Document]) -> list[Document]:
    """The recorded jobs of the line's case; where there are none those of its family and mode, or
    else of its mode.

    What was compiled ahead says nothing: its job did not compile.
    """
    benchmark = BENCHMARKS[line["benchmark"]]
    of_case, of_family, of_mode = [], [], []
    for document in documents:
        recorded_benchmark = BENCHMARKS.get(document["benchmark"]["name"])
        if recorded_benchmark is None or "ahead" in document.get("starts", {}):
            continue
        if recorded.case(document) == (line["benchmark"], line["config"]):
            of_case.append(document)
        if recorded_benchmark.mode == benchmark.mode:
            of_mode.append(document)
            if recorded_benchmark.family == benchmark.family:
                of_family.append(document)
    return of_case or of_family or of_mode


def _release(document: Document) -> str:
    return str(document["environment"]["torch"]["version"])


def _spans_devices(line: Line) -> bool:
    return BENCHMARKS[line["benchmark"]].family == DISTRIBUTED
