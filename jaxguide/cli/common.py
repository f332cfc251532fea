"""Helpers shared by several commands: load a course or report why not, find names, complete them, print JSON."""

import contextlib
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

# Import nothing else up here: the shell waits for this module at every Tab.
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from click.shell_completion import CompletionItem

    from jaxguide.course.books.library import Course
    from jaxguide.course.books.outline import Outline
    from jaxguide.course.progress import Progress
    from jaxguide.course.settings import CourseSettings


class Unusable(click.ClickException):
    """The results folder cannot be used."""

    exit_code = 3


_LARGE_BYTES = 2**20
_SOME = 5  # names
_FOR_STUDENTS = frozenset({"check", "hint", "list", "reset", "solution"})

_Found = TypeVar("_Found")


@contextlib.contextmanager
def stopped_by_signals() -> "Iterator[None]":
    """Raise KeyboardInterrupt at SIGTERM and SIGHUP, too: from `kill`, a stopped container, a closed terminal."""
    import signal

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` ignores SIGHUP
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_course_type = click.Path(exists=True, file_okay=False, path_type=Path)
course_option = click.option(
    "--course",
    "folder",
    type=_course_type,
    help="A course's folder, with exercises/ and solutions/; by default the course that comes with jaxguide.",
)
students_course_option = click.option(
    "--course",
    "folder",
    type=_course_type,
    help="A course's folder; by default the course in your workspace, or else the one that comes with jaxguide.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON and nothing else.")


def read_course(
    folder: Path | None,
    *,
    keys: bool,
    as_json: bool = False,
    lessons: "Collection[str] | None" = None,
) -> "Course":
    """Load a course, or some of its lessons; if it contains a mistake, report it and exit with status 3.

    Args:
        folder: the course's folder, or None for the course that comes with jaxguide.
        keys: whether to load the keys, too.
        as_json: whether to report a mistake as JSON.
        lessons: the lessons to load; by default all.
    """
    from jaxguide import compat
    from jaxguide.course.books.library import load_course

    compat.set_print_flag()
    with author_errors_told(as_json):
        course = load_course(folder, keys=keys, lessons=lessons)
        if keys:
            from jaxguide.course.books.examples import LIMIT_S, run_books

            for topic in run_books(course):
                click.echo(f"The book `{topic}` ran for more than {LIMIT_S:g} s and was not run to its end.", err=True)
        return course


def read_course_outline(folder: Path | None, *, as_json: bool = False) -> "Outline":
    """Read a course without running its books; if it contains a mistake, report it and exit with status 3."""
    from jaxguide.course.books import library

    with author_errors_told(as_json):
        return library.read_outline(folder)


def read_course_settings(folder: Path | None, *, as_json: bool = False) -> "CourseSettings":
    """Read a course's settings; if they contain a mistake, report it and exit with status 3."""
    from jaxguide.course.books.folders import course_folders
    from jaxguide.course.settings import read_settings

    with author_errors_told(as_json):
        return read_settings(course_folders(folder).top)


@contextlib.contextmanager
def author_errors_told(as_json: bool = False) -> "Iterator[None]":
    """If a course contains mistakes, report them and exit with status 3."""
    from jaxguide.course.exercise import AuthorError

    try:
        yield
    except AuthorError as error:
        found = [error, *error.others]
        if as_json:
            print_json({"problems": [{"path": str(e.path), "line": e.line, "message": e.message} for e in found]})
        else:
            click.echo("\n".join(map(str, found)), err=True)
        sys.exit(3)  # no student is at fault


@contextlib.contextmanager
def judged_course(folder: Path | None, *, as_json: bool, programs: Path | None = None) -> "Iterator[Course]":
    """Load a course with its keys; inside the block, each program that its answers use is compiled once.

    Args:
        folder: the course's folder; by default, the course that comes with the package.
        as_json: whether mistakes in it are reported as JSON.
        programs: see `compiled_once`.
    """
    from jaxguide.course.judging.compilation_cache import compiled_once
    from jaxguide.course.set_up import beside_files

    with compiled_once(programs):
        course = read_course(folder, keys=True, as_json=as_json)
        with beside_files(course.files):
            yield course


def begin_with_zygote(files: "Iterable[Path] | None" = None) -> None:
    """Continue in a process from which workers can be forked, if possible and if this one runs one command only.

    Args:
        files: all files of course and submissions that will be read, if known. SciPy is imported if one of them
            mentions it or is not a plain file.
    """
    from jaxguide.cli.anew import begin_anew as begin

    program = click.get_current_context().find_root()
    if program.obj is None or not program.obj["runs_nothing_else"]:
        return
    begin(program.info_name or "jaxguide", files is None or any(map(_may_use_scipy, files)))


def _may_use_scipy(path: Path) -> bool:
    try:
        return not path.is_file() or path.stat().st_size > _LARGE_BYTES or b"scipy" in path.read_bytes()
    except OSError:  # reported when it is read as a submission or a book
        return True


def files_of(folder: Path | None) -> list[Path]:
    """Return the books and keys of a course."""
    from jaxguide.course.books.folders import course_folders

    where = course_folders(folder)
    return [path for part in (where.exercises, where.solutions) for path in sorted(part.glob("*.py"))]


def start_zygote() -> bool:
    """Start the zygote while the course loads; return False if workers cannot be forked and each is a new Python.

    Unless this process has imported JAX, it will compute as workers do: on the CPU, whatever JAX's variables say.
    """
    from jaxguide.cli.anew import forget_variables_of_jax
    from jaxguide.grading.workers.zygote import can_fork, the_zygote

    if "jax" not in sys.modules:
        forget_variables_of_jax()

    def start() -> None:
        with contextlib.suppress(OSError):  # the first worker reports what is wrong
            the_zygote()

    if can_fork():
        threading.Thread(target=start, daemon=True).start()
    return can_fork()


def some_names(names: "Sequence[str]", between: str = ", ") -> str:
    """Return the first of some names that students gave, safe to print."""
    from jaxguide.base.clean import clean

    return between.join([*(clean(name, 60) for name in names[:_SOME]), *["…"] * (len(names) > _SOME)])


def print_json(plain: Any) -> None:
    """Print a value as JSON on standard output."""
    import json

    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def course_meant(
    folder: Path | None, *, file: Path | None = None, workspace: Path | None = None, unpacks: bool = True
) -> Path | None:
    """Return the folder of the course that a student means, or None for the course that comes with jaxguide.

    Exit with a usage error if that cannot be told, or if the course is not here.

    Args:
        folder: the folder given with `--course`, which decides.
        file: the file that they give, which may name its course.
        workspace: the workspace that they give, in which the course may lie.
        unpacks: whether the zip of a course may be unpacked.
    """
    from jaxguide.student.which_course import WhichCourse, course_here, course_of_file, usual_places
    from jaxguide.student.workspace import holds_lessons

    try:
        if folder is not None:
            return folder if (folder / "exercises").is_dir() else course_here([folder]) or folder
        places = usual_places()
        if workspace is not None:
            places = [workspace] if holds_lessons(workspace) else [workspace, *places]
        return course_here(places) if file is None else course_of_file(file, places, unpacks=unpacks)
    except WhichCourse as error:
        raise click.UsageError(str(error)) from None


def workspace_of(course: "Outline") -> Path:
    """Return the student's workspace."""
    from jaxguide.student.workspace import find_workspace

    return find_workspace(course.folders, course.identity)


def progress_of(course: "Outline") -> "Progress":
    """Return the progress kept in the student's workspace."""
    from jaxguide.student.index import kept_progress

    return kept_progress(workspace_of(course), course.identity, lambda: course)


def need_names(
    folder: Path | None, exercises: "Iterable[str]", lessons: "Iterable[str]" = (), *, as_json: bool = False
) -> None:
    """Exit with a usage error if a course lacks one of these exercises or lessons, before any of it runs."""
    exercises, lessons = list(exercises), list(lessons)
    if exercises or lessons:
        outline = read_course_outline(folder, as_json=as_json)
        for name in exercises:
            need(outline.exercise, name)
        for name in lessons:
            need(outline.lesson, name)


def need(find: "Callable[[str], _Found]", name: str) -> _Found:
    """Return the exercise or lesson of this name, or exit with a usage error that suggests the closest name.

    If the course has dropped the exercise, say so and exit with status 0: the student has done nothing wrong.

    Args:
        find: a course's method `exercise` or `lesson`.
        name: the name to look up.
    """
    from jaxguide.course.books.outline import DroppedExercise, UnknownName

    try:
        return find(name)
    except DroppedExercise as error:
        click.echo(str(error))
        sys.exit(0)
    except UnknownName as error:
        raise click.UsageError(str(error)) from None


def complete_exercise(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Return the exercises whose names begin with `begun`, with their titles for shells that show them."""
    from click.shell_completion import CompletionItem

    from jaxguide.course.books.book_text import read_lesson
    from jaxguide.course.books.folders import course_folders, topics
    from jaxguide.course.exercise import AuthorError

    found, folder = list[CompletionItem](), _course_of(context)
    for topic in topics(folder):
        with contextlib.suppress(AuthorError):  # the lessons that can be read count
            exercises = read_lesson(course_folders(folder).exercises / f"{topic}.py").exercises
            found += [CompletionItem(one.name, help=one.title) for one in exercises if one.name.startswith(begun)]
    return found


def complete_lesson(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Return the lessons whose names begin with `begun`."""
    from click.shell_completion import CompletionItem

    from jaxguide.course.books.folders import topics

    return [CompletionItem(topic) for topic in topics(_course_of(context)) if topic.startswith(begun)]


def _course_of(context: click.Context) -> Path | None:
    """Return a course's folder, or None for the course that comes with jaxguide."""
    given = context.params.get("folder")
    if given:
        return Path(given)
    if context.command.name in _FOR_STUDENTS:
        file = context.params.get("file")
        with contextlib.suppress(click.UsageError):
            return course_meant(None, file=Path(file) if file else None, unpacks=False)
    return None
