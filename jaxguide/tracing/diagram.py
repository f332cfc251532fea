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
from jaxguide.jaxpr.own_lines import is_users_function, users_places
from jaxguide.jaxpr.value_words import array_type


@dataclass
class DiagramRow:
    """One row of the drawing.

    Args:
        kind: 'input', 'equation', 'box' (its body follows, one level deeper), 'section', 'result' or 'fold'.
        depth: how many boxes enclose it.
        words: its text, such as `b = tanh a`.
        atoms: its outputs.
        line: the user's line that it comes from.
        sources: the indices of the rows that produce its inputs.
        primitives: how often each primitive occurs in it: one for an equation, more for a call that is not inlined.
        path: of an argument or a result of the function, its place, such as `("params", "['w']")`. Of an equation,
            whether it belongs to a backward pass, and the user's functions and their lines that led to it.
        note: what is shown in place of types.
    """

    kind: str
    depth: int
    words: str
    atoms: Sequence[Any] = ()
    line: Line | None = None
    sources: list[int] = field(default_factory=list)
    primitives: Counter[str] = field(default_factory=Counter)
    path: tuple[Any, ...] = ()
    note: str = ""

    @property
    def types(self) -> str:
        """Return the types of its outputs, or the note."""
        return self.note or _types(self.atoms)


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
        layout.known[variable] = _Value(name, (layout.add("input", name, [variable], path=path),))
    layout.body(jaxpr)
    for atom, path in zip(plain.outvars, outputs, strict=True):
        value, place = layout.value(atom), "".join(path)
        words = f"return {place}{': ' if place else ''}{value.name}"
        layout.add("result", words, [atom], sources=list(value.rows), path=path)
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
        self._depth = 0
        self._constants = {i: name for i, name in constants.items() if re.split(r"\W", name)[0] not in taken}
        taken = {*taken, *self._constants.values()}
        self._names = (name for name in _letters() if name not in taken)

    def add(self, kind: str, words: str, atoms: Sequence[Any], **parts: Any) -> int:
        """Add a row, and return its index."""
        self.rows.append(DiagramRow(kind, self._depth, words, atoms, **parts))
        return len(self.rows) - 1

    def value(self, atom: Any) -> _Value:
        """Return how a variable or literal is shown."""
        if is_literal(atom):
            return _Value(_literal(atom.val))
        return self.known.get(atom, _Value("_"))

    def body(self, jaxpr: Any, outer: tuple[Any, ...] = ()) -> None:
        """Add the rows of a jaxpr, given the path of the equation around it."""
        plain, constants = compat.jaxpr_parts(jaxpr)
        for variable, constant in itertools.zip_longest(plain.constvars, constants):
            if variable is not None and variable not in self.known:
                name = self._constants.get(id(constant)) or next(self._names)
                self.known[variable] = _Value(name, (self.add("input", f"{name}, a constant", [variable]),))
        for eqn in plain.eqns:
            places = reversed(users_places(eqn.source_info))
            path = tuple(part for line, function in places for part in (function, line))
            self._equation(eqn, ("transpose" in compat.transforms(eqn.source_info), *path) if path else outer)

    def _equation(self, eqn: Any, path: tuple[Any, ...]) -> None:
        called, name = called_jaxpr(eqn), eqn.primitive.name
        if called is not None and _inlined(called, eqn):
            self._pass_through(eqn, called, path)
        elif called is not None and is_users_function(called, eqn):
            head = self._head("box", _call_words(eqn), eqn, path, Counter())
            self._depth += 1
            self._pass_through(eqn, called, path)
            end = self._leave("returns", compat.jaxpr_parts(called)[0].outvars, head)
            self._depth -= 1
            self._know(eqn.outvars, [self.value(variable).name for variable in eqn.outvars], end)
        elif name in (SCAN, WHILE, COND):
            names = self._take_names(eqn.outvars)
            head = self._head("box", f"{_assigned(names)}{_box_words(eqn)}", eqn, path, Counter([name]))
            self._depth += 1
            ends = {SCAN: self._scan, WHILE: self._while, COND: self._cond}[name](eqn, path, head)
            self._depth -= 1
            self._know(eqn.outvars, names, *ends)
        else:
            inner, names = list(_primitives(eqn)), self._take_names(eqn.outvars)
            words, own = (name, [name]) if called is None else (_call_words(eqn), [])
            row = self._head("equation", f"{_assigned(names)}{words}", eqn, path, Counter(own + inner))
            if inner:
                count = plural("{count} equation", "{count} equations", len(inner))
                self.rows[row].words += f" ({count} inside)"
            self._know(eqn.outvars, names, row)

    def _pass_through(self, eqn: Any, called: Any, path: tuple[Any, ...]) -> None:
        """Inline a call's body, using the caller's names for its inputs and outputs."""
        plain, _consts = compat.jaxpr_parts(called)
        self._share(plain.invars, eqn.invars)
        self.body(called, path)
        self._share(eqn.outvars, plain.outvars)

    def _scan(self, eqn: Any, path: tuple[Any, ...], head: int) -> list[int]:
        consts, carried = scan_split(eqn)
        body, _consts = compat.jaxpr_parts(eqn.params["jaxpr"])
        self._share(body.invars[:consts], eqn.invars[:consts])
        self._enter("carry", body.invars[consts : consts + carried], head)
        self._enter("in each step", body.invars[consts + carried :], head)
        self.body(eqn.params["jaxpr"], path)
        last = self._leave("next carry", body.outvars[:carried], head)
        return [self._leave("stacked", body.outvars[carried:], last)]

    def _while(self, eqn: Any, path: tuple[Any, ...], head: int) -> list[int]:
        params = eqn.params
        ahead, inside = params["cond_nconsts"], params["body_nconsts"]
        test, _consts = compat.jaxpr_parts(params["cond_jaxpr"])
        body, _consts = compat.jaxpr_parts(params["body_jaxpr"])
        self._share(test.invars[:ahead], eqn.invars[:ahead])
        self._share(body.invars[:inside], eqn.invars[ahead : ahead + inside])
        self._enter("carry", body.invars[inside:], head)
        self._share(test.invars[ahead:], body.invars[inside:])
        self.body(params["cond_jaxpr"], path)
        self._leave("continues if", test.outvars, head)
        self.body(params["body_jaxpr"], path)
        return [self._leave("next carry", body.outvars, head)]

    def _cond(self, eqn: Any, path: tuple[Any, ...], head: int) -> list[int]:
        ends = []
        for number, branch in enumerate(eqn.params["branches"]):
            self.add("section", f"branch if {self.value(eqn.invars[0]).name} is {number}", (), sources=[head])
            plain, _consts = compat.jaxpr_parts(branch)
            self._share(plain.invars, eqn.invars[1:])
            self.body(branch, path)
            ends.append(self._leave("returns", plain.outvars, head))
        return ends

    def _share(self, variables: Sequence[Any], atoms: Sequence[Any]) -> None:
        for variable, atom in zip(variables, atoms, strict=True):
            self.known[variable] = self.value(atom)

    def _enter(self, words: str, variables: Sequence[Any], head: int) -> None:
        if variables:
            names = self._take_names(variables)
            row = self.add("input", f"{words} {_listed(names)}", variables, sources=[head])
            self._know(variables, names, row)

    def _leave(self, words: str, atoms: Sequence[Any], last: int) -> int:
        if not atoms:
            return last
        values = [self.value(atom) for atom in atoms]
        names = _listed([value.name for value in values])
        return self.add("result", f"{words} {names}", atoms, sources=_rows_of(values))

    def _take_names(self, variables: Sequence[Any]) -> list[str]:
        return ["_" if compat.is_dropped(variable) else next(self._names) for variable in variables]

    def _know(self, variables: Sequence[Any], names: Sequence[str], *rows: int) -> None:
        for variable, name in zip(variables, names, strict=True):
            self.known[variable] = _Value(name, rows)

    def _head(self, kind: str, words: str, eqn: Any, path: tuple[Any, ...], primitives: Counter[str]) -> int:
        values = [self.value(atom) for atom in eqn.invars]
        given = " ".join(value.name for value in values)
        words += f"{':' * (kind == 'box')} {given}" if given else ""
        line, sources = path[-1] if path else None, _rows_of(values)
        return self.add(kind, words, eqn.outvars, line=line, sources=sources, primitives=primitives, path=path)


def _rows_of(values: Sequence[_Value]) -> list[int]:
    return sorted({row for value in values for row in value.rows})


def _box_words(eqn: Any) -> str:
    if eqn.primitive.name != SCAN:
        return "while, any number of steps" if eqn.primitive.name == WHILE else COND
    length = plural("{count} step", "{count} steps", eqn.params["length"])
    return f"scan, {length}{', in reverse' * bool(eqn.params.get('reverse'))}"


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
