"""Explain values that are not a PRNG key: seeds, floats, several keys at once; and keys that are used twice."""

import ast
from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp

from jaxguide.code.lines import Line, frames_of_traceback
from jaxguide.code.user_frame import UserFrame, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.transformed import own_nodes

_PAGE = "https://docs.jax.dev/en/latest/random-numbers.html"
_key = partial(entry, link=_PAGE)

_is_of_jax_random = probes.calls_of(*texts.RANDOM_MODULES)


def _is_raw(value: object) -> bool:
    """Return whether a value has the form of a raw key of JAX's default implementation."""
    return isinstance(value, jax.Array) and value.dtype == jnp.uint32 and value.shape == (2,)


def _no_key(facts: Facts) -> ast.expr | None:
    """Look at what a function got in place of a key; a library's function may take the key anywhere."""
    found = (probes.argument(0, "key") if _is_of_jax_random(facts) else probes.as_said)(facts)
    return None if probes.is_key(facts.scene.spot.value(found)) or probes.calls("wrap_key_data")(facts) else found


def _is_forgotten(facts: Facts) -> bool:
    """Ask whether what comes after the key stands in its place: a shape, or the array that is drawn from."""
    draws_from = probes.calls("permutation", "choice", "categorical", "bernoulli")(facts)
    return isinstance(facts.value("x"), tuple | list) or (draws_from and facts["x"].ndim > 0)


def _is_whole(facts: Facts) -> bool:
    """Ask whether it is one whole number, which may be a seed; those of raw keys are of dtype uint32."""
    value = facts.value("x")
    is_integer = is_array(value) and value.ndim == 0 and jnp.issubdtype(value.dtype, jnp.integer)
    return type(value) is int or (is_integer and value.dtype != jnp.uint32)


_NO_KEY = (texts.KEY_NUMBER, texts.KEY_DTYPE, texts.KEY_SHAPE, texts.KEY_TYPE, texts.KEY_NDIM)
_needs_key = partial(
    _key,
    x=_no_key,
    title="`{f}` needs a key",
    what=("`{x}` is {x.what} here.", "`{x}` is not a key."),
    why="JAX keeps no hidden state of random numbers: every draw takes a key, made by `jax.random.key(seed)`.",
)
_needs_key(
    "key_forgotten",
    *_NO_KEY,
    when=_is_forgotten,
    key=probes.given(lambda value: probes.is_key(value) or _is_raw(value)),
    fixes=Swap("The key comes first: change their order.", when=_is_of_jax_random, x="{key}", key="{x}"),
    otherwise=Swap("The key comes first.", x="{random}.key(0), {x}"),
)
for _kind, _when, _seed in (("seed_for_key", [_is_whole], "{x}"), ("no_key", [], "0")):
    _needs_key(
        _kind,
        *_NO_KEY,
        when=_when,
        fixes=Words(
            "Give a key in the outermost call that leaves `{x}` out, or gives None for it.",
            when=lambda facts: probes.is_written("x", ast.Name)(facts) and facts.value("x") is None,
        ),
        otherwise=[
            Swap("Make a key from a seed, once in a program.", x=f"{{random}}.key({_seed})"),
            Code(
                "Make it where the seed is, and `split` it for every further draw.",
                f"key = {{random}}.key({_seed})",
                when=probes.is_written("x", ast.Name),
            ),
        ],
    )


def _is_drawn_once(facts: Facts) -> bool:
    """Ask whether a result of `jax.random` is used as a whole; if it is unpacked, names are as many as of one key."""
    parent = facts.scene.source.parents.get(facts.call())
    is_unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
    return _is_of_jax_random(facts) and not is_unpacked


_key(
    "several_keys",
    texts.KEY_BATCH,
    x=probes.one_of(probes.given(lambda value: probes.is_key(value) and value.ndim > 0), probes.argument(0, "key")),
    title="`{f}` takes one key",
    why="Several keys at once leave open which draw is meant for which.",
    fixes=[
        Swap("Draw once for each key.", when=_is_drawn_once, call="{jax}.vmap(lambda key: {f}(key{rest}))({x})"),
        Swap("Take one of them.", x="{x.atom}[0]"),
    ],
)
_key(
    "typed_and_raw_keys",
    texts.KEY_PROMOTION,
    x=probes.one_of(probes.first(probes.is_key), probes.call),
    title="A typed key together with a raw one or with numbers",
    what="",
    why="A typed key is not an array of numbers, and JAX converts neither into the other.",
    fixes="Use keys of one kind: `jax.random.key` makes typed ones, `jax.random.wrap_key_data` makes them of raw ones. "
    "Keep numbers in arrays of their own.",
)
_key(
    "key_arithmetic",
    texts.KEY_ARITHMETIC,
    # The message has the dtypes of the operands in their order: `key<fry>, int32`.
    x=lambda facts: facts["left" if texts.KEY_DTYPES.findall(facts.scene.message)[0].startswith("key<") else "right"],
    title="Arithmetic on a key",
    what="`{x}` is a PRNG key here.",
    why="A key is not a number: what makes new keys of it must spread them over all keys.",
    fixes=[
        Code("Make another key of it and an integer.", "{random}.fold_in({x}, number)"),
        Code("Split it.", "key, other = {random}.split({x})"),
    ],
)
for _phrase, _when, _why, _fix in (
    (
        texts.KEY_OF_KEY,
        [],
        "It is a key already: a seed is the number from which the first key is made.",
        Swap("Use it as it is.", call="{x}"),
    ),
    (
        texts.KEY_SEEDS,
        [lambda facts: _is_raw(facts.value("x"))],
        "It has the form of a raw key, as `jax.random.PRNGKey` makes them, and a seed is one number.",
        Swap("Make a typed key of it.", call="{random}.wrap_key_data({x})"),
    ),
    (texts.KEY_SEEDS, [], "One seed makes one key.", Swap("Make a key of each seed.", call="{jax}.vmap({f})({x})")),
    (
        texts.KEY_SEED,
        [],
        "A seed is an integer, so that it can be given again exactly.",
        Swap("Give an integer.", x="int({x})"),
    ),
):
    _key(
        "wrong_seed",
        _phrase,
        x=probes.argument(0, "seed"),
        when=_when,
        title="A seed is one integer",
        why=_why,
        fixes=_fix,
    )
_key(
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
)
_key(
    "keys_unpacked",
    structure_texts.UNPACKED,
    x=probes.assigned,
    split=probes.function_of("x"),
    key=probes.argument(0, "key", of="x"),
    when=lambda facts: facts.value("split") is jax.random.split,
    title="The keys and the names differ in number",
    what="`{x}` is unpacked into {target.count} names.",
    why="`jax.random.split` makes two keys unless it is told how many.",
    fixes=Swap("Say how many.", or_say=True, x="{split}({key}, {target.count})"),
)
_key(
    "key_to_numpy",
    texts.KEY_TO_NUMPY,
    x=probes.one_of(
        probes.leaf(probes.is_key),
        lambda facts: facts.call().args[0] if probes.calls("asarray", "array")(facts) else None,
    ),
    title="A key is not a NumPy array",
    what="`{x}` is a PRNG key here.",
    why="A key has a type of its own, so that nobody computes with its bits by mistake.",
    fixes=Swap("Ask for its bits, to look at or to keep in a file.", x="{random}.key_data({x})"),
    otherwise="Put its bits in its place, `jax.random.key_data(...)`, and make a key of them again with "
    "`jax.random.wrap_key_data`.",
)
_key(
    "random_of_numpy",
    texts.NO_MODULE_RANDOM,
    x=probes.node,
    title="`{x}` does not exist",
    what="`{x}` would be NumPy's random numbers, which change hidden state.",
    why="JAX keeps no hidden state: `jax.random` takes a key in every call.",
    fixes="Make a key, `key = jax.random.key(seed)`, and give it to every draw of `jax.random`.",
)
_key(
    "next_of_key_stream",
    texts.KEY_STREAM_NEXT,
    x=probes.argument(0),
    when=probes.calls("next"),
    title="A `KeyStream` is not an iterator",
    what="`{x}` is a KeyStream here.",
    why="Python's `next` wants an iterator, which has an end; a stream of keys has none.",
    fixes=Swap("Ask the stream itself for its next key.", call="{x.atom}.next()"),
)


# Keys that are used twice, as `jax.debug_key_reuse` finds them.


def _key_given(facts: Facts, spot: UserFrame) -> Part | None:
    """Look at the argument of a frame's call that is a key, or a part of an array of keys."""
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    given = probes.all_given(call) if call is not None else []
    keys = [one for one in given if probes.is_key(spot.value(one.value if isinstance(one, ast.Subscript) else one))]
    return facts.at(keys[0], spot) if keys else None


def _uses(facts: Facts) -> tuple[Part | None, Line | None]:
    """Find the key in the frame in which both uses are, and the line of the first use."""
    cause = facts.scene.error.__cause__ or facts.scene.error.__context__
    before = list(frames_of_traceback(cause.__traceback__)) if cause is not None else []
    found = list[tuple[Part, Line]]()
    for spot in reversed(facts.scene.spots):
        name = spot.frame.f_code.co_name  # JAX makes the first use's traceback anew, with other code objects
        lines = [line for frame, line in before if (line.file, frame.f_code.co_name) == (spot.line.file, name)]
        if lines and (key := _key_given(facts, spot)) is not None:
            found.append((key, lines[-1]))
    # On one line, it is a loop, or a helper that is called twice.
    apart = [use for use in found if use[0].line != use[1]]
    return next(iter(apart or found), (_key_given(facts, facts.scene.spot), before[-1][1] if before else None))


_SPLIT = "Split it before the first use, with `{random}.split`, and give each use a key of its own."
_used_twice = partial(
    _key,
    "key_used_twice",
    title="A key is used twice",
    why="The same key gives the same numbers, so what is drawn is not independent.",
)
_used_twice(
    texts.KEY_REUSED,
    x=lambda facts: facts["uses"][0],
    line="x",
    uses=_uses,
    first=lambda facts: facts["uses"][1],
    first_text=lambda facts: facts["first"].text() or "...",
    here=lambda facts: "this line" if facts["first"] == facts["x"].spot.line else None,
    what=(
        "`{x}` was used on {here} before, in an earlier turn or call.",
        "`{x}` was used before, in {first}: `{first_text}`.",
        "`{x}` was used before this line.",
    ),
    fixes=_SPLIT,
)


def _pair(facts: Facts) -> tuple[Part, ...] | None:
    """Find the only key that a function gives to two calls of `jax.random`, if the function sets no such name."""
    body, value = facts["body"], facts.scene.spot.value
    nodes = list(own_nodes(body.node))
    set_names = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    calls = [one for one in nodes if isinstance(one, ast.Call) and one.args]
    drawn = [one for one in calls if str(getattr(value(one.func), "__module__", "")).startswith(texts.RANDOM_MODULES)]
    keys = sorted((key for one in drawn if isinstance(key := one.args[0], ast.Name)), key=body.source.start)
    pairs = [pair for pair in combinations(keys, 2) if pair[0].id == pair[1].id not in set_names]
    return tuple(map(body.inside, pairs[0])) if len(pairs) == 1 else None


def _held(facts: Facts) -> str | None:
    """Say the only key that the body of a loop reads from outside."""
    parts = facts.scene.spot.parts(facts.node("body"))
    names = {facts.scene.quote(part) for part, value in parts if probes.is_key(value)}
    return names.pop() if len(names) == 1 else None


_used_twice(
    texts.KEY_REUSED_INSIDE,
    x=probes.one_of(lambda facts: facts["pair"][1], probes.function),
    line="x",
    body=probes.definition(probes.function),
    pair=_pair,
    said=lambda facts: [f"in {one.line}, `{one.line.text()}`" for one in facts["pair"]],
    what=("`{f}` uses `{x}` twice: {said[0]}, and {said[1]}.", "`{x}` uses a key twice."),
    fixes=Either(Words(_SPLIT, when=probes.knows("pair")), "See both lines: `jaxguide.keys.check_keys({f}, ...)`."),
)
_used_twice(
    texts.KEY_REUSED_IN_LOOP,
    x=probes.function,
    variable=("{held}", "{x}"),
    body=probes.one_of(*(probes.body_of(position) for position in range(3))),
    held=_held,
    what=("Every turn of `{x}` draws from the same key, `{held}`.", "Every turn of `{x}` draws from the same key."),
    fixes="Put a key into the carry and split it in each turn, or split it before, one key for each turn.",
)
