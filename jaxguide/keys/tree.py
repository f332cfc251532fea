"""Draw a program's tree of keys, from the seed through splits and folds to the draws."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxguide.code.lines import function_name
from jaxguide.jaxpr.arguments import require_call
from jaxguide.keys.check import require_values, warn_of_unseen
from jaxguide.keys.events import Bits, is_key, key_rows, key_words
from jaxguide.keys.observe import observe_keys
from jaxguide.keys.problems import find_clashes, find_problems

if TYPE_CHECKING:
    from jaxguide.base.render import Picture

_MOST_GIVEN = 100_000


def key_tree(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Picture":
    """Draw which keys a program makes from which, what it draws from each, and which it uses twice.

    >>> import jax
    >>> def noise(key):
    ...     first, second, third = jax.random.split(key, 3)
    ...     x = jax.random.normal(first)
    ...     return x + jax.random.normal(second) + jax.random.uniform(second)
    >>> key_tree(noise, jax.random.key(0))
    Keys of noise: 3 keys made, 3 draws, 1 key reused, 1 key not used.
    <BLANKLINE>
    key        split into 3  ✓ spent                     line 2: first, second, third = jax.random.split(key, 3)
    ├─ first   normal        ✓ spent                     line 3: x = jax.random.normal(first)
    ├─ second                ✗ reused: drawn from twice
    │  ├─      normal                                    line 4: return x + jax.random.normal(second) + ...
    │  └─      uniform                                   line 4: return x + jax.random.normal(second) + ...
    └─ third                 ○ not used
    <BLANKLINE>
    ✗ The key `second` was drawn from twice ...

    A notebook shows a drawing; `key_tree(...).svg` is the text of an SVG file. Of many similar keys, from a large split
    or a long loop, only the first two and the last are shown, with a line that counts the others.

    The program really runs, once, on these arguments; `jaxguide.keys.check_keys` says what is seen.

    Args:
        fn: any function, also jitted or vmapped.
        args, kwargs: its arguments, which must be real values, not tracers or `jax.ShapeDtypeStruct`.

    Returns:
        The picture. Keys are named as in the source if possible, such as `keys[1]`; `k #1` is the second key that a
        call returned, and `k (3)` the one with 3 folded in. A key that is used once, or split, is spent; a key that is
        only returned is not used.

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or returns before its body has run, as a
            generator function does.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever the program raises.

    Warns:
        UserWarning: keys are used inside a primitive that it cannot look into, such as `shard_map`.

    Based on `jax.make_jaxpr` and the keys' bits, `jax.random.key_data`.
    """
    require_call("key_tree", fn, args, kwargs)
    require_values("key_tree", args, kwargs)
    from jaxguide.keys.forest import grow  # imported late, so that the other helpers load without it
    from jaxguide.keys.picture import picture

    log = observe_keys(fn, args, kwargs)
    warn_of_unseen(log, stacklevel=3)
    roots = grow(log.events, find_clashes(log.events), _given(fn, args, kwargs, {e.use.bits for e in log.events}))
    return picture(function_name(fn), roots, find_problems(log.events))


def _given(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], used: set[Bits]) -> dict[Bits, str]:
    """Return the names of the keys among the arguments: of all typed keys, and of uint32 keys that were used."""
    try:
        arguments = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    found: dict[Bits, str] = {}
    for argument, value in arguments.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            data = isinstance(leaf, jax.Array | np.ndarray) and leaf.dtype == np.uint32 and leaf.ndim > 0
            if not (is_key(leaf) or data) or np.size(leaf) > _MOST_GIVEN:
                continue
            name = f"{argument}{jax.tree_util.keystr(path)}"
            rows = key_rows(key_words(leaf))
            for i, row in enumerate(rows):
                if row in used or is_key(leaf):
                    found.setdefault(row, name if len(rows) == 1 else f"{name}[{i}]")
    return found
