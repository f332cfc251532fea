"""Explain a `jax.Ref` where JAX allows none: returned, differentiated, passed twice, or written by each row."""

from functools import partial

import jax

from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Swap, entry

_PAGE = "https://docs.jax.dev/en/latest/array_refs.html"
_ref = partial(entry, link=_PAGE)


def _is_ref(value: object) -> bool:
    return isinstance(value, jax.Ref)


_ref(
    "returned_reference",
    texts.REF_RETURNED,
    x=probes.said_result,
    title="A `jax.Ref` is returned",
    what="`{x}` is a `jax.Ref` that a traced function returns.",
    why="A Ref is a place in memory that a program may change; only arrays can leave a traced function.",
    fixes=[
        Swap("Return what is in it, an array.", x="{x.atom}[...]"),
        "If the caller has the Ref, return nothing: the caller sees what was written to it.",
    ],
)
_ref(
    "differentiated_reference",
    texts.REF_DIFFERENTIATED,
    x=probes.leaf(_is_ref),
    title="A derivative with respect to a `jax.Ref`",
    what="`{x}` is a `jax.Ref` here.",
    why="`jax.grad` returns derivatives as arrays, and takes them with respect to arrays.",
    fixes=[
        Swap("Differentiate with respect to what is in it, if the function only reads it.", x="{x.atom}[...]"),
        "Pass an array, and make the Ref inside the function, with `jax.new_ref`.",
    ],
)
_ref(
    "aliased_reference",
    texts.REF_TWICE,
    texts.REF_CLOSED_OVER,
    x=probes.leaf(_is_ref),
    title="One `jax.Ref` under two names",
    what="The Ref in `{x}` reaches the function twice.",
    why="JAX orders reads and writes by Ref, so a Ref must have one name in a traced function.",
    fixes=[
        "Pass what is in it, `{x.atom}[...]`, if this argument is only read.",
        "Pass it once, or only use it from the enclosing scope.",
    ],
)
_write = partial(entry, x=probes.first(_is_ref, of="statement"), link=_PAGE)
_write(
    "reference_shared_by_rows",
    texts.REF_WRITE,
    when=lambda facts: facts["g1"] == "vmapped",
    title="Each row of a `jax.vmap` writes to the same `jax.Ref`",
    what="`{x}` is one `jax.Ref` for all rows.",
    why="Under `jax.vmap` all rows run at once, so it is not defined which one would be written.",
    fixes=[
        "Return the value, and write all rows at once to the Ref outside of `jax.vmap`.",
        "Give each row its part: make a Ref with an axis for the rows, and pass it as a mapped argument.",
    ],
)
_write(
    "write_of_differentiated_value",
    texts.REF_WRITE,
    title="A differentiated value is written to a `jax.Ref` from outside",
    what="`{x}` was made outside of the differentiated function.",
    why="The derivative would have to follow the value out of the function, through the Ref.",
    fixes=[
        Swap("Write it as a constant, to look at it.", assigned="{lax}.stop_gradient({assigned})"),
        "Make the Ref inside the function, with `jax.new_ref`, or return the value instead.",
    ],
)
