"""Mutate transformations and keys: `jit`, `vmap`, `stop_gradient`, Python loops, waiting, the use of PRNG keys."""

import ast
import copy
from collections.abc import Iterator

from jaxguide.proving.mutants.operator_table import (
    Replacement,
    binding_of,
    changed,
    expression,
    last_name,
    name_called,
    on_answers,
    on_nodes,
    wrapped,
)

_WRAPS = ("jit", "vmap", "checkpoint", "remat", "stop_gradient", "custom_jvp", "custom_vjp", "grad", "partial")
_LOOP = """
def _in_a_loop(function, in_axes=0, out_axes=0):
    def run(*args):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        mapped = [(arg, axis) for arg, axis in zip(args, axes) if axis is not None]
        count = jax.tree.leaves(mapped[0][0])[0].shape[mapped[0][1]]
        rows = []
        for i in range(count):
            row = [a if axis is None else jax.tree.map(lambda v: jnp.take(v, i, axis=axis), a)
                   for a, axis in zip(args, axes)]
            rows.append(function(*row))
        return jax.tree.map(lambda *parts: jnp.stack(parts, axis=out_axes), *rows)
    return run
"""


@on_nodes("transformations")
def decorator_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out a decorator, such as `@jax.jit`."""
    if isinstance(node, ast.FunctionDef):
        for number in range(len(node.decorator_list)):
            kept = [*node.decorator_list[:number], *node.decorator_list[number + 1 :]]
            yield changed(node, decorator_list=kept)


@on_nodes("transformations")
def wrapper_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out `jit`, `vmap`, `stop_gradient` and the like around something."""
    if isinstance(node, ast.Call) and name_called(node) in _WRAPS and node.args:
        yield node.args[0]


@on_nodes("transformations")
def wrappers_swapped(node: ast.AST) -> Iterator[Replacement]:
    """Swap two transformations: `vmap(jit(f))` for `jit(vmap(f))`."""
    if isinstance(node, ast.Call) and name_called(node) in _WRAPS and node.args:
        inner = node.args[0]
        if isinstance(inner, ast.Call) and name_called(inner) in _WRAPS and inner.args:
            new = changed(node, args=[inner.args[0], *node.args[1:]])
            yield changed(inner, args=[new, *inner.args[1:]])


@on_nodes("transformations")
def gradient_stopped(node: ast.AST) -> Iterator[Replacement]:
    """Stop the gradient of a value on the way."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield changed(node, value=expression("jax.lax.stop_gradient(v)", v=node.value))
    if isinstance(node, ast.Return) and node.value is not None:
        yield changed(node, value=expression("jax.lax.stop_gradient(v)", v=node.value))


@on_answers("transformations")
def gradient_of_an_argument_stopped(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Stop the gradient with respect to one argument."""
    for number in range(_arguments(tree, name)):
        yield wrapped(
            tree,
            name,
            f"def NAME(*args, **kwargs):\n    args = list(args)\n    if len(args) > {number}:\n"
            f"        args[{number}] = jax.lax.stop_gradient(args[{number}])\n    return _answer(*args, **kwargs)",
        )


@on_answers("transformations")
def jit_added(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Jit the answer."""
    yield wrapped(tree, name, "NAME = jax.jit(_answer)")


@on_answers("transformations")
def jit_in_each_call(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Make and jit a new function in each call."""
    yield wrapped(tree, name, "def NAME(*args):\n    return jax.jit(lambda: _answer(*args))()")


@on_answers("transformations", for_alternatives=True)
def one_operation_jitted(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Jit the last operation only, instead of the whole function."""
    node = binding_of(tree, name)
    last = node.body[-1] if isinstance(node, ast.FunctionDef) and node.decorator_list else None
    if not isinstance(node, ast.FunctionDef) or not isinstance(last, ast.Return):
        return
    if isinstance(last.value, ast.BinOp):
        jitted = expression("lambda _a, _b: _c", _c=ast.BinOp(ast.Name("_a"), last.value.op, ast.Name("_b")))
        last.value = ast.Call(ast.Name("_jitted"), [last.value.left, last.value.right], [])
    elif isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Attribute):
        jitted = last.value.func
        last.value = ast.Call(ast.Name("_jitted"), last.value.args, last.value.keywords)
    else:
        return
    node.decorator_list = []
    # Jitted once, so that it is not traced in each call.
    before = ast.Assign([ast.Name("_jitted", ast.Store())], expression("jax.jit(f)", f=jitted), lineno=0)
    tree.body.insert(tree.body.index(node), before)
    yield tree


@on_answers("transformations", for_alternatives=True)
def loop_for_vmap(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Loop in Python where `vmap` should map."""
    count = sum(_is_vmap(node) for node in ast.walk(tree))
    for chosen in [*range(count), None] if count > 1 else range(count):
        fresh = copy.deepcopy(tree)
        found = [node for node in ast.walk(fresh) if isinstance(node, ast.Call) and _is_vmap(node)]
        for number, node in enumerate(found):
            if chosen is None or number == chosen:
                node.func = ast.Name("_in_a_loop", ast.Load())
        fresh.body = [*ast.parse(_LOOP).body, *fresh.body]
        yield fresh


def _is_vmap(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_called(node) == "vmap"


@on_nodes("transformations")
def waiting_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Do not wait for the result."""
    if name_called(node) == "block_until_ready" and isinstance(node, ast.Call):
        is_method = isinstance(node.func, ast.Attribute) and last_name(node.func.value) != "jax"
        if is_method and isinstance(node.func, ast.Attribute):
            yield node.func.value
        elif node.args:
            yield node.args[0]


@on_nodes("keys")
def number_folded_in(node: ast.AST) -> Iterator[Replacement]:
    """Fold in another number, or none."""
    if name_called(node) == "fold_in" and isinstance(node, ast.Call) and len(node.args) == 2:
        yield node.args[0]
        yield changed(node, args=[node.args[0], expression("n + 1", n=node.args[1])])
        yield changed(node, args=[node.args[0], ast.Constant(0)])


@on_answers("keys", for_alternatives=True)
def half_used_twice(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Use one half of a split key twice, or the key that was split together with its halves."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and name_called(node.value) == "split" and len(node.targets) == 1):
            continue
        assert isinstance(node.value, ast.Call)
        target = node.targets[0]
        halves = [last_name(one) for one in target.elts] if isinstance(target, ast.Tuple) else [last_name(target)]
        parent = last_name(node.value.args[0]) if node.value.args else ""
        for old in filter(None, halves):
            for new in {*halves, parent} - {old, ""}:
                fresh = copy.deepcopy(tree)
                uses = [n for n in ast.walk(fresh) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
                uses = [n for n in uses if n.id == old]
                for use in uses:
                    use.id = new
                if uses and not isinstance(target, ast.Name):
                    yield fresh


@on_nodes("keys")
def key_taken_for_its_child(node: ast.AST) -> Iterator[Replacement]:
    """Draw from a key instead of from what `split` or `fold_in` make of it."""
    if name_called(node) in ("split", "fold_in") and isinstance(node, ast.Call) and node.args:
        if name_called(node) == "split":
            yield expression("jnp.stack([k, k])", k=node.args[0])
        if len(node.args) > 1:
            yield changed(node, args=[node.args[0], *(expression("n + 1", n=one) for one in node.args[1:])])


@on_answers("keys")
def last_word_of_the_key(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Draw from one word of a key, so that keys which share it give the same numbers."""
    node = binding_of(tree, name)
    names = [one.arg for one in node.args.args] if isinstance(node, ast.FunctionDef) else []
    for number in (place for place, one in enumerate(names) if "key" in one):
        for kept in (0, 1):
            yield wrapped(tree, name, _ONE_WORD.format(number=number, other=1 - kept))


_ONE_WORD = """
def NAME(*args):
    key = args[{number}]
    is_typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    words = jax.random.key_data(key) if is_typed else key
    words = words.at[..., {other}].set(0)
    args = list(args)
    args[{number}] = jax.random.wrap_key_data(words) if is_typed else words
    return _answer(*args)
"""


def _arguments(tree: ast.Module, name: str) -> int:
    """Return how many arguments an answer takes by position, as far as its text shows them."""
    node = binding_of(tree, name)
    if isinstance(node, ast.FunctionDef):
        return len(node.args.args)
    lambdas = [part for part in ast.walk(node) if isinstance(part, ast.Lambda)] if node else []
    return len(lambdas[0].args.args) if lambdas else 1
