"""Content of the pages of one job and of its generated code."""

from collections.abc import Mapping
from typing import Any

from dashboard.models import Job
from dashboard.results.core import report, report_bars
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.headline import headline
from dashboard.results.core.kernel_profile import arm_profiles
from dashboard.results.core.shape_sweep import shape_sweep
from dashboard.results.core.soak import soak
from dashboard.results.selectors import generated_code
from dashboard.runs.core.reproduce import command
from dashboard.runs.selectors import runs

_MOST_SHOWN = 400_000  # characters of one file: a page of more is slow to scroll


def job_page(job: Job) -> dict[str, Any]:
    """One job: its numbers, and everything that explains them."""
    document = _document(job)
    return {
        "job": job,
        "result": getattr(job, "result", None),
        "document": document,
        "is_active": job.state not in runs.ENDED,
        "has_samples": job.samples.exists(),
        "has_code": any(artifact.name == ARCHIVE for artifact in job.artifacts.all()),
        "profiles": arm_profiles(document).values(),
        "headline": headline(document),
        "groups": report.metric_groups(document),
        "sweep": shape_sweep(document),
        "soak": soak(document),
        "absent": report.absent(document),
        "starts": report_bars.starts(document),
        "phases": report_bars.phases(document),
        "memory": report_bars.memory(document),
        "stages": report_bars.stages(document),
        "drifts": report.drifts(document),
        "ablation": report.ablation(document),
        "accuracy_not_judged": report.has_no_judgement(document),
        "distances": report.distances(document),
        "environment": report.environment(document),
        "start_details": report.start_details(document),
        "compiler_facts": report.compiler_facts(document),
        "frames_compiled": report.frames_compiled(document),
        "command": command(job.spec, document.get("reproduce", "")),
    }


def code_page(job: Job, file: str, kernel: str) -> dict[str, Any]:
    """Read one file that the compiler wrote: the named one, else the first.

    kernel: from whose source on it is shown; empty for all of the file.
    """
    code = generated_code.of_job(job)
    name = file if file in code.files else next(iter(code.files), "")
    start = 0
    if kernel:
        place, start = generated_code.place_of_kernel(code.files, kernel)
        name = place or name
    whole = code.files.get(name, "")
    text = whole[start:]
    return {
        "kernel": kernel,
        "is_found": bool(kernel and place),
        "line": whole.count("\n", 0, start) + 1,
        "job": job,
        "written": code,
        "sizes": [(name, len(content.splitlines())) for name, content in code.files.items()],
        "name": name,
        "text": text[:_MOST_SHOWN],
        "is_cut": len(text) > _MOST_SHOWN,
    }


def _document(job: Job) -> Mapping[str, Any]:
    result = getattr(job, "result", None)
    return result.document if result else {}
