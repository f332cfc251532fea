"""Prove on plain JAX that planted bugs are bugs: their two values are related, but not to another key's values."""

import contextlib
import io
from typing import Any

import jax

from key_battery.case import MAKE_KEY, Case


def run(case: Case, key_kind: str, seeds: tuple[int, ...] = (0,)) -> list[Any]:
    """Compile and run the program, and return its result for each seed."""
    results = []
    with contextlib.redirect_stdout(io.StringIO()):
        for seed in seeds:
            program, arguments = case.build(key_kind, seed)
            results.append(jax.block_until_ready(jax.jit(program)(*arguments)))
        jax.effects_barrier()
    return results


def prove(case: Case, key_kind: str) -> str | None:
    """Run the case with two keys; return what is wrong with its evidence, or None if it holds.

    The evidence of a bug must hold for both keys, and must not hold if its first value is from one run and its second
    from the other. A correct program only needs to run.
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
