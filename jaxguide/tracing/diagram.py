"""Turn a jaxpr into rows in program order, each linked to the rows that produce its inputs."""

import itertools
import keyword
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.base.text import plural
from jaxguide.code.lines import Line
from jaxguide.compat.primitives import COND, SCAN, WHILE, call_kind
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs, is_literal, scan_split
from jaxguide.jaxpr.own_lines import is_users_function, users_place
from jaxguide.jaxpr.value_words import array_type


@dataclass
class DiagramRow:
    """One row of the drawing.

    Args:
        kind: 'input', 'equation', 'box' (its body follows, one level deeper), 'section', 'result' or 'fold'.
        depth: how many boxes enclose it.
        words: its text, such as `b = tanh a`.
        types: the types of its outputs.
        line: the user's line that it comes from, or None to find it from its source.
        sources: the indices of the rows that produce its inputs.
        primitives: how often each primitive occurs in it: one for an equation, more for a call that is not inlined.
        path: of an argument or a result of the function, its place, such as `("params", "['w']")`.
        source: of an equation, JAX's record of the user's code that it comes from.
    """

    kind: str
    depth: int
    words: str
    types: str = ""
    line: Line | None = None
    sources: list[int] = field(default_factory=list)
    primitives: Counter[str] = field(default_factory=Counter)
    path: tuple[str, ...] = ()
    source: Any = None


def diagram_rows(
    jaxpr: Any,
    inputs: Sequence[tuple[str, ...]],
    outputs: Sequence[tuple[str, ...]],
    names: Mapping[int, str] = MappingProxyType({}),
) -> list[DiagramRow]:
    """Return the rows of a jaxpr.

    >>> import jax
    >>> closed = jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2)(1.0)
    >>> [row.words for row in diagram_rows(closed, [("x",)], [("",)])]
    ['x', 'a = sin x', 'b = mul a 2.0', 'return b']

    Args:
        jaxpr: what `jax.make_jaxpr` returns.
        inputs: the path of each input, which starts with the name of an argument.
        outputs: the path of each output in the function's result; it has at least one part, which may be empty.
        names: the ids of constants -> their names in the user's code.
    """
    layout = _Layout({re.split(r"\W", path[0])[0] for path in inputs}, names)
    plain, _consts = compat.jaxpr_parts(jaxpr)
    for variable, path in zip(plain.invars, inputs, strict=True):
        name = "".join(path)
        row = layout.add(DiagramRow("input", 0, name, _type(variable), path=path))
        layout.known[variable] = _Value(name, (row,))
    layout.body(jaxpr, 0, None)
    for atom, path in zip(plain.outvars, outputs, strict=True):
        value, place = layout.value(atom), "".join(path)
        words = f"return {place}{': ' if place else ''}{value.name}"
        layout.add(DiagramRow("result", 0, words, _type(atom), sources=list(value.rows), path=path))
    return layout.rows


@dataclass(frozen=True)
class _Value:
    """How a variable or literal is shown: its name, and the rows that produce it, several after a cond."""

    name: str
    rows: tuple[int, ...] = ()


class _Layout:
    def __init__(self, taken: set[str], constants: Mapping[int, str]) -> None:
        self.rows: list[DiagramRow] = []
        self.known: dict[Any, _Value] = {}
        self._constants = {i: name for i, name in constants.items() if re.split(r"\W", name)[0] not in taken}
        taken = {*taken, *self._constants.values()}
        self._names = (name for name in _letters() if name not in taken)

    def add(self, row: DiagramRow) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def value(self, atom: Any) -> _Value:
        if is_literal(atom):
            return _Value(_literal(atom.val))
        return self.known.get(atom, _Value("_"))

    def body(self, jaxpr: Any, depth: int, outer: Any) -> None:
        plain, constants = compat.jaxpr_parts(jaxpr)
        for variable, constant in itertools.zip_longest(plain.constvars, constants):
            if variable is not None and variable not in self.known:
                name = self._constants.get(id(constant)) or next(self._names)
                row = self.add(DiagramRow("input", depth, f"{name}, a constant", array_type(constant)))
                self.known[variable] = _Value(name, (row,))
        for eqn in plain.eqns:
            self._equation(eqn, depth, eqn.source_info if users_place(eqn.source_info) else outer)

    def _equation(self, eqn: Any, depth: int, source: Any) -> None:
        called = called_jaxpr(eqn)
        if called is not None and _inlined(called, eqn):
            self._pass_through(eqn, called, depth, source)
        elif called is not None and is_users_function(called, eqn):
            self.add(self._row("box", depth, eqn, source, _call_words(eqn), Counter()))
            self._pass_through(eqn, called, depth + 1, source)
            end = self._leave("returns", compat.jaxpr_parts(called)[0].outvars, depth + 1, len(self.rows) - 1)
            self._know(eqn.outvars, [self.value(variable).name for variable in eqn.outvars], end)
        elif eqn.primitive.name == SCAN:
            self._scan(eqn, depth, source)
        elif eqn.primitive.name == WHILE:
            self._while(eqn, depth, source)
        elif eqn.primitive.name == COND:
            self._cond(eqn, depth, source)
        else:
            self._plain(eqn, depth, source)

    def _plain(self, eqn: Any, depth: int, source: Any) -> None:
        inner = Counter(_primitives(eqn))
        words, primitives = eqn.primitive.name, Counter([eqn.primitive.name])
        primitives.update(inner)
        if called_jaxpr(eqn) is not None:
            words, primitives = _call_words(eqn), inner
        names = self._take_names(eqn.outvars)
        row = self._row("equation", depth, eqn, source, f"{_assigned(names)}{words}", primitives)
        if inner:
            count = plural("{count} equation", "{count} equations", inner.total())
            row.words += f" ({count} inside)"
        self._know(eqn.outvars, names, self.add(row))

    def _pass_through(self, eqn: Any, called: Any, depth: int, source: Any) -> None:
        """Inline a call's body, using the caller's names for its inputs and outputs."""
        plain, _consts = compat.jaxpr_parts(called)
        for inner, outer in zip(plain.invars, eqn.invars, strict=True):
            self.known[inner] = self.value(outer)
        self.body(called, depth, source)
        for outer, inner in zip(eqn.outvars, plain.outvars, strict=True):
            self.known[outer] = self.value(inner)

    def _box(self, eqn: Any, depth: int, source: Any, words: str) -> tuple[int, list[str]]:
        """Add the first row of a box, and return its index and the names of its outputs."""
        names = self._take_names(eqn.outvars)
        return self.add(self._row("box", depth, eqn, source, f"{_assigned(names)}{words}")), names

    def _scan(self, eqn: Any, depth: int, source: Any) -> None:
        consts, carried = scan_split(eqn)
        length = plural("{count} step", "{count} steps", eqn.params["length"])
        words = f"scan, {length}"
        if eqn.params.get("reverse"):
            words += ", in reverse"
        head, names = self._box(eqn, depth, source, words)
        body, _consts = compat.jaxpr_parts(eqn.params["jaxpr"])
        self._share(body.invars[:consts], eqn.invars[:consts])
        self._enter("carry", body.invars[consts : consts + carried], depth + 1, head)
        self._enter("in each step", body.invars[consts + carried :], depth + 1, head)
        self.body(eqn.params["jaxpr"], depth + 1, source)
        last = self._leave("next carry", body.outvars[:carried], depth + 1, head)
        last = self._leave("stacked", body.outvars[carried:], depth + 1, last)
        self._know(eqn.outvars, names, last)

    def _while(self, eqn: Any, depth: int, source: Any) -> None:
        params = eqn.params
        ahead, inside = params["cond_nconsts"], params["body_nconsts"]
        head, names = self._box(eqn, depth, source, "while, any number of steps")
        test, _consts = compat.jaxpr_parts(params["cond_jaxpr"])
        body, _consts = compat.jaxpr_parts(params["body_jaxpr"])
        self._share(test.invars[:ahead], eqn.invars[:ahead])
        self._share(body.invars[:inside], eqn.invars[ahead : ahead + inside])
        self._enter("carry", body.invars[inside:], depth + 1, head)
        self._share(test.invars[ahead:], body.invars[inside:])
        self.body(params["cond_jaxpr"], depth + 1, source)
        self._leave("continues if", test.outvars, depth + 1, head)
        self.body(params["body_jaxpr"], depth + 1, source)
        last = self._leave("next carry", body.outvars, depth + 1, head)
        self._know(eqn.outvars, names, last)

    def _cond(self, eqn: Any, depth: int, source: Any) -> None:
        branches = eqn.params["branches"]
        index = self.value(eqn.invars[0]).name
        head, names = self._box(eqn, depth, source, COND)
        ends = []
        for number, branch in enumerate(branches):
            words = f"branch if {index} is {number}"
            self.add(DiagramRow("section", depth + 1, words, sources=[head]))
            plain, _consts = compat.jaxpr_parts(branch)
            self._share(plain.invars, eqn.invars[1:])
            self.body(branch, depth + 1, source)
            ends.append(self._leave("returns", plain.outvars, depth + 1, head))
        self._know(eqn.outvars, names, *ends)

    def _share(self, inner: Sequence[Any], outer: Sequence[Any]) -> None:
        for one, other in zip(inner, outer, strict=True):
            self.known[one] = self.value(other)

    def _enter(self, words: str, variables: Sequence[Any], depth: int, head: int) -> None:
        if variables:
            names = self._define(variables)
            self.add(DiagramRow("input", depth, f"{words} {_listed(names)}", _types(variables), sources=[head]))

    def _leave(self, words: str, atoms: Sequence[Any], depth: int, last: int) -> int:
        if not atoms:
            return last
        values = [self.value(atom) for atom in atoms]
        sources = sorted({row for value in values for row in value.rows})
        names = _listed([value.name for value in values])
        return self.add(DiagramRow("result", depth, f"{words} {names}", _types(atoms), sources=sources))

    def _take_names(self, variables: Sequence[Any]) -> list[str]:
        return ["_" if compat.is_dropped(variable) else next(self._names) for variable in variables]

    def _know(self, variables: Sequence[Any], names: Sequence[str], *rows: int) -> None:
        for variable, name in zip(variables, names, strict=True):
            self.known[variable] = _Value(name, rows)

    def _define(self, variables: Sequence[Any]) -> list[str]:
        """Name the values that the next row produces."""
        names = self._take_names(variables)
        self._know(variables, names, len(self.rows))
        return names

    def _row(
        self,
        kind: str,
        depth: int,
        eqn: Any,
        source: Any,
        words: str,
        primitives: Counter[str] | None = None,
    ) -> DiagramRow:
        values = [self.value(atom) for atom in eqn.invars]
        given = " ".join(value.name for value in values)
        separator = ": " if kind == "box" and given else " "
        sources = sorted({row for value in values for row in value.rows})
        counts = primitives if primitives is not None else Counter([eqn.primitive.name])
        words = f"{words}{separator}{given}".rstrip()
        return DiagramRow(kind, depth, words, _types(eqn.outvars), None, sources, counts, source=source)


def _inlined(called: Any, around: Any) -> bool:
    """Return whether to inline a call: it is empty, or a library call that comes down to one equation."""
    eqns = compat.jaxpr_parts(called)[0].eqns
    if not eqns:
        return True
    deeper = called_jaxpr(eqns[0])
    return len(eqns) == 1 and not is_users_function(called, around) and (deeper is None or _inlined(deeper, eqns[0]))


def _primitives(eqn: Any) -> Iterator[str]:
    for inner in inner_jaxprs(eqn):
        for one in compat.jaxpr_parts(inner)[0].eqns:
            if called_jaxpr(one) is None:
                yield one.primitive.name
            yield from _primitives(one)


def _call_words(eqn: Any) -> str:
    """Return a call's kind and the name of its function, such as 'jit relu'."""
    kind = call_kind(eqn.primitive.name)
    name = str(eqn.params.get("name") or "").strip("_")
    return f"{kind} {name}".rstrip()


def _assigned(names: Sequence[str]) -> str:
    return f"{_listed(names)} = " if names else ""


def counted(primitives: Mapping[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> counted({"sin": 1, "add": 2})
    'sin, 2 add'
    """
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in primitives.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]}, ..., {names[-1]}"


def _types(atoms: Sequence[Any]) -> str:
    runs = [(kind, len(list(run))) for kind, run in itertools.groupby(map(_type, atoms))]
    words = [kind if count == 1 else f"{count} x {kind}" for kind, count in runs]
    return ", ".join(words) if len(words) <= 3 else f"{words[0]}, {words[1]}, ..."


def _type(atom: Any) -> str:
    aval = atom.aval
    return array_type(aval) if hasattr(aval, "dtype") and hasattr(aval, "shape") else str(aval)


def _literal(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = int(value)  # JAX 0.12 stores a `TypedInt`
    return str(value) if np.ndim(value) == 0 else array_type(value)


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            if not keyword.iskeyword(name := "".join(letters)):
                yield name
