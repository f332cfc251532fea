"""Describe a function's jaxpr as plain data."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render import Picture
from jaxguide.base.render.prose import lines_html
from jaxguide.base.text import plural
from jaxguide.code.lines import Line, function_name, place_name
from jaxguide.compat.primitives import COND, CONVOLUTION, MATMUL, SCAN, WHILE, call_kind
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.jaxpr.own_lines import is_users_function, users_place
from jaxguide.jaxpr.value_words import array_type
from jaxguide.tracing.constants import Constant, constants_of
from jaxguide.tracing.diagram import counted
from jaxguide.tracing.fresh_trace import staged
from jaxguide.tracing.program_drawing import planned_drawing


class Output(NamedTuple):
    """One output: its shape, its dtype as JAX prints it, and whether its type is weak."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool


class LineUse(NamedTuple):
    """How often each primitive comes from one of the user's lines; the line is None for code of libraries alone.

    The last item is the name of the function that the line is in.
    """

    line: Line | None
    primitives: dict[str, int]
    function: str = ""


@dataclass(frozen=True, repr=False)
class Program:
    """A jaxpr as plain data, which `print` shows in readable form.

    Args:
        primitives: how often each primitive occurs. Calls (jit, custom rules, checkpoint) are inlined; the body of a
            while, each branch of a cond and the loop itself count once, and the body of a scan as often as `unroll`
            repeats it.
        equations: the number of equations, the sum of `primitives`.
        outputs: the flat outputs, in order.
        largest_constant_bytes: the size of the program's largest array constant, 0 without any.
        matmul_flops: floating-point operations in matrix products (`dot_general`), two per multiply-add; a scan counts
            its body `length` times, a while once, a cond its most expensive branch.
        conv_flops: the same for convolutions (`conv_general_dilated`), including operations on padding.
        open_loops: how many while loops contain a matrix product or convolution. How often they run is not known in
            advance, so the flops count one iteration of each.
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
        types: the types of the outputs, as they are printed.
        draw: makes the drawing, given the number of equations; None in another process.
    """

    primitives: dict[str, int] = field(default_factory=dict)
    equations: int = 0
    outputs: list[Output] = field(default_factory=list)
    largest_constant_bytes: int = 0
    matmul_flops: int = 0
    conv_flops: int = 0
    open_loops: int = 0
    constants: list[Constant] = field(default_factory=list)
    # Not compared: functions with the same program are equal, wherever they are defined.
    lines: list[LineUse] = field(default_factory=list, compare=False)
    results: dict[str, int] = field(default_factory=dict, compare=False)
    unused: dict[str, int] = field(default_factory=dict, compare=False)
    unjitted: dict[str, int] = field(default_factory=dict, compare=False)
    direct: dict[str, int] = field(default_factory=dict, compare=False)
    effects: list[str] = field(default_factory=list, compare=False)
    needs_values: bool = field(default=False, compare=False)
    name: str = field(default="", compare=False)
    types: list[str] = field(default_factory=list, compare=False)
    draw: Callable[[int], Picture] | None = field(default=None, compare=False)

    def to_plain(self) -> dict[str, Any]:
        """Return the program as dicts, lists, strings, ints and bools, to send to another process."""
        return {
            **{name: value for name, value in vars(self).items() if name != "draw"},
            "primitives": dict(self.primitives),
            "outputs": [[list(output.shape), output.dtype, output.weak_type] for output in self.outputs],
            "constants": [
                [list(one.shape), one.dtype, one.size_bytes, one.name, _pair(one.line)] for one in self.constants
            ],
            "lines": [[_pair(use.line), dict(use.primitives), use.function] for use in self.lines],
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Program":
        """Rebuild a program from the result of `to_plain`."""
        outputs = [Output(tuple(shape), dtype, weak) for shape, dtype, weak in plain["outputs"]]
        constants = [
            Constant(tuple(shape), dtype, size, name, line and Line(*line))
            for shape, dtype, size, name, line in plain["constants"]
        ]
        lines = [LineUse(line and Line(*line), *uses) for line, *uses in plain["lines"]]
        return cls(**{**plain, "outputs": outputs, "constants": constants, "lines": lines})

    def __str__(self) -> str:
        equations = plural("{count} equation", "{count} equations", self.equations)
        rows = [f"`{self.name}`: {equations}"]
        if self.needs_values:
            rows.append(
                "  Python needs an argument's value: this is the program for the given values, and `jax.jit` fails"
            )
        rows += [f"  {_filled(f'{place}: ', counted(uses).split(', '))}" for place, uses in self._places()]
        rows.append(_filled("outputs: ", _told_once(self.types) or ["none"]))
        constants = _told_once([_constant_words(one) for one in self.constants])
        rows += [f"constant: {words}" for words in constants[:_MOST_TYPES]]
        if more := constants[_MOST_TYPES:]:
            rows.append(plural("{count} more constant", "{count} more constants", len(more)))
        flops = {"matrix products": self.matmul_flops, "convolutions": self.conv_flops}
        counts = [f"{count:,} in {place}" for place, count in flops.items() if count]
        if counts:
            rows.append(f"floating-point operations: {', '.join(counts)}")
        if self.open_loops:
            which = plural("a", "each", self.open_loops)
            rows.append(f"  counting one iteration of {which} `while`, which may run any number of times")
        return "\n".join(rows)

    __repr__ = __str__

    @property
    def drawing(self) -> Picture:
        """Return a drawing, which `print` shows as text: a row for each equation, with its inputs, types and line.

        Inputs are named after the function's arguments. Loops, branches and calls of your own functions are boxes; a
        call of a library function is one row. In the SVG, arcs lead from the row that produces a value to each row
        that uses it. A program of more than 40 rows is folded: inputs and outputs by the parts of their pytrees, and
        equations by your functions and lines.
        """
        return Picture(str(self), lines_html(str(self), "quiet")) if self.draw is None else self.draw(self.equations)

    def _repr_html_(self) -> str:
        return self.drawing.html

    def _places(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yield the user's lines, or the functions they are in if there are many, and then the code of libraries."""
        places: dict[str, Counter[str]] = {}
        by_line = sum(use.line is not None for use in self.lines) <= _MOST_LINES
        for line, uses, function in self.lines:
            if line is not None:
                place = str(line) if by_line else f"`{function}` ({place_name(line.file)})"
                places.setdefault(place, Counter()).update(uses)
        for place, counts in itertools.islice(places.items(), _MOST_LINES):
            yield place, counts if by_line else dict(counts.most_common())
        if rest := list(places.values())[_MOST_LINES:]:
            yield plural("{count} more function", "{count} more functions", len(rest)), sum(rest, Counter())
        yield from (("library code", use.primitives) for use in self.lines if not use.line)


_WIDTH = 110
_MOST_LINES = 24
_MOST_TYPES = 8


def _told_once(words: Sequence[str]) -> list[str]:
    """Return words as they are if there are few, otherwise each of them once, with its count.

    >>> _told_once(["float32[8]", "float32[8,8]"] * 100)
    ['100 x float32[8]', '100 x float32[8,8]']
    """
    if len(words) <= _MOST_TYPES:
        return list(words)
    return [word if count == 1 else f"{count} x {word}" for word, count in Counter(words).items()]


def _filled(start: str, words: Sequence[str]) -> str:
    """Return a line that lists words, without the last of them if it would become too long."""
    text = start + ", ".join(words)
    for kept in reversed(range(1, len(words))):
        if len(text) <= _WIDTH:
            break
        text = f"{start}{', '.join(words[:kept])}, {len(words) - kept} more"
    return text


def _constant_words(one: Constant) -> str:
    size = plural("{count} byte", "{count} bytes", one.size_bytes)
    name, place = f"`{one.name}` " if one.name else "", f", {one.line}" if one.line else ""
    return f"{name}{array_type(one)} ({size}{place})"


def _pair(line: Line | None) -> list[Any] | None:
    return None if line is None else [line.file, line.number]


def program(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Program:
    """Describe the jaxpr of `fn` for the given arguments.

    >>> import jax.numpy as jnp
    >>> seen = program(lambda w, x: jnp.tanh(w @ x), jnp.ones((3, 4)), jnp.ones(4))
    >>> seen.primitives, seen.matmul_flops
    ({'dot_general': 1, 'tanh': 1}, 24)
    >>> seen.outputs
    [Output(shape=(3,), dtype='float32', weak_type=False)]
    >>> seen
    `<lambda>`: 2 equations
      ..., line 1: dot_general, tanh
    outputs: float32[3]
    floating-point operations: 24 in matrix products

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
    found = staged("program", fn, args, kwargs)
    outputs = [variable.aval for variable in compat.jaxpr_parts(found.jaxpr)[0].outvars]
    lines: dict[_Place, Counter[str]] = {}
    results: Counter[str] = Counter()
    unjitted: Counter[str] = Counter()
    direct: Counter[str] = Counter()
    for eqn, place, jitted_by in _equations(found.jaxpr):
        name = eqn.primitive.name
        lines.setdefault(place, Counter())[name] += 1
        results.update(array_type(one.aval) for one in eqn.outvars if hasattr(one.aval, "dtype"))
        unjitted[name] += "user" not in jitted_by
        direct[name] += "library" not in jitted_by
    primitives = sum(lines.values(), Counter[str]())
    matmul_flops, conv_flops, open_loops = map(int, _work(found.jaxpr))
    given = {id(leaf) for leaf in jax.tree.leaves((args, kwargs))}  # never constants of `fn`
    constants = {id(value): one for value, one in constants_of(found.jaxpr, fn) if id(value) not in given}
    names = {value: one.name for value, one in constants.items() if one.name}
    return Program(
        primitives=dict(primitives),
        equations=primitives.total(),
        outputs=[Output(tuple(aval.shape), str(aval.dtype), _is_weak(aval)) for aval in outputs],
        largest_constant_bytes=max((constant.size_bytes for constant in constants.values()), default=0),
        matmul_flops=matmul_flops,
        conv_flops=conv_flops,
        open_loops=open_loops,
        constants=list(constants.values()),
        lines=[LineUse(line, dict(uses), function) for (line, function), uses in lines.items()],
        results=dict(results),
        unused=dict(Counter(_unused(found.jaxpr, [True] * len(outputs)))),
        unjitted=dict(+unjitted),
        direct=dict(+direct),
        effects=sorted(map(str, found.jaxpr.effects)),
        needs_values=found.needs_values,
        name=function_name(fn),
        types=[f"{array_type(aval)}{' (weak)' if _is_weak(aval) else ''}" for aval in outputs],
        draw=planned_drawing(fn, args, kwargs, found, names),
    )


def _is_weak(aval: Any) -> bool:
    return bool(getattr(aval, "weak_type", False))


_Place = tuple[Line | None, str]  # a line, and the function that it is in


def _equations(
    jaxpr: Any, outer: _Place = (None, ""), jitted_by: frozenset[str] = frozenset()
) -> Iterator[tuple[Any, _Place, frozenset[str]]]:
    """Yield each equation, with calls inlined, the user's line that it comes from, and whose `jit` it is in."""
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        place, called = users_place(eqn.source_info) or outer, called_jaxpr(eqn)
        if called is not None:
            owner = "user" if is_users_function(called, eqn) else "library"
            is_jit = call_kind(eqn.primitive.name) == "jit"
            yield from _equations(called, place, jitted_by | {owner} if is_jit else jitted_by)
            continue
        yield eqn, place, jitted_by
        copies = min(eqn.params.get("unroll", 1), eqn.params.get("length", 1))
        for inner in inner_jaxprs(eqn) * max(copies, 1):
            yield from _equations(inner, place, jitted_by)


def _unused(jaxpr: Any, wanted: Sequence[bool]) -> Iterator[str]:
    """Yield the primitives, with calls inlined, of which no wanted output needs the results."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    used = {id(variable) for variable, is_wanted in zip(plain.outvars, wanted, strict=True) if is_wanted}
    for eqn in reversed(plain.eqns):
        needed, called = [id(variable) in used for variable in eqn.outvars], called_jaxpr(eqn)
        if not any(needed) and not eqn.effects:
            inside = [eqn] if called is None else [one for one, _place, _by in _equations(called)]
            yield from (one.primitive.name for one in inside)
            continue
        if called is not None and len(compat.jaxpr_parts(called)[0].outvars) == len(needed):
            yield from _unused(called, needed)
        used.update(map(id, eqn.invars))


def _work(jaxpr: Any) -> Any:
    """Return the flops of matrix products, those of convolutions, and how many while loops contain either."""
    total = np.zeros(3, object)  # of Python's integers
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        name, params = eqn.primitive.name, eqn.params
        if name == MATMUL:
            (contracted, _right), _batch = params["dimension_numbers"]
            depth = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
            total[0] += 2 * depth * math.prod(eqn.outvars[0].aval.shape)
        elif name == CONVOLUTION:
            kernel = eqn.invars[1].aval.shape
            features = kernel[params["dimension_numbers"].rhs_spec[0]]
            total[1] += 2 * math.prod(kernel) // features * math.prod(eqn.outvars[0].aval.shape)
        elif inside := [_work(inner) for inner in inner_jaxprs(eqn)]:
            within = np.max(inside, axis=0) if name == COND else np.sum(inside, axis=0)
            times = params["length"] if name == SCAN else 1
            total += within * [times, times, 1]
            total[2] += name == WHILE and any(within[:2])
    return total
