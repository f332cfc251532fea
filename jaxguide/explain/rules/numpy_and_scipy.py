"""Explain NumPy and SciPy functions, NumPy arrays and random numbers that get a traced value or size."""

import ast

import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Static, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import needed_imports, resolved, spelled
from jaxguide.explain.scene import is_traced_integer

_SIZE_DRAWS = probes.calls("normal", "uniform", "exponential")


def _of_numpy(facts: Facts) -> str | None:
    """Say the name of a function in NumPy, such as `linalg.inv`."""
    name = dotted(facts.node("f")).partition(".")
    return name[2] if facts.scene.spot.value(ast.Name(name[0], ast.Load())) is np else None


def _other_table(facts: Facts) -> ast.expr | None:
    """Look at another NumPy array in the statement that is indexed, so that both are converted together."""
    tables = [one.value for one in ast.walk(facts.node("statement")) if isinstance(one, ast.Subscript)]
    others = [one for one in tables if isinstance(facts.scene.spot.value(one), np.ndarray)]
    return next((one for one in others if one is not facts.node("table")), None)


def _of_scipy(facts: Facts) -> str | None:
    """Say the public name of a function of SciPy, such as `scipy.special.gammaln`."""
    value, name = facts.value("f"), facts["f"].name
    homes = ["scipy.special", ".".join(str(getattr(value, "__module__", "")).split(".")[:2])]
    names = [f"{home}.{name}" for home in homes if home.startswith("scipy.") and callable(value)]
    return next((one for one in names if resolved(one) is value), None)


def _with_jax(facts: Facts) -> Fix | None:
    """Make the fix that calls JAX's function, with the import that it needs."""
    scene, name = facts.scene, facts["in_jax"]
    edits = [scene.source.replace(facts.node("f"), spelled(scene, name)), *needed_imports(scene, name)]
    return scene.fix("Use JAX's function of the same name.", *edits)


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
        Static("x"),
    ],
    link=texts.ERRORS_PAGE,
)
# SciPy's functions of one number fail in another way.
entry(
    "scipy_on_tracer",
    texts.TO_NUMPY,
    texts.CONCRETE,
    x=probes.traced,
    name=_of_scipy,
    when=probes.knows("name"),
    in_jax=lambda facts: name if resolved(name := f"jax.{facts['name']}") is not MISSING else None,
    title="SciPy needs a known value, but `{x}` is traced",
    why="SciPy computes with numbers now, while JAX records the program, and the values come later.",
    fixes=Either(
        _with_jax,
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
    when=lambda facts: facts["numpy_name"].startswith("random."),
    numpy_name=_of_numpy,
    title="NumPy's random numbers need a known value, but `{x}` is traced",
    why="NumPy draws now, once, while JAX records the program, and the values come later.",
    fixes=Either(Code(_DRAW, "{random}.{f.name}(key, {x}.shape)", when=_SIZE_DRAWS), _DRAW),
    link="https://docs.jax.dev/en/latest/random-numbers.html",
)
entry(
    "numpy_on_tracer",
    texts.TO_NUMPY,
    x=probes.traced,
    like=lambda facts: name if resolved(f"jax.numpy.{(name := _of_numpy(facts))}") is not MISSING else None,
    title="NumPy needs a known value, but `{x}` is traced",
    why="NumPy computes with numbers now, while JAX records the program, and the values come later.",
    fixes=[
        Swap("Use JAX's function of the same name.", f="{jnp}.{like}"),
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
        Either(Static("x"), "Give NumPy a size that is known, such as a shape, or a static argument."),
        Code(
            "Draw with JAX, from a key that the function takes as an argument; the size is static there too.",
            "{random}.{f.name}(key, ({x},))",
            when=_SIZE_DRAWS,
        ),
    ],
    link=texts.STATIC_LINK,
)
