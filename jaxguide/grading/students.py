"""Whose a file is: by a pattern, else as far as names of files and folders tell."""

import collections
from collections.abc import Sequence
from pathlib import Path

from jaxguide.course.library import Course


def students_of(paths: Sequence[Path], course: Course) -> list[str]:
    """Name each file's student: 'ada' for `ada.ipynb` and for `ada/<lesson>.ipynb`.

    Where several folders hold a file of one name, as `ada/homework.ipynb` and `bob/homework.ipynb`, the folder is part
    of the name: 'ada/homework'.
    """
    stems = collections.Counter(stem for stem, _folder in {(path.stem, path.absolute().parent) for path in paths})
    return [_student(path, course, stems[path.stem] > 1) for path in paths]


def _student(path: Path, course: Course, is_shared: bool) -> str:
    folder = path.absolute().parent.name
    if path.stem in course.books:
        return folder
    return f"{folder}/{path.stem}" if is_shared else path.stem
