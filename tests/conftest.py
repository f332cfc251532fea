"""Compile each program once in each process of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxguide.course.compiled import compiled_once


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder where this process keeps what it compiles."""
    with compiled_once(tmp_path_factory.mktemp("compiled")) as folder:
        yield folder
