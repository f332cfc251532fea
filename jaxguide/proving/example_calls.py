"""Run the example calls of docstrings and the documented examples, and find those that come out otherwise."""

import ast
import contextlib
import doctest
import io
import linecache
import math
import re
import traceback
from collections.abc import Callable
from typing import Any

import jax

from jaxguide.code.slices import global_names
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.documented_cells import DocumentedCell
from jaxguide.course.exercise import Task

_LOOSELY = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_FRACTION = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
_PADDING = re.compile(r"(?<=\[)\s+|\s+(?=[\],])")


def examples(task: Task) -> list[doctest.Example]:
    """Return the example calls of an exercise's docstring, each with the result that it shows.

    Raises:
        ValueError: they are not laid out as `doctest` needs it.
    """
    return doctest.DocTestParser().get_examples(task.contract, task.name)


def has_example(task: Task) -> bool:
    """Return whether an exercise's docstring calls its function in an example, and the examples can be read."""
    try:
        return any(task.name in example.source for example in examples(task))
    except ValueError:  # a problem, which the proof tells
        return False


def failing(
    shown: list[doctest.Example], run: Callable[[frozenset[str]], dict[str, Any]]
) -> list[tuple[doctest.Example, str]]:
    """Return the examples that come out otherwise, each with what it gave; in an example, `...` stands for anything.

    Args:
        shown: the examples, which run one after the other.
        run: runs an answer, and returns a namespace that has these names of the lesson, too.
    """
    if not shown:
        return []
    names: set[str] = set()
    for example in shown:
        with contextlib.suppress(SyntaxError):  # which the runner notes
            names |= global_names(example.source)
    runner = _Runner(_OutputChecker(), verbose=False, optionflags=_LOOSELY)
    test = doctest.DocTest(shown, run(frozenset(names)), "example", None, None, None)
    runner.run(test, out=lambda text: None, clear_globs=False)
    return runner.found


def prints_otherwise(book: Book, cell: DocumentedCell) -> str | None:
    """Run a documented example as in a notebook, with the key's answers; return its output unless the cell shows it."""
    names, filename, body = global_names(cell.code), f"<documented {cell.ids[0]}>", ast.parse(cell.code).body
    linecache.cache[filename] = (len(cell.code), None, cell.code.splitlines(keepends=True), filename)
    answers = "\n".join(one.key.answer.source for one in book.exercises if one.key and one.name in names)
    last = [body.pop()] if isinstance(body[-1], ast.Expr) else []  # its value is shown
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            namespace = run_answer(book, answers, also=names)
            exec(compile(ast.Module(body, []), filename, "exec"), namespace)
            exec(compile(ast.Interactive(last), filename, "single"), namespace)
            jax.effects_barrier()  # prints of compiled programs
        except Exception as error:
            return traceback.format_exception_only(error)[-1]
    got = printed.getvalue()
    return None if _OutputChecker().check_output(cell.today or cell.documented, got, _LOOSELY) else got


class _OutputChecker(doctest.OutputChecker):
    """Take numbers that agree to float32's digits as equal: the last digit depends on the machine."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        shown = _FRACTION.findall(want)

        def as_shown(match: re.Match[str]) -> str:
            if (text := match[0]) in shown:
                return text
            return next((one for one in shown if math.isclose(float(one), float(text), rel_tol=1e-6)), text)

        want, got = (_PADDING.sub("", text) for text in (want, _FRACTION.sub(as_shown, got)))
        return super().check_output(want, got, optionflags)


class _Runner(doctest.DocTestRunner):
    def __init__(self, checker: doctest.OutputChecker, **options: Any):
        super().__init__(checker, **options)
        self.found: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.found.append((example, got))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        self.found.append((example, traceback.format_exception_only(exc_info[1])[-1]))
