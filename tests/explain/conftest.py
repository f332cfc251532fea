"""Restore the settings of JAX that failing programs change."""

from collections.abc import Iterator

import jax
import pytest

SETTINGS = ("jax_debug_infs", "jax_debug_nans", "jax_debug_key_reuse", "jax_traceback_filtering")


@pytest.fixture(autouse=True)
def settings_restored() -> Iterator[None]:
    kept = [getattr(jax.config, name) for name in SETTINGS]
    yield
    for name, value in zip(SETTINGS, kept, strict=True):
        jax.config.update(name, value)
