"""Find the answers in a workspace's files, and tell which of them changed, without running any."""

import dataclasses
import functools
import hashlib
import math
import os
import re
from collections import UserDict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.code.sameness import (
    attached_to,
    cell_statements,
    given_in,
    kept_meaning,
    run_at_once,
    short_digest,
    starters_in_cells,
)
from jaxguide.code.slices import Statement
from jaxguide.course.books.folders import LAID_OUT_NAME
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import Task
from jaxguide.grading.intake.submission import (
    Submission,
    SubmittedCell,
    UnreadableSubmission,
    is_submission,
    parse_submission,
)
from jaxguide.student.which_course import is_of_another_course

_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages", "venv", LAID_OUT_NAME})
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclasses.dataclass(frozen=True)
class FileAnswers:
    """The answers in one file.

    Args:
        path: the file.
        places: exercise -> the line or cell that defines it, for every exercise in the file.
        prints: exercise -> a digest of the code that decides about it, for those that are no longer the starter.
        broken: a sentence for each cell that Python cannot read and that contains no exercise, perhaps a helper.
        dropped: the same digests for exercises that the course no longer has.
        changed_s: when the file was last changed, in seconds since 1970.
    """

    path: Path
    places: Mapping[str, str]
    prints: Mapping[str, str]
    broken: tuple[str, ...] = ()
    dropped: Mapping[str, str] = dataclasses.field(default_factory=dict)
    changed_s: float = 0.0


def find_files(folder: Path, course: Outline) -> list[Path]:
    """Return the files below a folder that may contain answers, sorted by name: no hidden or installed ones.

    Args:
        folder: the workspace, absolute.
        course: the course; its own files are left out.
    """
    found, places = [], course.folders
    own = {part.absolute() for part in (places.exercises, places.solutions, places.notebooks)} - {folder}
    for parent, folders, names in os.walk(folder):
        below = Path(parent)
        if "pyvenv.cfg" in names or below in own:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        paths = [below / name for name in names if not name.startswith(".")]
        found += [path for path in paths if is_submission(path)]
    return sorted(found)


def read_answers(path: Path, course: Outline) -> FileAnswers:
    """Read which exercises a file answers.

    Raises:
        UnreadableSubmission: it is neither a notebook nor text, or contains no code.
        OSError: it cannot be read, or no longer exists.
    """
    file = _File(path, path.read_bytes())
    return file.answers(file.find(course), course)


def read_all(folder: Path, course: Outline) -> list[FileAnswers]:
    """Read every readable file of a workspace that contains an exercise.

    The answers found are cached by the digest of their file, so only changed files are parsed again.
    """
    found: list[FileAnswers] = []
    exercises = course.exercises
    stubs = [f"{name}\n{exercise.cell_source}".encode() for name, exercise in exercises.items()]
    dropped = sorted(map(str.encode, course.settings.dropped))
    makers = ["code", "course", "course/books", "grading/intake", "student"]
    place = kept_place("answers", makers, [os.fsencode(folder), course.identity.encode(), *dropped, *stubs])
    before, now = find_kept(place) or {}, {}
    for path in find_files(folder, course):
        try:
            file = _File(path, path.read_bytes())
            if not _may_have(file.content, exercises.keys()):
                continue
            plain = before.get(file.digest) or file.find(course)
        except (UnreadableSubmission, OSError):
            continue
        if plain["places"]:
            found.append(file.answers(plain, course))
            now[file.digest] = plain
    if now != before:
        keep(place, now)
    return found


class _File:
    """A workspace file with its content, in which answers are found."""

    def __init__(self, path: Path, content: bytes):
        self.path, self.content, self.changed_s = path, content, path.stat().st_mtime

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(os.fsencode(self.path) + b"\0" + self.content).hexdigest()

    @functools.cached_property
    def submission(self) -> Submission:
        return parse_submission(self.path, self.content)

    @functools.cached_property
    def pool(self) -> "_Pool":
        return _Pool(self.submission)

    def find(self, course: Outline) -> dict[str, Any]:
        """Find the exercises that the file answers, as JSON data; none if it belongs to another course."""
        places: dict[str, str] = {}
        answered: set[str] = set()
        if is_of_another_course(self.submission, course):
            return {"places": places, "answered": [], "broken": [], "dropped": []}
        exercises, cells = course.exercises, self.submission.cells
        starters_by_cell, _elsewhere = starters_in_cells([cell.tree for cell in cells], exercises)
        for cell, starters in zip(cells, starters_by_cell, strict=True):
            for name in sorted(cell.defines & exercises.keys()):
                if name not in starters or name not in places:
                    places[name] = _place(cell, name)
                if name not in starters:
                    answered.add(name)
        broken = [_no_python(c) for c in cells if c.error is not None and not c.defines & exercises.keys()]
        dropped = sorted(frozenset[str]().union(*(cell.defines for cell in cells)) & course.settings.dropped.keys())
        return {"places": places, "answered": sorted(answered), "broken": broken, "dropped": dropped}

    def answers(self, plain: dict[str, Any], course: Outline) -> FileAnswers:
        """Return the answers that were found in the file, now or earlier."""
        prints, dropped = (_Prints(self, plain[part], course.exercises) for part in ("answered", "dropped"))
        return FileAnswers(self.path, plain["places"], prints, tuple(plain["broken"]), dropped, self.changed_s)


def _may_have(content: bytes, names: Collection[str]) -> bool:
    """Return whether a file may contain one of these exercises; parsing its cells would take 20 times as long."""
    is_plain = all(map(str.isascii, names))  # JSON may write other letters as escapes
    text = content.replace(b"\0", b"").decode("ascii", "replace")  # UTF-16 has them beside ASCII letters
    return not is_plain or not set(names).isdisjoint(_WORD.findall(text))


def home_of(exercise: Task, files: list[FileAnswers]) -> list[FileAnswers]:
    """Return the files that contain an exercise, beginning with the one to show.

    Files that already answer it come first, and among these the one changed last.
    """
    having = [file for file in files if exercise.name in file.places]
    return sorted(having, key=lambda file: (exercise.name not in file.prints, -file.changed_s, str(file.path)))


def where_to_answer(exercise: Task, homes: list[FileAnswers], folder: Path) -> str:
    """Return a sentence that says in which files to answer, beginning with the one to open."""
    if not homes:
        words = "None of your files has `{name}`. Write it in a .py file or a notebook in {folder} and save."
        return words.format(name=exercise.name, folder=folder.name)
    # Of a lesson with a new edition, not the older files too.
    places = [f"{home.path.relative_to(folder)} ({home.places[exercise.name]})" for home in homes[:2]]
    if exercise.name in homes[0].prints:
        return f"Your answer is in {places[0]}."
    return "Write your answer in {places} and save the file.".format(places=" or ".join(places))


def _place(cell: SubmittedCell, name: str) -> str:
    """Return where a name is defined: 'line 12', or 'code cell 3' of a notebook."""
    if not cell.source.startswith("\n") or cell.tree is None:
        return cell.label
    lines = [node.lineno for node in cell.tree.body if getattr(node, "name", None) == name]
    return cell.label.rsplit(" ", 1)[0] + f" {lines[-1]}" if lines else cell.label


def _no_python(cell: SubmittedCell) -> str:
    assert cell.error is not None
    return f"{cell.label}: Python cannot read this: {cell.error.message} (line {cell.error.line or '?'})."


class _Prints(UserDict[str, str]):
    """The digests of a file's answers, by exercise, each computed when first needed because that is slow."""

    def __init__(self, file: _File, answered: list[str], exercises: Mapping[str, Task]):
        super().__init__(dict.fromkeys(answered, ""))
        self._file, self._exercises = file, exercises

    def __getitem__(self, name: str) -> str:
        if not self.data[name]:
            given = given_in(self._exercises[name]).names if name in self._exercises else ()
            self.data[name] = self._file.pool.state(name, given)
        return self.data[name]


class _Pool:
    """The code of a file, in which everything that decides about an answer is found."""

    def __init__(self, submission: Submission):
        sources = [(cell, cell.source.strip("\n")) for cell in submission.cells]
        self._cells = [(cell, cell_statements(source), *run_at_once(source)) for cell, source in sources]
        bound = (s.binds for _cell, statements, *_run in self._cells for s in statements if not s.is_import)
        self._values = frozenset[str]().union(*bound)

    def state(self, name: str, also: Collection[str]) -> str:
        """Return a digest of an answer and of all code in the file that decides about it: if it changes, check again.

        The names `also` belong to the answer.

        A cell ends at a statement that raises. So with each statement that an answer needs, all of its cell counts,
        except the bodies of functions that the answer does not need, such as those of other exercises.
        """
        own = [(cell, statements) for cell, statements, *_run in self._cells if name in cell.defines]
        # Each name that matters, with the last cell that can give it its value: functions may read it after all cells.
        wanted, before, kept = dict.fromkeys((name, "*", *also), math.inf), dict[str, float](), list[str]()
        while wanted != before:
            before, kept = dict(wanted), [cell.source.strip() for cell, statements in own if not statements]
            # Cells often repeat an import: one counts, that in the answer's own cell or else the first.
            imported = {kept_meaning(s.source) for _cell, statements in own for s in statements if s.is_import}
            for cell, statements, run, reads in self._cells:
                names = {one for one, last in wanted.items() if last >= cell.number}
                imports = {s.source: kept_meaning(s.source) for s in statements if s.is_import}
                found = [s for s in statements if self._affects(s, names) and imports.get(s.source) not in imported]
                imported.update(imports.values())
                if found or name in cell.defines:
                    kept += [run, *(kept_meaning(s.source) for s in found)]
                    wanted |= {one: max(cell.number, wanted.get(one, 0)) for one in reads}
                    wanted |= {one: math.inf for s in found for one in s.reads}
        return short_digest(kept)

    def _affects(self, statement: Statement, names: set[str]) -> bool:
        """Return whether a statement sets or changes one of these names, or configures a module for all code."""
        changes = (statement.touches | attached_to(statement.source)) & self._values
        return bool(names & (statement.binds | changes) or statement.configures - self._values)
