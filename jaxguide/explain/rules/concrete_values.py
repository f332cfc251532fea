"""Explain traced values where NumPy, SciPy or Python need a number: functions, indices, `float`, `math`, `range`."""

import ast
from functools import partial

import jax.numpy as jnp
import numpy as np

from jaxguide.code.source import dotted, names_in
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Static, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.control_flow import loop_of_range
from jaxguide.explain.rewrites.renaming import needed_imports, resolved, spelled
from jaxguide.explain.rewrites.static_arguments import SIZED_FUNCTIONS
from jaxguide.explain.scene import called, is_traced_integer


def _of_numpy(facts: Facts) -> str | None:
    """Say the name of a function in NumPy, such as `linalg.inv`."""
    name = dotted(facts.node("f")).partition(".")
    return name[2] if facts.scene.spot.value(ast.Name(name[0], ast.Load())) is np else None


def _is_of_numpy_array(facts: Facts, node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(facts.scene.spot.value(node.value), np.ndarray)


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


entry(
    "numpy_index_of_tracer",
    texts.TO_NUMPY,
    x=probes.first(is_tracer, of="index"),
    when=probes.is_written("node", ast.Subscript),
    index=lambda facts: facts.node("node").slice,
    table=lambda facts: facts.node("node").value,
    tables=lambda facts: [one for one in ast.walk(facts.node("statement")) if _is_of_numpy_array(facts, one)],
    title="A NumPy array needs a known index, but `{x}` is traced",
    why="NumPy looks up now, while JAX records the program, and the index comes later.",
    fixes=[
        Swap(
            "Make it JAX's array first: that can be indexed by a traced number.",
            when=lambda facts: len(facts["tables"]) == 1,
            or_say=True,
            table="{jnp}.asarray({table})",
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
entry(
    "numpy_random_of_tracer",
    texts.TO_NUMPY,
    x=probes.traced,
    when=lambda facts: facts["numpy_name"].startswith("random."),
    numpy_name=_of_numpy,
    title="NumPy's random numbers need a known value, but `{x}` is traced",
    why="NumPy draws now, once, while JAX records the program, and the values come later.",
    fixes="Draw with JAX, `jax.random`, from a key that the function takes as an argument.",
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
        "Or, if NumPy is needed only afterwards, return `{x}` and convert the result, `{np}.asarray(result)`.",
    ],
    link=texts.ERRORS_PAGE,
)
entry(
    "numpy_size_of_tracer",
    texts.NUMPY_SIZE,
    x=probes.first(is_traced_integer, of="call"),
    title="`{f}` needs a known size, but `{x}` is traced",
    why="NumPy makes its array now, while JAX records the program, and the size comes later.",
    fixes=Either(Static("x"), "Give NumPy a size that is known, such as a shape, or a static argument."),
    link=texts.STATIC_LINK,
)


_LATER = "now, while JAX records the program, and the value comes later."

entry(
    "item_of_tracer",
    texts.CONCRETE,
    x=probes.first(is_tracer, of="owner"),
    when=[probes.is_written("node", ast.Call), probes.calls("item", "tolist"), lambda facts: not facts["given"]],
    title="`.{f.name}()` needs a known value, but `{x}` is traced",
    why=f"`.{{f.name}}()` makes a Python value {_LATER}",
    fixes=Swap("Leave it out: JAX computes with the array itself. Call it on the result, outside.", call="{owner}"),
)


def _conversion(facts: Facts) -> ast.Call | None:
    """Look at the call of `float`, `int` or `complex`; Python 3.12 reports the whole comprehension around it."""
    node = facts.scene.node
    inside = ast.walk(node) if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp) else [node]
    calls = [one for one in inside if isinstance(one, ast.Call) and len(one.args) == 1 and not one.keywords]
    found = [one for one in calls if facts.scene.quote(one.func) in ("float", "int", "complex")]
    return found[0] if len(found) == 1 else None


def _place(facts: Facts) -> ast.Subscript | None:
    """Look at `items[i]` or `items[int(i)]`."""
    node = facts.scene.source.parents.get(facts.node("conversion")) if facts.knows("conversion") else facts.scene.node
    of_list = isinstance(node, ast.Subscript) and not isinstance(facts.scene.spot.value(node.value), dict)
    return node if of_list and isinstance(node, ast.Subscript) else None


def _is_one_array(facts: Facts) -> bool:
    """Ask whether one array can be made of a list: not of texts, functions, or arrays of other shapes."""
    items = facts["items"].value
    plain = all(is_array(one) or isinstance(one, int | float | complex | list) for one in items)
    return plain and len({np.shape(one) for one in items if is_array(one)}) <= 1


_converted = partial(
    entry,
    conversion=_conversion,
    converted=lambda facts: facts.node("conversion").args[0],
)
_converted(
    "list_index_of_tracer",
    texts.INTEGER,
    texts.CONCRETE,
    place=_place,
    slice=lambda facts: facts.node("place").slice,
    items=lambda facts: facts.node("place").value,
    x=probes.first(is_tracer, of="slice"),
    index=probes.words(("{converted}", "{slice}")),
    title="A list needs a known index, but `{x}` is traced",
    why="A Python list is looked up now, while JAX records the program, and the index comes later.",
    fixes=[
        Swap(
            "Make one array of the list: an array can be indexed by a traced number.",
            when=_is_one_array,
            place="{jnp}.array({items})[{index}]",
        ),
        Static("x"),
        Words(
            "Let the program choose what is done for each entry: `lax.switch({index}, [...])`, with one function for "
            "each.",
            when=probes.unless(_is_one_array),
        ),
    ],
)


def _range(facts: Facts) -> ast.Call | None:
    """Look at the call of `range`, or at the one that counts to `int(...)`."""
    node: ast.AST | None = facts.scene.node
    if facts.knows("conversion"):
        node = facts.scene.source.around(facts.scene.source.parents.get(facts.node("conversion")), ast.Call)
    return node if isinstance(node, ast.Call) and called(node) == "range" else None


entry(
    "range_of_tracer",
    texts.INTEGER,
    texts.INTEGER_SCALAR,
    texts.CONCRETE,
    conversion=_conversion,
    range=_range,
    x=probes.one_of(probes.first(is_traced_integer, of="range"), probes.first(is_tracer, of="range")),
    title="`range` needs a known integer, but `{x}` is traced",
    why="Python's `for` runs now and repeats what JAX records, and how often is not known yet.",
    fixes=[
        lambda facts: facts.scene.fix(
            "Let the program loop: `lax.fori_loop`. (`jax.grad` needs a static count.)",
            loop_of_range(facts.scene, facts.node("range")),
        ),
        Static("x", when=lambda facts: is_traced_integer(facts.value("x"))),
    ],
    otherwise="Repeat a largest number of times that is known, and keep the old value in the turns that are too many: "
    "`{jnp}.where(i < n, new, old)`.",
    link=f"{texts.API}/jax.lax.fori_loop.html",
)
entry(
    "range_of_float",
    texts.INTEGER_SCALAR,
    x=probes.given(lambda value: is_array(value) and jnp.issubdtype(value.dtype, np.floating)),
    when=probes.calls("range"),
    title="`range` counts in integers, but was given a float",
    why="A float cannot say how often a loop turns, not even 3.0.",
    fixes=Swap("Make an integer of it.", when=lambda facts: facts["x"].ndim == 0, x="int({x})"),
    otherwise="Give one number, such as `{x}.size`.",
    link="https://docs.python.org/3/library/stdtypes.html#range",
)


def _is_size(facts: Facts) -> bool:
    """Ask whether what is made is a key, or in a slice or a call that takes a size, by itself or by its name."""
    made, name = facts.node("conversion"), getattr(facts.node("target"), "id", "") if facts.knows("target") else ""
    nodes = ast.walk(facts.scene.spot.function or facts.scene.source.tree)
    uses = [one for one in nodes if isinstance(one, ast.Slice) or called(one) in SIZED_FUNCTIONS]
    is_index = isinstance(facts.scene.source.parents.get(made), ast.Subscript)
    return is_index or (called(made) == "int" and any(made in ast.walk(one) or name in names_in(one) for one in uses))


_converted(
    "number_of_tracer",
    texts.CONCRETE,
    name=lambda facts: facts["conversion"].name,
    x=probes.one_of(probes.first(is_tracer, of="converted"), probes.fact("converted")),
    when=lambda facts: facts["x"].value_or_missing is not MISSING or probes.is_written("x", ast.Name)(facts),
    title="`{name}(...)` needs a known value, but `{x}` is traced",
    by=lambda facts: "`jax.grad`" if facts.scene.under(facts["x"].value) == "jax.grad" else None,
    why=(
        "`{name}` makes a Python number, and {by} cannot follow the derivative through it.",
        f"`{{name}}` makes a Python number {_LATER}",
    ),
    fixes=[
        Swap(
            "Keep `{converted}` an array; to change its dtype, use `astype`.",
            when=probes.unless(_is_size),
            conversion="{converted.atom}.astype({name})",
        ),
        # `jnp.sqrt(n)` is traced even if `n` is static.
        Static("x", when=lambda facts: facts["name"] == "int" and f"{facts['jnp']}." not in str(facts["converted"])),
    ],
    otherwise="Compute it outside, and give it as a static argument: a size must be known while JAX records.",
)


def _functions_of_jax(facts: Facts) -> Fix | None:
    """Return the fix that takes JAX's functions in place of those of `math` in the statement that get tracers."""
    spot, source = facts.scene.spot, facts.scene.source
    calls = [
        one for one in ast.walk(facts.node("statement")) if isinstance(one, ast.Call) and hasattr(jnp, called(one))
    ]
    of_math = [one for one in calls if getattr(spot.value(one.func), "__module__", "") == "math" and len(one.args) == 1]
    edits = [source.replace(one.func, f"{facts['jnp']}.{called(one)}") for one in of_math if facts.scene.tracer(one)]
    return facts.scene.fix("Use JAX's own function of that name.", *edits)


entry(
    "math_on_tracer",
    texts.CONCRETE,
    x=probes.traced,
    when=probes.calls_of("math"),
    title="`{f}` needs a known value, but `{x}` is traced",
    why="The module `math` computes with Python numbers now, while JAX records the program.",
    fixes=_functions_of_jax,
    otherwise="Use JAX's own function of that name.",
)
entry(
    "static_needed",
    texts.INTEGER,
    x=probes.traced_size,
    when=[probes.is_written("node", ast.Call), probes.unless(probes.calls("range"))],
    title="`{f}` needs a known number, but `{x}` is traced",
    why="`{f}` uses this argument now, while JAX records the program, and its value comes later.",
    fixes=Static("x"),
)
