"""Report for each cell of a submission whether it ran, and which answers it defines."""

import dataclasses
import enum
from typing import Any

from jaxguide.grading.intake.reading import ReadSubmission
from jaxguide.grading.workers.session import Session


class CellState(enum.StrEnum):
    """What happened to a cell."""

    RAN = "ran"
    FAILED = "failed"
    LEFT_OUT = "left out"
    NOT_PYTHON = "not Python"
    REJECTED = "rejected"
    AS_PRINTED = "as printed"
    EMPTY = "empty"


@dataclasses.dataclass(frozen=True)
class CellFact:
    """What happened to one cell while one lesson was graded.

    Args:
        lesson: the lesson's name.
        number: the cell's position among the file's code cells, from 1.
        label: the cell's name in reports.
        fate: what happened to the cell.
        why: the error it raised or the reason it did not run, or '' if it ran.
        magics: the IPython lines that were removed from it.
        answers: the exercises whose names it defines; a name defined by several cells is a duplicate.
        counts: the exercises among `answers` for which this cell's definition counts.
    """

    lesson: str
    number: int
    label: str
    fate: CellState
    why: str = ""
    magics: list[str] = dataclasses.field(default_factory=list)
    answers: list[str] = dataclasses.field(default_factory=list)
    counts: list[str] = dataclasses.field(default_factory=list)

    def to_plain(self) -> dict[str, Any]:
        """Return the fact as JSON data."""
        return {**dataclasses.asdict(self), "fate": self.fate.value}


def cell_facts(submission: ReadSubmission, session: Session, lesson: str) -> list[CellFact]:
    """Return what happened to each cell; call it after `session.define()`."""
    planned = {cell.number for cell in session.cells}
    counting = {name: cells[-1].number for name, cells in session.definitions.items() if cells}
    facts = []
    for cell in submission.cells:
        fate, why = CellState.RAN, ""
        names = set(session.names).intersection(cell.defines)
        if cell.rejected:
            fate, why = CellState.REJECTED, cell.rejected
        elif cell.error is not None:
            fate, why = CellState.NOT_PYTHON, cell.error.message
        elif cell.number not in planned:
            fate, names = (CellState.EMPTY if cell.is_empty else CellState.AS_PRINTED), set()
        elif cell.number in session.lost:
            fate, why = CellState.LEFT_OUT, session.lost[cell.number].note
        elif cell.number in session.raised:
            error = session.raised[cell.number]
            fate, why = CellState.FAILED, f"{error.type_name}: {error.message}"
        if cell.number in planned:
            names -= set(cell.starters)
        counts = sorted(name for name, number in counting.items() if number == cell.number)
        facts.append(
            CellFact(lesson, cell.number, cell.label, fate, why, cell.magics, sorted(names | set(counts)), counts)
        )
    return facts
