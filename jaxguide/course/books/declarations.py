"""Create checks from the declarations of authors."""

import inspect
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.author import Declaration
from jaxguide.course.books.book_text import is_number
from jaxguide.course.exercise import AuthorError, Check
from jaxguide.course.verdict import STAGES, Kind


def function_line(declaration: Declaration) -> int:
    """Return the line of the declared function."""
    code = getattr(declaration.function, "__code__", None)
    return int(code.co_firstlineno) if code else 1


def make_check(path: Path, declaration: Declaration, is_hidden: bool) -> Check:
    """Create a check from a declaration.

    Raises:
        AuthorError: its stage or kind is unknown, or it does not state a fact.
    """
    options, line = declaration.options, function_line(declaration)
    stage = options["stage"]
    if stage not in STAGES[2:]:
        message = _("`{stage}` is not a stage; the stages are {stages}")
        raise AuthorError(path, line, message.format(stage=stage, stages=", ".join(STAGES[2:])))
    kind = options["kind"] or ("observed" if stage in ("traces", "keys", "cost") else "value")
    if kind not in list(Kind):
        message = _("`{kind}` is not a kind of check; the kinds are {kinds}")
        raise AuthorError(path, line, message.format(kind=kind, kinds=", ".join(Kind)))
    fact = (inspect.getdoc(declaration.function) or "").split("\n\n")[0].replace("\n", " ")
    if not fact:
        message = _("the check `{name}` has no docstring; add one that states the fact that it checks")
        raise AuthorError(path, line, message.format(name=declaration.function.__name__))
    if not is_number(options["weight"]) or options["weight"] <= 0:
        message = _("the weight of the check `{name}` must be a number above 0, but is {weight}")
        words = {"name": declaration.function.__name__, "weight": repr(options["weight"])}
        raise AuthorError(path, line, message.format(**words))
    required = options["required"]
    if required is None:
        required = kind == "value" and stage in ("shape", "dtype", "value")
    return Check(
        name=declaration.function.__name__,
        fact=fact,
        function=declaration.function,
        stage=stage,
        kind=Kind(kind),
        weight=options["weight"],
        required=required,
        idea=options["idea"],
        on=options["on"],
        misconception=options["misconception"],
        reproduces=options["reproduces"],
        hidden=is_hidden,
        line=line,
        path=path,
    )


def add_check(checks: list[Check], check: Check) -> None:
    """Add a check to an exercise's list.

    Raises:
        AuthorError: the exercise already has a check with this name.
    """
    if any(other.name == check.name for other in checks):
        message = _("the check `{name}` is defined twice for one exercise")
        raise AuthorError(check.path, check.line, message.format(name=check.name))
    checks.append(check)
