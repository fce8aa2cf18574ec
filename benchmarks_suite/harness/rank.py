"""One rank's part of a distributed comparison.

torchrun runs it as ``benchmarks_suite.harness.rank SPEC_FILE ANSWER_FILE``.
"""

import json
import os
import sys
from pathlib import Path

from benchmarks_suite.harness import forks, measure, ranks
from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness.result import Result


def main(spec_file: str, answer_file: str) -> None:
    """Compares on this rank, and answers with the result's contents."""
    spec = json.loads(Path(spec_file).read_text())
    job = ranks.own(jobs.parse(spec["job"]))
    result = Result(job)
    result.merge(spec["found"])
    failed = False
    try:
        ranks.join(job)
        measure.compare(job, result, spec["cold"])
    except Exception as error:
        measure.fail(result, error)
        failed = True
    ranks.leave(job, Path(answer_file), result.contents(), failed)


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())  # its session is its own: no signal to the job reaches it
    main(*sys.argv[1:])
