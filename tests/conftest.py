"""Compile each program once in each process of the tests."""

import jax
import pytest


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder where this process keeps what it compiles: the same program comes in many functions.

    It is set here and not in the environment: JAX (0.12.0) writes such files in place, and warns in every process that
    reads one which a killed process has left half-written.
    """
    folder = str(tmp_path_factory.mktemp("compiled"))
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder
