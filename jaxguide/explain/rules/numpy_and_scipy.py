"""Explain NumPy and SciPy functions, NumPy arrays and random numbers that get a traced value or size."""

import ast
import importlib
import sys
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import needed_imports, spelled
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.scene import is_traced_integer

_SIZE_DRAWS = probes.calls("normal", "uniform", "exponential")


def _static(facts: Facts) -> Fix | None:
    return static_fix(facts.scene, facts["x"].value)


def _root(facts: Facts) -> Any:
    """Find the module that the called name begins with."""
    return facts.scene.spot.value(ast.Name(dotted(facts.node("f")).split(".")[0], ast.Load()))


# NumPy arrays and functions.


def _like_named(facts: Facts) -> str | None:
    """Say JAX's function of the same name: `jnp.linalg.inv` for `np.linalg.inv`."""
    inner, _dot, name = dotted(facts.node("f")).partition(".")[2].rpartition(".")
    home = getattr(jnp, inner, None) if inner else jnp
    path = f"{inner}.{name}" if inner else name
    return f"{facts.scene.jnp}.{path}" if _root(facts) is np and hasattr(home, name) else None


def _is_random(facts: Facts) -> bool:
    return _root(facts) is np and dotted(facts.node("f")).split(".")[-2:-1] == ["random"]


def _other_table(facts: Facts) -> ast.expr | None:
    """Look at another NumPy array in the statement that is indexed, so that both are converted together."""
    tables = [one.value for one in ast.walk(facts.node("statement")) if isinstance(one, ast.Subscript)]
    others = [one for one in tables if isinstance(facts.scene.spot.value(one), np.ndarray)]
    return next((one for one in others if one is not facts.node("table")), None)


_TO_JAX = "Make it JAX's array first: that can be indexed by a traced number."
entry(
    "numpy_index_of_tracer",
    texts.TO_NUMPY,
    x=probes.first(is_tracer, of="index"),
    when=probes.is_written("node", ast.Subscript),
    index=lambda facts: facts.node("node").slice,
    table=lambda facts: facts.node("node").value,
    other=_other_table,
    title="A NumPy array needs a known index, but `{x}` is traced",
    why="NumPy looks up now, while JAX records the program, and the index comes later.",
    fixes=[
        Either(
            Swap(_TO_JAX, table="{jnp}.asarray({table})", other="{jnp}.asarray({other})"),
            Swap(_TO_JAX, table="{jnp}.asarray({table})"),
        ),
        _static,
    ],
    link=texts.ERRORS_PAGE,
)


# SciPy. Its functions of one number fail in another way.


def _scipy_home(facts: Facts) -> str | None:
    """Say the SciPy module of the called function, such as `scipy.special`."""
    value, name, modules = facts.value("f"), facts["f"].name, list(sys.modules.items())
    public = [home for home, _module in modules if home.startswith("scipy.") and home.count(".") == 1]
    found = (home for home in public if "._" not in home and vars(sys.modules[home]).get(name) is value)
    return next(found, None) if callable(value) else None


def _in_jax(facts: Facts) -> str | None:
    """Say the name of JAX's function of the same name."""
    try:
        home = importlib.import_module(f"jax.{facts['home']}")
    except ImportError:
        return None
    return f"{home.__name__}.{facts['f'].name}" if hasattr(home, facts["f"].name) else None


def _of_jax(facts: Facts) -> Fix | None:
    """Make the fix that calls JAX's function, with the import that it needs."""
    scene, name = facts.scene, facts["in_jax"]
    edits = [scene.source.replace(facts.node("f"), spelled(scene, name)), *needed_imports(scene, name)]
    return scene.fix("Use JAX's function of the same name.", *edits)


entry(
    "scipy_on_tracer",
    texts.TO_NUMPY,
    texts.CONCRETE,
    x=probes.traced,
    home=_scipy_home,
    when=probes.knows("home"),
    in_jax=_in_jax,
    title="SciPy needs a known value, but `{x}` is traced",
    why="SciPy computes with numbers now, while JAX records the program, and the values come later.",
    fixes=Either(
        _of_jax,
        Swap(
            "JAX has no such function: let the program call this one on the host.",
            when=probes.is_valued("f", np.ufunc),
            f="host_function({f}, elementwise=True)",
        ),
        "Call it outside the transformed function, or let the program call it on the host: "
        "`jaxguide.callbacks.host_function`.",
    ),
    link=(f"{texts.API}/{{in_jax}}.html", texts.ERRORS_PAGE),
)
_DRAW = "Draw with JAX, from a key that the function takes as an argument."
entry(
    "numpy_random_of_tracer",
    texts.TO_NUMPY,
    x=probes.traced,
    when=_is_random,
    title="NumPy's random numbers need a known value, but `{x}` is traced",
    why="NumPy draws now, once, while JAX records the program, and the values come later.",
    fixes=Either(
        Code(_DRAW, "{random}.permutation(key, {x})", when=probes.calls("permutation")),
        Code(_DRAW, "{random}.{f.name}(key, {x}.shape)", when=_SIZE_DRAWS),
        _DRAW,
    ),
    link="https://docs.jax.dev/en/latest/random-numbers.html",
)
entry(
    "numpy_on_tracer",
    texts.TO_NUMPY,
    x=probes.traced,
    like=_like_named,
    title="NumPy needs a known value, but `{x}` is traced",
    why="NumPy computes with numbers now, while JAX records the program, and the values come later.",
    fixes=[
        Swap("Use JAX's function of the same name.", f="{like}"),
        Code(
            "Leave NumPy outside: return `{x}` and convert the result.",
            "{np}.asarray(result)  # outside the transformed function",
        ),
    ],
    link=texts.ERRORS_PAGE,
)
entry(
    "numpy_size_of_tracer",
    texts.NUMPY_SIZE,
    x=probes.first(is_traced_integer, of="call"),
    made=lambda facts: "draws now, once," if _SIZE_DRAWS(facts) else "makes its array now,",
    title="`{f}` needs a known size, but `{x}` is traced",
    why="NumPy {made} while JAX records the program, and the size comes later.",
    fixes=[
        Either(_static, "Give NumPy a size that is known, such as a shape, or a static argument."),
        Code(
            "Draw with JAX, from a key that the function takes as an argument; the size is static there too.",
            "{random}.{f.name}(key, ({x},))",
            when=_SIZE_DRAWS,
        ),
    ],
    link=texts.STATIC_LINK,
)
