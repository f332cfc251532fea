"""Explain values that are not a PRNG key: seeds, floats, several keys at once, arithmetic on keys, too many draws."""

import ast
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.known_facts import Facts

_PAGE = "https://docs.jax.dev/en/latest/random-numbers.html"

_is_of_jax_random = probes.calls_of(*texts.RANDOM_MODULES)


def _is_key(value: object) -> bool:
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


def _is_raw(value: object) -> bool:
    """Return whether a value has the form of a raw key of JAX's default implementation."""
    return isinstance(value, jax.Array) and value.dtype == jnp.uint32 and value.shape == (2,)


# Something else in the place of a key.


def _no_key(facts: Facts) -> ast.expr | None:
    """Look at what a function got in place of a key; a library's function may take the key anywhere."""
    place = probes.argument(0, "key") if _is_of_jax_random(facts) else probes.as_said
    found: ast.expr | None = place(facts)
    return None if _is_key(facts.scene.spot.value(found)) or probes.calls("wrap_key_data")(facts) else found


def _later_key(facts: Facts) -> ast.expr | None:
    """Look at a key that is given, but after something else."""
    x, given = facts.node("x"), facts.call().args if _is_of_jax_random(facts) else []
    values = [(one, facts.scene.spot.value(one)) for one in given if one is not x and x in given]
    return next((one for one, value in values if _is_key(value) or _is_raw(value)), None)


def _is_whole(facts: Facts) -> bool:
    value = facts.value("x")
    if getattr(value, "ndim", None) == 0:
        return bool(jnp.issubdtype(value.dtype, jnp.integer))
    return isinstance(value, int) and not isinstance(value, bool)


_NO_KEY = (texts.KEY_NUMBER, texts.KEY_DTYPE, texts.KEY_SHAPE, texts.KEY_TYPE, texts.KEY_NDIM)
_NEEDS_KEY: dict[str, Any] = {
    "x": _no_key,
    "title": "`{f}` needs a key",
    "what": ("`{x}` is {x.what} here.", "`{x}` is not a key."),
    "why": "JAX keeps no hidden state of random numbers: every draw takes a key, made by `jax.random.key(seed)`.",
    "link": _PAGE,
}
entry(
    "key_not_first",
    *_NO_KEY,
    x=_no_key,
    key=_later_key,
    variable="{key}",
    title="`{f}` takes the key first",
    what="`{x}` stands where the key belongs, and `{key}` is the key.",
    why="Every function of `jax.random` takes the key first, and then what it draws.",
    fixes=[Swap("Change their order.", x="{key}", key="{x}")],
    link=_PAGE,
)
entry(
    "key_forgotten",
    *_NO_KEY,
    when=probes.is_valued("x", tuple, list),
    fixes=[Swap("The key comes first, then the shape.", x="{random}.key(0), {x}")],
    **_NEEDS_KEY,
)
entry(
    "key_forgotten",
    *_NO_KEY,
    when=[probes.calls("permutation", "choice", "categorical", "bernoulli"), lambda facts: facts["x"].ndim > 0],
    fixes=[Swap("The key comes first.", x="{random}.key(0), {x}")],
    **_NEEDS_KEY,
)
entry(
    "no_key",
    *_NO_KEY,
    when=[probes.is_valued("x", type(None)), probes.knows("left_out")],
    left_out=probes.left_out,
    fixes=["Give `{left_out[0]}` a key: `{left_out[1]}` was left out of the call."],
    **_NEEDS_KEY,
)
entry(
    "no_key",
    *_NO_KEY,
    keys=probes.gone_through("x"),
    when=lambda facts: _is_raw(facts.value("keys")),
    fixes=["`{keys}` is one raw key, of two numbers. Make several of it first: `{random}.split({keys}, n)`."],
    **_NEEDS_KEY,
)
for _kind, _when, _seed in (("seed_for_key", [_is_whole], "{x}"), ("no_key", [], "0")):
    entry(
        _kind,
        *_NO_KEY,
        when=_when,
        fixes=[
            Swap("Make a key from a seed, once in a program.", x=f"{{random}}.key({_seed})"),
            Code(
                "Make it where the seed is, and `split` it for every further draw.",
                f"key = {{random}}.key({_seed})",
                when=probes.is_written("x", ast.Name),
            ),
        ],
        **_NEEDS_KEY,
    )


# Several keys, two kinds of keys, arithmetic.


def _is_drawn_once(facts: Facts) -> bool:
    """Ask whether a result of `jax.random` is used as a whole; if it is unpacked, names are as many as of one key."""
    parent = facts.scene.source.parents.get(facts.call())
    return _is_of_jax_random(facts) and not (
        isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
    )


def _key_of_two(facts: Facts) -> ast.expr | None:
    """Look at the operand that is a key; the message has the dtypes in the order of the operands: `key<fry>, int32`."""
    kinds = [kind.startswith("key<") for kind in texts.KEY_DTYPES.findall(facts.scene.message)]
    return probes.operand(kinds.index(True))(facts) if kinds in ([True, False], [False, True]) else None


def _whole_operand(facts: Facts) -> ast.expr | None:
    """Look at the other operand, if it is one integer."""
    number = 1 if facts.node("left") is facts.node("x") else 0
    other, kind = facts["right" if number else "left"], texts.KEY_DTYPES.findall(facts.scene.message)[number]
    return other.node if not kind.startswith("float") and other.shape == () else None


entry(
    "several_keys",
    texts.KEY_BATCH,
    x=probes.one_of(
        lambda facts: probes.argument(0, "key")(facts) if _is_of_jax_random(facts) else None,
        probes.given(lambda value: _is_key(value) and value.ndim > 0),
    ),
    title="`{f}` takes one key",
    why="Several keys at once leave open which draw is meant for which.",
    fixes=[
        Either(
            Swap("Draw once for each key.", when=lambda facts: not facts["rest"], call="{jax}.vmap({f})({x})"),
            Swap("Draw once for each key.", call="{jax}.vmap(lambda key: {f}(key{rest}))({x})"),
            when=_is_drawn_once,
        ),
        Swap("Take one of them.", x="{x.atom}[0]"),
    ],
    link=_PAGE,
)
entry(
    "typed_and_raw_keys",
    texts.KEY_PROMOTION,
    x=probes.call,
    key=probes.first(_is_key),
    variable=("{key}", "{x}"),
    title="A typed key together with a raw one or with numbers",
    what=("`{key}` is a typed key here.", "`{x}` is given a typed key."),
    why="A typed key is not an array of numbers, and JAX converts neither into the other.",
    fixes=[
        "Use keys of one kind: `jax.random.key` makes typed ones, `jax.random.wrap_key_data` makes them of raw ones. "
        "Keep numbers in arrays of their own."
    ],
    link=_PAGE,
)
entry(
    "key_arithmetic",
    texts.KEY_ARITHMETIC,
    x=_key_of_two,
    whole=_whole_operand,
    name=lambda facts: str(facts["x"]) if str(facts["x"]).isidentifier() else "key",
    title="Arithmetic on a key",
    what="`{x}` is a PRNG key here.",
    why="A key is not a number: what makes new keys of it must spread them over all keys.",
    fixes=[
        Swap("Make another key of it and a number.", node="{random}.fold_in({x}, {whole})"),
        Code("Split it.", "{name}, other = {random}.split({x})"),
    ],
    link=_PAGE,
)


# Seeds.

_SEED: dict[str, Any] = {"x": probes.argument(0, "seed"), "title": "A seed is one integer", "link": _PAGE}
entry(
    "wrong_seed",
    texts.KEY_OF_KEY,
    why="It is a key already: a seed is the number from which the first key is made.",
    fixes=[Swap("Use it as it is.", call="{x}")],
    **_SEED,
)
entry(
    "wrong_seed",
    texts.KEY_SEEDS,
    when=lambda facts: _is_raw(facts.value("x")),
    why="It has the form of a raw key, as `jax.random.PRNGKey` makes them, and a seed is one number.",
    fixes=[Swap("Make a typed key of it.", call="{random}.wrap_key_data({x})")],
    **_SEED,
)
entry(
    "wrong_seed",
    texts.KEY_SEEDS,
    why="One seed makes one key.",
    fixes=[Swap("Make a key of each seed.", call="{jax}.vmap({f})({x})")],
    **_SEED,
)
entry(
    "wrong_seed",
    texts.KEY_SEED,
    why="A seed is an integer, so that it can be given again exactly.",
    fixes=[Swap("Give an integer.", x="int({x})")],
    **_SEED,
)


# Draws.

entry(
    "sample_too_large",
    texts.LARGER_SAMPLE,
    x=probes.argument(2, "shape"),
    replace=probes.argument(3, "replace"),
    when=probes.calls("choice"),
    title="More draws without replacement than there are items",
    what="`{x}` asks for {g1} draws, and there are {g2} items.",
    why="With `replace=False`, no item is drawn twice, so the draws end with the items.",
    fixes=[
        Swap("Put each item back, if it may be drawn again.", replace="True"),
        Swap("Draw every item once, in random order.", when=lambda facts: len(facts.value("x")) == 1, x="({g2},)"),
    ],
    link=f"{texts.API}/jax.random.choice.html",
)


# What a key, a split or a module is not.


def _made_key(facts: Facts) -> ast.expr | None:
    """Look at the only call in the failing expression that makes keys."""
    makers = (jax.random.key, jax.random.split, jax.random.fold_in, jax.random.clone)
    calls = [one for one in ast.walk(facts.scene.node) if isinstance(one, ast.Call)]
    made = [one for one in calls if facts.scene.spot.value(one.func) in makers]
    return made[0] if len(made) == 1 else None


entry(
    "keys_unpacked",
    structure_texts.UNPACKED,
    x=probes.assigned,
    when=lambda facts: facts.scene.spot.value(getattr(facts.node("x"), "func", None)) is jax.random.split,
    key=probes.argument(0, "key", of="x"),
    num=probes.argument(1, "num", of="x"),
    title="The keys and the names differ in number",
    what=(
        "`{x}` makes {num.value} keys, for {target.count} names.",
        "`{x}` makes {num} keys, for {target.count} names.",
        "`{x}` makes 2 keys, for {target.count} names.",
    ),
    why="`jax.random.split` makes two keys unless it is told how many.",
    fixes=[
        Either(
            Swap("Say how many.", when=probes.is_written("num", ast.Constant), num="{target.count}"),
            Swap("Say how many.", when=probes.unless(probes.knows("num")), key="{key}, {target.count}"),
            "Say how many: {target.count}.",
        )
    ],
    link=f"{texts.API}/jax.random.split.html",
)
_TO_NUMPY: dict[str, Any] = {
    "title": "A key is not a NumPy array",
    "what": "`{x}` is a PRNG key here.",
    "why": "A key has a type of its own, so that nobody computes with its bits by mistake.",
    "link": f"{texts.API}/jax.random.key_data.html",
}
entry(
    "key_to_numpy",
    texts.KEY_TO_NUMPY,
    x=probes.one_of(_made_key, probes.first(_is_key)),
    fixes=[Swap("Ask for its bits, to look at or to keep in a file.", x="{random}.key_data({x})")],
    **_TO_NUMPY,
)
entry(
    "key_to_numpy",
    texts.KEY_TO_NUMPY,
    x=probes.leaf(_is_key),
    fixes=[
        "Put its bits in its place, `jax.random.key_data(...)`, and make a key of them again with "
        "`jax.random.wrap_key_data`."
    ],
    **_TO_NUMPY,
)
# Functions of `numpy.random` -> those of `jax.random`.
_LIKE = {
    **dict.fromkeys(("uniform", "rand", "random"), "{random}.uniform(key, shape)"),
    **dict.fromkeys(("randint", "integers"), "{random}.randint(key, shape, minval, maxval)"),
    **dict.fromkeys(("permutation", "shuffle"), "{random}.permutation(key, x)"),
    **dict.fromkeys(("seed", "default_rng", "RandomState"), "key = {random}.key(seed)"),
    "choice": "{random}.choice(key, a, shape)",
}
entry(
    "random_of_numpy",
    texts.NO_MODULE_RANDOM,
    x=probes.node,
    when=lambda facts: getattr(facts.node("x"), "attr", "") == "random",
    size=probes.keyword("size"),
    like=lambda facts: facts.say(_LIKE.get(facts["f"].name, "{random}.normal(key, shape)")),
    title="`{x}` does not exist",
    what="`{x}` would be NumPy's random numbers, which change hidden state.",
    why="JAX keeps no hidden state: `jax.random` takes a key in every call.",
    fixes=[
        Either(
            Swap(
                "Use `jax.random`, with a key first.",
                when=lambda facts: (
                    facts["f"].name in ("normal", "uniform")
                    and probes.others("size")(facts) == ""
                    and isinstance(facts.value("size"), tuple)
                ),
                call="{random}.{f.name}({random}.key(0), {size})",
            ),
            Code("Use `jax.random`, with a key first.", "{like}"),
        )
    ],
    link=_PAGE,
)
entry(
    "next_of_key_stream",
    texts.KEY_STREAM_NEXT,
    x=probes.argument(0),
    when=probes.calls("next"),
    title="A `KeyStream` is not an iterator",
    what="`{x}` is a KeyStream here.",
    why="Python's `next` wants an iterator, which has an end; a stream of keys has none.",
    fixes=[Swap("Ask the stream itself for its next key.", call="{x.atom}.next()")],
    link=_PAGE,
)
