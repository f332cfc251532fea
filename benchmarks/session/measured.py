"""Run `jaxguide` and measure the time of workers' requests, which is the answer's own share.

    python measured.py CLOCK_FILE watch FOLDER

After each check, it appends a line to CLOCK_FILE: the seconds in which a worker defined the student's cells, and
compiled and ran their function. This includes the connection and waiting, so it is an upper bound.
"""

import sys
import time
from pathlib import Path
from typing import Any

from jaxguide.cli import main
from jaxguide.grading.batch.grader import Grader
from jaxguide.grading.workers.worker_process import WorkerProcess


def measure(clock: Path) -> None:
    """Patch `WorkerProcess.request` and `Grader.grade` to measure their time."""
    request, grade = WorkerProcess.request, Grader.grade
    spent_s = 0.0

    def timed_request(self: WorkerProcess, operation: str, **fields: Any) -> dict[str, Any]:
        nonlocal spent_s
        started = time.perf_counter()
        try:
            return request(self, operation, **fields)
        finally:
            spent_s += (time.perf_counter() - started) * (operation in ("define", "ask"))

    def timed_grade(self: Grader, submitted: Any) -> Any:
        nonlocal spent_s
        spent_s = 0.0
        try:
            return grade(self, submitted)
        finally:
            with clock.open("a") as file:
                file.write(f"{spent_s}\n")

    WorkerProcess.request, Grader.grade = timed_request, timed_grade  # type: ignore[method-assign]


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
    main(sys.argv[2:], prog_name="jaxguide")
