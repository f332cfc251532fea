"""Run one submission: execute its cells in a worker, send requests to it, and replace a worker that ended."""

import dataclasses
import errno
from collections.abc import Sequence
from typing import Any

from jaxguide.course.books.book import Book
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, ErrorInfo, StudentError, Verdict
from jaxguide.grading.intake.reading import ReadCell, ReadSubmission
from jaxguide.grading.workers.how_code_ended import broken_reply, over
from jaxguide.grading.workers.remote_answer import BrokenAnswer, RemoteAnswer, checked, error_of
from jaxguide.grading.workers.worker_process import NotGraded, Surroundings, WorkerKilled, WorkerProcess

_LOST_CELLS_LIMIT = 10
_EXPLAINED_CELLS = 10  # of thousands
_CELL_MESSAGE_LIMIT = 1_000  # of thousands of cells, all in one row


class Session:
    """Run one submission for one lesson.

    `cells` are the cells that run, after the book's code that they need. After `define`, `repairs` lists what was left
    out or repaired, a sentence each, `lost` contains the cells that ended a worker, `raised` the cells that raised an
    error, and `definitions` the cells that define each exercise, of which the last counts. `was_killed` says whether a
    worker was killed and counts as ended by the submission's code, see `Surroundings`; `workers` are all so far.

    Args:
        submission: the submission.
        book: the lesson.
        names: the names of the exercises.
        surroundings: the conditions in which the cells run.
        sessions: the submission's sessions for all lessons, whose processor time counts together; this one is added.
    """

    def __init__(
        self,
        submission: ReadSubmission,
        book: Book,
        names: Sequence[str],
        surroundings: Surroundings,
        sessions: "list[Session]",
    ):
        sessions.append(self)
        self._sessions = sessions
        self._may_await = submission.may_await
        self.names = list(names)
        self.limits = surroundings.limits
        self.repairs: list[str] = []
        self.cells: list[ReadCell] = []
        self._broken: dict[str, StudentError | AnswerGone] = {}
        self.was_killed = False
        self._surroundings = surroundings
        self._worker: WorkerProcess | None = None
        self.workers: list[WorkerProcess] = []
        self._gone: AnswerGone | None = None
        self.lost: dict[int, AnswerGone] = {}
        self.raised: dict[int, ErrorInfo] = {}
        self.definitions: dict[str, list[ReadCell]] = {}
        self._values: dict[str, str] = {}
        self._plan(submission, book)
        self._setup = book.setup_source({name for cell in self.cells for name in cell.reads})

    def _plan(self, submission: ReadSubmission, book: Book) -> None:
        """Decide which cells run, and why exercises are broken: not valid Python, rejected, or missing."""
        if submission.other_course:
            course = submission.other_course
            self.repairs.append(
                f"The file was started for another course, `{course}`; what it answers of this one is graded."
            )
        for cell in submission.cells:
            for magic in cell.magics:
                self.repairs.append(f"{cell.label}: the magic or shell line `{magic[:100]}` was removed, not run.")
            own = book.exercise_names.intersection(cell.defines)
            if cell.rejected:
                self.repairs.append(f"{cell.label}: rejected, not run. {cell.rejected}")
                self._broken.update(dict.fromkeys(own, AnswerGone(Verdict.REJECTED, cell.rejected)))
            elif cell.error is not None:
                why = f"{cell.error.message} (line {cell.error.line or '?'})."
                self.repairs.append(f"{cell.label}: not run. Python cannot read it: {why}")
                self._broken.update(dict.fromkeys(own, StudentError(cell.error)))
            elif cell.runs:
                self.cells.append(cell)
                for name in cell.late_settings:
                    self.repairs.append(
                        f"{cell.label}: sets `{name}`, which has no effect here: JAX has already started."
                    )
        for name in book.exercise_names & submission.missing.keys():
            self._broken[name] = AnswerGone(Verdict.NO_SUCH_FUNCTION, submission.missing[name])

    @property
    def spent_s(self) -> float:
        """The processor time of the submission's code so far, including other lessons."""
        return sum(worker.spent_s for session in self._sessions for worker in session.workers)

    def define(self) -> None:
        """Run the cells in a worker, if there are any. A cell that ends the worker is skipped in the next one."""
        if self.cells:
            self._run_cells()
        for cell in self.cells:
            gone, error = self.lost.get(cell.number), self.raised.get(cell.number)
            if gone is not None:
                self.repairs.append(f"{cell.label}: left out. {gone.note}")
            elif error is not None:
                where = f"(line {error.line or '?'})"
                self.repairs.append(f"{cell.label}: raised {error.type_name}: {error.message} {where}.")
        for name, cells in self.definitions.items():
            if len(cells) > 1:
                labels = ", ".join(cell.label for cell in cells)
                self.repairs.append(f"`{name}` is defined {len(cells)} times ({labels}); the last counts.")

    def rest(self) -> None:
        """End the worker, so that it takes no memory; the next question starts another one."""
        if self._worker is not None:
            self._worker.kill()

    def answer(self, name: str) -> Answer | None:
        """Return the answer that counts for an exercise, or None if it was not attempted."""
        if name in self.definitions:
            if self._is_spent:
                return BrokenAnswer(name, over("total_cpu_s", self.limits))
            if self._worker is not None and self._worker.is_alive and self._worker.is_crowded:
                self._worker.kill()
            if self._worker is None or not self._worker.is_alive:
                self._run_cells()
            self._gone = None
            if self._worker is not None:
                self._worker.start_exercise()
            return RemoteAnswer(name, self._ask)
        return self._broken_answer(name)

    def _broken_answer(self, name: str) -> Answer | None:
        """Return an answer for a name without a working definition, or None if the submission never defines it."""
        for cell in reversed(self.cells):
            if name in cell.defines and name not in cell.starters:
                if cell.number in self.lost:
                    return BrokenAnswer(name, self.lost[cell.number])
                if cell.number in self.raised:
                    return BrokenAnswer(name, StudentError(self.raised[cell.number]))
        if name in self._broken:
            return BrokenAnswer(name, self._broken[name])
        if name not in self._values:
            return None
        why = f"`{name}` is not a function: {self._values[name]} sets it to a value. Define it with `def {name}(...)`."
        return BrokenAnswer(name, AnswerGone(Verdict.NO_SUCH_FUNCTION, why))

    @property
    def _is_spent(self) -> bool:
        return self.spent_s > self.limits.total_cpu_s

    def _run_cells(self) -> None:
        """Run all cells in a new worker; if a cell ends it, start over in another worker without that cell."""
        while True:
            worker = self._start()
            self.definitions = {}
            for cell in self.cells:
                if cell.number in self.lost:
                    continue
                try:
                    self._run_cell(worker, cell)
                except AnswerGone as gone:
                    worker.kill()
                    self.lost[cell.number] = gone
                    if len(self.lost) >= _LOST_CELLS_LIMIT:
                        note = f"Not run, because {_LOST_CELLS_LIMIT} cells before it ended the process."
                        self._lose_after(cell, AnswerGone(Verdict.DIED, note))
                    if self._is_spent:
                        self._lose_after(cell, over("total_cpu_s", self.limits))
                        return
                    break
            else:
                return

    def _lose_after(self, cell: ReadCell, gone: AnswerGone) -> None:
        for later in self.cells:
            if later.number > cell.number:
                self.lost.setdefault(later.number, gone)

    def _start(self) -> WorkerProcess:
        spent_s = self.spent_s
        try:
            self._worker = worker = WorkerProcess(self._surroundings)
            self.workers.append(worker)
            reply = worker.request("setup", source=self._setup)
            failed = error_of(reply["failed"]) if reply.get("failed") else None
        except AnswerGone as gone:
            raise NotGraded(f"The lesson's setup ended a worker: {gone.note}") from gone
        except WorkerKilled as killed:
            if not self._surroundings.is_rerun:
                raise
            # None of the submission's code had run.
            raise NotGraded("Not graded: the worker process was killed twice.") from killed
        if failed is not None:
            worker.kill()
            raise NotGraded(f"The lesson's setup failed in a worker: {failed.type_name}: {failed.message}")
        worker.start_submission(spent_s)
        return worker

    def _run_cell(self, worker: WorkerProcess, cell: ReadCell) -> None:
        worker.start_exercise()
        # Its error is that of the exercises that it defines.
        explains = len(self.raised) < _EXPLAINED_CELLS and not set(cell.starters).issuperset(cell.defines)
        reply = self._request(
            worker,
            "define",
            cell=cell.label,
            source=cell.source,
            exercises=self.names,
            starters=cell.starters,
            may_await=self._may_await,
            explains=explains,
        )
        failed, bound, values = defined_by(reply, self.names)
        if failed is not None:
            explanation = failed.explanation if explains else None
            self.raised[cell.number] = dataclasses.replace(failed, explanation=explanation)
        for name in bound:
            if name not in cell.starters:
                self.definitions.setdefault(name, []).append(cell)
        for name in values:
            self._values[name] = cell.label
            counts = "; the earlier function counts" if name in self.definitions else ""
            self.repairs.append(f"{cell.label}: sets `{name}` to a value, not a function{counts}.")

    def _request(self, worker: WorkerProcess, operation: str, **fields: Any) -> dict[str, Any]:
        try:
            return worker.request(operation, **fields)
        except WorkerKilled as killed:
            if not self._surroundings.is_rerun:
                raise
            self.was_killed = True
            raise killed.gone from None

    def _ask(self, name: str, request: Request) -> dict[str, Any]:
        if self._gone is not None or self._worker is None:
            raise self._gone or AnswerGone(Verdict.DIED, "The process that ran your code has ended.")
        try:
            reply = self._request(self._worker, "ask", name=name, request=request)
        except AnswerGone as gone:
            self._gone = gone
            raise
        self._gone = _used_up(reply, self.limits)
        if self._gone is not None:
            # Objects from the failed call may still fill the memory, so the next exercise gets a new worker.
            self._worker.kill()
            raise self._gone
        return reply


def defined_by(reply: dict[str, Any], names: Sequence[str]) -> tuple[ErrorInfo | None, list[str], list[str]]:
    """Return the error that a cell raised, and the names that it bound to functions and to other values.

    Args:
        reply: the reply to `define`.
        names: the names of the exercises, which are all that the reply may name.

    Raises:
        AnswerGone: the reply is broken.
    """
    failed = error_of(reply["failed"], _CELL_MESSAGE_LIMIT) if reply.get("failed") else None
    bound, values = checked(list[str], lambda: reply["bound"]), checked(list[str], lambda: reply["values"])
    if len({*bound, *values}) != len([*bound, *values]) or not {*bound, *values} <= set(names):
        raise broken_reply()
    return failed, bound, values


def _used_up(reply: dict[str, Any], limits: Limits) -> AnswerGone | None:
    """Return how code ended that raised an error because it used up its memory or its folder."""
    error = reply.get("error")
    said = error if isinstance(error, dict) else {}
    name, message = said.get("type_name"), str(said.get("message"))
    if name in ("MemoryError", "_ArrayMemoryError") or "RESOURCE_EXHAUSTED" in message:
        return over("memory_bytes", limits)
    return over("scratch_bytes", limits) if message.startswith(f"[Errno {errno.ENOSPC}]") else None
