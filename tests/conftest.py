"""Compile each program once in each process of the tests, and spread the proofs of the course among the other tests."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from jaxguide.course.compiled import compiled_once

_PRINT_OPTIONS = np.get_printoptions()
# IPython warns where another environment is activated than the one whose Python runs.
os.environ.pop("VIRTUAL_ENV", None)


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder where this process keeps what it compiles."""
    with compiled_once(tmp_path_factory.mktemp("compiled")) as folder:
        yield folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the proofs of the exercises between the modules, evenly.

    pytest-xdist hands out neighbouring tests together: side by side, these would keep one process busy for minutes
    after the others are done.
    """
    proofs = [item for item in items if "test_the_exercise_is_proven" in item.nodeid]
    others = [item for item in items if "test_the_exercise_is_proven" not in item.nodeid]
    if not proofs or not others:
        return
    spread: list[pytest.Item] = []
    placed = 0
    for _module, tests in groupby(others, key=lambda item: item.nodeid.split("::")[0]):
        spread += tests
        due = len(proofs) * (len(spread) - placed) // len(others)
        spread += proofs[placed:due]
        placed = max(placed, due)
    items[:] = spread + proofs[placed:]


@pytest.fixture(autouse=True)
def printed_as_by_default() -> Iterator[None]:
    """Give each test NumPy's own way to print: cards show arrays with it, and another test may have changed it."""
    with np.printoptions(**_PRINT_OPTIONS):
        yield
