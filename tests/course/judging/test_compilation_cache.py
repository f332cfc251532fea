"""Test that programs are compiled once inside the block, and that JAX's settings are restored after it."""

import secrets
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxguide.course.judging.compilation_cache import compiled_once


def test_equal_programs_of_two_functions_are_compiled_once(tmp_path: Path) -> None:
    x = jnp.arange(3.0)
    with compiled_once(tmp_path) as folder:
        jax.jit(lambda x: x * 2)(x)
        before = sorted(path.name for path in folder.glob("*-cache"))
        jax.jit(lambda x: x * 2)(x)
        assert sorted(path.name for path in folder.glob("*-cache")) == before != []
        jax.jit(lambda x: x * 3)(x)
        assert len(list(folder.glob("*-cache"))) == len(before) + 1


def test_settings_and_what_is_kept_are_as_before_after_the_block(compiled: Path) -> None:
    def twice(x: jax.Array) -> jax.Array:
        return x * 2

    twice.__name__ = f"twice_{secrets.token_hex(8)}"  # a new name, since the cache holds programs of other runs
    with pytest.raises(ZeroDivisionError), compiled_once() as folder:
        raise ZeroDivisionError
    assert jax.config.jax_compilation_cache_dir == str(compiled)
    assert not folder.exists()
    jax.jit(twice)(jnp.arange(3.0))
    (kept,) = compiled.glob(f"jit_{twice.__name__}-*-cache")
    kept.unlink()
