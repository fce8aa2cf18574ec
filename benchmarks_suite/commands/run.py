"""``run``: one case, from a job file to a result file, or from options to a table.

Its exit code with options says how the case ended (EXIT_CODES below). With a job file it is 0
wherever a result was written: the file says how the case ended.
"""

import json
import shutil
import uuid
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import contract, forks, job, progress, result, table
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.measure import measure

OK, FAILED_TO_WRITE = 0, 1
DID_NOT_PASS, UNSUPPORTED = 3, 4
EXIT_CODES = """\
exit codes:
  0  the case passed; with JOB_FILE RESULT_FILE: a result was written, whatever its status
  1  the result could not be written, or the command crashed
  2  the job file or the command line is wrong
  3  the case did not pass: fail_accuracy, fail_to_compile, fail_to_run, timeout, ...
  4  unsupported: this torch, device or model lacks what the config needs
"""
TIMEOUT_S = contract.schema("job.v1")["properties"]["timeout_s"]["default"]
_OPTION_TYPES = {"integer": int, "number": float, "array": str, "boolean": str}


def declare(parser: ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = EXIT_CODES, RawDescriptionHelpFormatter
    parser.add_argument(
        "job_file",
        nargs="?",
        type=Path,
        help="a job file; leave it out to give the case by options",
    )
    parser.add_argument("result_file", nargs="?", type=Path, help="where the result goes")
    parser.add_argument(
        "--out",
        type=Path,
        help="also write the result file here, and the generated code next to it",
    )
    # A batch's own number: its jobs end with it
    parser.add_argument("--parent", type=int, help=SUPPRESS)
    declare_case(parser)


def declare_case(parser: ArgumentParser) -> None:
    """The options that say what to measure and how."""
    parser.add_argument("--benchmark", help="name of the benchmark, as `list` shows it")
    parser.add_argument("--config", help="name of the config")
    declare_sources(parser)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument(
        "--timeout-s",
        type=float,
        default=TIMEOUT_S,
        metavar="VALUE",
        help=f"Seconds that a start may take, less 15 for the rest (default: {TIMEOUT_S})",
    )
    parser.add_argument(
        "--inductor",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="an attribute of torch._inductor.config; repeatable",
    )
    for name, rule in job.measure_fields().items():
        default = json.dumps(rule["default"])
        if rule["type"] == "array":
            default = ",".join(rule["default"])
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=_OPTION_TYPES[rule["type"]],
            choices=("true", "false") if rule["type"] == "boolean" else None,
            metavar="VALUE",
            help=f"{rule['title']} (default: {default})".replace("%", "%%"),  # argparse formats it
        )


def declare_sources(parser: ArgumentParser) -> None:
    """The option that names files of own models."""
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="PATH",
        help="a Python file of your own models, or a folder of them; repeatable",
    )


def run(options: Namespace) -> int:
    if options.parent is not None:
        forks.end_with_parent(options.parent)
    requested, result_file = _requested(options)
    artifacts = result_file.parent / "artifacts" if result_file else None
    measured = measure(requested, artifacts).document()
    code = OK
    if result_file:
        code = _write(measured, result_file)
    if result_file is None or options.job_file is None:
        progress.answer(table.rendered(measured))
    if options.job_file is None and code == OK:
        return exit_code(str(measured["status"]))
    return code


def exit_code(status: str) -> int:
    """Return the exit code of a person's run that ended with this status word."""
    if status == "pass":
        return OK
    return UNSUPPORTED if status == "unsupported" else DID_NOT_PASS


def _requested(options: Namespace) -> tuple[job.Job, Path | None]:
    """The job, and where its result goes (None: only onto the terminal)."""
    by_options = options.benchmark or options.config
    if options.job_file and options.result_file and not by_options:
        return job.read(options.job_file), options.result_file.absolute()
    if options.job_file or not (options.benchmark and options.config):
        raise job.JobError(
            "give either JOB_FILE RESULT_FILE, or --benchmark NAME --config NAME; "
            f"{job.WHERE_NAMES_ARE}"
        )
    return job.parse(document(options)), options.out.absolute() if options.out else None


def document(options: Namespace) -> Document:
    """The job document that the options mean. Raises JobError."""
    if not (options.benchmark and options.config):
        raise job.JobError(f"give --benchmark NAME and --config NAME; {job.WHERE_NAMES_ARE}")
    values = {name: getattr(options, name) for name in job.measure_fields()}
    measure_options = {name: value for name, value in values.items() if value is not None}
    if "starts" in measure_options:
        words = measure_options["starts"].split(",")
        measure_options["starts"] = [word for word in words if word]
    for name in ("keep_code", "accuracy_only"):
        if name in measure_options:
            measure_options[name] = measure_options[name] == "true"
    return {
        "schema": "job.v1",
        "job_id": str(uuid.uuid4()),
        "attempt": 1,
        "benchmark": options.benchmark,
        "config": options.config,
        "sources": options.sources,
        "device": options.device,
        "measure": measure_options,
        "timeout_s": options.timeout_s,
        "variant": {"inductor": dict(map(_setting, options.inductor))},
    }


def _setting(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    try:
        return key, contract.read_json(value)
    except ValueError as error:
        raise job.JobError(
            f"--inductor {text}: write KEY=JSON, for example shape_padding=true"
        ) from error


def _write(document: Document, path: Path) -> int:
    """Writes the result; returns the exit code.

    On a full disk it writes what fits: the same without what takes room, and with the reason.
    """
    try:
        result.write(document, path)
        return OK
    except OSError as error:
        reason = (
            f"the result could not be written to {path}: {error.strerror}; free some space there"
        )
    progress.note(f"benchmarks_suite: {reason}")
    shutil.rmtree(path.parent / "artifacts", ignore_errors=True)
    failure = {"status": "fail_to_run", "stage": "write", "message": reason[:4000]}
    shortened = {**document, "samples": {}, **failure}
    for section in ("compile", "starts", "ablation"):
        shortened.pop(section, None)
    try:
        result.write(shortened, path)
    except OSError:
        return FAILED_TO_WRITE
    return OK
