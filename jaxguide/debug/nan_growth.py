"""Say whether what overflows grew from step to step, as an optimizer's weights do, or what underflows shrank."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide.compat.primitives import SCAN, WHILE
from jaxguide.debug.nan_case import NanCase
from jaxguide.debug.nan_flow import CARRIED, Operation, ancestors, carried_floats, made_by, source

_STEP_SIZES = re.compile(r"\b(lr|learning_rate|step_size|stepsize|eta|rate)\b")
# Those that are no rate of something else, such as of growth.
_CERTAIN_STEP_SIZES = re.compile(r"\b(lr|learning_rate|step_size|stepsize)\b")
_FEWEST_STEPS = 3
# An optimizer's weights are taken to diverge if they grow by this factor; other recurrences by the larger one.
_OPTIMIZER_GROWTH, _GROWTH = 20.0, 1e4


def growth_sentence(case: NanCase) -> str:
    """Return what grows in the loop around an overflow, and what to do; empty if nothing does."""
    if case.operation is None:
        return ""
    optimizes, update = _optimizes(case)
    for sizes, backward in (*_in_loops(case), *((sizes, False) for sizes in _in_lines(case))):
        if _grows(sizes, _OPTIMIZER_GROWTH if optimizes and not backward else _GROWTH):
            fact = f"The values grew from {sizes[0]:.3g} to {sizes[-1]:.3g} in {len(sizes) - 1} steps"
            if backward:
                return f"{fact} of the backward pass: the gradient explodes."
            if optimizes:
                name = _STEP_SIZES.search(update)
                return "{fact}, so the steps are too large: take a smaller learning rate or step size{name}.".format(
                    fact=fact, name=f" (`{name[0]}`)" if name else ""
                )
            diverges = f"{fact}: the recurrence diverges."
            return f"{diverges} {_smaller_steps()}" if _adds_to_carried(case) else diverges
    return ""


def _smaller_steps() -> str:
    return (
        "Each step adds to what it carries: if it is a step in time, and the exact solution stays finite, make the "
        "step smaller, or use an implicit method."
    )


def _adds_to_carried(case: NanCase) -> bool:
    """Return whether a loop around the overflow replaces what it carries by a sum of it and of what depends on it."""
    assert case.operation is not None
    for place in case.operation.inputs:
        for carry in (one for one in ancestors(place, 100) if one.name == CARRIED):
            step = made_by(carry.inputs[-1], "add", "sub")
            sides = [] if step is None else [source(one) for one in step.inputs]
            if carry.outputs[0] in sides and any(
                carry in ancestors(side, 100) for side in sides if side is not carry.outputs[0]
            ):
                return True
    return False


def shrinking_sentence(case: NanCase) -> str:
    """Return which loop made a value smaller and smaller until it was 0, and what to do; empty if none did."""
    if case.operation is None:
        return ""
    for loop, sizes in case.carried.values():
        for column in _columns(case, loop, sizes):
            if _shrinks(column, float(jnp.finfo(case.dtype).tiny)):
                return (
                    f"The values shrank from {column[0]:.3g} to {column[-1]:.3g} in the loop, which is too small for "
                    f"{case.dtype.name}: rescale them at each step and add up the logarithms of the scales, or compute "
                    "with logarithms."
                )
    return ""


def _shrinks(sizes: Sequence[float], tiny: float) -> bool:
    falls = [later <= earlier for earlier, later in itertools.pairwise(sizes)]
    return len(falls) >= _FEWEST_STEPS and all(falls) and sizes[0] > 1e-3 and sizes[-1] < 1e3 * tiny


def _grows(sizes: list[float], factor: float) -> bool:
    if len(sizes) < 3 or not np.isfinite(sizes).all():
        return False
    growth = sizes[-1] / max(sizes[0], 1e-3)
    if growth < (factor if len(sizes) > _FEWEST_STEPS else _GROWTH):
        return False
    steps = [later - earlier for earlier, later in itertools.pairwise(sizes)]
    # What diverges grows faster and faster; a counter or a time grows by the same amount at each step.
    if steps[-1] < 1.9 * float(np.mean(steps)):
        return False
    rises = [step > 0 for step in steps]
    return all(rises[-_FEWEST_STEPS:]) and sum(rises) >= 0.8 * len(rises)


def _columns(case: NanCase, loop: Any, sizes: Sequence[tuple[float, ...]]) -> Iterator[list[float]]:
    """Yield the magnitudes of what a loop carries, at each iteration, if the bad value depends on it."""
    assert case.operation is not None
    carries = (one for place in case.operation.inputs for one in ancestors(place, 2000) if one.name == CARRIED)
    used = {variable for one in carries for _path, variable in one.outputs[0].homes}
    for variable, column in zip(carried_floats(loop.eqn), zip(*sizes, strict=True), strict=False):
        if variable in used:
            yield list(column)


def _in_loops(case: NanCase) -> Iterator[tuple[list[float], bool]]:
    """Yield the largest magnitude of each carried value at each iteration of the loops around the step.

    With each comes whether the loop belongs to the backward pass of a gradient.
    """
    inner, around = case.step, list(case.step.outward())[1:]
    for i, outer in enumerate(around):
        if outer.eqn.primitive.name in (SCAN, WHILE):
            backward = any("transpose(" in str(one.eqn.source_info.name_stack) for one in around[i:])
            sizes = case.carried.get(id(outer), (outer, []))[1][: inner.scope.iteration + 1]
            yield from ((column, backward) for column in _columns(case, outer, sizes))
        inner = outer


def _in_lines(case: NanCase) -> Iterator[list[float]]:
    """Yield the largest magnitudes of what each line adds or subtracts again and again, in a loop that Python runs."""
    assert case.operation is not None
    assert case.flow is not None
    groups: dict[tuple[object, ...], list[Operation]] = {}
    for maker in (one for place in case.operation.inputs for one in ancestors(place, 2000)):
        if maker.name in ("add", "sub") and maker.spot is not None and not maker.transposed:
            groups.setdefault((maker.spot, maker.eqn.outvars[0].aval.shape), []).append(maker)
    for group in groups.values():
        values = [case.flow.value(one.outputs[0]) for one in reversed(group)]
        known = [value for value in values if value is not None and np.isfinite(value).all() and value.size]
        if known:
            yield [float(np.abs(value).max()) for value in known]


def _optimizes(case: NanCase) -> tuple[bool, str]:
    """Return whether the overflowing value depends on a gradient that the program takes, and the updating line."""
    assert case.operation is not None
    gradient, text = False, ""
    for place in case.operation.inputs:
        for maker in ancestors(place, 2000):
            gradient = gradient or maker.transposed
            update = maker.inputs[-1].maker if maker.name == CARRIED else maker
            line = update.line if update is not None and update.name in ("add", "sub", "mul") else None
            source = (line.text() or "") if line is not None else ""
            if _STEP_SIZES.search(source):
                text = source
    return gradient or _CERTAIN_STEP_SIZES.search(text) is not None, text
