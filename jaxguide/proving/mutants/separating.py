"""Find an input or an observation that tells a mutant from the key's answer.

What the contract asks for is compared: values always; behaviour under `jit`, gradients, traces, prints and so on where
the contract speaks of them. Two numbers differ if they are further apart than rounding explains: the key is also run
on inputs changed in their last digits. Where the key raises, and the contract does not say so, it defines nothing.
"""

import contextlib
import dataclasses
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.calls import write_call
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.literals import show
from jaxguide.course.judging.values import (
    ArrayData,
    Data,
    FunctionName,
    KeyData,
    NodeData,
    Unsupported,
    from_data,
    to_data,
)
from jaxguide.course.verdict import StudentError
from jaxguide.proving.mutants.domain_inputs import PROBES, PROBES_OF_TWO, Case, make_cases
from jaxguide.proving.mutants.domains import UndeclaredDomain, read_domain

_RTOL = {"float16": 1e-2, "bfloat16": 5e-2}
_USUAL_RTOL = 1e-4
_NOISE_FACTOR = 30.0
_SMALLEST = 1e-37  # below it, processors may round to 0
_SHOWN = 160

Args = tuple[Data, ...]


@dataclasses.dataclass(frozen=True)
class Separation:
    """What tells a mutant from the key.

    Args:
        observed: what differs, such as 'the value'.
        kind: the kind of input.
        call: the call.
        got, expected: what the mutant and the key gave.
        disputed_by: another right answer of the key that differs from the key's answer there, too; none if all agree.
    """

    observed: str
    kind: str
    call: str
    got: str
    expected: str
    disputed_by: str = ""


@dataclasses.dataclass(frozen=True)
class Observing:
    """One way to observe an answer.

    Args:
        name: what is observed.
        asked_by: a pattern; contracts that it is found in ask for this.
        most: the number of inputs to try.
        see: returns what is seen for an input.
        counts: whether what is seen of the key says anything: a key that is never traced forbids no traces.
        may_raise: whether an answer may raise when it is observed so, because the contract allows no such call.
    """

    name: str
    asked_by: str
    most: int
    see: Callable[[LocalAnswer, Args], Data]
    counts: Callable[[Data], bool] = lambda seen: True
    may_raise: bool = False


def _see_value(answer: LocalAnswer, args: Args) -> Data:
    return answer(*args)


def _see_arguments(answer: LocalAnswer, args: Args) -> Data:
    """Call the function itself, and return its arguments after the call."""
    values = [from_data(one, dict(answer.names)) for one in args]
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer.function(*values)
        except Exception as error:
            return Unsupported(type(error).__name__)
    return [to_data(one) for one in values]


def _see_jitted(answer: LocalAnswer, args: Args) -> Data:
    return answer.jit(*args)


def _see_mapped(answer: LocalAnswer, args: Args) -> Data:
    if not all(isinstance(one, ArrayData | KeyData) for one in args):
        return None
    return answer.vmap()(*(_twice(one) for one in args))


def _twice(data: Data) -> Data:
    if isinstance(data, KeyData):
        return dataclasses.replace(data, bits=np.stack([data.bits, data.bits ^ np.uint32(5)]))
    values = data.values
    return dataclasses.replace(data, values=np.stack([values, values[..., ::-1] if data.shape else values]))


def _see_gradient(answer: LocalAnswer, args: Args) -> Data:
    found = []
    for number, one in enumerate(args):
        if isinstance(one, float) or (isinstance(one, ArrayData) and one.dtype.kind == "f"):
            found.append(answer.grad(argnums=number)(*args))
    return found


def _see_traces(answer: LocalAnswer, args: Args) -> Data:
    if any(isinstance(one, FunctionName) for one in args):
        return None  # the traces may be those of the function that is passed
    return [bool(seen.traces) for seen in answer.observe_calls([args, args])]


def _see_operations(answer: LocalAnswer, args: Args) -> Data:
    """Return whether JAX is asked to run one compiled program."""
    arrays = [number for number, one in enumerate(args) if isinstance(one, ArrayData | KeyData)]

    def run(*traced: Any) -> Any:
        values = [from_data(one, dict(answer.names)) for one in args]
        for number, value in zip(arrays, traced, strict=True):
            values[number] = value
        return answer.function(*values)

    with contextlib.redirect_stdout(io.StringIO()):
        jaxpr = jax.make_jaxpr(run)(*(from_data(args[number]) for number in arrays))
    return len(jaxpr.eqns) == 1 and "jaxpr" in jaxpr.eqns[0].params


def _see_lines(answer: LocalAnswer, args: Args) -> Data:
    return [" ".join(line.split()) for line in answer.observe(*args).lines]


def _see_key_problems(answer: LocalAnswer, args: Args) -> Data:
    is_key = [isinstance(one, KeyData) for one in args]
    return bool(answer.key_use(*args).problems) if any(is_key) else None


def _see_growth(answer: LocalAnswer, args: Args) -> Data:
    """Return whether a batch of twice as many needs more equations."""
    counts = []
    for times in (1, 2):
        grown = [_longer(one, times) for one in args]
        counts.append(answer.program(*grown).equations)
    return counts[0] < counts[1]


def _longer(data: Data, times: int) -> Data:
    if isinstance(data, ArrayData) and data.shape:
        return dataclasses.replace(data, values=np.concatenate([data.values] * times))
    return data


OBSERVED = (
    Observing("the value", "", 90, _see_value),
    Observing("the arguments after the call", "", 8, _see_arguments),
    Observing("the value under `jax.jit`", r"under `?(?:jax\.)?jit|traced", 30, _see_jitted),
    Observing("the value under `jax.vmap`", r"under `?(?:jax\.)?vmap|jit and vmap", 6, _see_mapped),
    Observing("the gradient", r"\bgradient|\bgrad\b|differentia", 20, _see_gradient),
    Observing(
        "whether calls trace", r"\bjit|trace|compile", 2, _see_traces, lambda seen: True in (seen or ()), may_raise=True
    ),
    Observing(
        "whether it is one program", r"\bjit\b|compile", 2, _see_operations, lambda seen: seen is True, may_raise=True
    ),
    Observing("the printed lines", r"\bprint", 4, _see_lines),
    Observing("whether keys are used twice", "", 2, _see_key_problems, lambda seen: seen is False),
    Observing(
        "whether the program grows",
        r"vmap|\bbatch\b|at once|loop",
        2,
        _see_growth,
        lambda seen: seen is False,
        may_raise=True,
    ),
)
_MAY_RAISE = re.compile(r"\brefuse|\braise|\bfail|\berror")
# Which words of `Returns:` ask for which aspect of a result's form.
_FORMS = {
    "type": re.compile(r"\w+\d*\[|dtype|\bints?\b|\bfloats?\b|\bbool\b"),
    "container": re.compile(r"\btuple|\blist|\bdict"),
    "library": re.compile(r"JAX array|NumPy array"),
}


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What was seen: data, or the name of an exception."""

    data: Data = None
    raised: str = ""

    def __str__(self) -> str:
        return self.raised or show(self.data, _SHOWN)


@dataclasses.dataclass(frozen=True)
class _Wanted:
    seen: _Seen
    noise: list[Any]
    disputed_by: list[str]


class KeyComparison:
    """The key's answer to one exercise on the inputs of its domain, and all that differs from it.

    Args:
        book: the lesson, with its key loaded.
        exercise: one of its exercises.

    Raises:
        UndeclaredDomain: the contract does not declare the domain.
    """

    def __init__(self, book: Book, exercise: Exercise):
        assert exercise.key is not None
        self.book, self.exercise, self.contract = book, exercise, exercise.contract
        arguments = read_domain(exercise.contract, exercise.signature)
        constants = {**book.namespace}
        self.cases = make_cases(arguments, constants, exercise.name) or [Case("no arguments", ())]
        self._key = self.answer(exercise.key.answer.source)
        self._others = {one.name: self.answer(one.source) for one in exercise.key.alternatives}
        self._wanted: dict[tuple[str, int], _Wanted | None] = {}
        returns = exercise.contract.partition("Returns:")[2]
        self._strict = {aspect for aspect, words in _FORMS.items() if words.search(returns)}
        self._relax()

    def answer(self, source: str) -> LocalAnswer:
        """Run an answer, which may then be given functions that no lesson defines."""
        namespace = run_answer(self.book, source)
        names = {**namespace, **PROBES, **PROBES_OF_TWO}
        return LocalAnswer(self.exercise.name, namespace[self.exercise.name], names)

    def difference(self, source: str, origin: str = "") -> Separation | None:
        """Return what tells an answer from the key; where right answers disagree, only if there is nothing else.

        Args:
            source: the answer.
            origin: the right answer that it was made of; where that differs from the key, nothing is compared.
        """
        answer = self.answer(source)
        disputed = None
        for observing in OBSERVED:
            if not re.search(observing.asked_by, self.contract):
                continue
            for number, case in enumerate(self.cases[: observing.most]):
                wanted = self._want(observing, number)
                if wanted is None or origin in wanted.disputed_by:
                    continue
                seen = _see(observing, answer, case.args)
                if seen.raised and observing.may_raise:
                    continue
                if _differs(seen, wanted.seen, wanted.noise, self._strict):
                    call = write_call(self.exercise.name, Request((), "value", ((case.args, {}),)))
                    found = Separation(
                        observing.name, case.kind, call, str(seen), str(wanted.seen), ", ".join(wanted.disputed_by)
                    )
                    if not wanted.disputed_by:
                        return found
                    disputed = disputed or found
        return disputed

    def _relax(self) -> None:
        """Do not compare what right answers of the key do differently."""
        usable = 0
        for case in self.cases:
            wanted = _see(OBSERVED[0], self._key, case.args)
            if wanted.raised:
                continue
            leaves = [leaf for _path, leaf in _leaves(wanted.data)]
            if any(isinstance(leaf, Unsupported) and leaf.type_name == "function" for leaf in leaves):
                raise UndeclaredDomain(_("the answer returns a function, whose arguments are not declared"))
            for other in self._others.values():
                seen = _see(OBSERVED[0], other, case.args)
                if not seen.raised:
                    same = {one for one in self._strict if _same_form(seen.data, wanted.data, one)}
                    self._strict &= same
            usable += 1
            if usable == 3:
                return
        if not usable:
            raise UndeclaredDomain(_("the key's answer raises for every input that was tried"))

    def _want(self, observing: Observing, number: int) -> _Wanted | None:
        place = (observing.name, number)
        if place not in self._wanted:
            self._wanted[place] = self._compute(observing, self.cases[number].args)
        return self._wanted[place]

    def _compute(self, observing: Observing, args: Args) -> _Wanted | None:
        seen = _see(observing, self._key, args)
        if seen.raised:
            is_promised = not observing.may_raise and observing.name != "the value" and _MAY_RAISE.search(self.contract)
            if not is_promised:
                return None
        elif not observing.counts(seen.data):
            return None
        noise: list[Any] = []
        if not seen.raised:
            shaken = _see(observing, self._key, tuple(_shaken(one) for one in args))
            if shaken.raised:
                return None
            found = _noise(seen.data, shaken.data)
            if found is None:
                return None
            noise = found
        others = {name: _see(observing, other, args) for name, other in self._others.items()}
        disputed_by = [name for name, other in others.items() if _differs(other, seen, noise, self._strict)]
        if disputed_by and observing.name != "the value":
            return None  # right answers do it in several ways, so the contract does not ask for one
        return _Wanted(seen, noise, disputed_by)


def _see(observing: Observing, answer: LocalAnswer, args: Args) -> _Seen:
    with warnings.catch_warnings(), np.printoptions(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _Seen(observing.see(answer, args))
        except StudentError as error:
            return _Seen(raised=error.info.type_name)
        except Exception as error:  # for example, a vmap over an array without axes
            return _Seen(raised=type(error).__name__)


def _leaves(data: Data, path: str = "") -> Iterator[tuple[str, Data]]:
    if isinstance(data, tuple | list):
        for number, child in enumerate(data):
            yield from _leaves(child, f"{path}[{number}]")
    elif isinstance(data, dict | NodeData):
        children = data if isinstance(data, dict) else data.children
        for name in sorted(children, key=repr):
            yield from _leaves(children[name], f"{path}[{name!r}]")
    else:
        yield path, data


def _same_form(got: Data, wanted: Data, aspect: str) -> bool:
    """Return whether two results agree in containers, dtypes or libraries; numbers may be of any type."""
    if aspect == "container":
        return bool(_containers(got) == _containers(wanted))
    pairs = zip(_leaves(got), _leaves(wanted), strict=False)
    for (_path, one), (_other, two) in pairs:
        if isinstance(two, ArrayData):
            if not isinstance(one, ArrayData):
                return False
            if (one.dtype != two.dtype) if aspect == "type" else (one.origin != two.origin):
                return False
    return True


def _containers(data: Data) -> Any:
    if isinstance(data, tuple | list):
        return type(data).__name__, [_containers(child) for child in data]
    return "dict" if isinstance(data, dict) else ""


def _number(leaf: Data) -> np.ndarray | None:
    if isinstance(leaf, ArrayData):
        return leaf.values
    if isinstance(leaf, KeyData):
        return leaf.bits
    return np.asarray(leaf) if isinstance(leaf, bool | int | float | complex) else None


def _noise(seen: Data, shaken: Data) -> list[Any] | None:
    """Return how much rounding may change each number; None if it may change anything else."""
    found: list[Any] = []
    first, second = list(_leaves(seen)), list(_leaves(shaken))
    if len(first) != len(second):
        return None
    for (_path, one), (_other, two) in zip(first, second, strict=True):
        left, right = _number(one), _number(two)
        if left is None or right is None:
            if type(one) is not type(two):
                return None
            found.append(0.0)
        elif left.shape != right.shape:
            return None
        elif left.dtype.kind in "fc" or left.dtype.name == "bfloat16":
            with np.errstate(all="ignore"):
                apart = np.abs(_wide(left) - _wide(right))
            if np.any(np.isnan(_wide(left)) != np.isnan(_wide(right))):
                return None
            found.append(np.where(np.isfinite(apart), _NOISE_FACTOR * apart, 0.0))
        elif np.any(left != right):
            return None
        else:
            found.append(0.0)
    return found


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _differs(got: _Seen, wanted: _Seen, noise: Sequence[Any], strict: set[str]) -> bool:
    if got.raised or wanted.raised:
        return got.raised != wanted.raised
    first, second = list(_leaves(got.data)), list(_leaves(wanted.data))
    if len(first) != len(second):
        return True
    if any(not _same_form(got.data, wanted.data, aspect) for aspect in strict):
        return True
    return any(
        _leaf_differs(one, two, tolerance)
        for (_path, one), (_other, two), tolerance in zip(first, second, noise, strict=True)
    )


def _leaf_differs(got: Data, wanted: Data, noise: Any) -> bool:
    left, right = _number(got), _number(wanted)
    if left is None or right is None:
        return left is not right or (type(got), repr(got)) != (type(wanted), repr(wanted))
    if left.shape != right.shape:
        return True
    if left.dtype.kind in "SUO" or right.dtype.kind in "SUO":
        return not np.array_equal(left, right)
    rtol = max(_RTOL.get(one.dtype.name, _USUAL_RTOL if one.dtype.kind == "f" else 0.0) for one in (left, right))
    with np.errstate(all="ignore"):
        left, right = _wide(left), _wide(right)
        is_equal = (left == right) | (np.isnan(left) & np.isnan(right))
        is_close = np.abs(left - right) <= noise + rtol * np.abs(right) + _SMALLEST
        return not bool(np.all(is_equal | (is_close & np.isfinite(right))))


def _shaken(data: Data) -> Data:
    """Change numbers in their last digits, equal ones alike; zeros and signs stay."""
    if isinstance(data, ArrayData) and data.dtype.kind == "f":
        bits = np.frombuffer(data.values.astype(np.float32).tobytes(), np.uint32).reshape(data.shape)
        up = ((bits * np.uint32(2654435761)) >> np.uint32(31)).astype(np.float64) * 2 - 1
        with np.errstate(all="ignore"):
            moved = data.values.astype(np.float64) * (1 + up * 2.0**-22)
            return dataclasses.replace(data, values=moved.astype(data.dtype))
    if type(data) is float:
        return data * (1 + 2.0**-22)
    if isinstance(data, tuple | list):
        return type(data)(_shaken(one) for one in data)
    if isinstance(data, dict):
        return {name: _shaken(one) for name, one in data.items()}
    return data
