"""The words of the site, each explained in a sentence, for the glossary and for hover. Pure."""

import re

from dashboard.language.metrics import METRICS

WORDS: dict[str, str] = {
    "model": "A network, such as gpt2 or resnet50. It belongs to a family.",
    "family": "Models of one kind: llm, diffusion, vision, multimodal, toy, attention, kernels, "
    "distributed; machine: what the hardware itself can do, the canary.",
    "benchmark": "Model, size, mode, dtype, shape profile and batch size: what stays fixed "
    "while the software under it changes.",
    "config": "A named way to execute a benchmark: eager, inductor, regional and so on.",
    "case": "One benchmark in one config.",
    "mode": "What a step does: inference, training; for language models also prefill and decode.",
    "torch build": "One installable PyTorch: version, git commit, CUDA, Triton and the pins "
    "that go with it.",
    "environment": "One torch build with its libraries, installed on a worker. Adopted: an "
    "interpreter that was there already.",
    "variant": "A torch build with environment variables or Inductor settings, named and "
    "fingerprinted.",
    "track": "A named stream of torch builds that is followed. A pinned track never moves: it "
    "shows when the machine moved.",
    "machine": "A class of identical hardware. Numbers are compared within one machine only.",
    "canary": "What a machine itself can do, measured like a benchmark: its matmul rate and "
    "copy bandwidth. It moves only when the machine does.",
    "worker": "One process that owns one device of a machine and measures one job at a time.",
    "run": "One trigger on one torch build: many jobs.",
    "job": "One case on one build on one machine, measured once in one fresh process.",
    "purpose": "Why something was measured: scheduled, manual, confirmation, bisection or "
    "import. Detection reads scheduled results; imports where their track asks for it.",
    "series": "One case on one machine and track, in one metric, over time.",
    "datum": "One value of a series, with its interval, from one job.",
    "samples": "The raw times of a job, one by one, from which its data are made.",
    "interval": "The 95% interval of a value. From one job it knows the spread within one "
    "process only; processes differ too.",
    "within one process": "No repeats of this build exist, so the interval leaves out how much "
    "one process differs from the next.",
    "eager control": "The same benchmark in eager, interleaved in the same process: what "
    "separates a compiler change from everything else.",
    "geomean": "Geometric mean over matched cases: those with a value on both sides. Cases that "
    "failed are counted beside it.",
    "matched cases": "Cases that have a value on both sides of a comparison. Only these enter a "
    "mean.",
    "accuracy": "The status word made from drift: whether the compiled numbers are as close to "
    "fp64 as eager's own.",
    "guard_overhead_us": "In results until November 2026: dynamo's own estimate of one check of all "
    "guards while it compiles. The call overhead, which is measured, took its place.",
    "kernel profile": "What ran on the device in a step, kernel by kernel (on a CPU: operator by "
    "operator), as the profiler recorded it. Two profiles show which kernels account for a change.",
    "shape sweep": "A walk through a list of batch sizes and lengths in one process: what each new "
    "shape costs in compiling, and how many steps are slow because of it.",
    "soak": "Some hundred steps that a job was asked to run to see whether memory grows.",
    "pressure": "The machine did other work while the job measured; the number may be worse "
    "than the software.",
    "alert": "One series that changed its level at one build; alerts with the same likely cause "
    "are one line of the inbox.",
    "cause": "What a change is likely due to: the compiler, eager PyTorch or a library, the machine, "
    "the benchmark; unknown without evidence.",
    "suspected": "The detector is sure of a new level; nobody has measured it again yet, or another system "
    "measured it and nothing can be.",
    "confirming": "Both builds are being measured again, in turn, on the same machine.",
    "confirmed": "Measured again side by side, the change was there, if perhaps smaller than first "
    "estimated.",
    "missing report": "What should have reported did not: nothing was measured, so nothing is "
    "shown to have changed.",
    "evidence": "How sure it is that something changed: suspected, confirming, confirmed, not "
    "reproduced, inconclusive, recovered; or a missing report.",
    "workflow": "What people make of an alert: new (nobody has said anything), acknowledged, "
    "fixed, wontfix, invalid.",
    "acknowledged": "A person has seen it and looks after it.",
    "fixed": "A person says that what caused it was repaired.",
    "wontfix": "A person says that it is real and stays; or it was too old to be news when it was judged.",
    "invalid": "A person, or detection without a point that was invalid, says that there was no "
    "change.",
    "not_reproduced": "Measured again side by side, the change was not there, or was too small to report.",
    "inconclusive": "The measurements that it may cost did not decide it.",
    "flaky": "It passes and fails by turns, on one build: told once, until it does one or the "
    "other for long.",
    "recovered": "The series is back at its old level.",
    "regression": "Slower, heavier, less exact, or failing.",
    "improvement": "Faster, lighter or more exact; found with the same care, left out of the "
    "inbox unless asked for.",
    "trade_off": "The same build made some metrics better and others worse.",
    "pair": "A process of each build that ran next to each other on one device. A change is the mean of its pairs.",
    "verdict": "Worse, better, the same or unclear; mixed where some got worse and others better. Steps, the device "
    "time of steps that keep a GPU busy, cold start, memory, drift, graph breaks and failures count.",
    "worse": "The interval leaves out 0, and the change reaches three quarters of its metric's threshold.",
    "better": "As worse, the other way.",
    "mixed": "Some got worse and others better.",
    "same": "Nothing worse than the threshold is left in the interval.",
    "unclear": "It can still be worse than the threshold: its interval says by how much.",
    "certain": "Of a change: six pairs or more show it, or two of values that repeat or differ far more than processes do.",
    "likely": "Of a change: fewer than six pairs show it, or a trend.",
    "pass": "The case ran and its numbers are as exact as they should be.",
    "fail_accuracy": "The compiled result is further from the fp64 reference than is allowed.",
    "eager_two_runs_differ": "Two eager runs with the same seed differ, so nothing can be said "
    "about the compiled one.",
    "fail_to_compile": "torch.compile raised an error.",
    "fail_to_run": "The benchmark could not be built or raised an error while running.",
    "oom": "It needed more memory than there was.",
    "timeout": "It took longer than the job's time limit and was stopped.",
    "crashed": "The process ended by a signal or without writing a result.",
    "unsupported": "This torch build or device does not have what the config needs.",
}


def explain(term: str) -> str:
    """The sentence that explains ``term``, a metric's key or a word; empty for an unknown one."""
    if term in METRICS:
        return METRICS[term].about
    return WORDS.get(term, "")


def anchor(term: str) -> str:
    """The id of ``term`` on the glossary page."""
    return re.sub(r"[\W_]+", "-", term)
