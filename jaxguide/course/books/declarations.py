"""Create checks from the declarations of authors."""

import dis
import inspect
import types
from collections.abc import Callable, Sequence
from pathlib import Path

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.author import Declaration
from jaxguide.course.books.book_text import is_number
from jaxguide.course.exercise import AuthorError, Check
from jaxguide.course.verdict import STAGES, Kind

_SEEN_STAGES = ("traces", "keys", "cost")
_SEEN = frozenset({"program", "key_use", "traces", "compiles"})
"""What a check observes; unlike values, code in a worker can forge it."""


def make_check(path: Path, declaration: Declaration, others: Sequence[Check], is_hidden: bool) -> Check:
    """Create a check from a declaration.

    Args:
        path: the file with the declaration.
        declaration: the declaration.
        others: the other checks of the exercise.
        is_hidden: whether it runs only in grading.

    Raises:
        AuthorError: its stage or kind is unknown, it does not state a fact, it takes what no check gets, or another
            check has its name.
    """
    options, name = declaration.options, declaration.name
    stage, weight = options.get("stage", "value"), options.get("weight", 1.0)
    is_seen = stage in _SEEN_STAGES or _observes(declaration.function)
    kind = options.get("kind") or ("observed" if is_seen else "value")
    fact = (inspect.getdoc(declaration.function) or "").split("\n\n")[0].replace("\n", " ")
    gets = ("answer", "draw", "reference") if is_hidden else ("answer", "draw")
    unknown = [one for one in inspect.signature(declaration.function).parameters if one not in gets]
    message = ""
    if stage not in STAGES[2:]:
        message = f"`{stage}` is not a stage; the stages are {', '.join(STAGES[2:])}"
    elif kind not in list(Kind):
        message = f"`{kind}` is not a kind of check; the kinds are {', '.join(Kind)}"
    elif not fact:
        message = f"the check `{name}` has no docstring; add one that states the fact that it checks"
    elif unknown:
        message = f"the check `{name}` takes `{unknown[0]}`; it gets {', '.join(gets)}."
        message += did_you_mean(unknown[0], gets)
    elif not is_number(weight) or weight <= 0:
        message = f"the weight of the check `{name}` must be a number above 0, but is {weight!r}"
    elif name in [other.name for other in others]:
        message = f"the check `{name}` is defined twice for one exercise; give one of them another name"
    if message:
        raise AuthorError(path, declaration.line, message)
    required = options.get("required")
    if required is None:
        required = options.get("kind") in (None, "value") and stage in ("shape", "dtype", "value")
    words = {name: option for name, option in options.items() if name != "target"}
    return Check(
        name=name,
        fact=fact,
        function=declaration.function,
        hidden=is_hidden,
        line=declaration.line,
        path=path,
        reproduces=tuple(words.pop("reproduces", ())),
        **{**words, "kind": Kind(kind), "required": required},
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
