"""Explain NumPy functions that change an array in place, given JAX's arrays or NumPy's read-only views of them."""

import ast

import jax
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.transformed import set_to


def _maker(facts: Facts) -> ast.expr | None:
    """Look at the call of `np.asarray` or `jax.device_get` that made the view."""
    made = set_to(facts.scene.spot, str(facts["x"]))
    function = facts.scene.spot.value(getattr(made, "func", None))
    return made if function in (np.asarray, jax.device_get) else None


entry(
    "read_only_view",
    texts.READ_ONLY,
    x=probes.first(lambda value: isinstance(value, np.ndarray) and not value.flags.writeable),
    made=_maker,
    view=probes.argument(0, of="made"),
    when=[probes.is_written("x", ast.Name), lambda facts: facts["made"] is not None],
    title="NumPy cannot change the memory of a JAX array",
    what="`{x}` was made by `{made}`.",
    why="It shares its memory with a JAX array, which never changes, so it is read-only.",
    fixes=[Swap("Make a copy, which can be changed.", made="{np}.array({view})")],
    link="https://docs.jax.dev/en/latest/faq.html",
)

# Functions that write into an array, as expressions of what they would have written.
_WRITTEN = {
    "fill_diagonal": "{jnp}.fill_diagonal({x}{rest}, inplace=False)",
    "copyto": ("{jnp}.where({where}, {second}, {x})", "{jnp}.broadcast_to({second}, {x}.shape)"),
    "putmask": "{jnp}.where({second}, {third}, {x})",
}


def _is_of_numpy(facts: Facts) -> bool:
    root = ast.Name(dotted(facts.node("f")).split(".")[0], ast.Load())
    return facts.scene.spot.value(root) is np and isinstance(facts.value("x"), jax.Array)


def _written(facts: Facts) -> str | None:
    """Say the expression for it, if the call is a statement and has no other options."""
    alone = isinstance(facts.node("statement"), ast.Expr) and isinstance(facts.node("x"), ast.Name)
    options = {one.arg for one in facts.call().keywords}
    template = _WRITTEN.get(facts["f"].name)
    return facts.say(template) if template and alone and options <= {"where"} else None


entry(
    "changed_by_numpy",
    texts.NUMPY_CHANGES,
    x=probes.one_of(probes.keyword("out"), probes.argument(0)),
    when=[probes.is_written("node", ast.Call), _is_of_numpy],
    second=probes.argument(1),
    third=probes.argument(2),
    where=probes.keyword("where"),
    new=_written,
    title="`{f}` cannot change a JAX array",
    why="NumPy's function writes into its argument, and JAX arrays never change.",
    fixes=[
        Either(
            Swap("Make a new array, and keep it.", call="{x} = {new}"),
            Words("Make a new array, from a key: `{random}.permutation(key, {x})`.", when=probes.calls("shuffle")),
            "Make a new array with a function of JAX, and keep what it returns.",
        )
    ],
    link=texts.AT_LINK,
)
