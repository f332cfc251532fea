"""Combine the user's derivatives, one for each argument, into a rule for `jax.custom_jvp`."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from jaxguide.callbacks.parameters import Parameters
from jaxguide.callbacks.result_spec import describe_out
from jaxguide.compat.debug_flags import PROMOTION, flags_off
from jaxguide.jaxpr.arguments import is_array_like
from jaxguide.jaxpr.mesh_places import typed_like
from jaxguide.jaxpr.value_words import array_type, describe


@dataclass(frozen=True)
class Derivatives:
    """The derivatives of one host function by argument.

    Args:
        parameters: the host function's parameters.
        rules: the rules by position; None for an argument without a derivative.
        elementwise: whether the rules are partial derivatives `partial(*args)`; otherwise they are linear maps
            `rule(tangent, out, *args)`.
    """

    parameters: Parameters
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
        if any(_has_tangent(leaf) for leaf in leaves):
            for i, tangent in enumerate(tangents):
                if not all(map(_is_zero, jax.tree.leaves(tangent))):
                    terms = self._terms(i, jax.tree.map(_instantiated, tangent), out, primals)
                    sums = [term if have is None else have + term for have, term in zip(sums, terms, strict=True)]
        return jax.tree.unflatten(
            structure, [_zero(leaf) if term is None else term for leaf, term in zip(leaves, sums, strict=True)]
        )

    def _terms(self, index: int, tangent: Any, out: Any, primals: Sequence[Any]) -> list[Any]:
        rule = self.rule(index)
        argument = self.parameters.name_of(index)
        if rule is None:
            raise TypeError(self._none(argument))
        _require_arity(self.parameters, index, rule, self.elementwise, len(primals))
        where = f"The derivative of `{self.parameters.function}` with respect to {argument}"
        try:
            value = rule(*primals) if self.elementwise else rule(tangent, out, *primals)
        except jax.errors.TracerArrayConversionError as error:
            raise TypeError(
                f"{where} calls NumPy on traced values: write it with `jax.numpy` or with functions made by "
                "`host_function`."
            ) from error
        leaves = jax.tree.leaves(out)
        structures: list[Any] = [jax.tree.structure(tree) for tree in (value, out)]
        if structures[0] != structures[1]:
            raise TypeError(
                f"{where} returned {describe(value)}, but {describe_out(out)} was expected, like the result."
            )
        values = jax.tree.leaves(value)
        for x, leaf in zip(values, leaves, strict=True):
            if not is_array_like(x):
                raise TypeError(
                    f"{where} returned {describe(x)}, but {array_type(leaf)} was expected, like the result."
                )
        if self.elementwise:
            with flags_off(*PROMOTION):
                values = [x if not _has_tangent(leaf) else tangent * x for x, leaf in zip(values, leaves, strict=True)]
        return [_fitted(where, x, leaf, self.elementwise) for x, leaf in zip(values, leaves, strict=True)]

    def _none(self, argument: str) -> str:
        name = self.parameters.function
        others = [i for i, rule in enumerate(self.rules) if rule is not None]
        if not others:
            return (
                f"`{name}` has no derivative with respect to {argument}: pass one to "
                "`host_function(..., derivative=...)`, or hold the argument constant with `jax.lax.stop_gradient`."
            )
        return (
            "`{name}` has no derivative with respect to {argument}, only with respect to {others}: differentiate with "
            "respect to {others} only (`argnums={first}`), hold {argument} constant with `jax.lax.stop_gradient`, or "
            "pass one to `host_function(..., derivative=...)`."
        ).format(name=name, argument=argument, others=", ".join(map(self.parameters.name_of, others)), first=others[0])


def derivatives(
    parameters: Parameters, given: Callable[..., Any] | Sequence[Any] | Mapping[str, Any] | None, elementwise: bool
) -> Derivatives:
    """Validate the argument `derivative` of `host_function`.

    Raises:
        TypeError, ValueError: it names an unknown argument, contains something that is not a function, or a function
            with the wrong number of arguments.
    """
    name = parameters.function
    if given is None:
        rules: tuple[Any, ...] = ()
    elif callable(given):
        if parameters.least > 1:
            raise TypeError(
                f"`{name}` takes {parameters.least} arguments, so say which one `derivative` is for: "
                '`derivative={"argument": function}`, or a tuple with a function or None for each argument.'
            )
        rules = (given,)
    elif isinstance(given, Mapping):
        rules = tuple(given.get(parameter) for parameter in parameters.names)
        for key in given:
            if key not in parameters.names:
                raise ValueError(_unknown(parameters, key))
    elif isinstance(given, list | tuple):
        most = parameters.most
        if len(given) < parameters.least or (most is not None and len(given) > most):
            raise ValueError(
                f"`derivative` of `{name}` needs a function or None for each of its {most or parameters.least} "
                f"arguments, but has {len(given)}."
            )
        rules = tuple(given)
    else:
        raise TypeError(
            f"`derivative` of `{name}` is {describe(given)}: pass a function, a tuple with a function or None for each "
            "argument, or a dict by argument name."
        )
    for i, rule in enumerate(rules):
        if rule is not None:
            _require_rule(parameters, i, rule, elementwise)
    return Derivatives(parameters, rules, elementwise)


def _unknown(parameters: Parameters, key: Any) -> str:
    if not parameters.names:
        return (
            f"`derivative` of `{parameters.function}` cannot be a dict, because Python does not know the names of its "
            "arguments: pass a tuple with a function or None for each argument."
        )
    near = difflib.get_close_matches(str(key), parameters.names, 1, 0.0)[0]
    return (
        "`derivative` of `{name}` names {key!r}, which is not an argument of `{name}({all})`: did you mean {near!r}?"
    ).format(name=parameters.function, key=key, all=", ".join(parameters.names), near=near)


def _require_rule(parameters: Parameters, index: int, rule: Any, elementwise: bool) -> None:
    words = {"name": parameters.function, "argument": parameters.name_of(index)}
    if not callable(rule):
        raise TypeError(
            "`derivative` of `{name}` for {argument} is {got}: pass a function, or None for no derivative.".format(
                got=describe(rule), **words
            )
        )
    if isinstance(rule, np.ufunc):
        raise TypeError(
            (
                "`derivative` of `{name}` for {argument} is NumPy's or SciPy's `{rule}`, which cannot run on traced "
                "values: pass a `jax.numpy` function, or `host_function({rule}, elementwise=True)`."
            ).format(rule=rule.__name__, **words)
        )
    if parameters.most == parameters.least:  # otherwise each call is checked
        _require_arity(parameters, index, rule, elementwise, parameters.least)


def _require_arity(parameters: Parameters, index: int, rule: Any, elementwise: bool, count: int) -> None:
    own = list(parameters.names[:count]) or [f"x{i + 1}" for i in range(count)]
    expected = own if elementwise else ["tangent", "out", *own]
    try:
        signature = inspect.signature(rule)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*expected)
    except TypeError:
        raise TypeError(
            "`derivative` of `{name}` for {argument} will be called with ({expected}), but takes {signature}.".format(
                name=parameters.function,
                argument=parameters.name_of(index),
                expected=", ".join(expected),
                signature=signature,
            )
        ) from None


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, SymbolicZero) or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _instantiated(tangent: Any) -> Any:
    """Return a tangent as an array: if an argument is a pytree, some of its leaves may be constant."""
    if not isinstance(tangent, SymbolicZero):
        return tangent
    aval: Any = tangent.aval
    shape, dtype = aval.shape, aval.dtype
    return np.zeros(shape, dtype) if dtype == jax.dtypes.float0 else jnp.zeros(shape, dtype)


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
    fits = (_broadcasts(value.shape, leaf.shape) if broadcasts else value.shape == leaf.shape) and not (
        jnp.iscomplexobj(value) and not jnp.issubdtype(leaf.dtype, jnp.complexfloating)
    )
    if not fits:
        raise TypeError(
            "{where} returned {got}, which does not fit the result {want}: {advice}.".format(
                where=where,
                got=array_type(value),
                want=array_type(leaf),
                advice="return one factor, or one for each element of the result"
                if broadcasts
                else "return the change of the result, with the same shape",
            )
        )
    if value.dtype != leaf.dtype:
        value = value.astype(leaf.dtype)
    return typed_like(value if value.shape == leaf.shape else jnp.broadcast_to(value, leaf.shape), leaf)


def _broadcasts(shape: tuple[int, ...], want: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, want) == want
    except ValueError:
        return False
