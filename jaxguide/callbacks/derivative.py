"""Combine the user's derivatives, one for each argument, into a rule for `jax.custom_jvp`."""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.callbacks.host_call import HostCall
from jaxguide.callbacks.result_spec import describe_out
from jaxguide.compat.debug_flags import PROMOTION, flags_off
from jaxguide.jaxpr.arguments import is_array_like
from jaxguide.jaxpr.mesh_places import typed_like
from jaxguide.jaxpr.value_words import array_type, describe


@dataclass(frozen=True)
class Derivatives:
    """The derivatives of one host function by argument.

    Args:
        host: the host function.
        rules: the rules by position; None for an argument without a derivative.
        elementwise: whether the rules are partial derivatives `partial(*args)`; otherwise they are linear maps
            `rule(tangent, out, *args)`.
    """

    host: HostCall
    rules: tuple[Callable[..., Any] | None, ...]
    elementwise: bool

    def rule(self, index: int) -> Callable[..., Any] | None:
        """Return the rule for one argument."""
        return self.rules[index] if index < len(self.rules) else None

    def tangent(self, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return the tangent of `out`: the sum of the contributions of each argument's tangent.

        Raises:
            TypeError: an argument without a derivative has a tangent, or the result of a rule does not fit.
        """
        leaves, structure = jax.tree.flatten(out)
        sums: list[Any] = [None] * len(leaves)
        if any(map(_has_tangent, leaves)):
            for i, tangent in enumerate(tangents):
                if not all(map(_is_zero, jax.tree.leaves(tangent))):
                    terms = self._terms(i, jax.tree.map(_instantiated, tangent), out, primals)
                    sums = [term if have is None else have + term for have, term in zip(sums, terms, strict=True)]
        return jax.tree.unflatten(
            structure, [_zero(leaf) if term is None else term for leaf, term in zip(leaves, sums, strict=True)]
        )

    def _terms(self, index: int, tangent: Any, out: Any, primals: Sequence[Any]) -> list[Any]:
        rule = self.rule(index)
        if rule is None:
            raise TypeError(self._none(index))
        self._require_arity(index, rule, len(primals))
        where = f"The derivative of `{self.host.__name__}` with respect to {self.host.argument_name(index)}"
        try:
            value = rule(*primals) if self.elementwise else rule(tangent, out, *primals)
        except jax.errors.TracerArrayConversionError as error:
            raise TypeError(
                f"{where} calls NumPy on traced values: write it with `jax.numpy` or with functions made by "
                "`host_function`."
            ) from error
        leaves, values = jax.tree.leaves(out), jax.tree.leaves(value)
        structures: list[Any] = [jax.tree.structure(tree) for tree in (value, out)]
        if structures[0] != structures[1] or not all(map(is_array_like, values)):
            raise TypeError(
                f"{where} returned {describe(value)}, but {describe_out(out)} was expected, like the result."
            )
        if self.elementwise:
            with flags_off(*PROMOTION):
                values = [tangent * x if _has_tangent(leaf) else x for x, leaf in zip(values, leaves, strict=True)]
        return [_fitted(where, x, leaf, self.elementwise) for x, leaf in zip(values, leaves, strict=True)]

    def _require_arity(self, index: int, rule: Callable[..., Any], count: int) -> None:
        own = list(self.host.argument_names[:count]) or [f"x{i + 1}" for i in range(count)]
        expected = own if self.elementwise else ["tangent", "out", *own]
        with contextlib.suppress(ValueError):  # some builtins have no signature
            signature = inspect.signature(rule)
            try:
                signature.bind(*expected)
            except TypeError:
                raise TypeError(
                    f"`derivative` of `{self.host.__name__}` for {self.host.argument_name(index)} is called with "
                    f"({', '.join(expected)}), but takes {signature}."
                ) from None

    def _none(self, index: int) -> str:
        name, argument = self.host.__name__, self.host.argument_name(index)
        others = [self.host.argument_name(i) for i, rule in enumerate(self.rules) if rule is not None]
        only = f", only with respect to {', '.join(others)}" if others else ""
        return (
            f"`{name}` has no derivative with respect to {argument}{only}: pass one to `host_function(..., "
            f"derivative=...)`, choose other `argnums`, or hold {argument} constant with `jax.lax.stop_gradient`."
        )


def derivatives(host: HostCall, given: Any, elementwise: bool) -> Derivatives:
    """Validate the argument `derivative` of `host_function`.

    Raises:
        TypeError: it names an unknown argument, or contains something that is not a function.
    """
    rules = _by_position(host, given)
    for i, rule in enumerate(rules):
        if rule is not None and not callable(rule):
            raise TypeError(
                f"`derivative` of `{host.__name__}` for {host.argument_name(i)} is {describe(rule)}: pass a function, "
                "or None for no derivative."
            )
    return Derivatives(host, rules, elementwise)


def _by_position(host: HostCall, given: Any) -> tuple[Any, ...]:
    call = f"{host.__name__}{host.__signature__}"
    if given is None:
        return ()
    if isinstance(given, Mapping):
        for key in given:
            if key not in host.argument_names:
                raise TypeError(
                    f"`derivative` of `{host.__name__}` names {key!r}, which is not an argument of `{call}`."
                    + did_you_mean(key, host.argument_names, most=1)
                )
        return tuple(map(given.get, host.argument_names))
    rules = tuple(given) if isinstance(given, list | tuple) else (given,)
    try:
        host.__signature__.bind(*rules)
    except TypeError:
        raise TypeError(
            f"`derivative` of `{call}` is {describe(given)}: pass a tuple with a function or None for each argument, "
            "or a dict by argument name."
        ) from None
    return rules


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, SymbolicZero) or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _instantiated(tangent: Any) -> Any:
    """Return a tangent as an array: if an argument is a pytree, some of its leaves may be constant."""
    if not isinstance(tangent, SymbolicZero):
        return tangent
    aval: Any = tangent.aval
    return (np.zeros if aval.dtype == jax.dtypes.float0 else jnp.zeros)(aval.shape, aval.dtype)


def _has_tangent(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _zero(leaf: Any) -> Any:
    if not _has_tangent(leaf):
        return np.zeros(leaf.shape, jax.dtypes.float0)
    return typed_like(jnp.zeros_like(leaf), leaf)


def _fitted(where: str, value: Any, leaf: Any, broadcasts: bool) -> Any:
    """Return a term with the shape and dtype of the result's tangent; None for integers, which have no tangent."""
    if not _has_tangent(leaf):
        return None
    value = jnp.asarray(value)
    fits = value.shape == leaf.shape
    if broadcasts:
        pairs = zip(reversed(value.shape), reversed(leaf.shape), strict=False)
        fits = value.ndim <= leaf.ndim and all(have in (1, want) for have, want in pairs)
    if not fits or (jnp.iscomplexobj(value) and not jnp.iscomplexobj(leaf)):
        advice = "one factor, or one for each element of the result"
        raise TypeError(
            f"{where} returned {array_type(value)}, which does not fit the result {array_type(leaf)}: return "
            f"{advice if broadcasts else 'the change of the result, with the same shape'}."
        )
    return typed_like(jnp.broadcast_to(value.astype(leaf.dtype), leaf.shape), leaf)
