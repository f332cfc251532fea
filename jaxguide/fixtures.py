"""Provide the pytest fixtures `no_key_reuse` and `max_traces`, which pytest finds through an entry point."""

from collections.abc import Callable
from typing import Any

import pytest

# Only tests that use a fixture import the helpers, and JAX with them.


@pytest.fixture(name="no_key_reuse")
def _no_key_reuse() -> Callable[..., Any]:
    """Return the decorator `jaxguide.keys.no_key_reuse`."""
    from jaxguide.keys import no_key_reuse

    return no_key_reuse


@pytest.fixture(name="max_traces")
def _max_traces() -> Callable[..., Any]:
    """Return the decorator `jaxguide.tracing.max_traces`."""
    from jaxguide.tracing import max_traces

    return max_traces
