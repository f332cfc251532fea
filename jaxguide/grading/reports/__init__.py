"""Write down what grading came to: for the instructor, for each student, for other programs."""

from collections.abc import Iterator
from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.reports.csv_tables import grades_csv
from jaxguide.grading.reports.feedback import feedback_html, feedback_text
from jaxguide.grading.reports.junit import junit_xml
from jaxguide.grading.reports.marks import rows_of
from jaxguide.grading.reports.overview import report_html
from jaxguide.grading.reports.page import is_page
from jaxguide.grading.reports.read_results import read_results, recorded_course
from jaxguide.grading.reports.results_json import RESULTS_FILE_NAME, NoResults, batch_to_plain, feedback_stems, to_text

__all__ = ["NoResults", "batch_to_plain", "read_results", "recorded_course", "write_reports"]


def write_reports(batch: BatchResult, folder: Path, *, reveal: bool = False, names: bool = False) -> list[Path]:
    """Write every report of a batch into a folder; return the files.

    `feedback/` is what students may see. All else is the instructor's: `results.json`, `grades.csv`, `junit.xml`,
    `report.html`. The same batch gives the same bytes. Feedback of students whom the batch does not know, from an
    earlier one, is removed once all is written.

    Args:
        batch: what was graded.
        folder: made where it is missing.
        reveal: show students what hidden checks saw, too.
        names: say in `report.html` who met a misconception.

    Raises:
        OSError: the folder cannot be made or written.
    """
    files = []
    for name, text in _reports(batch, reveal, names):
        write_whole(folder / name, text)
        files.append(folder / name)
    _remove_old_feedback(folder / "feedback", files)
    return files


def _remove_old_feedback(folder: Path, files: list[Path]) -> None:
    """Remove the pages of nobody in the batch, each with its text; whatever else lies there is not jaxguide's."""
    if not folder.is_dir():
        return
    # By what the file system takes for one file: names that differ in case or accents may be.
    written = {_identity(file) for file in files}
    for path in sorted(folder.glob("*.html")):
        if path.is_file() and _identity(path) not in written and is_page(path):
            # The page last: what is left after an interruption is found again.
            path.with_suffix(".txt").unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _reports(batch: BatchResult, reveal: bool, names: bool) -> Iterator[tuple[str, str]]:
    """Yield each report's name and text, one at a time: a class's pages together are large."""
    yield RESULTS_FILE_NAME, to_text(batch)
    yield "grades.csv", grades_csv(batch)
    yield "junit.xml", junit_xml(batch)
    yield "report.html", report_html(batch, names=names)
    rows = rows_of(batch)
    stems = feedback_stems(row.student for row in rows)
    for row in rows:
        stem = f"feedback/{stems[row.student]}"
        yield f"{stem}.html", feedback_html(row, batch, reveal)
        yield f"{stem}.txt", feedback_text(row, batch, reveal)
