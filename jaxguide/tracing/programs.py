"""Describe a function's jaxpr as plain data."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.base.text import plural
from jaxguide.code.lines import Line, function_name, innermost_frame, place_name
from jaxguide.compat.primitives import COND, CONVOLUTION, MATMUL, SCAN, WHILE, call_kind
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs
from jaxguide.jaxpr.value_words import array_type
from jaxguide.tracing.abstract import staged


class Output(NamedTuple):
    """One output: its shape, its dtype as JAX prints it, and whether its type is weak."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool


class Constant(NamedTuple):
    """An array constant of the program: its shape, its dtype as JAX prints it, and its size."""

    shape: tuple[int, ...]
    dtype: str
    size_bytes: int


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

    def to_plain(self) -> dict[str, Any]:
        """Return the program as dicts, lists, strings, ints and bools, to send to another process."""
        lines = [
            [[use.line.file, use.line.number] if use.line else None, dict(use.primitives), use.function]
            for use in self.lines
        ]
        return {
            **vars(self),
            "primitives": dict(self.primitives),
            "outputs": [[list(output.shape), output.dtype, output.weak_type] for output in self.outputs],
            "constants": [[list(constant.shape), *constant[1:]] for constant in self.constants],
            "lines": lines,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Program":
        """Rebuild a program from the result of `to_plain`."""
        outputs = [Output(tuple(shape), dtype, weak) for shape, dtype, weak in plain["outputs"]]
        constants = [Constant(tuple(shape), dtype, size) for shape, dtype, size in plain["constants"]]
        lines = [LineUse(Line(*line) if line else None, *uses) for line, *uses in plain["lines"]]
        return cls(**{**plain, "outputs": outputs, "constants": constants, "lines": lines})

    def lines_of(self, *primitives: str) -> list[Line]:
        """Return the user's lines that any of these primitives come from, in program order."""
        return [use.line for use in self.lines if use.line and use.primitives.keys() & set(primitives)]

    def __str__(self) -> str:
        equations = plural("{count} equation", "{count} equations", self.equations)
        rows = [f"`{self.name}`: {equations}"]
        if self.needs_values:
            rows.append(
                "  Python needs an argument's value: this is the program for the given values, and `jax.jit` fails"
            )
        rows += [f"  {_filled(f'{place}: ', counted(uses).split(', '))}" for place, uses in self._places()]
        types = [f"{array_type(one)}{' (weak)' if one.weak_type else ''}" for one in self.outputs]
        rows.append(_filled("outputs: ", _told_once(types) or ["none"]))
        if self.constants:
            held = [
                f"{array_type(one)} ({plural('{count} byte', '{count} bytes', one.size_bytes)})"
                for one in self.constants
            ]
            rows.append(_filled("constants: ", _told_once(held)))
        flops = {"matrix products": self.matmul_flops, "convolutions": self.conv_flops}
        counts = [f"{count:,} in {place}" for place, count in flops.items() if count]
        if counts:
            rows.append(f"floating-point operations: {', '.join(counts)}")
        if self.open_loops:
            which = plural("a", "each", self.open_loops)
            rows.append(f"  counting one iteration of {which} `while`, which may run any number of times")
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return lines_html(str(self), "quiet")

    def _places(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yield the user's lines, or the functions they are in if there are many, and then the code of libraries."""
        users = [use for use in self.lines if use.line]
        if len(users) <= _MOST_LINES:
            lines: dict[str, list[LineUse]] = {}
            for use in users:
                lines.setdefault(str(use.line), []).append(use)
            yield from ((line, uses[0].primitives if len(uses) == 1 else _total(uses)) for line, uses in lines.items())
        else:
            functions: dict[tuple[str, str], list[LineUse]] = {}
            for use in users:
                functions.setdefault((use.line.file if use.line else "", use.function), []).append(use)
            sums = {place: _total(uses) for place, uses in functions.items()}
            shown = sorted(sums, key=lambda place: -sum(sums[place].values()))[:_MOST_LINES]
            for file, function in (place for place in functions if place in shown):  # in program order
                yield f"`{function}` ({place_name(file)})", sums[file, function]
            if rest := [use for place, uses in functions.items() if place not in shown for use in uses]:
                count = len(functions) - len(shown)
                yield plural("{count} more function", "{count} more functions", count), _total(rest)
        yield from (("library code", use.primitives) for use in self.lines if not use.line)


_WIDTH = 110
_MOST_LINES = 24
_MOST_TYPES = 8


def _total(uses: Iterable[LineUse]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for use in uses:
        total.update(use.primitives)
    return dict(total.most_common())


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
    if len(text) <= _WIDTH:
        return text
    kept = len(words)
    while kept > 1 and len(text) > _WIDTH:
        kept -= 1
        more = f"{len(words) - kept} more"
        text = f"{start}{', '.join(words[:kept])}, {more}"
    return text


def counted(primitives: dict[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> counted({"sin": 1, "add": 2})
    'sin, 2 add'
    """
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in primitives.items())


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
    jaxpr = found.jaxpr
    plain, _consts = compat.jaxpr_parts(jaxpr)
    lines: dict[_Place, Counter[str]] = {}
    results: Counter[str] = Counter()
    unjitted: Counter[str] = Counter()
    direct: Counter[str] = Counter()
    for eqn, place, jitted_by in _equations(jaxpr, (None, "")):
        name = eqn.primitive.name
        lines.setdefault(place, Counter())[name] += 1
        results.update(
            array_type(_output(variable.aval)) for variable in eqn.outvars if hasattr(variable.aval, "dtype")
        )
        unjitted[name] += "user" not in jitted_by
        direct[name] += "library" not in jitted_by
    primitives = sum(lines.values(), Counter())
    given = {id(leaf) for leaf in jax.tree.leaves((args, kwargs))}  # never constants of `fn`
    constants = [_constant(value) for value in _constants(jaxpr) if id(value) not in given]
    return Program(
        primitives=dict(primitives),
        equations=primitives.total(),
        outputs=[_output(variable.aval) for variable in plain.outvars],
        largest_constant_bytes=max((constant.size_bytes for constant in constants), default=0),
        matmul_flops=_flops(jaxpr, _matmul_flops),
        conv_flops=_flops(jaxpr, _conv_flops),
        open_loops=_open_loops(jaxpr),
        constants=constants,
        lines=[LineUse(line, dict(uses), function) for (line, function), uses in lines.items()],
        results=dict(results),
        unused=dict(Counter(_unused(jaxpr, [True] * len(plain.outvars)))),
        unjitted=dict(+unjitted),
        direct=dict(+direct),
        effects=sorted(map(str, jaxpr.effects)),
        needs_values=found.needs_values,
        name=function_name(fn),
    )


_Place = tuple[Line | None, str]  # a line, and the function that it is in


def _equations(
    jaxpr: Any, outer: _Place, jitted_by: frozenset[str] = frozenset()
) -> Iterator[tuple[Any, _Place, frozenset[str]]]:
    """Yield each equation, with calls inlined, the user's line that it comes from, and whose `jit` it is in."""
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        found = innermost_frame(eqn.source_info)
        place = outer if found is None else (found[1], found[0].co_qualname.rpartition("<locals>.")[2])
        called = called_jaxpr(eqn)
        if called is not None:
            owner = {_owner(called, found)} if call_kind(eqn.primitive.name) == "jit" else set()
            yield from _equations(called, place, jitted_by | owner)
            continue
        yield eqn, place, jitted_by
        copies = min(eqn.params.get("unroll", 1), eqn.params.get("length", 1))
        for inner in inner_jaxprs(eqn) * max(copies, 1):
            yield from _equations(inner, place, jitted_by)


def _owner(called: Any, caller: Any) -> str:
    """Return who wrote a jitted function. Of a library's, the innermost frame of the user's is that of the call."""
    frames = (innermost_frame(eqn.source_info) for eqn, _place, _by in _equations(called, (None, "")))
    code = caller and caller[0]
    return "user" if any(frame is not None and frame[0] != code for frame in frames) else "library"


def _unused(jaxpr: Any, wanted: Sequence[bool]) -> Iterator[str]:
    """Yield the primitives, with calls inlined, of which no wanted output needs the results."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    used = {id(variable) for variable, is_wanted in zip(plain.outvars, wanted, strict=True) if is_wanted}
    for eqn in reversed(plain.eqns):
        needed, called = [id(variable) in used for variable in eqn.outvars], called_jaxpr(eqn)
        if not any(needed) and not eqn.effects:
            inside: Iterable[tuple[Any, Any, Any]] = [(eqn, None, None)]
            if called is not None:
                inside = _equations(called, (None, ""))
            yield from (one.primitive.name for one, _place, _by in inside)
            continue
        if called is not None and len(compat.jaxpr_parts(called)[0].outvars) == len(needed):
            yield from _unused(called, needed)
        used.update(map(id, eqn.invars))


def _constants(jaxpr: Any) -> Iterator[Any]:
    plain, constants = compat.jaxpr_parts(jaxpr)
    yield from constants
    for eqn in plain.eqns:
        for inner in inner_jaxprs(eqn):
            yield from _constants(inner)


def _constant(value: Any) -> Constant:
    size = int(getattr(value, "nbytes", None) or np.size(value) * getattr(value.dtype, "itemsize", 0))
    return Constant(tuple(np.shape(value)), str(value.dtype), size)


def _output(aval: Any) -> Output:
    return Output(tuple(aval.shape), str(aval.dtype), bool(getattr(aval, "weak_type", False)))


def _flops(jaxpr: Any, of_equation: Callable[[Any], int]) -> int:
    total = 0
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        total += of_equation(eqn)
        if eqn.primitive.name == COND:
            total += max(_flops(branch, of_equation) for branch in eqn.params["branches"])
        else:
            times = eqn.params["length"] if eqn.primitive.name == SCAN else 1
            total += times * sum(_flops(inner, of_equation) for inner in inner_jaxprs(eqn))
    return total


def _matmul_flops(eqn: Any) -> int:
    if eqn.primitive.name != MATMUL:
        return 0
    (contracted, _right), _batch = eqn.params["dimension_numbers"]
    depth = math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
    return int(2 * depth * math.prod(eqn.outvars[0].aval.shape))


def _conv_flops(eqn: Any) -> int:
    if eqn.primitive.name != CONVOLUTION:
        return 0
    kernel = eqn.invars[1].aval.shape
    features = kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
    return int(2 * math.prod(kernel) // features * math.prod(eqn.outvars[0].aval.shape))


def _open_loops(jaxpr: Any) -> int:
    found = 0
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        inner = inner_jaxprs(eqn)
        found += sum(map(_open_loops, inner))
        if eqn.primitive.name == WHILE:
            found += any(_flops(one, _matmul_flops) + _flops(one, _conv_flops) for one in inner)
    return found
