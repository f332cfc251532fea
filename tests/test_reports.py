"""Test that what the helpers report has a form for terminals and one for notebooks, which say the same."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.callbacks import host_function
from jaxguide.debug import find_nan
from jaxguide.keys import check_keys
from jaxguide.tracing import side_effects, watch_traces


def twice(key: jax.Array) -> jax.Array:
    return jax.random.normal(key) + jax.random.uniform(key)


def printing(x: jax.Array) -> jax.Array:
    print("seen")
    return x


def traced_twice() -> Any:
    with watch_traces() as traces:
        step = jax.jit(lambda x: x + 1)
        step(jnp.ones(2)), step(jnp.ones(3))
    return traces


REPORTS: dict[str, Callable[[], Any]] = {
    "check_keys": lambda: check_keys(twice, jax.random.key(0)),
    "find_nan": lambda: find_nan(jnp.log, jnp.zeros(2)),
    "side_effects": lambda: side_effects(printing, jnp.ones(2)),
    "verify": lambda: host_function(np.sin, elementwise=True, derivative=jnp.cos).verify(np.ones(2)),
    "watch_traces": traced_twice,
}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_says_the_same_in_a_terminal_and_in_a_notebook(name: str) -> None:
    report = REPORTS[name]()
    html = report._repr_html_()
    shown = words(unescape(re.sub(r"<[^>]*>", " ", html)))
    missing = [word for word in words(str(report)) if word not in shown]
    assert not missing
    assert len(shown) > 3
    assert "border-left-color" in html
