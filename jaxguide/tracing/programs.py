"""Describe a function's jaxpr as plain data."""

import inspect
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from types import CodeType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.base.render import Picture
from jaxguide.base.render.theme import CODE, frame
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, function_name
from jaxguide.compat.primitives import COND, MATMUL, SCAN, call_kind
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs, is_literal
from jaxguide.jaxpr.own_lines import is_users_function, users_place
from jaxguide.jaxpr.value_words import array_type
from jaxguide.tracing.fresh_trace import staged
from jaxguide.tracing.program_drawing import counted, planned_drawing


@dataclass(frozen=True)
class Output:
    """One output: its shape, its dtype as JAX prints it, and whether its type is weak."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool


@dataclass(frozen=True)
class Constant:
    """An array constant of the program: its shape, its dtype as JAX prints it, and its size.

    Args:
        shape, dtype, size_bytes: of the array.
        name: its name in the user's code, or empty if it is not known.
        line: the first of the user's lines that uses it.
    """

    shape: tuple[int, ...]
    dtype: str
    size_bytes: int
    name: str = ""
    line: Line | None = None


@dataclass(repr=False)
class Program:
    """A jaxpr as plain data, which `print` draws: a row for each equation, with its inputs, types and line.

    Inputs are named after the function's arguments. Loops, branches and calls of your own functions are boxes, with
    their rows below them; a call of a library function is one row. A program of more than 40 rows is folded: inputs and
    outputs by the parts of their pytrees, and equations by your functions and lines.

    Args:
        primitives: how often each primitive occurs. Calls (jit, custom rules, checkpoint) are inlined; the body of a
            while, each branch of a cond and the loop itself count once, and the body of a scan as often as `unroll`
            repeats it.
        outputs: the flat outputs, in order.
        matmul_flops: floating-point operations in matrix products (`dot_general`, not convolutions), two per
            multiply-add; a scan counts its body `length` times, a while once, a cond its most expensive branch.
        constants: the program's array constants.
        results: how often a result of each type is computed, such as `{"float32[3]": 2}`.
        unused: the primitives among `primitives` whose results the function does not use.
        unjitted: the primitives that are in no jitted function of the user's; none if the function itself is jitted.
        direct: the primitives that the user's code calls itself, and not in a jitted function of a library.
        effects: what the program does besides computing, such as `["Debug"]` or, in order, `["OrderedDebug"]`.
        needs_values: whether Python needs the value of an argument, so that the function cannot be traced: the program
            is the one for the given values, and `jax.jit` of the function fails.
        name: the function's name.
    """

    primitives: dict[str, int] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    matmul_flops: int = 0
    # Not compared: functions with the same program are equal, wherever they are defined.
    constants: list[Constant] = field(default_factory=list, compare=False)
    results: dict[str, int] = field(default_factory=dict, compare=False)
    unused: dict[str, int] = field(default_factory=dict, compare=False)
    unjitted: dict[str, int] = field(default_factory=dict, compare=False)
    direct: dict[str, int] = field(default_factory=dict, compare=False)
    effects: list[str] = field(default_factory=list, compare=False)
    needs_values: bool = field(default=False, compare=False)
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self.draw: Callable[[int], str] | None = None  # not a field: it does not cross a process boundary

    @property
    def equations(self) -> int:
        """Return the number of equations, the sum of `primitives`."""
        return sum(self.primitives.values())

    def to_plain(self) -> dict[str, Any]:
        """Return the program as dicts, lists, strings, ints and bools, to send to another process."""
        plain: dict[str, Any] = plain_of(self)
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Program":
        """Rebuild a program from the result of `to_plain`."""
        found: Program = read_plain(cls, plain)
        return found

    def __str__(self) -> str:
        if self.draw is not None:
            return self.draw(self.equations)
        return f"{self.name}: {counted(self.primitives)}"

    __repr__ = __str__

    @property
    def drawing(self) -> Picture:
        """Return what is printed, and its form in a notebook; in another process, only the primitives are left."""
        title, _, rows = str(self).partition("\n")
        table = f'<pre style="{CODE};white-space:pre;overflow-x:auto">{escape(rows)}</pre>'
        html = f'<div style="{frame("quiet")};max-width:none"><b>{escape(title)}</b>{table}</div>'
        return Picture(f"{title}\n{rows}", html)

    def _repr_html_(self) -> str:
        return self.drawing.html


def program(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Program:
    """Describe the jaxpr of `fn` for the given arguments.

    >>> import jax.numpy as jnp
    >>> seen = program(lambda w, x: jnp.tanh(w @ x), jnp.ones((3, 4)), jnp.ones(4))
    >>> seen.primitives, seen.matmul_flops
    ({'dot_general': 1, 'tanh': 1}, 24)
    >>> seen.outputs
    [Output(shape=(3,), dtype='float32', weak_type=False)]
    >>> seen
    <lambda>(w, x): 2 equations
      w                    float32[3,4]
      x                    float32[4]
      a = dot_general w x  float32[3]    ..., line 1...
      b = tanh a           float32[3]    line 1
      return b             float32[3]

    Based on `jax.make_jaxpr`. `Compiled.cost_analysis` cannot replace `matmul_flops`: it counts the body of a scan
    once.

    Args:
        fn: any function that can be traced.
        args, kwargs: its arguments. Arrays, keys, floats and `jax.ShapeDtypeStruct` are traced; Python integers,
            strings, booleans and None stay static. If Python needs the value of a traced argument, as in `if x > 0`,
            the program is the one for the given values, and says so.

    Returns:
        A `Program`: primitives and their counts, the shapes and dtypes of the outputs, and costs, to print or to test.

    Raises:
        TypeError: if `fn` is not a function, rejects these arguments, or needs the value of a `ShapeDtypeStruct`.
        Exception: whatever `fn` raises while it is traced.
    """
    require_call("program", fn, args, kwargs)
    found = staged(fn, args, kwargs)
    avals = [variable.aval for variable in compat.jaxpr_parts(found.jaxpr)[0].outvars]
    outputs = [Output(tuple(one.shape), str(one.dtype), bool(getattr(one, "weak_type", False))) for one in avals]
    primitives: Counter[str] = Counter()
    results: Counter[str] = Counter()
    unjitted: Counter[str] = Counter()
    direct: Counter[str] = Counter()
    for eqn, jitted_by in _equations(found.jaxpr):
        name = eqn.primitive.name
        primitives[name] += 1
        results.update(array_type(one.aval) for one in eqn.outvars if hasattr(one.aval, "dtype"))
        unjitted[name] += "user" not in jitted_by
        direct[name] += "library" not in jitted_by
    given = {id(leaf) for leaf in jax.tree.leaves((args, kwargs))}  # never constants of `fn`
    constants = {id(value): one for value, one in _constants_of(found.jaxpr, fn) if id(value) not in given}
    described = Program(
        primitives=dict(primitives),
        outputs=outputs,
        matmul_flops=_matmul_flops(found.jaxpr),
        constants=list(constants.values()),
        results=dict(results),
        unused=dict(Counter(_unused(found.jaxpr, [True] * len(outputs)))),
        unjitted=dict(+unjitted),
        direct=dict(+direct),
        effects=sorted(map(str, found.jaxpr.effects)),
        needs_values=found.needs_values,
        name=function_name(fn),
    )
    described.draw = planned_drawing(fn, args, kwargs, found, {value: one.name for value, one in constants.items()})
    return described


def _equations(jaxpr: Any, jitted_by: frozenset[str] = frozenset()) -> Iterator[tuple[Any, frozenset[str]]]:
    """Yield each equation, with calls inlined, and whose `jit` it is in."""
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        called = called_jaxpr(eqn)
        if called is not None:
            owner = "user" if is_users_function(called, eqn) else "library"
            is_jit = call_kind(eqn.primitive.name) == "jit"
            yield from _equations(called, jitted_by | {owner} if is_jit else jitted_by)
            continue
        yield eqn, jitted_by
        copies = min(eqn.params.get("unroll", 1), eqn.params.get("length", 1))
        for inner in inner_jaxprs(eqn) * max(copies, 1):
            yield from _equations(inner, jitted_by)


def _unused(jaxpr: Any, wanted: Sequence[bool]) -> Iterator[str]:
    """Yield the primitives, with calls inlined, of which no wanted output needs the results."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    used = {id(variable) for variable, is_wanted in zip(plain.outvars, wanted, strict=True) if is_wanted}
    for eqn in reversed(plain.eqns):
        needed, called = [id(variable) in used for variable in eqn.outvars], called_jaxpr(eqn)
        if not any(needed) and not eqn.effects:
            inside = [eqn] if called is None else [one for one, _by in _equations(called)]
            yield from (one.primitive.name for one in inside)
            continue
        if called is not None and len(compat.jaxpr_parts(called)[0].outvars) == len(needed):
            yield from _unused(called, needed)
        used.update(map(id, eqn.invars))


def _matmul_flops(jaxpr: Any) -> int:
    total = 0
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        name, params = eqn.primitive.name, eqn.params
        if name == MATMUL:
            (contracted, _right), _batch = params["dimension_numbers"]
            depth = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
            total += 2 * depth * math.prod(eqn.outvars[0].aval.shape)
        elif inside := [_matmul_flops(inner) for inner in inner_jaxprs(eqn)]:
            total += (max if name == COND else sum)(inside) * (params["length"] if name == SCAN else 1)
    return total


def _constants_of(jaxpr: Any, fn: Callable[..., Any]) -> Iterator[tuple[Any, Constant]]:
    """Yield the array constants of a jaxpr, in the order of their first use, with what is known of them."""
    used: dict[int, tuple[Any, Line | None]] = {}
    for value, line in _uses(jaxpr, None):
        used.setdefault(id(value), (value, line))
    held = list(_held(fn, set())) if used else []
    for value, line in used.values():
        same = [one for one in held if one[1] is value] or [one for one in held if _equal(value, one[1])]
        # Of several arrays with the same numbers, any may be meant.
        name = same[0][0] if len({id(leaf) for _name, leaf in same}) == 1 else ""
        yield value, Constant(tuple(np.shape(value)), str(value.dtype), getattr(value, "nbytes", 0), name, line)


def _uses(jaxpr: Any, outer: Line | None) -> Iterator[tuple[Any, Line | None]]:
    """Yield the constants that each equation and result takes, and the user's line there."""
    plain, constants = compat.jaxpr_parts(jaxpr)
    known = dict(zip(plain.constvars, constants, strict=False))
    for eqn in plain.eqns:
        taken = [known[atom] for atom in eqn.invars if not is_literal(atom) and atom in known]
        inside = inner_jaxprs(eqn)
        if taken or inside:
            place = users_place(eqn.source_info)
            line = place[0] if place else outer
            yield from ((value, line) for value in taken)
            yield from itertools.chain.from_iterable(_uses(inner, line) for inner in inside)
    yield from ((known[atom], outer) for atom in plain.outvars if not is_literal(atom) and atom in known)


def _held(fn: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that the user's code of a function reaches, and of those that it calls, with their names."""
    fn = inspect.unwrap(fn)
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType) or is_library(code.co_filename) or id(fn) in seen:
        return
    seen.add(id(fn))
    cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
    for name in dict.fromkeys([*cells, *_names(code)]):
        try:
            value = cells[name].cell_contents if name in cells else fn.__globals__[name]
            leaves = jax.tree_util.tree_leaves_with_path(value)
        except Exception:  # not assigned yet, an attribute's name, or a user's pytree that cannot be flattened
            continue
        if callable(value):
            yield from _held(value, seen)
        yield from ((f"{name}{jax.tree_util.keystr(path)}", leaf) for path, leaf in leaves if hasattr(leaf, "dtype"))


def _names(code: CodeType) -> list[str]:
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return [*code.co_names, *itertools.chain.from_iterable(inner)]


def _equal(constant: Any, leaf: Any) -> bool:
    """Return whether a constant is a NumPy array of the user's, which JAX keeps in its own way and dtype."""
    if isinstance(constant, jax.Array) or not isinstance(leaf, np.ndarray) or constant.shape != leaf.shape:
        return False
    return np.array_equal(np.asarray(constant), leaf.astype(constant.dtype))
