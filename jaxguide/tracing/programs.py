"""Describe a function's jaxpr as plain data."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import jax

from jaxguide import compat
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.base.render import Picture
from jaxguide.base.render.theme import CODE, frame
from jaxguide.code.lines import Line, function_name
from jaxguide.compat.primitives import COND, MATMUL, SCAN, call_kind
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.jaxpr.own_lines import is_users_function, users_place
from jaxguide.jaxpr.value_words import array_type
from jaxguide.tracing.constants import Constant, constants_of
from jaxguide.tracing.fresh_trace import staged
from jaxguide.tracing.program_drawing import counted, planned_drawing


@dataclass(frozen=True)
class Output:
    """One output: its shape, its dtype as JAX prints it, and whether its type is weak."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool


@dataclass(frozen=True)
class LineUse:
    """How often each primitive comes from one of the user's lines; the line is None for code of libraries alone."""

    line: Line | None
    primitives: dict[str, int]


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
        lines: the user's lines, in program order, each with the primitives that come from it.
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
    lines: list[LineUse] = field(default_factory=list, compare=False)
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
    lines: dict[Line | None, Counter[str]] = {}
    results: Counter[str] = Counter()
    unjitted: Counter[str] = Counter()
    direct: Counter[str] = Counter()
    for eqn, line, jitted_by in _equations(found.jaxpr):
        name = eqn.primitive.name
        lines.setdefault(line, Counter())[name] += 1
        results.update(array_type(one.aval) for one in eqn.outvars if hasattr(one.aval, "dtype"))
        unjitted[name] += "user" not in jitted_by
        direct[name] += "library" not in jitted_by
    given = {id(leaf) for leaf in jax.tree.leaves((args, kwargs))}  # never constants of `fn`
    constants = {id(value): one for value, one in constants_of(found.jaxpr, fn) if id(value) not in given}
    described = Program(
        primitives=dict(sum(lines.values(), Counter[str]())),
        outputs=outputs,
        matmul_flops=_matmul_flops(found.jaxpr),
        constants=list(constants.values()),
        lines=[LineUse(line, dict(uses)) for line, uses in lines.items()],
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


def _equations(
    jaxpr: Any, outer: Line | None = None, jitted_by: frozenset[str] = frozenset()
) -> Iterator[tuple[Any, Line | None, frozenset[str]]]:
    """Yield each equation, with calls inlined, the user's line that it comes from, and whose `jit` it is in."""
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        place, called = users_place(eqn.source_info), called_jaxpr(eqn)
        line = place[0] if place else outer
        if called is not None:
            owner = "user" if is_users_function(called, eqn) else "library"
            is_jit = call_kind(eqn.primitive.name) == "jit"
            yield from _equations(called, line, jitted_by | {owner} if is_jit else jitted_by)
            continue
        yield eqn, line, jitted_by
        copies = min(eqn.params.get("unroll", 1), eqn.params.get("length", 1))
        for inner in inner_jaxprs(eqn) * max(copies, 1):
            yield from _equations(inner, line, jitted_by)


def _unused(jaxpr: Any, wanted: Sequence[bool]) -> Iterator[str]:
    """Yield the primitives, with calls inlined, of which no wanted output needs the results."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    used = {id(variable) for variable, is_wanted in zip(plain.outvars, wanted, strict=True) if is_wanted}
    for eqn in reversed(plain.eqns):
        needed, called = [id(variable) in used for variable in eqn.outvars], called_jaxpr(eqn)
        if not any(needed) and not eqn.effects:
            inside = [eqn] if called is None else [one for one, _line, _by in _equations(called)]
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
