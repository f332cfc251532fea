"""Read earlier results to write reports without grading: from a store or else from a `results.json`."""

from collections.abc import Sequence
from pathlib import Path

from jaxguide.base.text import plural
from jaxguide.grading.batch import store
from jaxguide.grading.batch.batch_result import BatchResult, load_batch
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.reports.marks import note_files
from jaxguide.grading.reports.results_json import RESULTS_FILE_NAME, NoResults, read_document


def recorded_course(folder: Path) -> Path | None:
    """Return the folder of the course that was graded, or None for the course that comes with the package.

    Args:
        folder: the results folder; if it has no store, the course is unknown and the result is None.

    Raises:
        NoResults: the store cannot be read.
    """
    if not (folder / store.NAME).is_file():
        return None
    try:
        with store.Store(folder) as kept:
            place = (kept.last_batch() or {}).get("course_folder", "")
    except store.StoreError as error:
        raise NoResults(with_marks_elsewhere(error, folder)) from None
    return Path(place) if place else None


def read_results(path: Path, overrides: Sequence[Override] | None = None) -> BatchResult:
    """Return the results of a batch.

    Args:
        path: the results folder, or a `results.json`.
        overrides: the instructor's current points; None for those in `results.json`, if that file exists.

    Raises:
        NoResults: there are no readable results.
    """
    document = path if path.is_file() else path / RESULTS_FILE_NAME
    if path.is_dir() and (path / store.NAME).is_file():
        try:
            before = read_document(document) if document.is_file() else None
            if overrides is None:
                overrides = before.overrides if before is not None else []
            with store.Store(path) as kept:
                batch = load_batch(kept, overrides)
            note_files(batch, before)
            return batch
        except store.NoBatch as error:
            if not document.is_file():  # if there is one, the store was lost and this one is empty
                raise NoResults(str(error)) from None
        except store.StoreError as error:
            raise NoResults(with_marks_elsewhere(error, path)) from None
    if not document.is_file():
        message = "There are no results in {path}: it has neither {store} nor {document}. Grade first."
        raise NoResults(message.format(path=path, store=store.NAME, document=RESULTS_FILE_NAME))
    if overrides:
        raise NoResults(f"Points given by hand need the store, {store.NAME}, which is missing.")
    return read_document(document)


def with_marks_elsewhere(error: store.StoreError, folder: Path) -> str:
    """Return the message of an error; if the store is damaged, it says where the finished marks still are.

    Args:
        error: why the store cannot be used.
        folder: the results folder.
    """
    said, document = str(error), folder / RESULTS_FILE_NAME
    if not isinstance(error, store.DamagedStore):
        return said
    count = _count_marks(folder)
    message = plural(
        "`{document}` still has the marks of {count} file: `jaxguide report {document}` writes the reports from it.",
        "`{document}` still has the marks of {count} files: `jaxguide report {document}` writes the reports from it.",
        count or 0,
        document=document,
    )
    return f"{said} {message}" if count else said


def results_before(folder: Path) -> BatchResult | None:
    """Return the results that a folder has before another run, None if there are none that can be read."""
    try:
        return read_document(folder / RESULTS_FILE_NAME)
    except NoResults:
        return None


def marks_without_store(folder: Path) -> str:
    """Return why grading must not begin in a folder whose `results.json` has marks that no store has, or ''."""
    document = folder / RESULTS_FILE_NAME
    if (folder / store.NAME).exists() or not document.is_file() or _count_marks(folder) == 0:
        return ""
    message = (
        "`{document}` has marks, but the store `{store}` beside it is missing. `jaxguide report {folder}` writes the "
        "reports from these marks. To grade again, name another folder with --out, or move `{document}` away."
    )
    return message.format(document=document, store=store.NAME, folder=folder)


def _count_marks(folder: Path) -> int | None:
    """Return how many files have marks in a folder's `results.json`, None if it cannot be read."""
    before = results_before(folder)
    return None if before is None else sum(one.is_complete for one in before.submissions)
