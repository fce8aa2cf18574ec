"""The second half of `dashboard.local offline`: start everything, measure a list, stop."""

import sys
import time
from pathlib import Path

from dashboard.local import project
from dashboard.local.processes import spawn, terminate
from dashboard.local.supervisor import Supervisor, run_locked
from dashboard.local.watcher import STOP_STEPS

STOPPING_S = 30.0  # of the available time, kept for stopping everything


class JobListSupervisor(Supervisor):
    """A supervisor that stops when a list of jobs has been measured.

    until: Unix time by which everything has to have stopped.
    """

    def __init__(self, var: Path, port: int, jobs: Path, out: Path, until: float) -> None:
        super().__init__(var, port)
        self._jobs, self._out, self._until = jobs.absolute(), out.absolute(), until

    def _setup_options(self) -> tuple[str, ...]:
        return ("--without-runs",)

    def _keep_running(self) -> int:
        """Measure the list while the programs run; the exit code of that."""
        minutes = max(0.0, self._until - time.time() - STOPPING_S) / 60
        arguments = (str(self._jobs), str(self._out), "--minutes", str(minutes))
        measuring = spawn(
            [sys.executable, "manage.py", "measure_list", *arguments],
            output=sys.stdout.fileno(),
            env=self.environment,
            folder=project.ROOT,
        )
        try:
            self.watcher.watch(lambda: measuring.poll() is not None)
        finally:
            terminate(measuring.pid, STOP_STEPS)
        return measuring.wait()


def main(jobs: str, out: str, until: str) -> int:
    """Arguments as of JobListSupervisor."""
    return run_locked(
        lambda var, port: JobListSupervisor(var, port, Path(jobs), Path(out), float(until))
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
