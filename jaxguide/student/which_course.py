"""Tell which course a student means: the one that a notebook names, or the one that lies in their workspace."""

import contextlib
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from jaxguide.base.files import write_whole
from jaxguide.base.text import _
from jaxguide.course.books.folders import LAID_OUT_NAME, course_folders, laid_out_in, topics
from jaxguide.course.books.outline import Outline
from jaxguide.course.settings import BUNDLED, is_identity
from jaxguide.grading.intake.submission import Submission, UnreadableSubmission, read_submission
from jaxguide.student.workspace import DEFAULT_FOLDER


class WhichCourse(Exception):
    """It cannot be told which course is meant, or it is not here; the message says what to do."""


def usual_places() -> list[Path]:
    """Return where to look for a student's course: in the workspace that `jaxguide start` opened, or else here."""
    opened = os.environ.get("JAXGUIDE_WORKSPACE")
    return [Path(opened)] if opened else [Path(), Path(DEFAULT_FOLDER)]


def course_named(identity: str, places: Iterable[Path]) -> Path | None:
    """Return the folder of the course of this identity, or None for the one that comes with jaxguide.

    Raises:
        WhichCourse: it is in none of these places.
    """
    if identity == BUNDLED:
        return None
    for place in places if is_identity(identity) else ():
        folder = place / LAID_OUT_NAME / identity
        if folder in laid_out_in(place) or _unpack(identity, place):
            return folder.absolute()
    message = _("The course of this file is not here: put `{folder}`, which you got with it, into the same folder.")
    raise WhichCourse(message.format(folder=f"{LAID_OUT_NAME}/{identity}"))


def _unpack(identity: str, place: Path) -> bool:
    """Unpack a course from a zip for students that lies in this folder; return whether there is one.

    In Colab and the like, one file is easier to upload than a folder.
    """
    for path in sorted(place.glob("*.zip")):
        with contextlib.suppress(OSError, zipfile.BadZipFile, RuntimeError), zipfile.ZipFile(path) as archive:
            found = [name.partition(f"{LAID_OUT_NAME}/{identity}/") for name in archive.namelist()]
            wanted = {inner: "".join((top, middle, inner)) for top, middle, inner in found if inner.rstrip("/")}
            for inner, name in wanted.items():
                if not inner.startswith("/") and not inner.endswith("/") and ".." not in PurePosixPath(inner).parts:
                    write_whole(place / LAID_OUT_NAME / identity / inner, archive.read(name))
            if wanted:
                return True
    return False


def course_here(places: Iterable[Path]) -> Path | None:
    """Return the folder of the course in the first of these places that has one, or None if none has.

    Raises:
        WhichCourse: it has several courses.
    """
    for place in places:
        found = laid_out_in(place)
        if len(found) > 1:
            message = _("{folder} has several courses. Choose one with --course: {names}")
            raise WhichCourse(message.format(folder=place.absolute(), names=", ".join(map(str, found))))
        if found:
            return found[0].absolute()
    return None


def course_of_lesson(topic: str, identity: str, places: Iterable[Path]) -> Path | None:
    """Return the folder of the course whose lesson is started; None for the course that comes with jaxguide.

    Args:
        topic: the lesson's name.
        identity: the course's identity; if it is '', the lesson is looked up.
        places: where to look for the course.

    Raises:
        WhichCourse: the course is not here, or several courses here have such a lesson.
    """
    places = list(places)
    if identity:
        return course_named(identity, places)
    if topic in topics():
        return None
    having = {folder.name: folder for place in places for folder in laid_out_in(place) if topic in topics(folder)}
    if len(having) > 1:
        message = _('Several courses have a lesson `{topic}`. Say which: `start("{topic}", course="{identity}")`.')
        raise WhichCourse(message.format(topic=topic, identity=next(iter(having))))
    return next((folder.absolute() for folder in having.values()), None)


def course_of_file(path: Path, places: Iterable[Path]) -> Path | None:
    """Return the folder of the course that a student's file names, or else of the one in these places.

    Raises:
        WhichCourse: the course is not here, or it cannot be told which one is meant.
    """
    places = [path.parent, *places]
    try:
        named = identities_in(read_submission(path))
    except UnreadableSubmission:  # reported when the file is checked
        named = set()
    if len(named) > 1:
        message = _("{file} has lessons of several courses: {names}. Choose one with --course.")
        raise WhichCourse(message.format(file=path, names=", ".join(sorted(named))))
    return course_named(named.pop(), places) if named else course_here(places)


def identities_in(submission: Submission) -> set[str]:
    """Return the identities of the courses whose lessons a file starts, as far as it tells."""
    bundled = topics()
    return {course or BUNDLED for topic, course in submission.starts() if course or topic in bundled}


def is_of_another_course(submission: Submission, course: Outline) -> bool:
    """Return whether a file starts lessons of other courses only, so that its answers do not count for this one."""
    named = identities_in(submission)
    # Only after `jaxguide print` has given a course an identity do its notebooks name it.
    is_unnamed = not course.settings.identity and any(
        topic in course.books and not identity for topic, identity in submission.starts()
    )
    return bool(named) and course.identity not in named and not is_unnamed


def other_course_in(folder: Path, identity: str) -> bool:
    """Return whether a workspace has the lessons of another course than this one."""
    others = [path.name for path in laid_out_in(folder)]
    if identity != BUNDLED:
        names = [path.name for path in course_folders().notebooks.glob("*.ipynb")]
        others += [BUNDLED for name in names if (folder / name).is_file() and not _names(folder / name, identity)]
    return any(other != identity for other in others)


def _names(path: Path, identity: str) -> bool:
    try:
        return identity in identities_in(read_submission(path))
    except UnreadableSubmission:
        return False
