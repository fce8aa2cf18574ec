"""Content of the pages of one job, of its generated code, and of two jobs side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.language.metrics import Metric
from dashboard.models import Job
from dashboard.results.core import job_pairs, report, report_bars
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.environments import environment_differences
from dashboard.results.core.headline import headline
from dashboard.results.core.kernel_profile import arm_profiles
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.results.core.shape_sweep import shape_sweep
from dashboard.results.core.soak import soak
from dashboard.results.selectors import compile_calls, generated_code, jobs, kernels
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


def pair_page(
    uuids: Sequence[str], *, by_age: bool, chosen_by: Metric | None = None
) -> dict[str, Any]:
    """Compare two jobs: what they measured, and in what they differ. Empty if not two exist.

    by_age: the older one comes first; else they are in the order given.
    chosen_by: a comparison chose them by this metric, base first.
    """
    both = jobs.pair(uuids, by_age=by_age)
    if len(both) < 2:
        return {}
    first, second = both
    old, new = _document(first), _document(second)
    same_machine = first.run.machine_id == second.run.machine_id
    same_case = (first.benchmark_id, first.config_id) == (second.benchmark_id, second.config_id)
    return {
        "jobs": both,
        "first": first,
        "second": second,
        "pairs": job_pairs.metric_pairs(old, new),
        "code": job_pairs.code_kinds(old, new),
        "has_calls": compile_calls.are_kept(both),
        "reasons": [
            (first, job_pairs.break_reasons(old)),
            (second, job_pairs.break_reasons(new)),
        ],
        "differences": environment_differences(
            old.get("environment", {}), new.get("environment", {})
        ),
        "other_builds": same_machine and first.run.build_id != second.run.build_id,
        "is_one_case": same_case,
        "kernels": kernels.of_documents(first, second),
        "one_profile": ONE_PROFILE,
        "chosen_by": chosen_by,
        "is_older_first": first.planned_at <= second.planned_at,
    }


def _document(job: Job) -> Mapping[str, Any]:
    result = getattr(job, "result", None)
    return result.document if result else {}
