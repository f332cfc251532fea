"""Prove on plain JAX that the planted bugs are bugs: what they return is related, and not with another key's values."""

import contextlib
import io
from typing import Any

import jax

from key_battery.case import MAKE_KEY, Case


def run(case: Case, key_kind: str, seeds: tuple[int, ...] = (0,)) -> list[Any]:
    """Return what the program, compiled, returns for each seed."""
    results = []
    with contextlib.redirect_stdout(io.StringIO()):
        for seed in seeds:
            program, arguments = case.build(key_kind, seed)
            results.append(jax.block_until_ready(jax.jit(program)(*arguments)))
        jax.effects_barrier()
    return results


def prove(case: Case, key_kind: str) -> str | None:
    """Run the case with two keys; return what is wrong with its evidence, None where it stands.

    The evidence of a bug must hold for either key, and must not hold when its first value is of one run and its second
    of the other. A correct program need only run.
    """
    zero, one = run(case, key_kind, (0, 1))
    if case.evidence is None:
        return None
    if len(zero) != 2:
        return "does not return two values"
    keys = [MAKE_KEY[key_kind](seed) for seed in (0, 1)]
    if not (case.evidence(*zero, keys[0]) and case.evidence(*one, keys[1])):
        return "its two values are not related as the evidence says"
    mixed = (zero[0], one[1])
    if case.takes != "nothing" and all(case.evidence(*mixed, key) for key in keys):
        return "the evidence holds of unrelated values too"
    return None
