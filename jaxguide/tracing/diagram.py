"""Turn a jaxpr into rows in program order, each linked to the rows that produce its inputs."""

import itertools
import keyword
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.base.text import _, plural
from jaxguide.code.lines import Line, lines_of_equation
from jaxguide.compat.primitives import COND, SCAN, WHILE, call_kind
from jaxguide.jaxpr.interpret import called_jaxpr, inner_jaxprs, is_literal, scan_split
from jaxguide.jaxpr.value_words import array_type
from jaxguide.tracing.programs import counted, line_of


@dataclass
class DiagramRow:
    """One row of the drawing.

    Args:
        kind: 'input', 'equation', 'box' (its body follows, one level deeper), 'section', 'result' or 'fold'.
        depth: how many boxes enclose it.
        words: its text, such as `b = tanh a`.
        types: the types of its outputs.
        line: the user's line that it comes from.
        sources: the indices of the rows that produce its inputs.
        primitives: how often each primitive occurs in it: one for an equation, more for a call that is not inlined.
    """

    kind: str
    depth: int
    words: str
    types: str = ""
    line: Line | None = None
    sources: list[int] = field(default_factory=list)
    primitives: Counter[str] = field(default_factory=Counter)


def diagram_rows(jaxpr: Any, inputs: Sequence[str], outputs: Sequence[str]) -> list[DiagramRow]:
    """Return the rows of a jaxpr.

    >>> import jax
    >>> closed = jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2)(1.0)
    >>> [row.words for row in diagram_rows(closed, ["x"], [""])]
    ['x', 'a = sin x', 'b = mul a 2.0', 'return b']

    Args:
        jaxpr: what `jax.make_jaxpr` returns.
        inputs: the names of its inputs.
        outputs: the paths of its outputs in the function's result.
    """
    layout = _Layout({re.split(r"\W", name)[0] for name in inputs})
    plain, _consts = compat.jaxpr_parts(jaxpr)
    for variable, name in zip(plain.invars, inputs, strict=True):
        layout.known[variable] = _Value(name, (layout.add(DiagramRow("input", 0, name, _type(variable))),))
    layout.body(jaxpr, 0, None)
    for atom, place in zip(plain.outvars, outputs, strict=True):
        value = layout.value(atom)
        layout.add(
            DiagramRow(
                "result", 0, f"return {place}{': ' if place else ''}{value.name}", _type(atom), sources=list(value.rows)
            )
        )
    return layout.rows


@dataclass(frozen=True)
class _Value:
    """How a variable or literal is shown: its name, and the rows that produce it, several after a cond."""

    name: str
    rows: tuple[int, ...] = ()


class _Layout:
    def __init__(self, taken: set[str]) -> None:
        self.rows: list[DiagramRow] = []
        self.known: dict[Any, _Value] = {}
        self._names = (name for name in _letters() if name not in taken)

    def add(self, row: DiagramRow) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def value(self, atom: Any) -> _Value:
        if is_literal(atom):
            return _Value(_literal(atom.val))
        return self.known.get(atom, _Value("_"))

    def body(self, jaxpr: Any, depth: int, outer: Line | None) -> None:
        plain, constants = compat.jaxpr_parts(jaxpr)
        for variable, constant in itertools.zip_longest(plain.constvars, constants):
            if variable is not None and variable not in self.known:
                name = next(self._names)
                row = self.add(
                    DiagramRow("input", depth, _("{name}, a constant").format(name=name), array_type(constant))
                )
                self.known[variable] = _Value(name, (row,))
        for eqn in plain.eqns:
            self._equation(eqn, depth, line_of(eqn, outer))

    def _equation(self, eqn: Any, depth: int, line: Line | None) -> None:
        called = called_jaxpr(eqn)
        if called is not None and _inlined(called):
            self._pass_through(eqn, called, depth, line)
        elif called is not None and _has_users_lines(called):
            self.add(self._row("box", depth, eqn, line, _call_words(eqn), Counter()))
            self._pass_through(eqn, called, depth + 1, line)
            end = self._leave(_("returns"), compat.jaxpr_parts(called)[0].outvars, depth + 1, len(self.rows) - 1)
            self._know(eqn.outvars, [self.value(variable).name for variable in eqn.outvars], end)
        elif eqn.primitive.name == SCAN:
            self._scan(eqn, depth, line)
        elif eqn.primitive.name == WHILE:
            self._while(eqn, depth, line)
        elif eqn.primitive.name == COND:
            self._cond(eqn, depth, line)
        else:
            self._plain(eqn, depth, line)

    def _plain(self, eqn: Any, depth: int, line: Line | None) -> None:
        inner = Counter(_primitives(eqn))
        words, primitives = eqn.primitive.name, inner + Counter([eqn.primitive.name])
        if called_jaxpr(eqn) is not None:
            words, primitives = _call_words(eqn), inner
        names = self._take_names(eqn.outvars)
        row = self._row("equation", depth, eqn, line, f"{_assigned(names)}{words}", primitives)
        if inner:
            count = plural("{count} equation", "{count} equations", inner.total())
            row.words += _(" ({count} inside)").format(count=count)
        self._know(eqn.outvars, names, self.add(row))

    def _pass_through(self, eqn: Any, called: Any, depth: int, line: Line | None) -> None:
        """Inline a call's body, using the caller's names for its inputs and outputs."""
        plain, _consts = compat.jaxpr_parts(called)
        for inner, outer in zip(plain.invars, eqn.invars, strict=True):
            self.known[inner] = self.value(outer)
        self.body(called, depth, line)
        for outer, inner in zip(eqn.outvars, plain.outvars, strict=True):
            self.known[outer] = self.value(inner)

    def _box(self, eqn: Any, depth: int, line: Line | None, words: str) -> tuple[int, list[str]]:
        """Add the first row of a box, and return its index and the names of its outputs."""
        names = self._take_names(eqn.outvars)
        return self.add(self._row("box", depth, eqn, line, f"{_assigned(names)}{words}")), names

    def _scan(self, eqn: Any, depth: int, line: Line | None) -> None:
        consts, carried = scan_split(eqn)
        length = plural("{count} step", "{count} steps", eqn.params["length"])
        words = _("scan, {length}").format(length=length)
        if eqn.params.get("reverse"):
            words += _(", in reverse")
        head, names = self._box(eqn, depth, line, words)
        body, _consts = compat.jaxpr_parts(eqn.params["jaxpr"])
        self._share(body.invars[:consts], eqn.invars[:consts])
        self._enter(_("carry"), body.invars[consts : consts + carried], depth + 1, head)
        self._enter(_("in each step"), body.invars[consts + carried :], depth + 1, head)
        self.body(eqn.params["jaxpr"], depth + 1, line)
        last = self._leave(_("next carry"), body.outvars[:carried], depth + 1, head)
        last = self._leave(_("stacked"), body.outvars[carried:], depth + 1, last)
        self._know(eqn.outvars, names, last)

    def _while(self, eqn: Any, depth: int, line: Line | None) -> None:
        params = eqn.params
        ahead, inside = params["cond_nconsts"], params["body_nconsts"]
        head, names = self._box(eqn, depth, line, _("while, any number of steps"))
        test, _consts = compat.jaxpr_parts(params["cond_jaxpr"])
        body, _consts = compat.jaxpr_parts(params["body_jaxpr"])
        self._share(test.invars[:ahead], eqn.invars[:ahead])
        self._share(body.invars[:inside], eqn.invars[ahead : ahead + inside])
        self._enter(_("carry"), body.invars[inside:], depth + 1, head)
        self._share(test.invars[ahead:], body.invars[inside:])
        self.body(params["cond_jaxpr"], depth + 1, line)
        self._leave(_("continues if"), test.outvars, depth + 1, head)
        self.body(params["body_jaxpr"], depth + 1, line)
        last = self._leave(_("next carry"), body.outvars, depth + 1, head)
        self._know(eqn.outvars, names, last)

    def _cond(self, eqn: Any, depth: int, line: Line | None) -> None:
        branches = eqn.params["branches"]
        index = self.value(eqn.invars[0]).name
        head, names = self._box(eqn, depth, line, COND)
        ends = []
        for number, branch in enumerate(branches):
            words = _("branch if {index} is {number}").format(index=index, number=number)
            self.add(DiagramRow("section", depth + 1, words, sources=[head]))
            plain, _consts = compat.jaxpr_parts(branch)
            self._share(plain.invars, eqn.invars[1:])
            self.body(branch, depth + 1, line)
            ends.append(self._leave(_("returns"), plain.outvars, depth + 1, head))
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
        self, kind: str, depth: int, eqn: Any, line: Line | None, words: str, primitives: Counter[str] | None = None
    ) -> DiagramRow:
        values = [self.value(atom) for atom in eqn.invars]
        given = " ".join(value.name for value in values)
        separator = ": " if kind == "box" and given else " "
        sources = sorted({row for value in values for row in value.rows})
        counts = primitives if primitives is not None else Counter([eqn.primitive.name])
        return DiagramRow(
            kind, depth, f"{words}{separator}{given}".rstrip(), _types(eqn.outvars), line, sources, counts
        )


def folded(rows: list[DiagramRow], most: int) -> list[DiagramRow]:
    """Fold rows until about `most` are left: bodies of boxes, deepest and then longest first, then the middle."""
    while len(rows) > most:
        bodies = [body for body in _bodies(rows) if body[1] - body[0] > 3]
        if not bodies:
            break
        rows = _fold(rows, *max(bodies, key=lambda body: (rows[body[0]].depth, body[1] - body[0])))
    first = next((i for i, row in enumerate(rows) if row.kind in ("equation", "box")), 0)
    last = next((i for i in reversed(range(len(rows))) if rows[i].kind in ("equation", "box")), 0)
    if len(rows) > most and last - first > 8:
        kept = max(most - (len(rows) - (last - first)), 6)
        start, stop = first + kept * 2 // 3, last + 1 - kept // 3
        while start < stop and rows[start].depth:  # never split a box
            start += 1
        while stop > start and stop < len(rows) and rows[stop].depth:
            stop -= 1
        rows = _fold(rows, start, stop) if stop - start > 1 else rows
    return rows


def _bodies(rows: list[DiagramRow]) -> Iterator[tuple[int, int]]:
    """Yield where the body of each box starts and stops, without its leading inputs and trailing results."""
    for i, row in enumerate(rows):
        if row.kind != "box":
            continue
        stop = next((j for j in range(i + 1, len(rows)) if rows[j].depth <= row.depth), len(rows))
        start = i + 1
        while start < stop and rows[start].kind == "input":
            start += 1
        while stop > start and rows[stop - 1].kind == "result" and rows[stop - 1].depth == row.depth + 1:
            stop -= 1
        yield start, stop


def _fold(rows: list[DiagramRow], start: int, stop: int) -> list[DiagramRow]:
    primitives = sum((row.primitives for row in rows[start:stop]), Counter())
    most = dict(primitives.most_common(3))
    words = plural("... {count} equation", "... {count} equations", primitives.total())
    words += f": {counted(most)}" + (", ..." if len(primitives) > 3 else "")
    row = DiagramRow("fold", rows[start].depth, words, primitives=primitives)

    def moved(i: int) -> int:
        return i if i < start else start if i < stop else i - (stop - start) + 1

    row.sources = sorted({source for old in rows[start:stop] for source in old.sources if source < start})
    kept = [*rows[:start], row, *rows[stop:]]
    for i, one in enumerate(kept):
        if i != start:
            one.sources = sorted({moved(source) for source in one.sources})
    return kept


def _inlined(called: Any) -> bool:
    """Return whether to inline a call: it is empty, or a library call that comes down to one equation."""
    eqns = compat.jaxpr_parts(called)[0].eqns
    if not eqns:
        return True
    deeper = called_jaxpr(eqns[0])
    return len(eqns) == 1 and not _has_users_lines(called) and (deeper is None or _inlined(deeper))


def _has_users_lines(jaxpr: Any) -> bool:
    return any(
        lines_of_equation(eqn.source_info) or any(map(_has_users_lines, inner_jaxprs(eqn)))
        for eqn in compat.jaxpr_parts(jaxpr)[0].eqns
    )


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
