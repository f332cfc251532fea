"""Make inputs for a declared domain: ordinary random ones, and the edges on which answers differ.

Inputs share shapes as far as they can, so that programs are compiled once for many of them.
"""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import ml_dtypes
import numpy as np

from jaxguide.base.text import _
from jaxguide.course.judging.draw import Draw
from jaxguide.course.judging.values import ArrayData, Data, FunctionName, KeyData
from jaxguide.proving.mutants.domains import (
    ArgumentType,
    ArrayType,
    DeclaredArgument,
    DictType,
    FunctionType,
    ListType,
    NothingType,
    ScalarType,
    SuitingType,
    UndeclaredDomain,
    size_of,
)

_SIZES = (3, 4, 5, 2, 6, 7)  # distinct, so that no axis is taken for another
_LARGEST = 40
_TINY, _HUGE = 1e-30, 1e30
_MANY = 2**24 + 1  # the first integer that float32 does not hold
_MOST = 90


@dataclasses.dataclass(frozen=True)
class Case:
    """The arguments of one call, as data, and what is special about them."""

    kind: str
    args: tuple[Data, ...]


Pattern = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
_Make = Callable[[np.random.Generator, Mapping[str, Any]], Case | None]


def _normal(scale: float, offset: float = 0.0) -> Pattern:
    return lambda rng, shape: scale * rng.standard_normal(shape) + offset


def _constant(value: float) -> Pattern:
    return lambda rng, shape: np.full(shape, value)


def _with(*values: float) -> Pattern:
    """Return ordinary numbers among which these values occur."""

    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        numbers = rng.standard_normal(shape)
        flat = numbers.reshape(-1)
        for number, value in enumerate(values):
            if flat.size > number:
                flat[number * max(1, flat.size // len(values))] = value
        return numbers

    return make


def _close(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return 1 + 1e-3 * rng.standard_normal(shape)


def _integral(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-2, 3, size=shape).astype(float)


def _signed(sign: int) -> Pattern:
    return lambda rng, shape: sign * (0.1 + np.abs(rng.standard_normal(shape)))


FLOAT_PATTERNS: Mapping[str, Pattern] = {
    "random numbers": _normal(1.0),
    "other random numbers": _normal(2.0, -0.5),
    "large numbers with an offset": _normal(30.0, 200.0),
    "small numbers": _normal(1e-3),
    "integers, some of them equal": _integral,
    "a zero among others": _with(0.0),
    "zeros": _constant(0.0),
    "ones": _constant(1.0),
    "negative numbers": _signed(-1),
    "positive numbers": _signed(1),
    "numbers close to each other": _close,
    "-0.0 among others": _with(-0.0),
    "tiny numbers": _normal(_TINY),
    "huge numbers": _normal(_HUGE),
    "inf among others": _with(np.inf),
    "-inf among others": _with(-np.inf),
    "NaN among others": _with(np.nan),
    "infinities and NaN": _with(np.inf, -np.inf, np.nan),
}
_INT_PATTERNS: Mapping[str, Pattern] = {
    "random numbers": lambda rng, shape: rng.integers(-5, 6, size=shape),
    "other random numbers": lambda rng, shape: rng.integers(-100, 101, size=shape),
    "zeros": _constant(0),
    "ones": _constant(1),
    "negative numbers": lambda rng, shape: -rng.integers(1, 9, size=shape),
    "positive numbers": lambda rng, shape: rng.integers(1, 9, size=shape),
    "integers, some of them equal": lambda rng, shape: rng.integers(0, 2, size=shape),
    "large integers": lambda rng, shape: _MANY + 2 * rng.integers(0, 9, size=shape),
}
_FLOATS = (0.5, -1.5, 0.0, 1.0, 2.0, -0.0, 1e-6, 100.25)
_INTS = (3, 2, 0, 1, 5, -2, 17)
_COARSE = {"bfloat16": ml_dtypes.bfloat16}


def make_cases(arguments: Sequence[DeclaredArgument], constants: Mapping[str, Any], seed: str) -> list[Case]:
    """Return inputs of a domain, ordinary ones first.

    Args:
        arguments: the declared arguments.
        constants: names to which ranges may refer.
        seed: the name of the exercise, from which the random numbers are derived.

    Raises:
        UndeclaredDomain: a size or the end of a range is not known.
    """
    rng = Draw(0, seed, "mutants").generator
    sizes = {name for one in arguments for name in _names(one.types)}
    for argument in arguments:
        for one in argument.ranges:
            if one.of and one.of not in sizes | {other.name for other in arguments}:
                message = _("`{name}`: `{of}` is neither a size nor an argument")
                raise UndeclaredDomain(message.format(name=argument.name, of=one.of))
    choices = list(itertools.islice(itertools.product(*(one.types for one in arguments)), 4))
    found: list[_Make] = []
    for number, types in enumerate(choices):
        # The first choice of types has all inputs; the others have some.
        found += _plan(arguments, types, is_first=number == 0)
    made: list[Case] = []
    seen: set[str] = set()
    for make in found:
        case = make(rng, constants)
        if case is not None and (said := repr([_told(one) for one in case.args])) not in seen:
            seen.add(said)
            made.append(case)
    return made[:_MOST]


def _told(data: Data) -> Any:
    if isinstance(data, ArrayData):
        return data.values.tobytes(), data.values.dtype.name, data.shape, data.origin
    if isinstance(data, KeyData):
        return data.bits.tobytes(), data.shape
    if isinstance(data, list | tuple):
        return [_told(one) for one in data]
    return [(name, _told(one)) for name, one in data.items()] if isinstance(data, dict) else repr(data)


# What one input should be like


@dataclasses.dataclass(frozen=True)
class _Wish:
    kind: str
    pattern: str = "random numbers"
    alone: str = ""  # the only argument with this pattern
    sizes: str = ""  # 'all 0', 'all 1', 'larger', or a size's name and its value: 'n 0'
    turn: int = 0  # chooses among values of scalars, functions and keys
    scalar: str = ""  # the scalar that takes its value by turn; '' for all
    library: int = 0
    are_equal: bool = False


_ALWAYS = ("random numbers", "zeros", "negative numbers", "NaN among others", "keys that share a word")
_ALONE = ("zeros", "ones", "a zero among others", "negative numbers", "inf among others", "NaN among others")


def _plan(arguments: Sequence[DeclaredArgument], types: Sequence[ArgumentType], is_first: bool) -> list[_Make]:
    arrays = [a.name for a, t in zip(arguments, types, strict=True) if not isinstance(t, ScalarType | FunctionType)]
    scalars = [a.name for a, t in zip(arguments, types, strict=True) if isinstance(t, ScalarType | FunctionType)]
    wishes = [_Wish("random numbers", turn=turn) for turn in range(3)]
    wishes += [_Wish(f"{name}, value {turn}", turn=turn, scalar=name) for name in scalars for turn in range(12)]
    patterns = {**FLOAT_PATTERNS, **_INT_PATTERNS}
    wishes += [_Wish(name, name) for name in patterns]
    wishes += [_Wish(f"{size} = {count}", sizes=f"{size} {count}") for size in _names(types) for count in (1, 0, 9)]
    wishes += [_Wish(f"sizes: {sizes}", sizes=sizes) for sizes in ("all 1", "all 0", "larger")]
    wishes += [_Wish("a NumPy array", library=1), _Wish("keys that share a word", turn=3)]
    wishes += [_Wish("keys that share a word", turn=turn) for turn in (4, 5)]
    if len(arrays) > 1:
        wishes += [_Wish("equal arguments", are_equal=True)]
        wishes += [_Wish(f"{one}: {pattern}", pattern, one) for one in arrays for pattern in _ALONE]
    if not is_first:
        wishes = [one for one in wishes if one.kind in _ALWAYS and one.turn not in (1, 2)]
    return [_maker(arguments, types, wish) for wish in wishes]


def _maker(arguments: Sequence[DeclaredArgument], types: Sequence[ArgumentType], wish: _Wish) -> _Make:
    def make(rng: np.random.Generator, constants: Mapping[str, Any]) -> Case | None:
        try:
            with np.errstate(all="ignore"):
                args = _Builder(arguments, types, wish, rng, constants).build()
        except _Impossible:
            return None
        return Case(wish.kind, args)

    return make


def _names(types: Sequence[ArgumentType]) -> list[str]:
    """Return the names of sizes, in order."""
    found: list[str] = []
    for one in types:
        if isinstance(one, ArrayType):
            found += [name for name in one.dims or () if name.isidentifier()]
        elif isinstance(one, ListType):
            found += [one.count] if one.count else []
            found += _names(one.elements)
        elif isinstance(one, DictType):
            found += _names([entry for _name, entry in one.entries])
    return list(dict.fromkeys(found))


class _Impossible(Exception):
    """The domain has no input like this."""


class _Builder:
    """Builds one input; sizes first, then scalars, then arrays, each of which may depend on those before."""

    def __init__(
        self,
        arguments: Sequence[DeclaredArgument],
        types: Sequence[ArgumentType],
        wish: _Wish,
        rng: np.random.Generator,
        constants: Mapping[str, Any],
    ):
        self.arguments, self.types, self.wish, self.rng = arguments, types, wish, rng
        self.known: dict[str, Any] = dict(constants)
        self.made: dict[tuple[str, tuple[int, ...]], np.ndarray] = {}
        self.is_used = wish.pattern == "random numbers"

    def build(self) -> tuple[Data, ...]:
        self._choose_sizes()
        pairs = list(zip(self.arguments, self.types, strict=True))
        values: dict[str, Any] = {}
        for argument, kind in pairs:
            if isinstance(kind, ScalarType):
                values[argument.name] = self.known[argument.name] = self._scalar(argument, kind)
            elif isinstance(kind, FunctionType):
                values[argument.name] = FunctionName(self._function(argument, kind))
            elif isinstance(kind, ArrayType) and kind.dims == () and kind.dtype == "int32":
                number = self._scalar(argument, ScalarType("int"))
                self.known[argument.name] = number
                values[argument.name] = ArrayData(np.array(number, np.int32))
        args: list[Data] = []
        for argument, kind in pairs:
            if argument.name in values:
                args.append(values[argument.name])
            elif isinstance(kind, SuitingType):
                args += self._suiting(argument)
            else:
                count = 1 + self.wish.turn % 2 if argument.is_variadic else 1
                args += [self._value(argument, kind) for _one in range(count)]
        if not self.is_used and not self.wish.scalar:
            raise _Impossible
        return tuple(args)

    def _choose_sizes(self) -> None:
        names = _names(self.types)
        wanted = dict.fromkeys(names, 0) if self.wish.sizes == "all 0" else dict.fromkeys(names, 1)
        if self.wish.sizes not in ("all 0", "all 1"):
            extra = 8 if self.wish.sizes == "larger" else 0
            wanted = {name: size + extra for name, size in zip(names, itertools.cycle(_SIZES), strict=False)}
            name, _space, count = self.wish.sizes.partition(" ")
            if count and name in wanted:
                wanted[name] = int(count)
        if self.wish.sizes and not names and not any(isinstance(t, ArrayType) and t.dims is None for t in self.types):
            raise _Impossible
        for name, size in wanted.items():
            low, high = self._range(name, "int", of_size=True)
            size = max(size, low) if self.wish.sizes.split(" ")[0] != name else size
            size = min(size, high if high is not None else size)
            if size < low:
                raise _Impossible
            self.known[name] = size

    def _range(self, name: str, kind: str, *, of_size: bool = False) -> tuple[Any, Any]:
        """Return the ends of the range of a size or argument; None for an open end of an argument's range."""
        low: Any = 0 if of_size else None
        high: Any = None
        for argument in self.arguments:
            for one in argument.ranges:
                if one.of_length:
                    continue
                if one.of == name or (not one.of and not of_size and argument.name == name):
                    if one.low:
                        low = size_of(one.low, self.known)
                        low += (1 if kind == "int" else 1e-3) if one.above_low else 0
                    if one.high:
                        high = size_of(one.high, self.known)
        return low, high

    def _scalar(self, argument: DeclaredArgument, kind: ScalarType) -> Any:
        if kind.kind == "bool":
            return self.wish.turn % 2 == 0
        values = self._scalars(argument, kind)
        is_chosen = self.wish.scalar in ("", argument.name)
        if self.wish.scalar == argument.name and self.wish.turn >= len(values):
            raise _Impossible
        return values[self.wish.turn % len(values) if is_chosen else 0]

    def _scalars(self, argument: DeclaredArgument, kind: ScalarType) -> list[Any]:
        """Return numbers that an argument, or an element of a list, may be."""
        low, high = self._range(argument.name, kind.kind)
        values: list[Any] = list(_INTS if kind.kind == "int" else _FLOATS)
        if low is not None:
            values += [low, low + 1, low + 4]
        if high is not None:
            values += [high, (high + (low or 0)) // 2 if kind.kind == "int" else (high + (low or 0)) / 2]
        values = [v for v in values if (low is None or v >= low) and (high is None or v <= high)]
        for relation, _names_in_it in argument.relations:
            if relation not in ("positive", "finite"):
                message = _("`{name}`: it is not clear which numbers its line leaves out")
                raise UndeclaredDomain(message.format(name=argument.name))
            values = [v for v in values if relation == "finite" or v > 0]
        values = [int(v) if kind.kind == "int" else float(v) for v in dict.fromkeys(values)]
        if not values:
            raise _Impossible
        return values

    def _function(self, argument: DeclaredArgument, kind: FunctionType) -> str:
        named = [name for name in kind.named if callable(self.known.get(name))]
        pool = [*named, *PROBES] if kind.arguments == 1 else [*named, *PROBES, *PROBES_OF_TWO]
        if self.wish.scalar == argument.name and self.wish.turn >= len(pool):
            raise _Impossible
        name = pool[self.wish.turn % len(pool) if self.wish.scalar in ("", argument.name) else 0]
        self.known["_function"] = name
        return name

    def _suiting(self, argument: DeclaredArgument) -> list[Data]:
        count = 2 if self.known.get("_function") in PROBES_OF_TWO else 1
        arrays: list[Data] = [ArrayData(self._floats((3,), argument)) for _one in range(count)]
        return arrays if argument.is_variadic else arrays[:1]

    def _value(self, argument: DeclaredArgument, kind: ArgumentType) -> Data:
        if isinstance(kind, ScalarType):  # in a list
            if kind.kind == "bool":
                return bool(self.rng.integers(2))
            values = self._scalars(argument, kind)
            return values[int(self.rng.integers(len(values)))]
        if isinstance(kind, NothingType):
            return None
        if isinstance(kind, DictType):
            return {name: self._value(argument, one) for name, one in kind.entries}
        if isinstance(kind, ListType):
            length = self.known[kind.count] if kind.count else self._length(argument)
            return [self._value(argument, kind.elements[n % len(kind.elements)]) for n in range(length)]
        assert isinstance(kind, ArrayType)
        return self._array(argument, kind)

    def _length(self, argument: DeclaredArgument) -> int:
        least = max((int(size_of(one.low, self.known)) for one in argument.ranges if one.of_length), default=0)
        lengths = list(dict.fromkeys(max(least, length) for length in (3, 1, 0, 4)))
        return lengths[self.wish.turn % len(lengths)]

    def _array(self, argument: DeclaredArgument, kind: ArrayType) -> Data:
        shape = self._shape(kind)
        if int(np.prod(shape)) > _LARGEST**2:
            raise _Impossible
        if kind.dtype.startswith("key"):
            return KeyData(self._words(shape), "threefry2x32")
        values = self._values(argument, kind, shape)
        if self.wish.are_equal:
            # Points of two sets agree although there are not as many of each.
            place = (kind.dtype, shape[1:])
            self.is_used = self.is_used or place in self.made
            values = np.resize(self.made.setdefault(place, values), shape)
        if kind.dtype == "uint32" and shape[-1:] == (2,):
            values = self._words(shape[:-1])
        return ArrayData(values, origin=kind.origins[self.wish.library % len(kind.origins)])

    def _shape(self, kind: ArrayType) -> tuple[int, ...]:
        if kind.dims is None:
            return {"all 1": (1, 1), "all 0": (0,), "larger": (2, 3, 4)}.get(self.wish.sizes, (3, 4))
        try:
            return tuple(int(size_of(one, self.known)) for one in kind.dims)
        except SyntaxError:
            raise UndeclaredDomain(f"[{','.join(kind.dims)}]") from None

    def _words(self, shape: tuple[int, ...]) -> np.ndarray:
        words = self.rng.integers(0, 2**32, size=(*shape, 2), dtype=np.uint32)
        if self.wish.turn in (3, 4, 5):
            words = np.zeros_like(words)
            words[..., 0], words[..., 1] = ((0, 7), (1, 7), (7, 0))[self.wish.turn - 3]
        return words

    def _values(self, argument: DeclaredArgument, kind: ArrayType, shape: tuple[int, ...]) -> np.ndarray:
        is_meant = self.wish.alone in ("", argument.name)
        name = self.wish.pattern if is_meant else "random numbers"
        low, high = self._range(argument.name, "int" if "int" in kind.dtype else "float")
        if low is not None or high is not None:
            values = self._ranged(name, low, high, shape, kind)
        elif kind.dtype == "bool":
            values = self.rng.integers(0, 2, size=shape).astype(bool)
        elif "int" in kind.dtype:
            self.is_used = self.is_used or (is_meant and name in _INT_PATTERNS)
            values = _INT_PATTERNS.get(name, _INT_PATTERNS["random numbers"])(self.rng, shape)
        else:
            self.is_used = self.is_used or (is_meant and name in FLOAT_PATTERNS)
            values = FLOAT_PATTERNS.get(name, FLOAT_PATTERNS["random numbers"])(self.rng, shape)
        values = np.asarray(values).astype(_COARSE.get(kind.dtype, kind.dtype))
        return self._related(argument, values)

    def _floats(self, shape: tuple[int, ...], argument: DeclaredArgument) -> np.ndarray:
        return self._values(argument, ArrayType("float32", None), shape)

    def _ranged(self, name: str, low: Any, high: Any, shape: tuple[int, ...], kind: ArrayType) -> np.ndarray:
        low = high - 9 if low is None else low
        high = low + 9 if high is None else high
        if high < low:
            raise _Impossible
        if name in ("zeros", "ones"):
            self.is_used = True
            return np.full(shape, low if name == "zeros" else high)
        if "int" in kind.dtype:
            return self.rng.integers(low, high + 1, size=shape)
        return self.rng.uniform(low, high, size=shape)

    def _related(self, argument: DeclaredArgument, values: np.ndarray) -> np.ndarray:
        for relation, names in argument.relations:
            if relation == "positive":
                values = np.abs(values) + values.dtype.type(0.1)
            elif relation == "first_positive" and values.ndim:
                count = self.known[names[0]]
                values[:count] = np.where(values[:count] > 0, values[:count], np.float32(0.25))
            elif relation in _HOLDS and not _HOLDS[relation](values):
                raise _Impossible
        return values


_HOLDS: Mapping[str, Callable[[np.ndarray], bool]] = {
    "finite": lambda values: bool(np.all(np.isfinite(values.astype(float)))),
    "rows_vary": lambda values: values.shape[-1:] > (1,) and bool(np.all(np.ptp(values, axis=-1) != 0)),
    "different": lambda values: len(np.unique(values)) == values.size,
}


# Functions that no lesson defines


PROBES: dict[str, Callable[..., Any]] = {
    "polynomial": lambda x: x * x + 3 * x - 1,
    "identity": lambda x: x,
    "shape_of": lambda x: x.shape,
    "constant": lambda x: 2.0,
    "total": lambda x: jax.numpy.sum(x),
    "pair": lambda x: (x + 1, 2 * x),
    "jitted": jax.jit(lambda x: jax.numpy.sin(x) * 2),
    "asks_for_a_number": lambda x: float(jax.numpy.sum(x)),
    "selects": lambda x: x[x > 0],
    "refuses": lambda x: jax.numpy.reshape(x, (-2, 77)),
    "fails": lambda x: {}[x],
}
PROBES_OF_TWO: dict[str, Callable[..., Any]] = {
    "product": lambda x, y: x * y + 1,
    "inner": lambda x, y: jax.numpy.dot(x, y),
}
