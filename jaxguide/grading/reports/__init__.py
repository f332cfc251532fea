"""Write the results of grading for the instructor, for each student and for other programs."""

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
from jaxguide.grading.reports.results_json import RESULTS_FILE_NAME, feedback_stems, to_text


def write_reports(batch: BatchResult, folder: Path, *, reveal: bool = False, names: bool = False) -> list[Path]:
    """Write every report of a batch into a folder and return the files.

    Students may see `feedback/`. Everything else is for the instructor: `results.json`, `grades.csv`, `junit.xml`,
    `report.html`. The same batch always produces the same bytes. After all files are written, feedback from an
    earlier batch for students who are not in this one is deleted.

    Args:
        reveal: also show students the details of hidden checks.
        names: name the students with each misconception in `report.html`.

    Raises:
        OSError: the folder cannot be created or written.
    """
    rows = rows_of(batch)
    stems = feedback_stems(row.student for row in rows)

    def texts() -> Iterator[tuple[str, str]]:  # one at a time, since all pages of a class together are large
        yield RESULTS_FILE_NAME, to_text(batch)
        yield "grades.csv", grades_csv(batch)
        yield "junit.xml", junit_xml(batch)
        yield "report.html", report_html(batch, names=names)
        for row in rows:
            yield f"feedback/{stems[row.student]}.html", feedback_html(row, batch, reveal)
            yield f"feedback/{stems[row.student]}.txt", feedback_text(row, batch, reveal)

    files = []
    for name, text in texts():
        write_whole(folder / name, text)
        files.append(folder / name)
    # Compare by inode: on some file systems, names that differ only in case or accents are the same file.
    written = {path.stat().st_ino for path in files}
    for path in sorted((folder / "feedback").glob("*.html")):
        if path.is_file() and path.stat().st_ino not in written and is_page(path):
            # Delete the page last, so that the next run finds it if this one is interrupted.
            path.with_suffix(".txt").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
    return files
