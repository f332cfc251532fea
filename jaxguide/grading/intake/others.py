"""Find the students who handed in only files of other kinds, so that they are not listed as absent."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.grading.intake.archives import ArchivedEntry
from jaxguide.grading.intake.exported import student_on_disk
from jaxguide.grading.intake.file_to_grade import FileEntry
from jaxguide.grading.intake.files import STORE_NAME, files_below
from jaxguide.grading.intake.students import StudentPattern, below

_Whose = tuple[str, str]


def only_others(
    roots: Sequence[Path],
    found: Iterable[FileEntry | ArchivedEntry],
    out: Path,
    *,
    pattern: StudentPattern | None = None,
    roster: Collection[str] = (),
) -> list[FileEntry]:
    """Return one file of each student without a submission; reading it raises an error that says why.

    A file's student is the one that an unpacked export, the pattern or the roster names. Failing that, it is the name
    of the file's top folder, if others of this class have a folder too. Loose files belong to no one, unless their name
    is on the roster.

    Args:
        roots: the folders given on the command line.
        found: the files that have a row already.
        out: the results folder.
        pattern: how paths contain the student's name.
        roster: the names of the class.
    """
    found = list(found)
    are_folders = any(len(below(entry.path, roots).parts) > 1 for entry in found if isinstance(entry, FileEntry))
    owners = _Owners(roots, pattern, {name.casefold() for name in roster}, are_folders)
    answered: set[_Whose] = set()
    has_row = set()
    for entry in found:
        path = entry.archive if isinstance(entry, ArchivedEntry) else entry.path
        has_row.add(path.absolute())
        answered.update(_key(whose) for whose in owners.all_of(path))
        answered |= {_key((entry.student or "", identity)) for identity in (entry.identity, "")}
    others: dict[_Whose, FileEntry] = {}
    for path in (path for root in roots if root.is_dir() for path in _students_files(root, out)):
        whose = None if path.absolute() in has_row else owners.of(path)
        if whose is not None and _key(whose) not in answered:
            others.setdefault(_key(whose), FileEntry(path, *whose))
    return list(others.values())


class _Owners:
    """Finds the student of a file of another kind, which neither a lesson's name nor other files help to name."""

    def __init__(
        self, roots: Sequence[Path], pattern: StudentPattern | None, listed: Collection[str], are_folders: bool
    ):
        self._roots, self._pattern, self._listed, self._are_folders = roots, pattern, listed, are_folders

    def of(self, path: Path) -> _Whose | None:
        """Return the student's name and an ID that tells students of the same name apart, or None if unknown."""
        exported = student_on_disk(path)
        if exported is not None:
            return exported
        place = below(path, self._roots)
        folders = place.parts[:-1]
        name = self._pattern.find(place) if self._pattern is not None and folders else None
        name = name or next((one for one in folders or (place.stem,) if one.casefold() in self._listed), None)
        if name is None and self._are_folders:
            name = next(iter(folders), None)
        return (name, "") if name is not None else None

    def all_of(self, path: Path) -> Iterator[_Whose]:
        """Yield every name by which a file that has a row may count for a student."""
        whose = self.of(path)
        if whose is not None:
            yield whose
        place = below(path, self._roots)
        yield (place.parts[0] if len(place.parts) > 1 else place.stem), ""


def _students_files(root: Path, out: Path) -> list[Path]:
    """Return the files below a folder, except those in the results folder or in earlier ones."""
    files = files_below(root)
    results = {out.absolute(), *(path.absolute().parent for path in files if path.name == STORE_NAME)}
    return [path for path in files if results.isdisjoint(path.absolute().parents)]


def _key(whose: _Whose) -> _Whose:
    return whose[0].casefold(), whose[1]
