"""Find out how many arguments a host function takes, and what they are called."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxguide.base.text import plural


@dataclass(frozen=True)
class Parameters:
    """The positional parameters of a function.

    Args:
        function: the function's name.
        names: their names; empty if Python does not know them.
        least, most: the smallest and largest number of arguments; `most` is None for no limit.
        signature: the signature from `inspect`; None for NumPy's and SciPy's own functions.
    """

    function: str
    names: tuple[str, ...]
    least: int
    most: int | None
    signature: inspect.Signature | None = None

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position.

        Raises:
            TypeError: the function does not take them.
        """
        if self.signature is not None:
            try:
                self.signature.bind_partial(*args, **kwargs)  # reports surplus arguments before missing ones
                bound = self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(
                    f"`{self.function}{self.signature}` cannot be called with {_given(args, kwargs)}: {error}."
                ) from None
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise TypeError(
                f"Pass argument `{next(iter(kwargs))}` of `{self.function}` by position: only positional arguments are "
                "arrays."
            )
        if len(args) < self.least or (self.most is not None and len(args) > self.most):
            raise TypeError(
                "`{function}` takes {count}, but was called with {given}.".format(
                    function=self.function,
                    count=plural("{count} argument", "{count} arguments", self.least),
                    given=_given(args, kwargs),
                )
            )
        return tuple(args)

    def name_of(self, index: int) -> str:
        """Return what to call an argument in messages: its name in backticks, or its position."""
        if index < len(self.names):
            return f"`{self.names[index]}`"
        return f"argument {index + 1}"


def parameters_of(function: str, fn: Callable[..., Any]) -> Parameters:
    """Return the positional parameters of `fn`, called `function` in messages.

    >>> parameters_of("f", lambda v, z=1.0: z).names
    ('v', 'z')
    >>> parameters_of("add", np.add)
    Parameters(function='add', names=(), least=2, most=2, signature=None)
    """
    if isinstance(fn, np.ufunc):  # its signature also holds out, where, casting...
        return Parameters(function, (), fn.nin, fn.nin)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins have none
        return Parameters(function, (), 0, None)
    kinds = inspect.Parameter
    positional = [
        p for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    variadic = any(p.kind is kinds.VAR_POSITIONAL for p in signature.parameters.values())
    return Parameters(
        function,
        tuple(p.name for p in positional),
        sum(p.default is kinds.empty for p in positional),
        None if variadic else len(positional),
        signature,
    )


def _given(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return plural("{count} argument", "{count} arguments", len(args) + len(kwargs))
