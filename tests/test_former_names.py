"""Test that an import of a former helper names what to use, and still works for lessons printed earlier."""

import importlib
import re

import jax
import pytest

from jaxguide.base import lazy
from jaxguide.course import printed_names
from jaxguide.course.printed_names import keep_printed_names

NOW = {
    "jaxguide.key_use": "`jaxguide.keys.check_keys(f, *args).uses`",
    "jaxguide.trace_counts": "`with jaxguide.tracing.watch_traces() as traces:`",
    "jaxguide.keys.key_use": "`check_keys(f, *args).uses`",
    "jaxguide.keys.key_tree": "`check_keys(f, *args).tree`",
    "jaxguide.keys.KeyUse": "`KeyReport`",
    "jaxguide.tracing.draw_program": "`program(f, *args)`, which draws itself",
    "jaxguide.tracing.assert_uses": '`assert "scan" in program(f, *args).primitives`',
    "jaxguide.tracing.assert_avoids": '`assert "scan" not in program(f, *args).primitives`',
    "jaxguide.tracing.assert_max_equations": "`assert program(f, *args).equations <= 10`",
    "jaxguide.tracing.trace_counts": "`with watch_traces() as traces:`",
    "jaxguide.debug.doctor": "the command `jaxguide doctor`",
    "jaxguide.debug.scripted_breakpoints": "`jaxguide.course.breakpoints.scripted_breakpoints`",
    "jaxguide.debug.breakpoint_if_nonfinite": "`jaxguide.course.breakpoints.breakpoint_if_nonfinite`",
    "jaxguide.callbacks.host_errors": "`with f.errors():`",
    "jaxguide.callbacks.watch_value": "`jax.debug.print`, or `record`",
}


@pytest.fixture(autouse=True)
def no_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "printed_names", {})


def _found(name: str) -> object:
    module, _dot, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


@pytest.mark.parametrize("name", NOW)
def test_a_former_name_is_answered_with_what_to_use(name: str) -> None:
    module, _dot, last = name.rpartition(".")
    with pytest.raises(ImportError, match=f"^{module} no longer has '{last}': use {re.escape(NOW[name])}"):
        _found(name)


@pytest.mark.parametrize("name", printed_names._NAMES)
def test_a_name_that_printed_lessons_import_still_works_for_them(name: str) -> None:
    keep_printed_names()
    assert callable(_found(name))


def test_a_printed_lesson_gets_what_the_former_helpers_gave() -> None:
    keep_printed_names()

    def once(key: jax.Array) -> jax.Array:
        return jax.random.normal(key)

    tree, drawing = (_found(f"jaxguide.{name}") for name in ("keys.key_tree", "tracing.draw_program"))
    assert "Keys of once" in tree(once, jax.random.key(0)).text  # type: ignore[operator]
    assert "a = mul" in str(drawing(lambda x: 2 * x, 1.0))  # type: ignore[operator]
