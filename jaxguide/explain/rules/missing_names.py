"""Explain names that a module of JAX never had: misspelled, of NumPy alone, of another library, of another module."""

import ast
import importlib
import re
from collections.abc import Iterable
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.base.did_you_mean import suggestion
from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.compat.removals import REMOVALS
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.renaming import renamed_attribute, resolved, spelled
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

# Names of other libraries -> what does the same when it is called in the same way.
_SAME = {
    "cat": "jax.numpy.concatenate",
    "tensor": "jax.numpy.array",
    "as_tensor": "jax.numpy.asarray",
    "from_numpy": "jax.numpy.asarray",
    "convert_to_tensor": "jax.numpy.asarray",
    "ascontiguousarray": "jax.numpy.asarray",
    "asfortranarray": "jax.numpy.asarray",
    "asanyarray": "jax.numpy.asarray",
    "Tensor": "jax.Array",
    "unsqueeze": "jax.numpy.expand_dims",
    "clamp": "jax.numpy.clip",
    "mm": "jax.numpy.matmul",
    "bmm": "jax.numpy.matmul",
    "mul": "jax.numpy.multiply",
    "sub": "jax.numpy.subtract",
    "div": "jax.numpy.divide",
    "neg": "jax.numpy.negative",
    "rsqrt": "jax.lax.rsqrt",
    "reduce_sum": "jax.numpy.sum",
    "reduce_mean": "jax.numpy.mean",
    "reduce_max": "jax.numpy.max",
    "reduce_min": "jax.numpy.min",
    "reduce_prod": "jax.numpy.prod",
    "cast": "jax.numpy.astype",
    "numel": "jax.numpy.size",
    "PRNGKey": "jax.random.PRNGKey",
    "fold_in": "jax.random.fold_in",
}
# Aliases that NumPy had until 1.24.
_BUILTINS = ("int", "float", "complex")
_NO_DTYPES = ("str", "object")
# Names of other libraries and of NumPy -> what to write instead, which is not called in the same way.
_INSTEAD = {
    "copyto": "x = jnp.where(mask, new, x)",
    "putmask": "x = jnp.where(mask, new, x)",
    "randn": "jax.random.normal(key, shape)",
    "rand": "jax.random.uniform(key, shape)",
    "normal": "jax.random.normal(key, shape)",
    "uniform": "jax.random.uniform(key, shape)",
    "permutation": "jax.random.permutation(key, x)",
    "shuffle": "jax.random.permutation(key, x)",
    "randint": "jax.random.randint(key, shape, minval, maxval)",
    "randperm": "jax.random.permutation(key, n)",
    "manual_seed": "key = jax.random.key(seed)",
    "no_grad": "jax.lax.stop_gradient(x)",
    "GradientTape": "jax.grad(loss)(parameters)",
    "Variable": "jnp.array(x)",
    "index_select": "jnp.take(x, indices, axis=axis)",
    "gather": "jnp.take_along_axis(x, indices, axis=axis)",
}
# Modules in which a name is looked up that another module lacks; those in one group have the same functions.
_GROUPS = (
    ("jax",),
    ("jax.numpy",),
    ("jax.nn", "jax.scipy.special"),
    ("jax.lax",),
    ("jax.numpy.linalg", "jax.scipy.linalg"),
    ("jax.numpy.fft",),
    ("jax.tree",),
)
_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
_INDEX = "https://docs.jax.dev/en/latest/jax.html"


@explains(error_texts.NO_MODULE_NAME)
def missing_name(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sun(x)`, `jnp.copyto(x, y)`, `jnp.cat(xs)` and `jnp.softmax(x)`."""
    node = scene.node
    if not isinstance(node, ast.Attribute) or node.attr != match["name"]:
        return None
    module = scene.spot.value(node.value)
    if not isinstance(module, ModuleType) or module.__name__ != match["module"] or node.attr.startswith("_"):
        return None
    name, home = node.attr, module.__name__
    if (home, name) == ("jax.numpy", "random"):  # explained with the keys that it needs
        return None
    if resolved(f"{home}.{name}") is not MISSING:  # a module that nobody imported: Python says so
        return _not_imported(scene, node, f"{home}.{name}")
    if home == "jax.numpy" and name in _BUILTINS:
        uses = [n for n in ast.walk(scene.source.tree) if isinstance(n, ast.Attribute) and dotted(n) == dotted(node)]
        fix = scene.fix("Write Python's type.", *(scene.source.replace(use, name) for use in uses))
        return _explained(scene, node, home, "NumPy had it as another name for Python's type, up to 1.23.", fix)
    if home == "jax.numpy" and name in _NO_DTYPES:
        why = "JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else."
        return _explained(scene, node, home, why, scene.advice("Keep what is not a number in Python or NumPy."))
    same = _SAME.get(name) if home in ("jax.numpy", "jax", "jax.nn") else None
    if f"{home}.{name}" in REMOVALS:
        return None
    outer = scene.source.parents.get(node)
    if name == "Tensor" and isinstance(outer, ast.Call) and outer.func is node:
        same = "jax.numpy.array"  # the class cannot be called
    if same is not None:
        return _explained(scene, node, home, _why_of(name, same), _renamed(scene, node, same))
    numpys = getattr(_counterpart(home), name, None)
    if name in _INSTEAD and home in ("jax.numpy", "jax"):
        why = _numpy_why(home) if numpys is not None else _why_of(name, _INSTEAD[name].partition("(")[0])
        advice = scene.advice(f"JAX has `{_INSTEAD[name]}` for this.")
        return _explained(scene, node, home, why, _chosen(scene, node) or advice)
    places = list(_places(home, name))
    if len(places) == 1:
        return _explained(scene, node, home, _why_of(name, places[0]), _renamed(scene, node, places[0]))
    if places:
        names = " and ".join(f"`{place}`" for place in places)
        why = f"Other modules have that name: {names}."
        return _explained(scene, node, home, why, scene.advice("Write the one that you mean."))
    if numpys is not None:
        return _of_numpy(scene, node, home, numpys)
    close = _close(name, dir(module))
    if not close or len(close) > 3:
        return None
    fix = _renamed(scene, node, f"{home}.{close[0]}") if len(close) == 1 else None
    asked = scene.advice(suggestion(close).strip())
    return _explained(scene, node, home, "No name of that spelling is in this module.", fix or asked)


def _explained(scene: Scene, node: ast.Attribute, home: str, why: str, fix: Fix | None) -> Explanation | None:
    return scene.explanation(
        "missing_name",
        title=f"`{home}` has no `{node.attr}`",
        variable=dotted(node),
        why=why,
        fixes=[fix],
        link=_INDEX,
    )


def _chosen(scene: Scene, node: ast.Attribute) -> Fix | None:
    """Return the fix for `jnp.copyto(x, new, where=mask)` and `jnp.putmask(x, mask, new)`, which changed `x`."""
    call, statement = scene.source.parents.get(node), scene.spot.statement
    if not isinstance(call, ast.Call) or not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    masks = [keyword.value for keyword in call.keywords if keyword.arg == "where"]
    if node.attr == "putmask" and len(call.args) == 3 and not call.keywords:
        array, mask, new = call.args
    elif node.attr == "copyto" and len(call.args) == 2 and len(masks) == 1 == len(call.keywords):
        (array, new), mask = call.args, masks[0]
    else:
        return None
    if not isinstance(array, ast.Name):
        return None
    text = f"{array.id} = {scene.jnp}.where({scene.quote(mask)}, {scene.quote(new)}, {array.id})"
    return scene.fix("Choose between the new value and the old ones.", scene.source.replace(call, text))


def _why_of(name: str, new: str) -> str:
    """Return why a name is missing that JAX has in another module, or under another name."""
    if new.rpartition(".")[2] == name:
        return f"`{new}` has that name: it is in another module."
    return "Another library has it; JAX has it under another name."


def _numpy_why(home: str) -> str:
    return f"NumPy has it, and `{home}` does not."


def _renamed(scene: Scene, node: ast.Attribute, new: str) -> Fix | None:
    """Return the fix that writes another name, also in other lines, with PyTorch's `dim` as `axis`."""
    edits = renamed_attribute(scene, node, new)
    sentence = f"Write `{spelled(scene, new).text}`."
    for call in scene.source.calls():
        if dotted(call.func) == dotted(node):
            edits += [
                _keyword(scene, keyword, _KEYWORDS[keyword.arg])
                for keyword in call.keywords
                if keyword.arg in _KEYWORDS
            ]
    return scene.fix(sentence, *edits) if edits else scene.advice(sentence)


def _keyword(scene: Scene, keyword: ast.keyword, name: str) -> Edit:
    return scene.source.replace(keyword, f"{name}={scene.quote(keyword.value)}")


def _not_imported(scene: Scene, node: ast.Attribute, name: str) -> Explanation | None:
    """Explain `jax.experimental.pallas` without an import of it."""
    if not isinstance(resolved(name), ModuleType):
        return None
    return scene.explanation(
        "module_not_imported",
        title=f"`{name}` is not imported",
        variable=dotted(node),
        why="It is a module of its own, which `import jax` alone does not load.",
        fixes=[scene.advice(f"Add `import {name}` at the top.")],
        link=_INDEX,
    )


def _of_numpy(scene: Scene, node: ast.Attribute, home: str, value: object) -> Explanation | None:
    """Explain a name that only NumPy has."""
    if home.startswith("jax.scipy"):
        return _of_scipy(scene, node, home, value)
    inner = home.removeprefix("jax.numpy")
    if isinstance(value, ModuleType):
        text = f"{scene.np}{inner}.{node.attr}"
        fix = scene.fix(
            "Take NumPy's: it works on results, outside of transformed functions.", scene.source.replace(node, text)
        )
    elif callable(value) and not isinstance(value, type):
        words = "Call NumPy's, outside of transformed functions."
        call = scene.source.parents.get(node)
        part = scene.spot.first(ast.Tuple(call.args, ast.Load()), is_array) if isinstance(call, ast.Call) else None
        if part is not None and _computes(node.attr):
            words = (
                "Call NumPy's outside of transformed functions, on `{np}.asarray(x)`; inside, write it with functions "
                "of `{module}`."
            )
        fix = scene.advice(words.format(np=scene.np, module=home))
    else:
        return None
    return _explained(scene, node, home, _numpy_why(home), fix)


def _computes(name: str) -> bool:
    """Return whether a function of NumPy computes with arrays, rather than write files or change settings."""
    return not name.startswith(("save", "load", "set", "print", "from", "get", "gen"))


def _of_scipy(scene: Scene, node: ast.Attribute, home: str, value: object) -> Explanation | None:
    """Explain a function that only SciPy has."""
    if not callable(value):
        return None
    words = (
        "Call SciPy's outside of transformed functions; inside, the program can call it on the host: "
        "`jaxguide.callbacks.host_function`."
    )
    return _explained(scene, node, home, "SciPy has it, and JAX does not.", scene.advice(words))


def _counterpart(home: str) -> ModuleType | None:
    """Return the module of NumPy or SciPy that a module of JAX stands for."""
    if home.startswith("jax.scipy."):
        try:
            return importlib.import_module(home.removeprefix("jax."))
        except ImportError:
            return None
    return {"jax.numpy": np, "jax.numpy.linalg": np.linalg, "jax.numpy.fft": np.fft}.get(home)


def _places(home: str, name: str) -> Iterable[str]:
    """Yield the dotted names of functions with this name in other modules, one of each group."""
    for group in _GROUPS:
        for module in group:
            if module == home:
                continue
            value = resolved(f"{module}.{name}")
            if value is not MISSING and callable(value) and not (module == "jax.lax" and _elsewhere(name)):
                yield f"{module}.{name}"
                break


def _elsewhere(name: str) -> bool:
    """Return whether a function of `jax.lax` is also one of `jax.numpy` or for activations, which accept more."""
    return any(hasattr(module, name) for module in (jnp, jax.nn, jax.scipy.special))


def _close(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that differ by one letter, or by two swapped ones; none for very short names."""
    if len(name) < 3:
        return []
    return [one for one in names if not one.startswith("_") and _one_slip(name, one)]


def _one_slip(name: str, other: str) -> bool:
    if abs(len(name) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(name), len(other)) and name[start] == other[start]:
        start += 1
    rest, more = name[start:], other[start:]
    swapped = len(rest) >= 2 and len(more) >= 2 and rest[:2] == more[1::-1] and rest[2:] == more[2:]
    return rest[1:] == more[1:] or rest[1:] == more or rest == more[1:] or swapped
