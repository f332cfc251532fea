"""Turn a jaxpr into rows in program order, with a name for each value."""

import itertools
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.base.text import plural
from jaxguide.code.lines import Line
from jaxguide.compat.primitives import COND, LOOPS, SCAN, WHILE, call_kind
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs, is_literal, scan_split
from jaxguide.jaxpr.own_lines import is_users_function, users_places
from jaxguide.jaxpr.value_words import array_type

Path = tuple[Any, ...]


@dataclass
class DiagramRow:
    """One row of the drawing.

    Args:
        depth: how many boxes enclose it.
        words: its text, such as `b = tanh a`.
        path: of an argument or a result of the function, its place, such as `("params", "['w']")`. Of an equation,
            the paths of the boxes around it, whether it belongs to a backward pass, and the user's functions and their
            lines that led to it.
        atoms: its outputs.
        line: the user's line that it comes from.
        primitives: of an equation, its name; of a call that is one row, those inside; of a folded row, all.
        note: what is shown in place of types.
    """

    depth: int
    words: str
    path: Path = ()
    atoms: Sequence[Any] = ()
    line: Line | None = None
    primitives: Sequence[str] = ()
    note: str = ""

    @property
    def types(self) -> str:
        """Return the types of its outputs, or the note."""
        runs = [(kind, len(list(run))) for kind, run in itertools.groupby(map(_type, self.atoms))]
        words = [kind if count == 1 else f"{count} x {kind}" for kind, count in runs]
        return self.note or ", ".join(words if len(words) <= 3 else [*words[:2], "..."])


def diagram_rows(
    jaxpr: Any, inputs: Sequence[Path], outputs: Sequence[Path], names: Mapping[int, str]
) -> tuple[list[DiagramRow], list[DiagramRow], list[DiagramRow]]:
    """Return the rows of a jaxpr: its inputs and constants, its equations, its results.

    >>> import jax
    >>> closed = jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2)(1.0)
    >>> [[row.words for row in rows] for rows in diagram_rows(closed, [("x",)], [()], {})]
    [['x'], ['a = sin x', 'b = mul a 2.0'], ['return b']]

    Args:
        jaxpr: what `jax.make_jaxpr` returns.
        inputs: the path of each input, which starts with the name of an argument.
        outputs: the path of each output in the function's result.
        names: the ids of constants -> their names in the user's code.
    """
    layout = _Layout({path[0] for path in inputs}, names)
    plain, _consts = compat.jaxpr_parts(jaxpr)
    for variable, path in zip(plain.invars, inputs, strict=True):
        layout.known[variable] = "".join(path)
        layout.add(layout.known[variable], path, [variable])
    layout.constants(jaxpr, ("constants",))
    start = len(layout.rows)
    layout.body(jaxpr, ())
    stop = len(layout.rows)
    for atom, path in zip(plain.outvars, outputs, strict=True):
        layout.add(f"return {''.join(path)}{': ' if path else ''}{layout.value(atom)}", ("return ", *path), [atom])
    return layout.rows[:start], layout.rows[start:stop], layout.rows[stop:]


class _Layout:
    def __init__(self, taken: set[str], constants: Mapping[int, str]) -> None:
        self.rows: list[DiagramRow] = []
        self.known: dict[Any, str] = {}
        self._boxes: list[int] = []  # the rows at whose boxes' ends the next row is not yet
        self._constants = {i: name for i, name in constants.items() if name not in taken}
        self._names = (name for name in _letters() if name not in {*taken, *self._constants.values()})

    def add(self, words: str, path: Path = (), atoms: Sequence[Any] = (), **parts: Any) -> None:
        """Add a row."""
        around = (*self.rows[self._boxes[-1]].path, self._boxes[-1]) if self._boxes else ()
        self.rows.append(DiagramRow(len(self._boxes), words, (*around, *path), atoms, **parts))

    def value(self, atom: Any) -> str:
        """Return how a variable or literal is shown."""
        if is_literal(atom):
            return str(np.asarray(atom.val)) if np.ndim(atom.val) == 0 else array_type(atom.val)
        return self.known.get(atom, "_")

    def constants(self, jaxpr: Any, path: Path) -> None:
        """Add the constants of a jaxpr."""
        plain, values = compat.jaxpr_parts(jaxpr)
        for variable, value in itertools.zip_longest(plain.constvars, values):
            if variable is not None and variable not in self.known:
                self.known[variable] = self._constants.get(id(value)) or next(self._names)
                self.add(f"{self.known[variable]}, a constant", path, [variable])

    def body(self, jaxpr: Any, outer: Path) -> None:
        """Add the rows of a jaxpr, given the path of the equation around it."""
        self.constants(jaxpr, outer)
        for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
            places = reversed(users_places(eqn.source_info))
            path = tuple(part for line, function in places for part in (function, line))
            self._equation(eqn, ("transpose" in compat.transforms(eqn.source_info), *path) if path else outer)

    def _equation(self, eqn: Any, path: Path) -> None:
        called, name = called_jaxpr(eqn), eqn.primitive.name
        is_box = name in LOOPS or (called is not None and is_users_function(called, eqn))
        inner = [] if is_box else list(_primitives(eqn))
        if called is not None and not is_box and len(inner) < 2:  # its equation says more than the call
            plain, _consts = compat.jaxpr_parts(called)
            self._share(plain.invars, eqn.invars)
            self.body(called, path)
            self._share(eqn.outvars, plain.outvars)
            return
        given = "".join(f" {self.value(atom)}" for atom in eqn.invars)
        words = f"{_operation(eqn)}{':' if is_box and given else ''}{given}"
        words += plural(" ({count} equation inside)", " ({count} equations inside)", len(inner)) if inner else ""
        if names := self._named(eqn.outvars):
            words = f"{_listed(names)} = {words}"
        primitives = inner if called is not None else [name, *inner]
        self.add(words, path, eqn.outvars, line=path[-1] if path else None, primitives=primitives)
        if is_box:
            self._boxes.append(len(self.rows) - 1)
            self._inside(eqn, path)
            self._boxes.pop()

    def _inside(self, eqn: Any, path: Path) -> None:
        """Add the rows in a box."""
        name, params = eqn.primitive.name, eqn.params
        if name == SCAN:
            consts, carried = scan_split(eqn)
            body, _consts = compat.jaxpr_parts(params["jaxpr"])
            self._share(body.invars[:consts], eqn.invars)
            self._enter("carry", body.invars[consts : consts + carried])
            self._enter("in each step", body.invars[consts + carried :])
            self.body(params["jaxpr"], path)
            self._leave("next carry", body.outvars[:carried])
            self._leave("stacked", body.outvars[carried:])
        elif name == WHILE:
            ahead, inside = params["cond_nconsts"], params["body_nconsts"]
            test, body = (compat.jaxpr_parts(params[one])[0] for one in ("cond_jaxpr", "body_jaxpr"))
            self._share(test.invars[:ahead], eqn.invars)
            self._share(body.invars[:inside], eqn.invars[ahead:])
            self._enter("carry", body.invars[inside:])
            self._share(test.invars[ahead:], body.invars[inside:])
            self.body(params["cond_jaxpr"], path)
            self._leave("continues if", test.outvars)
            self.body(params["body_jaxpr"], path)
            self._leave("next carry", body.outvars)
        else:
            chosen = f"branch if {self.value(eqn.invars[0])} is" if name == COND else ""
            for number, branch in enumerate(params["branches"] if chosen else [called_jaxpr(eqn)]):
                if chosen:
                    self.add(f"{chosen} {number}")
                plain, _consts = compat.jaxpr_parts(branch)
                self._share(plain.invars, eqn.invars[1:] if chosen else eqn.invars)
                self.body(branch, path)
                self._leave("returns", plain.outvars)

    def _share(self, variables: Sequence[Any], atoms: Sequence[Any]) -> None:
        self.known.update(zip(variables, map(self.value, atoms), strict=False))

    def _enter(self, words: str, variables: Sequence[Any]) -> None:
        if variables:
            self.add(f"{words} {_listed(self._named(variables))}", (), variables)

    def _leave(self, words: str, atoms: Sequence[Any]) -> None:
        if atoms:
            self.add(f"{words} {_listed(list(map(self.value, atoms)))}", (), atoms)

    def _named(self, variables: Sequence[Any]) -> list[str]:
        """Give names to variables."""
        names = ["_" if compat.is_dropped(variable) else next(self._names) for variable in variables]
        self.known.update(zip(variables, names, strict=True))
        return names


def _operation(eqn: Any) -> str:
    """Return what an equation does: a primitive, a loop, or a kind of call and its function, such as 'jit relu'."""
    name, params = eqn.primitive.name, eqn.params
    if name == SCAN:
        length = plural("{count} step", "{count} steps", params["length"])
        return f"scan, {length}{', in reverse' if params.get('reverse') else ''}"
    if name == WHILE:
        return "while, any number of steps"
    if called_jaxpr(eqn) is None:
        return str(name)
    return f"{call_kind(name)} {str(params.get('name') or '').strip('_')}".rstrip()


def _primitives(eqn: Any) -> Iterator[str]:
    for inner in inner_jaxprs(eqn):
        for one in compat.jaxpr_parts(inner)[0].eqns:
            if called_jaxpr(one) is None:
                yield one.primitive.name
            yield from _primitives(one)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names if len(names) <= 4 else [*names[:2], "...", names[-1]])


def _type(atom: Any) -> str:
    aval = atom.aval
    return array_type(aval) if hasattr(aval, "dtype") and hasattr(aval, "shape") else str(aval)


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))
