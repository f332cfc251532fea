"""Test that a fix is offered as code only if it parses and its names exist."""

from pathlib import Path

import pytest
from failing import failure, program

from jaxguide.explain import Fix
from jaxguide.explain.offered import can_be_offered
from jaxguide.explain.scene import Scene

FAILS = """
@jax.jit
def f(x):
    y = float(x)  # <--
    return y
f(1.0)
"""


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("y = x.astype(float)", True),
        ("y = jnp.asarray(x)", True),
        ("y = [one for one in (x,)]", True),
        ("y = jnp.frobnicate(x)", False),
        ("y = lax_of_another_file(x)", False),
        ("y = (x", False),
    ],
)
def test_code_is_offered_only_if_it_parses_and_its_names_exist(new: str, expected: bool, tmp_path: Path) -> None:
    scene = Scene(failure(program(FAILS), tmp_path / "student.py"))
    statement = scene.spot.statement
    assert statement is not None
    fix = Fix("Write it.", new, (scene.source.replace(statement, new),))
    assert can_be_offered(scene, fix) is expected
