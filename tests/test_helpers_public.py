"""Test that the helpers' public names exist, have documented examples, and reject arguments they cannot use."""

import importlib
import inspect

import jax.numpy as jnp
import pytest

HELPERS = {
    "keys": "check_keys no_key_reuse KeyStream key_tree documented_draws KeyReuseError key_use",
    "callbacks": "host_function host_errors io_function watch_value callback_timeline",
    "debug": "capture recording record record_gradient scripted_breakpoints breakpoint_if_nonfinite find_nan nan_guard",
    "tracing": "show_lines watch_traces max_traces program assert_uses assert_avoids assert_max_equations draw_program "
    "side_effects trace_counts",
    "explain": "explain load_ipython_extension",
}
TAKE_A_FUNCTION = ["check_keys", "key_tree", "find_nan", "show_lines", "draw_program", "program", "side_effects"]
NAMES = [(module, name) for module, names in HELPERS.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_each_public_name_is_documented_with_an_example(module: str, name: str) -> None:
    helper = importlib.import_module(f"jaxguide.{module}")
    assert name in helper.__all__
    docstring = inspect.getdoc(getattr(helper, name)) or ""
    summary, blank, example, *_ = docstring.splitlines()
    assert summary.endswith(".")
    assert not blank
    assert example.startswith(">>>") or name in ("KeyReuseError", "load_ipython_extension")


@pytest.mark.parametrize(("module", "name"), [pair for pair in NAMES if pair[1] in TAKE_A_FUNCTION])
def test_what_is_no_function_and_what_has_the_wrong_arity_are_one_sentence_each(module: str, name: str) -> None:
    helper = getattr(importlib.import_module(f"jaxguide.{module}"), name)
    with pytest.raises(TypeError, match=rf"^`{name}` needs a function, but got an array float32\[2\]") as caught:
        helper(jnp.zeros(2))
    assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match=rf"^`{name}` cannot call `<lambda>\(x\)` with 2 arguments") as caught:
        helper(lambda x: x, 1.0, 2.0)
    assert "\n" not in str(caught.value)
