"""Explain values that are not a PRNG key: seeds, floats, several keys at once, arithmetic on keys."""

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.code.source import arguments_of
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.confirm import holds
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import defaults_of
from jaxguide.jaxpr.value_words import describe

_PAGE = "https://docs.jax.dev/en/latest/random-numbers.html"


def _key_argument(scene: Scene, fits: Callable[[Any], bool]) -> tuple[ast.Call, ast.expr] | None:
    """Return the running call and its argument that should be a key.

    A library's function may take the key anywhere: the only argument whose value fits the message counts.
    """
    call = scene.call()
    if call is None:
        return None
    if _is_drawing(scene, call):
        node = argument_of(call, 0, "key")
        return (call, node) if node is not None else None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    held = [one for one in given if (value := scene.spot.value(one)) is not MISSING and fits(value)]
    return (call, held[0]) if len(held) == 1 else None


def _is_drawing(scene: Scene, call: ast.Call) -> bool:
    """Return whether a call is of a function of `jax.random`."""
    home = str(getattr(scene.spot.value(call.func), "__module__", ""))
    return home.startswith(error_texts.RANDOM_MODULES)


def _fits(found: re.Match[str]) -> Callable[[Any], bool]:
    """Return whether a value is what a message says in the place of a key."""
    phrase, message = found.re, found.string
    if phrase is error_texts.KEY_NUMBER.text:
        return lambda value: not is_array(value) and message.rstrip(" .").endswith(f"Got {value}")
    if phrase is error_texts.KEY_TYPE.text:
        return lambda value: type(value).__name__ == found[1]
    if phrase is error_texts.KEY_DTYPE.text:
        return lambda value: is_array(value) and str(value.dtype) == found[1]
    if phrase is error_texts.KEY_SHAPE.text:
        return lambda value: is_array(value) and str(tuple(value.shape)) == found[2]
    return lambda value: is_array(value) and value.ndim == 0


@explains(
    error_texts.KEY_NUMBER, error_texts.KEY_DTYPE, error_texts.KEY_SHAPE, error_texts.KEY_TYPE, error_texts.KEY_NDIM
)
def no_key(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a number, an array of floats, None or a shape passed as a key."""
    place = _key_argument(scene, _fits(found))
    if place is None:
        return None
    call, node = place
    text, value = scene.quote(node), scene.spot.value(node)
    if _is_key(value) or called(call) == "wrap_key_data":
        return None
    others = [one for one in call.args if one is not node and _is_some_key(scene.spot.value(one))]
    if others and node in call.args and _is_drawing(scene, call):
        return _key_elsewhere(scene, call, node, others[0])
    whole = getattr(value, "ndim", None) == 0 and bool(jnp.issubdtype(value.dtype, jnp.integer))
    seed = text if whole or (isinstance(value, int) and not isinstance(value, bool)) else "0"
    fixes: list[Fix | None]
    if isinstance(value, tuple | list) or (is_array(value) and value.ndim and _takes_values(scene, call)):
        sentence = "The key comes first, then the shape."
        if is_array(value):
            sentence = "The key comes first."
        fixes = [scene.fix(sentence, scene.source.insert_before(node, f"{scene.random}.key(0), "))]
        kind = "key_forgotten"
    elif value is None and isinstance(node, ast.Name) and (left := _left_out(scene, node.id)) is not None:
        words = "Give `{function}` a key: `{name}` was left out of the call."
        fixes, kind = [scene.advice(words.format(function=left[0], name=left[1]))], "no_key"
    elif isinstance(node, ast.Name) and (parts := _raw_key_gone_through(scene, node)) is not None:
        words = "`{name}` is one raw key, of two numbers. Make several of it first: `{random}.split({name}, n)`."
        fixes, kind = [scene.advice(words.format(name=parts, random=scene.random))], "no_key"
    else:
        fixes = [
            scene.fix(
                "Make a key from a seed, once in a program.",
                scene.source.replace(node, f"{scene.random}.key({seed})"),
            ),
            scene.fix(
                "Make it where the seed is, and `split` it for every further draw.",
                code=f"key = {scene.random}.key({seed})",
            )
            if isinstance(node, ast.Name)
            else None,
        ]
        kind = "seed_for_key" if isinstance(value, int) or whole else "no_key"
    return scene.explanation(
        kind,
        title=f"`{scene.quote(call.func)}` needs a key",
        what=f"`{text}` is {describe(value)} here." if value is not MISSING else f"`{text}` is not a key.",
        variable=text,
        why="JAX keeps no hidden state of random numbers: every draw takes a key, made by `jax.random.key(seed)`.",
        fixes=fixes,
        link=_PAGE,
    )


def _left_out(scene: Scene, name: str) -> tuple[str, str] | None:
    """Return the function whose call left an argument out that is None by default, and the argument.

    A call may hand on what the call around it left out: `dropout(x, rng=rng)` in a function whose `rng` is None.
    """
    for spot, caller in zip(reversed(scene.spots), reversed(scene.spots[:-1]), strict=False):
        function, call = spot.function, caller.node
        default = defaults_of(function).get(name) if function is not None else None
        if not isinstance(default, ast.Constant) or default.value is not None or function is None:
            return None
        if not isinstance(call, ast.Call) or called(call) != getattr(function, "name", None):
            return None
        if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
            return None
        names = [one for one in arguments_of(function) if one != "self"]
        given = argument_of(call, names.index(name) if name in names else len(call.args), name)
        if given is None:
            return called(call), name
        if not isinstance(given, ast.Name):
            return None
        name = given.id
    return None


def _raw_key_gone_through(scene: Scene, node: ast.Name) -> str | None:
    """Return what a loop around an expression goes through, if it is one raw key and a name is its entry."""
    loop = scene.source.around(node, ast.For)
    while loop is not None:
        if isinstance(loop.target, ast.Name) and loop.target.id == node.id:
            return scene.quote(loop.iter) if _is_raw(scene.spot.value(loop.iter)) else None
        loop = scene.source.around(scene.source.parents.get(loop), ast.For)
    return None


def _is_some_key(value: object) -> bool:
    """Return whether a value is a typed key, or has the form of a raw one."""
    return _is_key(value) or _is_raw(value)


def _takes_values(scene: Scene, call: ast.Call) -> bool:
    """Return whether a function of `jax.random` takes an array after the key, as `permutation` does, and no shape."""
    names = list(inspect.signature(scene.spot.value(call.func)).parameters) if _is_drawing(scene, call) else []
    return len(names) > 1 and names[1] != "shape"


def _key_elsewhere(scene: Scene, call: ast.Call, node: ast.expr, key: ast.expr) -> Explanation | None:
    """Explain a key that comes after the shape or the array."""
    text = scene.quote(key)
    return scene.explanation(
        "key_not_first",
        title=f"`{scene.quote(call.func)}` takes the key first",
        what=f"`{scene.quote(node)}` stands where the key belongs, and `{text}` is the key.",
        variable=text,
        why="Every function of `jax.random` takes the key first, and then what it draws.",
        fixes=[
            scene.fix(
                "Change their order.",
                scene.source.replace(node, text),
                scene.source.replace(key, scene.quote(node)),
            )
        ],
        link=_PAGE,
    )


@explains(error_texts.KEY_BATCH)
def several_keys(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array of keys where one is needed."""
    place = _key_argument(scene, lambda value: _is_key(value) and value.ndim > 0)
    if place is None:
        return None
    call, node = place
    text, function, value = scene.quote(node), scene.quote(call.func), scene.spot.value(node)
    rest = [scene.quote(a) for a in call.args[1:]] + [
        f"{k.arg}={scene.quote(k.value)}" for k in call.keywords if k.value is not node
    ]
    mapped = function if not rest else f"lambda key: {function}({', '.join(['key', *rest])})"
    drawn = _is_drawing(scene, call)
    return scene.explanation(
        "several_keys",
        title=f"`{function}` takes one key",
        what=scene.what(text, value) if is_array(value) else "",
        variable=text,
        why="Several keys at once leave open which draw is meant for which.",
        fixes=[
            None
            if _unpacked(scene, call) or not drawn  # into as many names as one key gives, not as there are keys
            else scene.fix(
                "Draw once for each key.", scene.source.replace(call, f"{scene.jax}.vmap({mapped})({text})")
            ),
            scene.fix("Take one of them.", scene.source.replace(node, f"{scene.atom(node)}[0]")),
        ],
        link=_PAGE,
    )


def _unpacked(scene: Scene, call: ast.Call) -> bool:
    """Return whether the result of a call is assigned to several names."""
    statement = scene.source.parents.get(call)
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple | ast.List)


@explains(error_texts.KEY_PROMOTION)
def typed_and_raw(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a typed key together with a raw one, as `jax.random.PRNGKey` makes them, or with numbers."""
    call = scene.call()
    part = scene.spot.first(scene.node, _is_key)
    if call is None:
        return None
    text = scene.quote(part[0]) if part is not None else None
    raw = any(called(node) == "PRNGKey" for node in ast.walk(scene.node))
    for _node, value in scene.spot.parts(scene.node):
        raw = raw or (is_array(value) and value.dtype == jnp.uint32 and value.shape[-1:] == (2,))
    advice = (
        "Use keys of one kind: `jax.random.key` makes typed ones, `jax.random.wrap_key_data` makes them of raw ones."
    )
    return scene.explanation(
        "typed_and_raw_keys",
        title="Keys of two kinds" if raw else "A key together with numbers",
        what=f"`{text}` is a typed key here." if text is not None else f"`{scene.quote(call)}` is given a typed key.",
        variable=text,
        why="A typed key is not an array of numbers, and JAX converts neither into the other.",
        fixes=[scene.advice(advice if raw else "Keep keys and numbers in arrays of their own.")],
        link=_PAGE,
    )


@explains(error_texts.KEY_ARITHMETIC)
def key_arithmetic(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `key + 1`."""
    node = scene.node
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        parts = list(node.args)
    # The message has the dtypes in the order of the operands: `key<fry>, int32`.
    kinds = error_texts.KEY_DTYPES.findall(scene.message)
    keys = [p for p, kind in zip(parts, kinds, strict=False) if kind.startswith("key<")]
    if len(keys) != 1 or len(kinds) != len(parts):
        return None
    key, other = keys[0], next(p for p in parts if p is not keys[0])
    text = scene.quote(key)
    number = scene.spot.value(other)
    whole = isinstance(number, int) or not kinds[parts.index(other)].startswith("float")
    whole = whole and not (is_array(number) and number.ndim)
    folded: Fix | None = None
    if whole:
        new = f"{scene.random}.fold_in({text}, {scene.quote(other)})"
        folded = scene.fix("Make another key of it and a number.", scene.source.replace(node, new))
        folded = folded if folded is not None and holds(scene, folded) else None  # it may be an array of numbers
    return scene.explanation(
        "key_arithmetic",
        title="Arithmetic on a key",
        what=f"`{text}` is a PRNG key here.",
        variable=text,
        why="A key is not a number: what makes new keys of it must spread them over all keys.",
        fixes=[
            folded,
            scene.fix(
                "Split it.",
                code=f"{text if text.isidentifier() else 'key'}, other = {scene.random}.split({text})",
            ),
        ],
        link=_PAGE,
    )


@explains(error_texts.KEY_SEED, error_texts.KEY_OF_KEY, error_texts.KEY_SEEDS)
def wrong_seed(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a float, a key or an array as a seed."""
    place = scene.call()
    node = argument_of(place, 0, "seed") if place is not None else None
    if place is None or node is None:
        return None
    text, value = scene.quote(node), scene.spot.value(node)
    if found.re is error_texts.KEY_OF_KEY.text:
        why = "It is a key already: a seed is the number from which the first key is made."
        fix = scene.fix("Use it as it is.", scene.source.replace(place, text))
    elif (
        found.re is error_texts.KEY_SEEDS.text and is_array(value) and value.dtype == jnp.uint32 and value.shape == (2,)
    ):
        why = "It has the form of a raw key, as `jax.random.PRNGKey` makes them, and a seed is one number."
        fix = scene.fix("Make a typed key of it.", scene.source.replace(place, f"{scene.random}.wrap_key_data({text})"))
    elif found.re is error_texts.KEY_SEEDS.text:
        why = "One seed makes one key."
        fix = scene.fix(
            "Make a key of each seed.",
            scene.source.replace(place, f"{scene.jax}.vmap({scene.quote(place.func)})({text})"),
        )
    else:
        why = "A seed is an integer, so that it can be given again exactly."
        fix = scene.fix("Give an integer.", scene.source.replace(node, f"int({text})"))
    return scene.explanation(
        "wrong_seed",
        title="A seed is one integer",
        what=scene.what(text, value) if value is not MISSING else "",
        variable=text,
        why=why,
        fixes=[fix],
        link=_PAGE,
    )


@explains(structure_texts.UNPACKED)
def unpacked_keys(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `a, b, c = jax.random.split(key)`, which makes two keys."""
    statement = scene.spot.statement
    call = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
        return None
    if scene.spot.value(call.func) is not jax.random.split:
        return None
    names = statement.targets[0]
    given = argument_of(call, 1, "num")
    if not isinstance(names, ast.Tuple | ast.List) or any(isinstance(n, ast.Starred) for n in names.elts):
        return None
    count = len(names.elts)
    edit = None
    if given is not None:
        edit = scene.source.replace(given, str(count)) if isinstance(given, ast.Constant) else None
    elif len(call.args) == 1:
        edit = scene.source.insert_after(call.args[0], f", {count}")
    return scene.explanation(
        "keys_unpacked",
        title="The keys and the names differ in number",
        what=f"`{scene.quote(call)}` makes {_count(scene, given)} keys, for {count} names.",
        variable=scene.quote(call),
        why="`jax.random.split` makes two keys unless it is told how many.",
        fixes=[scene.fix("Say how many.", edit) or scene.advice(f"Say how many: {count}.")],
        link=f"{error_texts.API}/jax.random.split.html",
    )


def _count(scene: Scene, given: ast.expr | None) -> str:
    """Return how many keys `jax.random.split` was asked for, or what was written if that is not known."""
    value = scene.spot.value(given) if given is not None else 2
    return str(value) if isinstance(value, int) or given is None else scene.quote(given)


@explains(error_texts.KEY_TO_NUMPY)
def key_to_numpy(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `np.asarray(key)`."""
    part = scene.spot.first(scene.node, _is_key)
    node = _made_key(scene) or (part[0] if part is not None else None)
    if node is None:
        return _key_inside(scene)
    text = scene.quote(node)
    return scene.explanation(
        "key_to_numpy",
        title="A key is not a NumPy array",
        what=f"`{text}` is a PRNG key here.",
        variable=text,
        why="A key has a type of its own, so that nobody computes with its bits by mistake.",
        fixes=[
            scene.fix(
                "Ask for its bits, to look at or to keep in a file.",
                scene.source.replace(node, f"{scene.random}.key_data({text})"),
            )
        ],
        link=f"{error_texts.API}/jax.random.key_data.html",
    )


def _made_key(scene: Scene) -> ast.expr | None:
    """Return the only call of a function of `jax.random` that makes keys in the failing expression, or None."""
    makers = (jax.random.key, jax.random.split, jax.random.fold_in, jax.random.clone)
    calls = [n for n in ast.walk(scene.node) if isinstance(n, ast.Call) and scene.spot.value(n.func) in makers]
    return calls[0] if len(calls) == 1 else None


def _key_inside(scene: Scene) -> Explanation | None:
    """Explain a key among the parts of what is converted, such as a state that is saved."""
    for node, value in scene.spot.parts(scene.node):
        if not isinstance(value, dict | list | tuple):
            continue
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            if _is_key(leaf):
                text = scene.quote(node) + jax.tree_util.keystr(path)
                return scene.explanation(
                    "key_to_numpy",
                    title="A key is not a NumPy array",
                    what=f"`{text}` is a PRNG key here.",
                    variable=text,
                    why="A key has a type of its own, so that nobody computes with its bits by mistake.",
                    fixes=[
                        scene.advice(
                            "Put its bits in its place, `jax.random.key_data(...)`, and make a key of "
                            "them again with "
                            "`jax.random.wrap_key_data`."
                        )
                    ],
                    link=f"{error_texts.API}/jax.random.key_data.html",
                )
    return None


def _is_raw(value: object) -> bool:
    """Return whether a value has the form of a raw key of JAX's default implementation."""
    return isinstance(value, jax.Array) and value.dtype == jnp.uint32 and value.shape == (2,)


@explains(error_texts.NO_MODULE_RANDOM)
def random_of_numpy(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.random.normal(...)`."""
    node = scene.node
    if not isinstance(node, ast.Attribute) or node.attr != "random":
        return None
    outer = scene.source.parents.get(node)
    call = scene.source.parents.get(outer) if outer is not None else None
    text = scene.quote(node)
    fix: Fix | None = None
    sentence = "Use `jax.random`, with a key first."
    if isinstance(call, ast.Call) and isinstance(outer, ast.Attribute):
        new = _with_key(scene, outer.attr, call)
        fix = scene.fix(sentence, scene.source.replace(call, new)) if new else None
    fix = fix or scene.fix(sentence, code=_like(scene, outer.attr if isinstance(outer, ast.Attribute) else ""))
    return scene.explanation(
        "random_of_numpy",
        title=f"`{text}` does not exist",
        what=f"`{text}` would be NumPy's random numbers, which change hidden state.",
        variable=text,
        why="JAX keeps no hidden state: `jax.random` takes a key in every call.",
        fixes=[fix],
        link=_PAGE,
    )


def _like(scene: Scene, name: str) -> str:
    """Return what stands for a function of `numpy.random`, with names for its arguments."""
    name = {"rand": "uniform", "random": "uniform", "randn": "normal", "standard_normal": "normal"}.get(name, name)
    name = {"integers": "randint", "shuffle": "permutation"}.get(name, name)
    if name in ("seed", "default_rng", "RandomState"):
        return f"key = {scene.random}.key(seed)"
    known = inspect.signature(getattr(jax.random, name)).parameters if hasattr(jax.random, name) else {}
    needed = [p.name for p in known.values() if p.default is p.empty or p.name == "shape"]
    if needed[:1] != ["key"]:
        return f"{scene.random}.normal(key, shape)"
    return f"{scene.random}.{name}({', '.join(needed)})"


def _with_key(scene: Scene, name: str, call: ast.Call) -> str | None:
    """Return a call of NumPy's random functions as one of `jax.random`, or None if it is not simple."""
    name = {"rand": "uniform", "randn": "normal"}.get(name, name)
    given = next((k.value for k in call.keywords if k.arg == "size"), None)
    size = scene.quote(given) if given is not None else None
    key = f"{scene.random}.key(0)"
    if name in ("uniform", "normal") and not call.keywords and call.args and call.func is not None:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("rand", "randn"):
            return None  # NumPy's `normal` and `uniform` take other arguments
        sizes = [scene.quote(a) for a in call.args]
        return f"{scene.random}.{name}({key}, ({', '.join(sizes)},))"
    if name in ("uniform", "normal") and not call.args and len(call.keywords) == (size is not None):
        if size is None:
            return f"{scene.random}.{name}({key})"
        shape = size if size.startswith("(") or isinstance(scene.spot.value(given), tuple) else f"({size},)"
        return f"{scene.random}.{name}({key}, {shape})"
    if name in ("permutation", "choice") and len(call.args) == 1 and not call.keywords:
        return f"{scene.random}.{name}({key}, {scene.quote(call.args[0])})"
    return None


def _is_key(value: object) -> bool:
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


@explains(error_texts.KEY_STREAM_NEXT)
def next_of_a_key_stream(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `next(stream)` of a `KeyStream`."""
    call = scene.node
    if not isinstance(call, ast.Call) or called(call) != "next" or len(call.args) != 1:
        return None
    text = scene.quote(call.args[0])
    return scene.explanation(
        "next_of_key_stream",
        title="A `KeyStream` is not an iterator",
        what=f"`{text}` is a KeyStream here.",
        variable=text,
        why="Python's `next` wants an iterator, which has an end; a stream of keys has none.",
        fixes=[
            scene.fix(
                "Ask the stream itself for its next key.",
                scene.source.replace(call, f"{scene.atom(call.args[0])}.next()"),
            )
        ],
        link=_PAGE,
    )
