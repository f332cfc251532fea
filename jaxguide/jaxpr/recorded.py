"""Run a loop as one compiled program that records what an observer wants to know, and show it to the observer later.

Equation by equation, a loop of thousands of iterations takes thousands of times as long as JAX does. Here, the whole
loop is compiled with those values as further outputs: each run of a body or branch writes them into one row of a table.
"""

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxguide import compat
from jaxguide.compat.collectives import SHARD_MAPS
from jaxguide.compat.primitives import COND, SCAN, WHILE
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.interpret import BoundEquation, Scope

# An equation that runs alone, with its shown to an observer, an equation that is compiled, and any program (JAX 0.10.2
# to 0.12.0.1).
_STEP_MS, _SHOW_MS, _COMPILE_MS, _COMPILE_MS_AT_LEAST = 0.05, 0.3, 2.0, 250.0
# The number of iterations to expect of a `while`.
_GUESS = 16
_MOST_WORDS = 1 << 24
# Compiled programs are kept, and with them the constants of their jaxprs.
_PROGRAMS_KEPT, _MOST_BYTES_HELD = 64, 1 << 22


class CannotRecordError(Exception):
    """Raised if a loop cannot be shown from recorded values."""


@dataclass(frozen=True)
class WantedValues:
    """What an observer wants to know of an equation: some of its inputs, and its first output or not."""

    inputs: tuple[int, ...]
    output: bool


@dataclass(frozen=True)
class KeyWords:
    """An array of typed keys that was recorded: its words, and the keys' dtype."""

    words: np.ndarray
    dtype: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array of keys."""
        return self.words.shape[:-1]


class Plans(Protocol):
    """What knows which equations are to run; see `interpret`."""

    def plan(self, jaxpr: Any, wanted: tuple[bool, ...]) -> Sequence[tuple[Any, Any]]:
        """Return the equations to run, each with flags that say which of its outputs are needed."""

    def carried(self, eqn: Any, asked: Sequence[bool]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Return which inputs of a scan or while are needed, and which outputs of its body."""


class RecordingObserver(Protocol):
    """An observer that can be shown a loop from recorded values."""

    def watches(self, eqn: Any) -> bool:
        """Return whether to report this equation or to look inside it."""

    def recording(self, eqn: Any, jaxpr: Any) -> WantedValues | None:
        """Return what to record of a watched equation; None to look inside it."""

    def before(self, step: BoundEquation) -> Any:
        """Hear of an equation whose recorded values are in `step`."""


@dataclass(frozen=True)
class WordColumn:
    """Where the words of a value are in the rows of a table."""

    start: int
    stop: int
    shape: tuple[int, ...]
    dtype: Any
    is_key: bool

    def read(self, rows: np.ndarray) -> Any:
        """Return the value in one row, or the values in all rows as one array."""
        words = np.ascontiguousarray(rows[..., self.start : self.stop])
        if self.is_key:
            return KeyWords(words.reshape((*rows.shape[:-1], *self.shape)), self.dtype)
        return words.view(self.dtype).reshape((*rows.shape[:-1], *self.shape))


@dataclass
class RecordedEquation:
    """An equation that the observer is told of, and where its recorded values are.

    Args:
        eqn, jaxpr: the equation, and the plain jaxpr that it is in.
        around: the same of the calls, loops and branches around it, but not of what runs as a whole.
        inputs, output: the recorded values.
    """

    eqn: Any
    jaxpr: Any
    around: tuple[tuple[Any, Any], ...]
    inputs: dict[int, WordColumn]
    output: WordColumn | None


@dataclass
class _Call:
    eqn: Any
    jaxpr: Any
    parts: list[Any]


@dataclass
class _Scan:
    eqn: Any
    block: "Block"
    needed: tuple[bool, ...]


@dataclass
class _While:
    eqn: Any
    block: "Block"
    test: list[Any]
    needed: tuple[bool, ...]
    count: WordColumn


@dataclass
class _Cond:
    eqn: Any
    blocks: list["Block"]
    taken: WordColumn


@dataclass
class Block:
    """The body of a loop or a branch, with a table that has one row for each run of it.

    Args:
        number: the number of its table.
        jaxpr: the plain jaxpr.
        parts: for each equation that runs, what is recorded of it.
        width: the number of words in a row.
        active: where the rows of a `while` under `vmap` are that still run.
        runs: how often it is expected to run.
        exact: it runs just so often, or less if it is a branch.
    """

    number: int
    jaxpr: Any
    parts: list[Any] = field(default_factory=list)
    width: int = 0
    active: WordColumn | None = None
    runs: int = 1
    exact: bool = True

    def column(self, aval: Any) -> WordColumn:
        """Add a value to the rows."""
        is_key = "key<" in str(aval.dtype)
        shape, dtype = tuple(aval.shape), aval.dtype
        if is_key:
            shape = (*shape, *jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct((), dtype)).shape)
            size = int(np.prod(shape, dtype=int))
        else:
            dtype = np.dtype(dtype)
            if dtype.kind not in "biu" or dtype.itemsize > 4:
                raise CannotRecordError(str(dtype))
            dtype = np.dtype(np.uint32 if dtype.kind in "bu" else np.int32)
            size = int(np.prod(shape, dtype=int))
        column = WordColumn(self.width, self.width + size, shape, dtype, is_key)
        self.width += size
        return column


_NUMBER = jax.ShapeDtypeStruct((), np.int32)


class _Layout:
    """The blocks of a loop."""

    def __init__(self, observer: RecordingObserver, plans: Plans) -> None:
        self.observer = observer
        self.plans = plans
        self.blocks: list[Block] = []
        self._held = 0
        self._around: list[tuple[Any, Any]] = []
        self.steps_ms = 0.0
        self.compile_ms = _COMPILE_MS_AT_LEAST

    def block(
        self, closed: Any, wanted: Sequence[bool], outer: Block, *, times: int | None = 1, active: Any = None
    ) -> Block:
        found = Block(len(self.blocks), compat.jaxpr_parts(closed)[0])
        found.runs = outer.runs * (_GUESS if times is None else times)
        found.exact = outer.exact and times is not None
        self.blocks.append(found)
        if active is not None:
            found.active = found.column(active)
        found.parts = self._parts(closed, tuple(wanted), found)
        return found

    def _loop(self, eqn: Any, asked: tuple[bool, ...], outer: Block) -> Any:
        needed = self.plans.carried(eqn, asked)[1]
        if eqn.primitive.name == SCAN:
            return _Scan(eqn, self.block(eqn.params["jaxpr"], needed, outer, times=eqn.params["length"]), needed)
        test, _ = compat.jaxpr_parts(eqn.params["cond_jaxpr"])
        if any(map(self.observer.watches, test.eqns)):
            raise CannotRecordError("a test that uses keys")
        for one in test.eqns:
            _require_plain(one)
        mask = test.outvars[0].aval
        body = self.block(eqn.params["body_jaxpr"], needed, outer, times=None, active=mask if mask.shape else None)
        plan = [(one, flags, None) for one, flags in self.plans.plan(test, (True,))]
        return _While(eqn, body, plan, needed, outer.column(_NUMBER))

    def _parts(self, closed: Any, wanted: tuple[bool, ...], block: Block) -> list[Any]:
        jaxpr, consts = compat.jaxpr_parts(closed)
        self._held += sum(getattr(const, "nbytes", 0) for const in consts)
        if self._held > _MOST_BYTES_HELD:
            raise CannotRecordError("large constants")
        parts = []
        for eqn, asked in self.plans.plan(jaxpr, wanted):
            if not self.observer.watches(eqn):
                _require_plain(eqn)
                self._costs(eqn, block, _STEP_MS)
                parts.append((eqn, asked, None))
                continue
            recording = self.observer.recording(eqn, jaxpr)
            if recording is not None:
                self._costs(eqn if recording.output or any(asked) else None, block, _SHOW_MS)
                part: Any = RecordedEquation(
                    eqn,
                    jaxpr,
                    tuple(self._around),
                    {i: block.column(eqn.invars[i].aval) for i in recording.inputs},
                    block.column(eqn.outvars[0].aval) if recording.output else None,
                )
            else:
                self._around.append((eqn, jaxpr))
                part = self._inside(eqn, asked, block)
                self._around.pop()
            parts.append((eqn, asked, part))
        return parts

    def _costs(self, runs: Any | None, block: Block, step_ms: float) -> None:
        self.steps_ms += step_ms * block.runs
        if runs is not None:
            self.compile_ms += _COMPILE_MS * _size(runs)

    def root(self, eqn: Any, asked: tuple[bool, ...]) -> tuple[Block, Any]:
        """Return the block of what runs as a whole, and its only part."""
        block = Block(-1, None)
        part = self._inside(eqn, asked, block)
        block.parts = [(eqn, asked, part)]
        return block, part

    def _inside(self, eqn: Any, asked: tuple[bool, ...], block: Block) -> Any:
        called = interpret.called_jaxpr(eqn)
        if called is not None:
            return _Call(eqn, compat.jaxpr_parts(called)[0], self._parts(called, tuple(asked), block))
        if eqn.primitive.name == COND:
            taken = block.column(_NUMBER)
            return _Cond(eqn, [self.block(branch, asked, block) for branch in eqn.params["branches"]], taken)
        if eqn.primitive.name in (SCAN, WHILE):
            return self._loop(eqn, tuple(asked), block)
        raise CannotRecordError(eqn.primitive.name)


def _size(eqn: Any) -> int:
    return 1 + sum(_size(e) for closed in interpret.inner_jaxprs(eqn) for e in compat.jaxpr_parts(closed)[0].eqns)


def _require_plain(eqn: Any) -> None:
    """Raise unless an equation may run in a compiled program of ours, and perhaps a second time."""
    name = eqn.primitive.name
    if getattr(eqn, "effects", ()) or name in SHARD_MAPS:
        raise CannotRecordError(name)
    for closed in interpret.inner_jaxprs(eqn):
        for inner in compat.jaxpr_parts(closed)[0].eqns:
            _require_plain(inner)


def _words(value: Any) -> Any:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(value).reshape(-1)
    signed = np.dtype(value.dtype).kind == "i"
    whole = lax.convert_element_type(value, jnp.int32 if signed else jnp.uint32)
    return lax.bitcast_convert_type(whole, jnp.uint32).reshape(-1)


Tables = list[tuple[Any, Any]]


class _Program:
    """A loop to compile.

    Args:
        eqn: the loop.
        asked: which of its outputs are needed.
        layout: what it records; it is empty so far.
    """

    def __init__(self, eqn: Any, asked: tuple[bool, ...], layout: _Layout) -> None:
        self.eqn = eqn
        self.root, self.part = layout.root(eqn, asked)
        self.blocks = layout.blocks
        self.spent_ms, self.steps_ms, self.compile_ms = 0.0, layout.steps_ms, layout.compile_ms
        self._asked = asked
        self._sizes: list[tuple[int, int]] = []
        self._compiled: Any = None
        self._allow([block.runs if block.exact else min(max(block.runs, 256), 4096) for block in layout.blocks])

    def _allow(self, rows: Sequence[int]) -> None:
        self._sizes = [(count, block.width) for count, block in zip(rows, self.blocks, strict=True)]
        if sum(count * width for count, width in self._sizes) > _MOST_WORDS:
            raise CannotRecordError("too much to record")
        self._compiled = jax.jit(self._run)

    def run(self, inputs: Sequence[Any]) -> tuple[Any, list[np.ndarray], np.ndarray]:
        """Return the outputs of the loop, its tables and the row of the loop itself."""
        # A weak type would be compiled again.
        strong = [np.asarray(x) if getattr(x, "weak_type", False) else x for x in inputs]
        while True:
            outputs, tables, row = self._compiled(strong)
            counts = [int(count) for _, count in tables]
            if all(count <= size for count, (size, _) in zip(counts, self._sizes, strict=True)):
                arrays = [np.asarray(table)[:count] for (table, _), count in zip(tables, counts, strict=True)]
                return outputs, arrays, np.asarray(row)
            self._allow([1 << max(count - 1, 0).bit_length() for count in counts])

    def _run(self, inputs: list[Any]) -> Any:
        tables: Tables = [(jnp.zeros(size, jnp.uint32), jnp.int32(0)) for size in self._sizes]
        row: list[Any] = []
        outputs, tables = self._part(self.part, inputs, self._asked, tables, row)
        keep = [out if asked else None for out, asked in zip(outputs, self._asked, strict=True)]
        return keep, tables, jnp.concatenate(row) if row else jnp.zeros(0, jnp.uint32)

    def _jaxpr(
        self, closed: Any, args: Sequence[Any], parts: Sequence[Any], tables: Tables, row: list[Any]
    ) -> tuple[list[Any], Tables]:
        jaxpr, consts = compat.jaxpr_parts(closed)
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return _literal(atom) if interpret.is_literal(atom) else env.get(atom)

        for eqn, asked, part in parts:
            inputs = [read(atom) for atom in eqn.invars]
            if part is None:
                outs: Sequence[Any] = interpret.bind(eqn, inputs)
            else:
                outs, tables = self._part(part, inputs, asked, tables, row)
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(atom) for atom in jaxpr.outvars], tables

    def _part(
        self, part: Any, inputs: Sequence[Any], asked: Sequence[bool], tables: Tables, row: list[Any]
    ) -> tuple[Sequence[Any], Tables]:
        if isinstance(part, RecordedEquation):
            return self._leaf(part, inputs, asked, row), tables
        if isinstance(part, _Call):
            return self._jaxpr(interpret.called_jaxpr(part.eqn), inputs, part.parts, tables, row)
        if isinstance(part, _Cond):
            return self._cond(part, inputs, asked, tables, row)
        if isinstance(part, _Scan):
            return self._scan(part, inputs, asked, tables)
        return self._while(part, inputs, tables, row)

    def _leaf(
        self, part: RecordedEquation, inputs: Sequence[Any], asked: Sequence[bool], row: list[Any]
    ) -> Sequence[Any]:
        row.extend(_words(jnp.asarray(inputs[i])) for i in part.inputs)
        if part.output is None and not any(asked):
            return [None] * len(asked)
        outs = interpret.bind(part.eqn, inputs)
        if part.output is not None:
            row.append(_words(outs[0]))
        return outs

    def _block(
        self, block: Block, closed: Any, args: Sequence[Any], tables: Tables, active: Any = None
    ) -> tuple[list[Any], Tables]:
        row: list[Any] = [] if active is None else [_words(active)]
        outs, tables = self._jaxpr(closed, args, block.parts, tables, row)
        table, count = tables[block.number]
        if row:
            table = lax.dynamic_update_slice(table, jnp.concatenate(row)[None], (count, jnp.int32(0)))
        return outs, [*tables[: block.number], (table, count + 1), *tables[block.number + 1 :]]

    def _cond(
        self, part: _Cond, inputs: Sequence[Any], asked: Sequence[bool], tables: Tables, row: list[Any]
    ) -> tuple[list[Any], Tables]:
        taken = jnp.clip(jnp.asarray(inputs[0]).astype(jnp.int32), 0, len(part.blocks) - 1)
        row.append(_words(taken))

        def branch(block: Block, closed: Any, given: Any) -> Any:
            args, tables = given
            outs, tables = self._block(block, closed, args, tables)
            return _kept(outs, asked), tables

        branches = [
            functools.partial(branch, block, closed)
            for block, closed in zip(part.blocks, part.eqn.params["branches"], strict=True)
        ]
        kept, tables = lax.switch(taken, branches, (list(inputs[1:]), tables))
        return _spread(kept, asked), tables

    def _scan(
        self, part: _Scan, inputs: Sequence[Any], asked: Sequence[bool], tables: Tables
    ) -> tuple[list[Any], Tables]:
        eqn = part.eqn
        consts_n, carry_n = interpret.scan_split(eqn)
        consts, carry, xs = inputs[:consts_n], inputs[consts_n : consts_n + carry_n], inputs[consts_n + carry_n :]
        through, each = part.needed[:carry_n], asked[carry_n:]

        def body(state: Any, x: Any) -> Any:
            held, tables = state
            outs, tables = self._block(part.block, eqn.params["jaxpr"], [*consts, *_spread(held, through), *x], tables)
            return (_typed(_kept(outs[:carry_n], through)), tables), _kept(outs[carry_n:], each)

        start = _typed(_kept(carry, through))
        (held, tables), ys = lax.scan(
            body, (start, tables), list(xs), length=eqn.params["length"], reverse=eqn.params["reverse"]
        )
        return [*_spread(held, through), *_spread(ys, each)], tables

    def _while(self, part: _While, inputs: Sequence[Any], tables: Tables, row: list[Any]) -> tuple[list[Any], Tables]:
        params = part.eqn.params
        cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = inputs[:cond_n], inputs[cond_n : cond_n + body_n]

        def test(held: Any) -> Any:
            args = [*cond_consts, *_spread(held, part.needed)]
            return self._jaxpr(params["cond_jaxpr"], args, part.test, tables, [])[0][0]

        def body(state: Any) -> Any:
            number, going, held, tables = state
            args = [*body_consts, *_spread(held, part.needed)]
            active = None if part.block.active is None else going
            outs, tables = self._block(part.block, params["body_jaxpr"], args, tables, active)
            new = _typed(_kept(outs, part.needed))
            if active is not None:
                new = [_where(going, n, o) for n, o in zip(new, held, strict=True)]
            return number + 1, test(new), new, tables

        start = _typed(_kept(inputs[cond_n + body_n :], part.needed))
        state = (jnp.int32(0), test(start), start, tables)
        number, _, held, tables = lax.while_loop(lambda state: jnp.any(state[1]), body, state)
        row.append(_words(number))
        return _spread(held, part.needed), tables


def _where(active: Any, new: Any, old: Any) -> Any:
    return jnp.where(active.reshape(active.shape + (1,) * (new.ndim - active.ndim)), new, old)


def _literal(atom: Any) -> Any:
    return atom.val if not hasattr(atom.aval, "dtype") or np.ndim(atom.val) else np.asarray(atom.val, atom.aval.dtype)


def _kept(values: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    return [value for value, keep in zip(values, needed, strict=True) if keep]


def _spread(values: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    rest = iter(values)
    return [next(rest) if keep else None for keep in needed]


def _typed(values: Sequence[Any]) -> list[Any]:
    """Return values as arrays with strong types, so that the types of a carry stay the same."""
    found = []
    for value in values:
        array = jnp.asarray(value)
        is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
        found.append(array if is_key else lax.convert_element_type(array, array.dtype))
    return found


# By what runs, with the equation, so that its jaxprs stay alive and the ids unique.
_programs: "OrderedDict[Any, tuple[Any, _Program | None]]" = OrderedDict()


def _name(eqn: Any, asked: tuple[bool, ...]) -> Any:
    """Return what identifies a program; a jitted function is traced once, but each call of it is a new equation."""
    inner = tuple(id(compat.jaxpr_parts(closed)[0]) for closed in interpret.inner_jaxprs(eqn))
    return eqn.primitive.name, inner, asked, eqn.params.get("length"), eqn.params.get("reverse")


def run_recorded(
    observer: RecordingObserver, plans: Plans, step: BoundEquation, asked: tuple[bool, ...], again: bool
) -> "RecordedLoop | None":
    """Run a call or loop compiled, with its inputs in `step`; None if that does not pay or cannot be done.

    Args:
        observer: decides what is recorded.
        plans: knows which equations are to run.
        step: the call or loop; for a `while`, possibly with the carry after some iterations.
        asked: which outputs are needed.
        again: the loop is a `while` that has just run one iteration.
    """
    program = _program(observer, plans, step.eqn, asked)
    if program is None:
        return None
    expected = program.steps_ms
    if step.eqn.primitive.name == WHILE:
        program.spent_ms += expected / _GUESS if again else 0.0
        expected = 0.0 if len(program.blocks) == 1 else expected
    if program.spent_ms + expected < program.compile_ms:
        program.spent_ms += 0.0 if step.eqn.primitive.name == WHILE else expected
        return None
    try:
        outputs, tables, row = program.run(step.inputs)
    except Exception:
        # The caller runs the loop equation by equation, which raises the user's own error if there is one.
        _programs[_name(step.eqn, asked)] = step.eqn, None
        return None
    return RecordedLoop(program, step, outputs, tables, row)


def _program(observer: RecordingObserver, plans: Plans, eqn: Any, asked: tuple[bool, ...]) -> _Program | None:
    name = _name(eqn, asked)
    if name not in _programs:
        program = None
        with contextlib.suppress(CannotRecordError):
            program = _Program(eqn, asked, _Layout(observer, plans))
        _programs[name] = eqn, program
        if len(_programs) > _PROGRAMS_KEPT:
            _programs.popitem(last=False)
    _programs.move_to_end(name)
    return _programs[name][1]


class RecordedLoop:
    """One run of a loop that was recorded.

    Args:
        program: the loop that ran.
        step: its equation, with its inputs.
        outputs: its outputs, with None for those that are not needed.
        tables: the rows of each block, in the order in which they ran.
        row: what the loop itself recorded.
    """

    def __init__(self, program: _Program, step: BoundEquation, outputs: Any, tables: Any, row: np.ndarray) -> None:
        self.outputs: list[Any] = list(outputs)
        self._program = program
        self.step = step
        self._tables = tables
        self._row = row

    def leaves(self) -> Iterator[tuple[RecordedEquation, np.ndarray]]:
        """Yield each equation that was recorded, with its rows."""
        blocks = self._program.blocks
        for block, rows in [(self._program.root, self._row[None]), *zip(blocks, self._tables, strict=True)]:
            waiting = list(block.parts)
            while waiting:
                _, _, part = waiting.pop()
                if isinstance(part, RecordedEquation):
                    yield part, rows
                elif isinstance(part, _Call):
                    waiting += part.parts

    def replay(self, observer: RecordingObserver) -> None:
        """Show every equation to the observer, in the order in which they ran."""
        _Replay(self._tables, observer).part(self._program.part, self.step, self._row)


class _Replay:
    def __init__(self, tables: Sequence[np.ndarray], observer: RecordingObserver) -> None:
        self._rows = [iter(table) for table in tables]
        self._observer = observer

    def part(self, part: Any, step: BoundEquation, row: np.ndarray) -> None:
        if isinstance(part, RecordedEquation):
            for i, column in part.inputs.items():
                step.inputs[i] = column.read(row)
            if part.output is not None:
                step.outputs = [part.output.read(row)]
            self._observer.before(step)
        elif isinstance(part, _Call):
            self._parts(part.parts, Scope(part.jaxpr, {}, step), row)
        elif isinstance(part, _Cond):
            self._block(part.blocks[int(part.taken.read(row))], step)
        else:
            count = part.eqn.params["length"] if isinstance(part, _Scan) else int(part.count.read(row))
            for i in range(count):
                self._block(part.block, step, i)

    def _block(self, block: Block, caller: BoundEquation, iteration: int = 0) -> None:
        row = next(self._rows[block.number])
        active = None if block.active is None else block.active.read(row).astype(bool)
        self._parts(block.parts, Scope(block.jaxpr, {}, caller, iteration, active), row)

    def _parts(self, parts: Sequence[Any], scope: Scope, row: np.ndarray) -> None:
        for eqn, _, part in parts:
            if part is not None:
                self.part(part, BoundEquation(eqn, [None] * len(eqn.invars), scope), row)
