"""Test the tables of what JAX removed: what replaces it exists, and nothing that JAX still has is called removed."""

import ast
import inspect
import re

import jax
import pytest

from jaxguide.code.user_frame import MISSING
from jaxguide.compat.removals import ARRAY_REMOVALS, KEYWORD_REMOVALS, OPTION_REMOVALS, REMOVALS
from jaxguide.explain.rewrites.renaming import removal_of, resolved

INSTALLED = jax.__version_info__


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_there_are_many_removed_names() -> None:
    assert len(REMOVALS) >= 120


def test_what_replaces_a_removed_name_exists() -> None:
    for name, removal in REMOVALS.items():
        if removal.new:
            assert resolved(removal.new) is not MISSING, name
            assert not removal.code, name
        if removal.code:
            ast.parse(removal.code)
            for said in re.findall(r"\bjax(?:\.\w+)+", removal.code):
                assert resolved(said) is not MISSING, name


def test_a_name_is_gone_since_the_version_that_the_table_says() -> None:
    for name, removal in REMOVALS.items():
        assert re.fullmatch(r"(0\.\d+\.\d+)?", removal.since), name
        if removal.since and version(removal.since) <= INSTALLED and name != "jax.config":
            assert resolved(name) is MISSING, name
            assert removal_of(name) is not None, name


def test_a_name_that_jax_has_is_not_called_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOVALS, "jax.jit", REMOVALS["jax.tree_map"])
    assert removal_of("jax.jit") is None


def test_a_name_of_a_renamed_module_is_renamed_with_it() -> None:
    moved = removal_of("jax.experimental.stax.Dense")
    assert moved is not None
    assert moved.new == "jax.example_libraries.stax.Dense"
    assert removal_of("jax.experimental.stax.NoSuchLayer") is None


def test_what_arrays_and_options_lost_is_really_lost() -> None:
    assert not [name for name in ARRAY_REMOVALS if hasattr(jax.Array, name)]
    assert not [name for name in OPTION_REMOVALS if name in jax.config.values]


@pytest.mark.parametrize(("function", "old"), KEYWORD_REMOVALS)
def test_a_renamed_argument_has_its_new_name(function: str, old: str) -> None:
    names = inspect.signature(resolved(function)).parameters
    assert old not in names
    new = KEYWORD_REMOVALS[function, old]
    assert not new or new in names
