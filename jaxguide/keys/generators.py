"""Reject functions that return before their body has run, such as generators and coroutines."""

import inspect
from collections.abc import Callable
from typing import Any

from jaxguide.code.lines import function_name

_LAZY = (map, filter, zip)


def require_finished(fn: Callable[..., Any], result: Any) -> None:
    """Raise TypeError if `fn` returned something that has not run yet.

    >>> def keys(key):
    ...     yield key
    >>> require_finished(keys, keys(3))
    Traceback (most recent call last):
    TypeError: `keys` returned a generator, which has not run yet, so nothing in it could be checked: pass a function...
    """
    if inspect.iscoroutine(result):
        result.close()  # otherwise Python warns that it was never awaited
        raise TypeError(_refusal(fn, "a coroutine", "lambda *args: asyncio.run({name}(*args))"))
    if inspect.isasyncgen(result):
        raise TypeError(_refusal(fn, "an asynchronous generator"))
    if inspect.isgenerator(result):
        raise TypeError(_refusal(fn, "a generator", "lambda *args: list({name}(*args))"))
    if isinstance(result, _LAZY):
        what = f"a `{type(result).__name__}` object"
        raise TypeError(_refusal(fn, what, "lambda *args: list({name}(*args))"))


def require_plain_function(helper: str, fn: Callable[..., Any]) -> None:
    """Raise TypeError if `fn` is a generator function or an asynchronous function.

    >>> async def noise(key): ...
    >>> require_plain_function("no_key_reuse", noise)
    Traceback (most recent call last):
    TypeError: `no_key_reuse` cannot check `noise`, which is an asynchronous function: calling it returns before its...
    """
    inner = inspect.unwrap(fn)
    if inspect.isgeneratorfunction(inner):
        what = "a generator function"
    elif inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        what = "an asynchronous function"
    else:
        return
    raise TypeError(
        f"`{helper}` cannot check `{function_name(fn)}`, which is {what}: calling it returns before its body runs. "
        "Check the functions that it calls, or a function that calls it and consumes all its values."
    )


def _refusal(fn: Callable[..., Any], what: str, example: str = "") -> str:
    name = function_name(fn)
    text = (
        f"`{name}` returned {what}, which has not run yet, so nothing in it could be checked: pass a function that "
        "runs it to the end"
    )
    if example:
        text += ", such as `{example}`".format(example=example.format(name=name if name.isidentifier() else "f"))
    return text + "."
