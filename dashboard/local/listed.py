"""The second half of `dashboard.local offline`: everything started, a list measured to its end,
everything stopped.
"""

import sys
import time
from pathlib import Path

from dashboard.local import project
from dashboard.local.processes import end, spawn
from dashboard.local.supervisor import Supervisor, hold_and_run
from dashboard.local.watcher import STOP_STEPS

ENDING_S = 30.0  # of the time there is, kept for stopping everything


class Listed(Supervisor):
    """A supervisor that is done when a list of jobs is. until: Unix time at which everything has to
    have stopped.
    """

    def __init__(self, var: Path, port: int, jobs: Path, out: Path, until: float) -> None:
        super().__init__(var, port)
        self._jobs, self._out, self._until = jobs.absolute(), out.absolute(), until

    def _setup_options(self) -> tuple[str, ...]:
        return ("--without-runs",)

    def _work(self) -> int:
        """The list, beside the programs; its exit code."""
        minutes = max(0.0, self._until - time.time() - ENDING_S) / 60
        command = [
            sys.executable,
            "manage.py",
            "measure_list",
            self._jobs,
            self._out,
            "--minutes",
            minutes,
        ]
        measuring = spawn(
            [*map(str, command)],
            output=sys.stdout.fileno(),
            env=self.environment,
            folder=project.ROOT,
        )
        try:
            self.watcher.watch(lambda: measuring.poll() is not None)
        finally:
            end(measuring.pid, STOP_STEPS)
        return measuring.wait()


def main(jobs: str, out: str, until: str) -> int:
    """Arguments as of Listed."""
    return hold_and_run(lambda var, port: Listed(var, port, Path(jobs), Path(out), float(until)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
