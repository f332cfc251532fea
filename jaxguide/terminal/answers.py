"""Find the answers in a workspace's files, and tell which of them changed, without running any."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from jaxguide.course.exercise import Exercise
from jaxguide.course.library import Course
from jaxguide.course.sameness import attached_to, cell_statements, kept_meaning, short_digest, starters_in
from jaxguide.course.slices import needed
from jaxguide.grading.submission import Submission, SubmittedCell, UnreadableSubmission, is_submission, parse_submission
from jaxguide.text import _

_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})


@dataclasses.dataclass(frozen=True)
class FileAnswers:
    """What one file answers.

    Args:
        path: the file.
        places: exercise -> the line or cell that defines it, for every exercise that the file has.
        prints: exercise -> what changes when it must be checked again, for those that are no longer the starter.
        broken: a sentence for each cell that is no Python and has no exercise: a helper, perhaps.
        changed_s: when the file was changed, in seconds since 1970.
    """

    path: Path
    places: Mapping[str, str]
    prints: Mapping[str, str]
    broken: tuple[str, ...] = ()
    changed_s: float = 0.0


def is_watched(path: Path, folder: Path, course: Course) -> bool:
    """Return whether a file of a workspace may hold answers: not where editors keep copies, nor the course's own."""
    if not is_submission(path) or not path.is_relative_to(folder):
        return False
    inner = path.relative_to(folder).parts
    if any(part.startswith(".") or part in _PASSED_OVER for part in inner):
        return False
    places = course.places
    own = [part.absolute() for part in (places.exercises, places.solutions, places.notebooks)]
    return not any(path.is_relative_to(part) and not folder.is_relative_to(part) for part in own)


def find_files(folder: Path, course: Course) -> list[Path]:
    """Return the files below a folder that may hold answers, by name.

    Args:
        folder: the workspace, absolute.
        course: whose own files are left out.
    """
    found = []
    for parent, folders, names in os.walk(folder):
        below = Path(parent)
        is_environment = "pyvenv.cfg" in names
        folders[:] = [] if is_environment else [n for n in folders if not n.startswith(".") and n not in _PASSED_OVER]
        if not is_environment:
            found += [below / name for name in names if is_watched(below / name, folder, course)]
    return sorted(found)


def read_answers(path: Path, course: Course) -> FileAnswers:
    """Read which exercises a file answers.

    Raises:
        UnreadableSubmission: it is no notebook, no text, or holds no code.
        OSError: it cannot be read, or is gone.
    """
    submission, changed_s = parse_submission(path, path.read_bytes()), path.stat().st_mtime
    exercises = course.exercises
    places: dict[str, str] = {}
    prints: dict[str, str] = {}
    pool = _Pool(submission)
    for cell in submission.cells:
        here = cell.defines & exercises.keys()
        starters = frozenset(starters_in(cell.tree, exercises)) if cell.tree is not None and here else frozenset()
        for name in sorted(here):
            if name not in starters or name not in places:
                places[name] = _place(cell, name)
            if name not in starters:
                prints[name] = pool.state(name, cell)
    broken = [cell for cell in submission.cells if cell.error is not None and not cell.defines & exercises.keys()]
    return FileAnswers(path, places, prints, tuple(map(_no_python, broken)), changed_s)


def read_all(folder: Path, course: Course) -> list[FileAnswers]:
    """Read every file of a workspace that can be read and has an exercise."""
    found = []
    for path in find_files(folder, course):
        try:
            answers = read_answers(path, course)
        except (UnreadableSubmission, OSError):
            continue
        if answers.places:
            found.append(answers)
    return found


def home_of(exercise: Exercise, files: list[FileAnswers]) -> list[FileAnswers]:
    """Return the files in which an exercise may be answered, the one to name first.

    Where it is answered already, that file; of several, the one changed last.
    """
    having = [file for file in files if exercise.name in file.places]
    return sorted(having, key=lambda file: (exercise.name not in file.prints, -file.changed_s, str(file.path)))


def _place(cell: SubmittedCell, name: str) -> str:
    """Return where a name is defined: 'line 12', or 'code cell 3' of a notebook."""
    if not cell.source.startswith("\n") or cell.tree is None:
        return cell.label
    lines = [node.lineno for node in cell.tree.body if getattr(node, "name", None) == name]
    return cell.label.rsplit(" ", 1)[0] + f" {lines[-1]}" if lines else cell.label


def _no_python(cell: SubmittedCell) -> str:
    assert cell.error is not None
    message = _("{label}: Python cannot read this: {error} (line {line}).")
    return message.format(label=cell.label, error=cell.error.message, line=cell.error.line or "?")


class _Pool:
    """The statements of a file, in which what an answer stands on is found."""

    def __init__(self, submission: Submission):
        sources = [cell.source.strip("\n") for cell in submission.cells if cell.tree]
        self._statements = [statement for source in sources for statement in cell_statements(source)]

    def state(self, name: str, cell: SubmittedCell) -> str:
        """Return what changes when an answer must be checked again: it, or what it needs in any cell of the file."""
        if cell.tree is None:
            return short_digest([cell.source.strip()])
        kept = needed(self._statements, [name])
        own = frozenset[str]().union(*(s.binds for s in kept if not s.is_import))
        kept += [s for s in self._statements if s not in kept and own & attached_to(s.source)]
        return short_digest(kept_meaning(statement.source) for statement in kept)
