"""Create checks from the declarations of authors."""

import dis
import inspect
import types
from collections.abc import Callable
from pathlib import Path

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.author import Declaration
from jaxguide.course.books.book_text import is_number
from jaxguide.course.exercise import AuthorError, Check
from jaxguide.course.verdict import STAGES, Kind

_SEEN_STAGES = ("traces", "keys", "cost")
_SEEN = frozenset({"program", "key_use", "traces", "compiles"})
"""What a check observes; unlike values, code in a worker can forge it."""


def function_line(declaration: Declaration) -> int:
    """Return the line of the declared function."""
    code = getattr(declaration.function, "__code__", None)
    return int(code.co_firstlineno) if code else 1


def make_check(path: Path, declaration: Declaration, is_hidden: bool) -> Check:
    """Create a check from a declaration.

    Raises:
        AuthorError: its stage or kind is unknown, it does not state a fact, or it takes what no check gets.
    """
    options, line = declaration.options, function_line(declaration)
    stage = options["stage"]
    if stage not in STAGES[2:]:
        message = "`{stage}` is not a stage; the stages are {stages}"
        raise AuthorError(path, line, message.format(stage=stage, stages=", ".join(STAGES[2:])))
    kind = options["kind"] or ("observed" if stage in _SEEN_STAGES or _observes(declaration.function) else "value")
    if kind not in list(Kind):
        message = "`{kind}` is not a kind of check; the kinds are {kinds}"
        raise AuthorError(path, line, message.format(kind=kind, kinds=", ".join(Kind)))
    fact = (inspect.getdoc(declaration.function) or "").split("\n\n")[0].replace("\n", " ")
    if not fact:
        message = "the check `{name}` has no docstring; add one that states the fact that it checks"
        raise AuthorError(path, line, message.format(name=declaration.function.__name__))
    known = ("answer", "draw", "reference") if is_hidden else ("answer", "draw")
    for parameter in inspect.signature(declaration.function).parameters:
        if parameter not in known:
            message = f"the check `{declaration.function.__name__}` takes `{parameter}`; it gets {', '.join(known)}."
            raise AuthorError(path, line, message + did_you_mean(parameter, known))
    if not is_number(options["weight"]) or options["weight"] <= 0:
        message = "the weight of the check `{name}` must be a number above 0, but is {weight}"
        words = {"name": declaration.function.__name__, "weight": repr(options["weight"])}
        raise AuthorError(path, line, message.format(**words))
    required = options["required"]
    if required is None:
        required = options["kind"] in (None, "value") and stage in ("shape", "dtype", "value")
    given = {name: option for name, option in options.items() if name != "target"}
    return Check(
        name=declaration.function.__name__,
        fact=fact,
        function=declaration.function,
        hidden=is_hidden,
        line=line,
        path=path,
        **{**given, "kind": Kind(kind), "required": required},
    )


def _observes(check: Callable[..., None]) -> bool:
    """Return whether a check, or a function of its file that it uses, reads what code in a worker can forge."""
    function = inspect.unwrap(check)
    waiting, done = [getattr(function, "__code__", None)], set()
    while waiting:
        code = waiting.pop()
        if not isinstance(code, types.CodeType) or code in done or code.co_filename != function.__code__.co_filename:
            continue
        done.add(code)
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in _SEEN:
                return True
        waiting += [*code.co_consts, *(getattr(function.__globals__.get(n), "__code__", None) for n in code.co_names)]
    return False


def add_check(checks: list[Check], check: Check) -> None:
    """Add a check to an exercise's list.

    Raises:
        AuthorError: the exercise already has a check with this name.
    """
    if any(other.name == check.name for other in checks):
        message = "the check `{name}` is defined twice for one exercise"
        raise AuthorError(check.path, check.line, message.format(name=check.name))
    checks.append(check)
