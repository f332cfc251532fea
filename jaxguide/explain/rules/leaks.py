"""Explain traced values that outlive their function, in a list, an attribute, a global or an outer variable."""

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax

from jaxguide import compat
from jaxguide.code.frames import package_name
from jaxguide.code.lines import Line
from jaxguide.code.slices import first_line_of
from jaxguide.code.source import source_of
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import called


def _has_ended(facts: Facts) -> bool:
    """Ask whether the function that a value comes from has ended: JAX says so, or it is not running."""
    frame = facts.scene.spot.frame
    if texts.LEAK.match(facts.scene.error) is not None:
        return not facts.knows("traced") or not compat.is_recording(facts["traced"].value, frame)
    while frame.f_back is not None and package_name(frame.f_code.co_filename) != "jax":
        frame = frame.f_back
    return frame.f_back is None and facts.knows("traced")


def _places(facts: Facts) -> list[tuple[str, str, int]]:
    """Return the functions that JAX recorded, as the message or the traced value names them, with file and line."""
    by, message = compat.traced_by(facts["traced"].value) if facts.knows("traced") else None, facts.scene.message
    said = [*texts.LEAK_FUNCTION.findall(message), *([(by.function, by.file, by.line)] if by is not None else [])]
    said += [(name, file, line) for file, line, name in texts.LEAK_MADE.findall(message)]
    return [(name.split(".")[-1], file, int(line)) for name, file, line in said if name and file and line is not None]


def _functions(facts: Facts) -> Iterator[Part]:
    """Yield the definitions of these functions."""
    for name, file, line in _places(facts):
        source = source_of(file)
        for function in source.functions(name) if source is not None else ():
            if source is not None and first_line_of(function) <= line <= (function.end_lineno or 0):
                yield Part(function, source, facts.scene)


def _stores(function: Any) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """Yield the statements in a function that store a value outside of it, each with the place."""
    names = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    shared = {name for one in ast.walk(function) if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names}
    for statement in function.body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(statement, ast.Expr) and called(statement.value) in ("append", "add"):
            targets = [getattr(statement.value.func, "value", None)]  # type: ignore[attr-defined]
        for place in (one for target in targets for one in getattr(target, "elts", [target]) if one is not None):
            if ast.unparse(place).split(".")[0].split("[")[0] not in names - shared:
                yield statement, place


def _keeper(facts: Facts) -> tuple[Part, Part, Part] | None:
    """Find a traced function, the statement that stores a value outside of it, and the place, if it is only one."""
    for function in _functions(facts):
        stores = [(function.inside(one), function.inside(place)) for one, place in _stores(function.node)]
        if len({str(place) for _statement, place in stores}) == 1:
            return function, *stores[-1]
    return None


def _cached_property(facts: Facts) -> ast.expr | None:
    """Look at the decorator `functools.cached_property` of an attribute that is traced."""
    functions = facts.scene.source.functions(getattr(facts.node("traced"), "attr", ""))
    made = [one for function in functions for one in function.decorator_list if "cached_property" in ast.unparse(one)]
    return made[0] if made else None


_RECORDED = "A traced value means something only while JAX traces its function; kept after that, it stands for nothing."
_keeper_entry = partial(
    entry,
    traced=probes.traced,
    made=probes.said(texts.LEAK_MADE),
    name=lambda facts: next((name for name, _file, _line in _places(facts)), None),
    kept_by=_keeper,
    keeper=lambda facts: facts["kept_by"][1],
    kept=lambda facts: facts["kept_by"][2],
    append=lambda facts: (
        facts["keeper"].inside(facts.node("keeper").value) if probes.is_written("keeper", ast.Expr)(facts) else None
    ),
    method=probes.function_of("append"),
    value=probes.argument(0, of="append"),
    why=(
        "A traced value means something only while JAX traces its function, `{name}`; kept after that, it stands for "
        "nothing. Only what is returned comes out.",
        _RECORDED,
    ),
    link=texts.ERRORS_PAGE,
)
_leaked = partial(
    _keeper_entry,
    title="A traced value was used after its function had ended",
    when=_has_ended,
)
_RETURN = Either(
    "Return the value from `{name}` and keep it outside.",
    "Return the value from the traced function (`has_aux=True` for `jax.grad`), and keep it outside.",
)
_HAND_OVER = Swap(
    "Or let the running program hand it over, in every run; `{jax}.effects_barrier()` waits for it.",
    # JAX says that a value has leaked, and not something that may be wrong besides.
    when=lambda facts: any(phrase.match(facts.scene.error) for phrase in (texts.LEAK, texts.LEAK_FOUND)),
    append="{jax}.debug.callback({method}, {value})",
)
_leaked(
    "leaked_tracer",
    texts.ANY,
    x=lambda facts: facts["traced"] if facts.knows("decorator") else None,
    decorator=_cached_property,
    what="`{x}` was computed for the first time in a traced function, and is kept as a traced value.",
    fixes=[
        Swap("Compute it each time; a compiled program does so once, when it is recorded.", decorator="property"),
        "Or compute it in `__init__`, before any function is traced.",
    ],
    why=_RECORDED,
)
_leaked(
    "leaked_tracer",
    texts.ANY,
    x=probes.one_of(
        probes.traced,
        probes.fact("kept"),
        probes.container(lambda value: any(map(is_tracer, jax.tree.leaves(value)))),
    ),
    place=lambda facts: f" ({Line(facts['made'][1], int(facts['made'][2]))})" if facts.knows("made") else "",
    left=lambda facts: "is" if facts.knows("traced") else "holds",
    what=(
        "`{x}` {left} what is left of a traced value of `{name}`{place}.",
        "`{x}` {left} what is left of a traced value.",
    ),
    fixes=[
        Either(
            Words(
                "In a function that haiku transforms, do not use `jax.jit`: jit `init` and `apply` outside instead.",
                when=lambda facts: facts.scene.library == "haiku",
            ),
            _RETURN,
        ),
        _HAND_OVER,
    ],
)
_leaked(
    "leaked_tracer",
    texts.LEAK,
    decorators=lambda facts: [
        (one.name, *map(ast.unparse, getattr(one.node, "decorator_list", []))) for one in _functions(facts)
    ],
    x=lambda facts: next((name for name, *made in facts["decorators"] if "cache" in "".join(made)), None),
    what="`{x}` keeps its results, and made one while JAX was recording another function.",
    fixes=[
        "Compute with NumPy in `{x}`, or inside `with jax.ensure_compile_time_eval():`.",
        "Or do without the cache: a compiled program computes it once, when it is recorded.",
    ],
    why=_RECORDED,
)
_keeper_entry(
    "leak_found",
    texts.LEAK_FOUND,
    x=probes.fact("kept"),
    line="keeper",
    function=lambda facts: facts["kept_by"][0].name,
    title="A traced value is kept outside of its function",
    what="`{function}` keeps a traced value in `{x}`.",
    fixes=[_RETURN, _HAND_OVER],
)
