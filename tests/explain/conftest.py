"""Restore the settings of JAX that failing programs change."""

from collections.abc import Iterator

import pytest
from failing import settings_kept


@pytest.fixture(autouse=True)
def settings_restored() -> Iterator[None]:
    with settings_kept():
        yield
