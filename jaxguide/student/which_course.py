"""Tell which course a student means: the one that a notebook names, or the one that lies in their workspace."""

import contextlib
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path, PureWindowsPath

from jaxguide.course.books.folders import LAID_OUT_NAME, course_folders, laid_out_in, topics
from jaxguide.course.books.outline import Outline
from jaxguide.course.settings import BUNDLED, SETTINGS_NAME, is_identity
from jaxguide.grading.intake.file_to_grade import BROKEN_ZIP
from jaxguide.grading.intake.submission import Submission, UnreadableSubmission, read_submission
from jaxguide.student.workspace import DEFAULT_FOLDER, replace_course


class WhichCourse(Exception):
    """It cannot be told which course is meant, or it is not here; the message says what to do."""


def usual_places() -> list[Path]:
    """Return where to look for a student's course: in the workspace that `jaxguide start` opened, or else here."""
    opened = os.environ.get("JAXGUIDE_WORKSPACE")
    return [Path(opened)] if opened else [Path(), Path(DEFAULT_FOLDER)]


def course_named(identity: str, places: Iterable[Path], *, unpacks: bool = True) -> Path | None:
    """Return the folder of the course of this identity, or None for the one that comes with jaxguide.

    Args:
        identity: the course's identity.
        places: where to look for it.
        unpacks: whether a zip that lies there may be unpacked.

    Raises:
        WhichCourse: it is in none of these places.
    """
    if identity == BUNDLED:
        return None
    for place in places if is_identity(identity) else ():
        folder = place / LAID_OUT_NAME / identity
        if unpacks:
            _unpack(identity, place)
        if folder in laid_out_in(place):
            return folder.absolute()
    message = "The course of this file is not here: put `{folder}`, which you got with it, into the same folder."
    raise WhichCourse(message.format(folder=f"{LAID_OUT_NAME}/{identity}"))


def _unpack(identity: str, place: Path) -> None:
    """Unpack a course from the newest zip for students in this folder, unless the course here is as new.

    In Colab and the like, one file is easier to upload than a folder. Answers do not lie in the course's folder.
    """
    target = place / LAID_OUT_NAME / identity
    with contextlib.suppress(OSError):
        zips = [(path.stat().st_mtime_ns, path) for path in place.glob("*.zip")]
        laid_at = max((path.stat().st_mtime_ns for path in target.rglob("*")), default=0)
        has_course = (target / SETTINGS_NAME).is_file()
        for zipped_at, path in sorted(zips, reverse=True):
            if has_course and zipped_at <= laid_at:
                return
            if files := _course_in_zip(identity, path):
                replace_course(target, files)
                if (target / SETTINGS_NAME).stat().st_mtime_ns < zipped_at:  # a computer whose clock is ahead zipped it
                    os.utime(target / SETTINGS_NAME, ns=(zipped_at, zipped_at))
                return


def _course_in_zip(identity: str, path: Path) -> dict[str, bytes]:
    """Return the files of a course in a zip; none if it is damaged or has no such course."""
    files: dict[str, bytes] = {}
    with contextlib.suppress(*BROKEN_ZIP), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            _top, _middle, inner = name.partition(f"{LAID_OUT_NAME}/{identity}/")
            # Windows knows all separators, and drives.
            parts = PureWindowsPath(inner)
            if inner and not inner.endswith("/") and not parts.anchor and ".." not in parts.parts:
                files[inner] = archive.read(name)
        return files if SETTINGS_NAME in files else {}
    return {}


def course_here(places: Iterable[Path]) -> Path | None:
    """Return the folder of the course in the first of these places that has one, or None if none has.

    Raises:
        WhichCourse: it has several courses.
    """
    for place in places:
        found = laid_out_in(place)
        if len(found) > 1:
            message = "{folder} has several courses. Choose one with --course: {names}"
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
        message = 'Several courses have a lesson `{topic}`. Say which: `start("{topic}", course="{identity}")`.'
        raise WhichCourse(message.format(topic=topic, identity=next(iter(having))))
    return next((folder.absolute() for folder in having.values()), None)


def course_of_file(path: Path, places: Iterable[Path], *, unpacks: bool = True) -> Path | None:
    """Return the folder of the course that a student's file names, or else of the one in these places.

    Args:
        path: the file.
        places: where to look for the course, besides the file's folder.
        unpacks: whether a zip that lies there may be unpacked.

    Raises:
        WhichCourse: the course is not here, or it cannot be told which one is meant.
    """
    places = [path.parent, *places]
    named = _identities_in_file(path)
    if len(named) > 1:
        message = "{file} has lessons of several courses: {names}. Choose one with --course."
        raise WhichCourse(message.format(file=path, names=", ".join(sorted(named))))
    return course_named(named.pop(), places, unpacks=unpacks) if named else course_here(places)


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
        paths = [folder / path.name for path in course_folders().notebooks.glob("*.ipynb")]
        others += [BUNDLED for path in paths if path.is_file() and identity not in _identities_in_file(path)]
    return any(other != identity for other in others)


def _identities_in_file(path: Path) -> set[str]:
    try:
        return identities_in(read_submission(path))
    except UnreadableSubmission:  # reported when the file is checked
        return set()
