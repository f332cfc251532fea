"""Explain sizes that JAX must know while it traces: shapes, counts, axes, results whose size depends on values."""

from functools import partial

from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.static_arguments import size_arguments, static_fix
from jaxguide.explain.rules.computed_sizes import with_numpy
from jaxguide.explain.scene import called, is_traced_integer
from jaxguide.explain.transformed import set_to

# Functions whose result has a length that depends on values.
_SIZED = ("nonzero", "flatnonzero", "argwhere", "where", "unique")

# Functions whose last argument, given by position, is an axis.
_WITH_AXIS = frozenset(
    ("sum", "mean", "max", "min", "prod", "std", "var", "argmax", "argmin", "cumsum", "concatenate", "stack", "sort")
)

_PHRASES = (texts.SHAPE, texts.CONCRETE, texts.PARAMETER)
_result = partial(
    entry,
    title="`{function}` has a result whose size is not known",
    why="How long the result is depends on the values, and JAX must know every shape while it records.",
    fill=lambda facts: ", fill_value=0" if facts["function"].name == "unique" else "",
    link=f"{texts.API}/jax.numpy.{{function.name}}.html",
)
_ENOUGH = "Give a size that is always enough; what is not needed is filled up (`fill_value=` says with what)."
_result(
    "size_of_result",
    *_PHRASES,
    x=probes.traced,
    when=probes.calls(*_SIZED),
    function=probes.function,
    searched=probes.argument(0),
    last=lambda facts: facts.call().args[-1],
    fixes=[
        Swap(_ENOUGH, last="{last}, size={searched.atom}.size{fill}"),
        Code(
            "Do without indices: keep the shape and choose elementwise.",
            "{jnp}.where({searched}, value_if_true, value_if_false)",
            when=probes.unless(probes.calls("unique")),
        ),
    ],
)
_result(
    "size_of_result",
    *_PHRASES,
    x=probes.argument(0),
    made=probes.made_by("jit", "vmap"),
    function=probes.argument(0, of="made"),
    when=lambda facts: facts["function"].name in _SIZED,
    fixes=Swap(_ENOUGH, function="lambda a: {function}(a, size=a.size{fill})"),
)
_result(
    "size_of_result",
    *_PHRASES,
    x=probes.traced,
    when=probes.calls("bincount"),
    function=probes.function,
    fixes="Give the number of bins: `length=BINS`.",
)


def _is_axis(facts: Facts) -> bool:
    """Ask whether the traced number is an axis: of that name, or the last argument of a function with one."""
    call, x = facts.call(), facts.node("x")
    named = any(one.arg == "axis" and one.value is x for one in call.keywords)
    return named or (called(call) in _WITH_AXIS and call.args[-1:] == [x])


def _all_static(facts: Facts) -> Fix | None:
    """Return the fix that makes static all the traced integers of a call, which must all be known."""
    parts = [part for one in size_arguments(facts.call()) for part in facts.scene.spot.parts(one)]
    return static_fix(facts.scene, *(value for _part, value in parts if is_traced_integer(value)))


_traced = partial(
    entry,
    x=probes.traced_size,
    otherwise="Give it as a Python number that does not depend on values, such as a static argument.",
    link=texts.STATIC_LINK,
)
_traced(
    "axis_of_tracer",
    *_PHRASES,
    when=_is_axis,
    title="`{f}` needs a known axis, but `{x}` is traced",
    why="Which axis goes decides the result's shape, and JAX must know every shape while it records.",
    fixes=_all_static,
)
_traced(
    "shape_of_tracer",
    *_PHRASES,
    origin=lambda facts: set_to(facts.scene.spot, str(facts["x"])),
    numpy=lambda facts: with_numpy(facts.scene, facts.node("origin")),
    title="`{f}` needs a known size, but `{x}` is traced",
    why="JAX must know every shape while it records the program, and the value of `{x}` comes later.",
    fixes=[
        Swap("A shape is known: compute with NumPy, which stays outside the program.", origin="int({numpy})"),
        _all_static,
        Code(
            "Give the length of the result, which must not depend on values.",
            "{f}({given}, total_repeat_length=LENGTH)",
            when=probes.calls("repeat"),
        ),
        Code(
            "Choose a largest size, compute at that, and mask what is too much.",
            "{jnp}.where({jnp}.arange(LARGEST) < {x}, values, 0)",
            when=probes.calls("arange", "zeros", "ones", "full", "empty", "linspace"),
        ),
    ],
)
