"""Assert which primitives a program uses or avoids, and how many equations it has."""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxguide.base.did_you_mean import did_you_mean, suggestion
from jaxguide.base.text import plural
from jaxguide.compat.primitives import (
    CALLS,
    COND,
    CONVERT,
    CONVOLUTION,
    DEBUG_CALLBACK,
    DEBUG_PRINT,
    IO_CALLBACK,
    MADE_BY,
    MATMUL,
    PURE_CALLBACK,
    SCAN,
    SELECT,
    STOP_GRADIENT,
    UNLISTED,
    WHILE,
)
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.programs import Program, counted


def assert_uses(seen: Program, *primitives: Any) -> None:
    """Assert that a program has each of these primitives, including inside loops and calls.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from jaxguide.tracing import program
    >>> def total(xs):
    ...     return jax.lax.scan(lambda c, x: (c + x, None), 0.0, xs)[0]
    >>> assert_uses(program(total, jnp.ones(5)), "scan")
    >>> assert_uses(program(total, jnp.ones(5)), "while")
    Traceback (most recent call last):
    AssertionError: `total` should use `while` but does not. Its program has: scan (..., line 2); add (..., line 2).
    What to do: write the loop with `jax.lax.while_loop`.

    Args:
        seen: the result of `program(fn, *args)`.
        primitives: their names, as shown by `print(program(fn, *args))`, or `jax.extend.core.Primitive` objects.

    Raises:
        AssertionError: if one is missing; the message lists the program's primitives and their lines.
        ValueError: if a name is not that of a primitive.
    """
    for name in _names("assert_uses", seen, primitives):
        if name not in seen.primitives:
            head = f"`{seen.name}` should use `{name}` but does not."
            rest = f"Its program has: {_found(seen)}." if seen.primitives else "It is empty."
            raise AssertionError(_joined(head, rest, _how_to_use(name)))


def assert_avoids(seen: Program, *primitives: Any) -> None:
    """Assert that a program has none of these primitives, including inside loops and calls.

    >>> import jax
    >>> from jaxguide.tracing import program
    >>> def noisy(x):
    ...     jax.debug.callback(print, x)
    ...     return x + 1
    >>> assert_avoids(program(noisy, 1.0), "debug_callback")
    Traceback (most recent call last):
    AssertionError: `noisy` should not use `debug_callback` but does: once (..., line 2). What to do: remove the ...

    Args:
        seen: the result of `program(fn, *args)`.
        primitives: their names, as shown by `print(program(fn, *args))`, or `jax.extend.core.Primitive` objects.

    Raises:
        AssertionError: if one is present; the message says how often, and on which lines.
        ValueError: if a name is not that of a primitive.
    """
    for name in _names("assert_avoids", seen, primitives):
        times = seen.primitives.get(name)
        if times:
            places = ", ".join(map(str, seen.lines_of(name))) or "library code"
            often = "once" if times == 1 else plural("{count} time", "{count} times", times)
            words = "`{fn}` should not use `{name}` but does: {often} ({places})."
            head = words.format(fn=seen.name, name=name, often=often, places=places)
            raise AssertionError(_joined(head, _how_to_avoid(name)))


def assert_max_equations(seen: Program, most: int) -> None:
    """Assert that a program has at most `most` equations; the body of a loop counts once.

    >>> import jax.numpy as jnp
    >>> from jaxguide.tracing import program
    >>> def total(xs):
    ...     return sum(jnp.sin(x) for x in xs)
    >>> assert_max_equations(program(total, jnp.ones(8)), 10)
    Traceback (most recent call last):
    AssertionError: `total` has ... equations, more than the 10 allowed. Most come from ..., line 2: ... What to do: JAX
    unrolls Python loops; use an operation on whole arrays, `jax.vmap` or `jax.lax.scan`.

    Args:
        seen: the result of `program(fn, *args)`.
        most: the number of equations allowed.

    Raises:
        AssertionError: if there are more; the message names the line with the most equations.
    """
    _require_program("assert_max_equations", seen)
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0:
        raise TypeError(
            f"`assert_max_equations` needs the number of equations to allow, 0 or more, but got {describe(most)}: "
            "write `assert_max_equations(program(f, x), 10)`."
        )
    if seen.equations <= most:
        return
    count = plural("{count} equation", "{count} equations", seen.equations)
    head = f"`{seen.name}` has {count}, more than the {most} allowed."
    use = max(seen.lines, key=lambda use: sum(use.primitives.values()))
    place = use.line or "library code"
    main = f"Most come from {place}: {_most(use.primitives)}."
    advice = "JAX unrolls Python loops; use an operation on whole arrays, `jax.vmap` or `jax.lax.scan`"
    raise AssertionError(_joined(head, main, advice))


def _how_to_use(name: str) -> str | None:
    return {
        SCAN: "write the loop with `jax.lax.scan`, or `jax.lax.fori_loop` with a fixed number of steps",
        WHILE: "write the loop with `jax.lax.while_loop`",
        COND: "choose with `jax.lax.cond` or `jax.lax.switch`",
        SELECT: "choose elementwise with `jnp.where`",
        MATMUL: "multiply with `@`, `jnp.dot` or `jnp.einsum` on whole arrays",
        CONVOLUTION: "convolve with `jax.lax.conv_general_dilated`",
        PURE_CALLBACK: "call the host function with `jax.pure_callback`",
        IO_CALLBACK: "call the host function with `jax.experimental.io_callback`",
        STOP_GRADIENT: "exclude the value from the gradient with `jax.lax.stop_gradient`",
    }.get(name)


def _how_to_avoid(name: str) -> str | None:
    host = "compute it with `jax.numpy` instead of on the host"
    look = "remove the callback; use it to inspect values while you debug, not in the finished function"
    loop = "replace the loop with an operation on whole arrays or `jax.vmap`"
    return {
        **{PURE_CALLBACK: host, IO_CALLBACK: host, DEBUG_CALLBACK: look, DEBUG_PRINT: look, SCAN: loop},
        WHILE: "give the loop a fixed number of steps with `jax.lax.scan`",
        CONVERT: "use one dtype from the start",
    }.get(name)


def _names(helper: str, seen: Any, primitives: Iterable[Any]) -> list[str]:
    _require_program(helper, seen)
    names = [getattr(primitive, "name", primitive) for primitive in primitives]
    if not names:
        raise TypeError(f"`{helper}` needs the names of primitives after the program, as in `{helper}(seen, 'scan')`.")
    for name, given in zip(names, primitives, strict=True):
        if not isinstance(name, str):
            raise TypeError(
                f"`{helper}` needs the name of a primitive, such as 'scan', but got {describe(given)}: pass each name "
                "as a separate str."
            )
        if given is name:
            _require_known(name, seen)
    return names


def _require_program(helper: str, seen: Any) -> None:
    if not isinstance(seen, Program):
        raise TypeError(f"`{helper}` needs a program, but got {describe(seen)}: write `{helper}(program(f, x), ...)`.")


def _require_known(name: str, seen: Program) -> None:
    if name in seen.primitives or name in _known():
        return
    if name in CALLS:
        raise ValueError(
            f"`{name}` never appears in a program, because calls are inlined. Look for the primitives that the "
            "call contains."
        )
    made_by, known = MADE_BY.get(name), sorted(_known() | seen.primitives.keys())
    hint = suggestion(made_by) if made_by else did_you_mean(name, known, most=2)
    raise ValueError(f"There is no primitive `{name}`.{hint} `print(program(...))` shows the names.")


@functools.cache
def _known() -> frozenset[str]:
    from jax.extend.core import primitives as listing

    listed = {value.name for key, value in vars(listing).items() if key.endswith("_p")}
    return frozenset(listed | UNLISTED) - CALLS


def _found(seen: Program) -> str:
    """Return the primitives with their lines, the most frequent first."""
    places: dict[str, list[str]] = {}
    for use in seen.lines:
        for name in use.primitives:
            places.setdefault(name, []).append(str(use.line or "library code"))
    most = sorted(seen.primitives.items(), key=lambda item: -item[1])
    words = []
    for name, count in most[:6]:
        where = ", ".join(places.get(name, [])[:2]) + (", ..." if len(places.get(name, [])) > 2 else "")
        words.append(f"{counted({name: count})} ({where})")
    return "; ".join([*words, "..."] if len(most) > 6 else words)


def _most(primitives: dict[str, int]) -> str:
    ordered = dict(sorted(primitives.items(), key=lambda item: -item[1])[:5])
    return counted(ordered) + (", ..." if len(primitives) > 5 else "")


def _joined(*parts: str | None) -> str:
    *said, advice = parts
    if advice:
        said.append(f"What to do: {advice}.")
    return " ".join(part for part in said if part)
