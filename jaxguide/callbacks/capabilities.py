"""Measure what each kind of host callback can do on the installed JAX, and how often it runs."""

import dataclasses
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Cell:
    """What happened to one kind of callback in one situation.

    Args:
        calls: how often the host function ran; None if the program was refused.
        expected: how often the program, read as plain Python, calls it.
        value: whether the host's value was returned; None if the situation does not use it.
        in_order: whether the calls ran in program order, or None if the program does not prescribe an order.
        error: the class and first line of the exception if the program was refused; otherwise empty.
        documented: what JAX's guide to external callbacks says: 'yes', 'no', or empty if it says nothing.
        agrees: whether the measurement agrees with the guide; None if the guide says nothing.
    """

    calls: int | None
    expected: int
    value: bool | None = None
    in_order: bool | None = None
    error: str = ""
    documented: str = ""
    agrees: bool | None = None

    @property
    def works(self) -> bool:
        """Return whether it ran the number of times, with the value, and in the order that the program specifies."""
        return self.calls == self.expected and self.value is not False and self.in_order is not False


@dataclass(frozen=True)
class Situation:
    """One program to run a callback in.

    Args:
        name: a short fixed name, such as 'unused'.
        run: runs the program with a given function that calls the host.
        expected: how often plain Python would call the host.
        column: the column of the guide's table that it belongs to; empty for none.
        ordered: the values of the calls are 0, 1, 2, ... if the order is kept.
        needs_value: whether the host's value must be returned.
        default_vmap: leave out `vmap_method`, which every other situation sets.
    """

    name: str
    run: Callable[[Call], Any]
    expected: int
    column: str = ""
    ordered: bool = False
    needs_value: bool = False
    default_vmap: bool = False


def kinds() -> dict[str, Callable[[Callable[[Any], Any], bool], Call]]:
    """Return, for each kind, what makes a function that calls the host and returns its value, or else its input."""

    def like(x: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x))

    def pure(host: Callable[[Any], Any], default_vmap: bool) -> Call:
        method = None if default_vmap else "sequential"
        return lambda x: jax.pure_callback(host, like(x), x, vmap_method=method)

    def io(ordered: bool) -> Callable[[Callable[[Any], Any], bool], Call]:
        return lambda host, _: lambda x: io_callback(host, like(x), x, ordered=ordered)

    def debug(ordered: bool) -> Callable[[Callable[[Any], Any], bool], Call]:
        def make(host: Callable[[Any], Any], _: bool) -> Call:
            def call(x: Any) -> Any:
                returned = jax.debug.callback(host, x, ordered=ordered)
                return x if returned is None else returned

            return call

        return make

    return {
        "pure_callback": pure,
        "io_callback": io(False),
        "io_callback ordered": io(True),
        "debug.callback": debug(False),
        "debug.callback ordered": debug(True),
    }


def situations() -> list[Situation]:
    """Return the programs, in the order of the table."""
    one, three = jnp.float32(1.0), jnp.arange(3.0)

    def scan(body: Callable[[Any], Any]) -> Any:
        return jax.lax.scan(lambda carry, x: (carry, body(x)), 0.0, three)[1]

    def loop(call: Call) -> Any:
        return jax.lax.while_loop(lambda i: i < 3.0, lambda i: call(i) * 0.0 + i + 1.0, 0.0)

    def chosen(call: Call) -> Any:
        return jax.vmap(lambda x: jax.lax.cond(x == 1.0, call, lambda x: x, x))(three)

    def rows_of_a_while(call: Call) -> Any:
        return jax.vmap(lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: call(i) * 0.0 + i + 1.0, 0.0))(three)

    def two(call: Call) -> Any:
        def body(x: Any) -> Any:
            first = call(x)
            return first * 0.0 + call(x + 1.0)

        return jax.lax.map(body, 2.0 * three)

    def used(x: Any, seen: Any) -> Any:
        return x * 1.0 + jax.lax.stop_gradient(seen) * 0.0

    def again(call: Call) -> Any:
        return jax.grad(jax.checkpoint(lambda y: jnp.sin(used(y, call(jax.lax.stop_gradient(y))))))(one)

    def backwards(body: Callable[[Any], Any]) -> Any:
        return jax.grad(lambda y: scan(lambda x: (body(x), x * y)[1]).sum())(one)

    return [
        Situation("value", lambda call: call(one), 1, "returns", needs_value=True),
        Situation("jit", lambda call: jax.jit(call)(one), 1, "jit"),
        Situation("vmap", lambda call: jax.vmap(call)(three), 3, "vmap", default_vmap=True),
        Situation("vmap_method", lambda call: jax.vmap(call)(three), 3),
        Situation("grad", lambda call: jax.grad(call)(one), 1, "grad"),
        Situation("scan", scan, 3, "loops"),
        Situation("while", loop, 3, "loops"),
        Situation("order", two, 6, ordered=True),
        Situation("unused", lambda call: jax.jit(lambda x: (call(x), x)[1])(one), 1, "guaranteed"),
        Situation("constant_in_scan", lambda call: scan(lambda x: used(x, call(one))), 3),
        Situation("unused_in_scan_under_grad", backwards, 3, "guaranteed"),
        Situation("constant_in_scan_under_grad", lambda call: backwards(lambda _: call(one)), 3, "guaranteed"),
        Situation("vmap_of_cond", chosen, 1),
        Situation("vmap_of_while", rows_of_a_while, 3),
        Situation("checkpoint_under_grad", again, 1),
    ]


# What JAX's guide to external callbacks says, by the columns of its table; `S4-07` to `S4-09` in the ledger. Its second
# footnote covers the ordered kinds.
_GUIDE = {
    "pure_callback": {"returns": "yes", "jit": "yes", "vmap": "yes", "grad": "no", "loops": "yes", "guaranteed": "no"},
    "io_callback": {"returns": "yes", "jit": "yes", "vmap": "yes", "grad": "no", "loops": "yes", "guaranteed": "yes"},
    "debug.callback": {"returns": "no", "jit": "yes", "vmap": "yes", "grad": "yes", "loops": "yes", "guaranteed": "no"},
}
_GUIDE["io_callback ordered"] = _GUIDE["io_callback"] | {"vmap": "no"}
_GUIDE["debug.callback ordered"] = _GUIDE["debug.callback"]


def measure(kind: str, situation: Situation) -> Cell:
    """Run one kind of callback in one situation and record what happens.

    >>> unused = next(s for s in situations() if s.name == "unused")
    >>> cell = measure("pure_callback", unused)
    >>> cell.calls, cell.expected, cell.documented, cell.agrees
    (0, 1, 'no', True)
    """
    seen: list[float] = []

    def host(x: Any) -> np.ndarray:
        seen.append(float(np.asarray(x).reshape(-1)[0]))
        return np.full(np.shape(x), 7.0, np.float32)

    documented = _GUIDE[kind].get(situation.column, "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a deprecation is not a refusal
            result = jax.block_until_ready(situation.run(kinds()[kind](host, situation.default_vmap)))
            jax.effects_barrier()
    except Exception as error:  # each kind raises another class, some Exception itself
        said = re.sub(r" object at 0x[0-9a-f]+", "", f"{type(error).__name__}: {error}".splitlines()[0])
        agrees = None if not documented else documented == "no"
        return Cell(None, situation.expected, error=said, documented=documented, agrees=agrees)
    value = bool(np.all(np.asarray(result) == 7.0)) if situation.needs_value else None
    in_order = seen == sorted(seen) if situation.ordered else None
    cell = Cell(len(seen), situation.expected, value, in_order, documented=documented)
    if not documented:
        return cell
    if situation.column == "guaranteed":
        agrees = documented == "no" or cell.works
    else:
        agrees = (value is not False) == (documented == "yes")
    return dataclasses.replace(cell, agrees=agrees)
