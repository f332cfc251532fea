"""What became of each cell of a submission, as facts for reports: run, failed, left out, taken out, counted."""

import dataclasses
import enum
from typing import Any

from jaxguide.grading.intake.plan import Plan
from jaxguide.grading.intake.submission import Submission
from jaxguide.grading.workers.session import Session


class Fate(enum.StrEnum):
    """What became of a cell."""

    RAN = "ran"
    FAILED = "failed"
    LEFT_OUT = "left out"
    NOT_PYTHON = "not Python"
    REJECTED = "rejected"
    AS_PRINTED = "as printed"
    EMPTY = "empty"


@dataclasses.dataclass(frozen=True)
class CellFact:
    """What became of one cell in grading one lesson.

    Args:
        lesson: the lesson's name.
        number: the cell's place among the file's cells of code, from 1.
        label: how reports call it.
        fate: what became of it.
        why: what it raised or why it was not run, '' where it ran.
        magics: the lines taken out of it.
        answers: the exercises whose names it defines; where several cells define one, it is a duplicate.
        counts: those of them for which this cell's definition is the one that counts.
    """

    lesson: str
    number: int
    label: str
    fate: Fate
    why: str = ""
    magics: list[str] = dataclasses.field(default_factory=list)
    answers: list[str] = dataclasses.field(default_factory=list)
    counts: list[str] = dataclasses.field(default_factory=list)

    def to_plain(self) -> dict[str, Any]:
        """Return the fact as JSON data."""
        return {**dataclasses.asdict(self), "fate": self.fate.value}


def cell_facts(submission: Submission, plan: Plan, session: Session, lesson: str) -> list[CellFact]:
    """Return what became of each cell, once the session has run them."""
    planned = {one.cell.number: one for one in plan.cells}
    counting = {name: cells[-1].cell.number for name, cells in session.definitions.items() if cells}
    facts = []
    for cell in submission.cells:
        fate, why = Fate.RAN, ""
        names = set(session.names) & cell.defines
        if cell.rejected:
            fate, why = Fate.REJECTED, cell.rejected
        elif cell.error is not None:
            fate, why = Fate.NOT_PYTHON, cell.error.message
        elif cell.number not in planned:
            is_empty = cell.tree is None or not cell.tree.body
            fate, names = (Fate.EMPTY if is_empty else Fate.AS_PRINTED), set()
        elif cell.number in session.lost:
            fate, why = Fate.LEFT_OUT, session.lost[cell.number].note
        elif cell.number in session.raised:
            error = session.raised[cell.number]
            fate, why = Fate.FAILED, f"{error.type_name}: {error.message}"
        if cell.number in planned:
            names -= planned[cell.number].starters
        counts = sorted(name for name, number in counting.items() if number == cell.number)
        facts.append(
            CellFact(lesson, cell.number, cell.label, fate, why, list(cell.magics), sorted(names | set(counts)), counts)
        )
    return facts
