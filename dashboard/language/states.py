"""The codes of statuses, states and marks as people read them. Pure.

Stored, exported and filtered is the code; pages show the label, with the code next to it where
somebody may look for it in a file.
"""

LABELS: dict[str, str] = {
    # how a case ended
    "pass": "passed",
    "fail_accuracy": "accuracy failed",
    "eager_two_runs_differ": "eager not repeatable",
    "fail_to_compile": "failed to compile",
    "fail_to_run": "failed to run",
    "oom": "out of memory",
    "timeout": "timed out",
    "unsupported": "not supported",
    # jobs
    "timed_out": "timed out",
    "lost": "worker lost",
    # alerts
    "missing_report": "missing report",
    "not_reproduced": "not reproduced",
    "trade_off": "trade-off",
    "wontfix": "won't fix",
    "invalid": "not a regression",
    "nobody": "unassigned",
    # marks of a job
    "cpu_pressure": "CPU busy with other work",
    "gpu_shared": "GPU shared with another process",
    "gpu_throttled": "GPU throttled",
    "gpu_hot": "GPU hot",
    "context_switches": "interrupted by other processes",
    "clock_changed": "GPU clock changed",
    "fingerprint_unstable": "generated code differs between starts",
    "recompile_limit": "dynamo gave up compiling a function",
    "cache_missed": "caches not used",
    "no_cuda_graphs": "CUDA graphs not recorded",
    "other_strides": "output with other strides than eager's",
    # what ended a job's sampling
    "budget": "the time budget",
    "target": "the precision aimed at",
    "count": "the number of pairs asked for",
}

ACTS: dict[str, str] = {
    "acknowledged": "Acknowledge",
    "fixed": "Mark fixed",
    "wontfix": "Won't fix",
    "invalid": "Not a regression",
}
"""What a person does who moves an alert to a state: the label of the button."""


def label(code: str) -> str:
    """``code`` as people read it; a code without a label with spaces: gpu_hot -> gpu hot."""
    return LABELS.get(code, code.replace("_", " "))
