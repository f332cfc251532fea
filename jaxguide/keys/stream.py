"""Hand out PRNG keys one after the other, and raise rather than repeat them."""

import operator
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.compat.debug_flags import TRANSFERS, flags_off, is_on
from jaxguide.jaxpr.value_words import array_type

# Folded into the key that a stream starts from, so that the stream's keys differ from those that `split`, or small
# numbers in `fold_in`, make from the same key elsewhere.
START = np.uint32(0x6B657973)
_COUNTING = threading.Lock()


class KeyStreamError(RuntimeError):
    """Raised if a `KeyStream` would repeat its numbers or lose count; says what to do instead."""


@jax.tree_util.register_pytree_with_keys_class
class KeyStream:
    """Hand out a fresh PRNG key on each call, so that you need not split keys by hand.

    >>> import jax
    >>> stream = KeyStream(0)
    >>> x = jax.random.normal(stream.next(), (3,))
    >>> noise = jax.random.normal(stream.next(), (3,))
    >>> stream
    KeyStream(key<fry>[], count=2)

    A stream counts its calls. It is a pytree of a key and a count, so it can be passed wherever arrays can. A
    transformed function works on a copy: **pass the stream in and return it**, and rebind the name.

    >>> @jax.jit
    ... def step(x, stream):
    ...     return x + jax.random.normal(stream.next(), x.shape), stream
    >>> x, stream = step(x, stream)
    >>> stream
    KeyStream(key<fry>[], count=3)

    A stream that is not returned does not advance, and the next call repeats the numbers; `check_keys` finds that. To
    pass a stream without returning it, pass a fork:

    >>> def walk(stream):
    ...     return jax.random.normal(stream.next())
    >>> jax.jit(walk)(stream.fork()).shape
    ()
    >>> jax.vmap(walk)(stream.fork(5)).shape
    (5,)

    A traced function must not take a stream from an enclosing scope: its count would be fixed in the compiled program,
    and every call would repeat the numbers. That raises an error:

    >>> jax.jit(lambda x: x + jax.random.normal(stream.next()))(1.0)
    Traceback (most recent call last):
    jaxguide.keys.stream.KeyStreamError: `KeyStream.next` was called on a stream that was not passed to the function
    that JAX is tracing, ...

    A copy (`copy.copy`, `pickle`, and that in each transformed function) repeats the numbers of the original, and so do
    all rows of `jax.vmap` with `in_axes=None`; use `fork` for others. `jax.grad` alone runs the function once, so the
    stream may come from outside.

    Args:
        seed_or_key: a seed; or one key, typed or uint32, that is not used for anything else.

    Raises:
        TypeError: for anything else.
        ValueError: for an array of keys.
        KeyStreamError: if `next`, `take`, `fork` or passing the stream on would repeat numbers.

    Based on `jax.random.fold_in` and `jax.random.split`: the n-th call folds in n, counting from 0.
    """

    @flags_off(*TRANSFERS)  # seed and counts are on the host
    def __init__(self, seed_or_key: Any) -> None:
        self._set(jax.random.fold_in(_start_key(seed_or_key), START), np.uint32(0))

    def _set(self, key: Any, count: Any) -> None:
        self._key, self._count = key, count
        self._home, _ = compat.trace_state()

    @property
    def key(self) -> Any:
        """The key that counts are folded into; do not draw from it."""
        return self._key

    @property
    def count(self) -> Any:
        """The number of calls so far, uint32[]."""
        return self._count

    def next(self) -> jax.Array:
        """Return a fresh key: `jax.random.fold_in(key, count)`.

        >>> first, second = (stream := KeyStream(0)).next(), stream.next()
        >>> bool((jax.random.key_data(first) != jax.random.key_data(second)).any())
        True
        """
        return self._next("next")

    def take(self, n: int) -> jax.Array:
        """Return an array of `n` fresh keys: `jax.random.split(stream.next(), n)`.

        >>> KeyStream(0).take(3).shape
        (3,)
        """
        count = operator.index(n)
        return jax.random.split(self._next("take"), count)

    def fork(self, n: int | None = None) -> "KeyStream":
        """Return an independent stream, or `n` of them batched along axis 0 for `jax.vmap` and `jax.lax.scan`.

        Its key is split from `stream.next()`. A batch repeats the numbers of the streams that it was unpacked into.

        >>> data, model = KeyStream(0).fork(2)
        >>> KeyStream(0).fork(5)
        KeyStream(key<fry>[5], count=uint32[5])
        """
        if n is None:
            # Split even for a single one: with `unsafe_rbg` keys, folding in a then b gives the same as b then a.
            return _stream(jax.random.split(self._next("fork"), 1)[0], np.uint32(0))
        count = operator.index(n)
        return _stream(jax.random.split(self._next("fork"), count), np.zeros(count, np.uint32))

    @flags_off(*TRANSFERS)
    def _next(self, method: str) -> jax.Array:
        self._require_home(f"`KeyStream.{method}` was called on a stream")
        shape = _batch_shape(self._key)
        if shape:
            raise KeyStreamError(
                f"`KeyStream.{method}` was called on a batch of {shape[0]} streams: map over the batch with `jax.vmap` "
                "or `jax.lax.scan`, or unpack it, as in `a, b = stream.fork(2)`."
            )
        with _COUNTING:
            count = self._count
            self._count = count + np.uint32(1)
        return jax.random.fold_in(self._key, count)

    @flags_off(*TRANSFERS)
    def __iter__(self) -> "Iterator[KeyStream]":
        if not _batch_shape(self._key):
            raise TypeError(
                "A `KeyStream` is endless, so it cannot be iterated over or unpacked: use `stream.take(n)` for n "
                "keys, or `stream.fork(n)` for n streams."
            )
        self._require_home("A batch of streams was unpacked")
        return iter([_stream(self._key[i], self._count[i]) for i in range(_batch_shape(self._key)[0])])

    def _require_home(self, what: str) -> None:
        home, eager = compat.trace_state()
        if self._home != home and eager:
            raise KeyStreamError(
                f"{what} that was made inside a function that JAX traced, so its numbers are not known outside: return "
                "the stream from that function, and use the returned one."
            )
        if self._home != home:
            raise KeyStreamError(
                f"{what} that was not passed to the function that JAX is tracing, so the compiled program would repeat "
                "the same numbers: pass the stream in and return it, as in `y, stream = f(x, stream)` (under "
                "`jax.vmap` pass `stream.fork(n)`), or draw the keys outside and pass those in."
            )

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], None]:
        """Return the key and count with their names, for `jax.tree_util`."""
        names = (jax.tree_util.GetAttrKey("key"), jax.tree_util.GetAttrKey("count"))
        leaves, _none = self.tree_flatten()
        return tuple(zip(names, leaves, strict=True)), None

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """Return the key and count, for `jax.tree_util`."""
        self._require_home("A `KeyStream` was passed on")
        on_host = isinstance(self._count, np.generic) and is_on(TRANSFERS[0])  # `jax.jit` would not transfer it
        return (self._key, jax.device_put(self._count) if on_host else self._count), None

    @classmethod
    def tree_unflatten(cls, _none: None, leaves: tuple[Any, Any]) -> "KeyStream":
        """Return a stream with the given key and count, for `jax.tree_util`."""
        return _stream(*leaves)

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_home("A `KeyStream` was copied or pickled")
        return _stream, (self._key, self._count)

    def __repr__(self) -> str:
        key, count = (array_type(x) if hasattr(x, "dtype") else type(x).__name__ for x in (self._key, self._count))
        if isinstance(self._count, jax.core.Tracer):
            count = "traced"
        elif hasattr(self._count, "dtype") and not np.ndim(self._count):
            count = str(int(self._count))
        return f"KeyStream({key}, count={count})"


def _stream(key: Any, count: Any) -> KeyStream:
    """Return a stream with these leaves, of any type: JAX also builds pytrees of placeholders."""
    stream = object.__new__(KeyStream)
    stream._set(key, count)
    return stream


def _batch_shape(key: Any) -> tuple[int, ...]:
    shape = tuple(np.shape(key))
    return shape if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else shape[:-1]


def _start_key(value: Any) -> Any:
    """Return the key to start from, given a seed or a key."""
    if not isinstance(value, np.ndarray | jax.Array) or (not value.ndim and jnp.issubdtype(value.dtype, jnp.integer)):
        return jax.random.key(value)
    shape = _batch_shape(value)
    if shape:
        raise ValueError(
            f"`KeyStream` starts from one key, but got an array of keys of shape {shape}: use one of them, as in "
            "`KeyStream(keys[0])`, or make a stream from each with `jax.vmap(KeyStream)(keys)`."
        )
    return jnp.asarray(value)
