"""Find the answers in a workspace's files, and tell which of them changed, without running any."""

import dataclasses
import functools
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxguide.base.catalogues import PACKAGE, files, languages
from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.base.text import _
from jaxguide.code.sameness import attached_to, cell_statements, kept_meaning, short_digest, starters_in
from jaxguide.code.slices import needed
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
        prints: exercise -> a digest of its code, for the exercises that are no longer the starter.
        broken: a sentence for each cell that Python cannot read and that contains no exercise, perhaps a helper.
        changed_s: when the file was last changed, in seconds since 1970.
    """

    path: Path
    places: Mapping[str, str]
    prints: Mapping[str, str]
    broken: tuple[str, ...] = ()
    changed_s: float = 0.0


def is_watched(path: Path, folder: Path, course: Outline) -> bool:
    """Return whether a workspace file may contain answers: not a hidden or installed file, nor one of the course."""
    if not is_submission(path) or not path.is_relative_to(folder):
        return False
    inner = path.relative_to(folder).parts
    if any(part.startswith(".") or part in _PASSED_OVER for part in inner):
        return False
    folders = course.folders
    own = [part.absolute() for part in (folders.exercises, folders.solutions, folders.notebooks)]
    return not any(path.is_relative_to(part) and not folder.is_relative_to(part) for part in own)


def find_files(folder: Path, course: Outline) -> list[Path]:
    """Return the files below a folder that may contain answers, sorted by name.

    Args:
        folder: the workspace, absolute.
        course: the course; its own files are left out.
    """
    found = []
    for parent, folders, names in os.walk(folder):
        below = Path(parent)
        is_environment = "pyvenv.cfg" in names
        folders[:] = [] if is_environment else [n for n in folders if not n.startswith(".") and n not in _PASSED_OVER]
        if not is_environment:
            found += [below / name for name in names if is_watched(below / name, folder, course)]
    return sorted(found)


def read_answers(path: Path, course: Outline) -> FileAnswers:
    """Read which exercises a file answers.

    Raises:
        UnreadableSubmission: it is neither a notebook nor text, or contains no code.
        OSError: it cannot be read, or no longer exists.
    """
    return _File(path, path.read_bytes()).answers(course)


def read_all(folder: Path, course: Outline) -> list[FileAnswers]:
    """Read every readable file of a workspace that contains an exercise.

    The answers found are cached by the digest of their file, so only changed files are parsed again.
    """
    found: list[FileAnswers] = []
    exercises = course.exercises
    stubs = [f"{name}\n{exercise.starter_source}".encode() for name, exercise in exercises.items()]
    # Places are sentences in the reader's language, so the cache depends on its catalogues.
    said_by = [f"{path} {path.stat().st_mtime_ns}".encode() for path in files(PACKAGE, languages())]
    makers = ["code", "course", "course/books", "grading/intake", "student"]
    place = kept_place("answers", makers, [os.fsencode(folder), course.identity.encode(), b"\n".join(said_by), *stubs])
    before, now = find_kept(place), {}
    for path in find_files(folder, course):
        try:
            file = _File(path, path.read_bytes())
            if not _may_have(file.content, exercises.keys()):
                continue
            answers = file.answers_as_kept(before, exercises.keys()) or file.answers(course)
        except (UnreadableSubmission, OSError):
            continue
        if answers.places:
            found.append(answers)
            now[file.digest] = file.plain(answers)
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

    def answers(self, course: Outline) -> FileAnswers:
        """Find the exercises that the file answers; none if it belongs to another course."""
        if is_of_another_course(self.submission, course):
            return FileAnswers(self.path, {}, _Prints(self, {}), (), self.changed_s)
        exercises = course.exercises
        places: dict[str, str] = {}
        answered: dict[str, int] = {}
        for cell in self.submission.cells:
            here = cell.defines & exercises.keys()
            starters = frozenset[str]()
            if cell.tree is not None:
                starters = frozenset(starters_in(cell.tree, {name: exercises[name] for name in here}))
            for name in sorted(here):
                if name not in starters or name not in places:
                    places[name] = _place(cell, name)
                if name not in starters:
                    answered[name] = cell.number
        cells = [cell for cell in self.submission.cells if cell.error is not None]
        broken = [_no_python(cell) for cell in cells if not cell.defines & exercises.keys()]
        return FileAnswers(self.path, places, _Prints(self, answered), tuple(broken), self.changed_s)

    def plain(self, answers: FileAnswers) -> dict[str, Any]:
        """Return answers as JSON data."""
        assert isinstance(answers.prints, _Prints)
        return {"places": answers.places, "answered": answers.prints.answered, "broken": list(answers.broken)}

    def answers_as_kept(self, kept: Any, names: Collection[str]) -> FileAnswers | None:
        """Return the answers cached in `kept`, or None if there are none or their data is malformed."""
        plain = kept.get(self.digest) if isinstance(kept, dict) else None
        if not isinstance(plain, dict) or plain.keys() != {"places", "answered", "broken"}:
            return None
        places, answered, broken = plain["places"], plain["answered"], plain["broken"]
        is_right = (
            isinstance(places, dict)
            and isinstance(answered, dict)
            and isinstance(broken, list)
            and set(names) >= places.keys() >= answered.keys()
            and all(isinstance(text, str) for text in (*places.values(), *broken))
            and all(type(number) is int and number > 0 for number in answered.values())
        )
        if not is_right:
            return None
        return FileAnswers(self.path, places, _Prints(self, answered), tuple(broken), self.changed_s)


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


class _Prints(Mapping[str, str]):
    """The digests of a file's answers, by exercise, each computed when first needed because that is slow.

    `answered` maps each exercise to the number of its cell.
    """

    def __init__(self, file: _File, answered: Mapping[str, int]):
        self._file, self.answered = file, answered
        self._found: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._found:
            cell = self._file.submission.cells[self.answered[name] - 1]
            self._found[name] = self._file.pool.state(name, cell)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self.answered

    def __iter__(self) -> Iterator[str]:
        return iter(self.answered)

    def __len__(self) -> int:
        return len(self.answered)


class _Pool:
    """The statements of a file, in which the code that an answer depends on is found."""

    def __init__(self, submission: Submission):
        sources = [cell.source.strip("\n") for cell in submission.cells if cell.tree]
        self._statements = [statement for source in sources for statement in cell_statements(source)]

    def state(self, name: str, cell: SubmittedCell) -> str:
        """Return a digest of an answer and of all code in the file that it needs: if it changes, check it again."""
        if cell.tree is None:
            return short_digest([cell.source.strip()])
        kept = needed(self._statements, [name])
        own = frozenset[str]().union(*(s.binds for s in kept if not s.is_import))
        kept += [s for s in self._statements if s not in kept and own & attached_to(s.source)]
        return short_digest(kept_meaning(statement.source) for statement in kept)
