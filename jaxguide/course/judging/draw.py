"""Draw the inputs of checks from a seed, the same for the reference and for every student."""

import hashlib
import hmac
import secrets

import jax
import numpy as np

DEFAULT_SEED = 0
# SQLite integers have 64 bits, and 2**63 seeds are too many to try them all.
_SEED_BITS = 63


def fresh_seed() -> int:
    """Return a new unguessable seed, which keeps hidden inputs secret until it is published."""
    return secrets.randbits(_SEED_BITS)


class Draw:
    """The inputs of a check, a deterministic function of the seed and the names of the exercise and the check.

    >>> first, again = Draw(0, "exercise", "check"), Draw(0, "exercise", "check")
    >>> first.integer(0, 100) == again.integer(0, 100)
    True
    """

    def __init__(self, seed: int, exercise: str, check: str):
        self._start(hashlib.sha256(f"{seed}/{exercise}/{check}".encode()).digest())

    @classmethod
    def hidden(cls, seed: int, course_digest: str, exercise: str, check: str) -> "Draw":
        """Return the inputs of a hidden check: HMAC-SHA256, with the seed as key, of the course's digest and the names.

        Visible inputs reveal nothing about them. The seed alone is not enough to compute them: the digest depends on
        the solutions in the course's key.

        >>> Draw.hidden(7, "4f", "exercise", "check").integer(0, 10**9)
        422894488
        """
        draw = cls.__new__(cls)
        said = "\0".join((course_digest, exercise, check))
        draw._start(hmac.digest(str(seed).encode(), said.encode(), "sha256"))
        return draw

    def _start(self, digest: bytes) -> None:
        self.generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))

    def integer(self, low: int, high: int) -> int:
        """Return a Python int, `low` or more and less than `high`."""
        return int(self.generator.integers(low, high))

    def numpy(self, *shape: int, dtype: str = "float32") -> np.ndarray:
        """Return standard normal numbers as a NumPy array."""
        return self.generator.standard_normal(shape).astype(dtype)

    def floats(self, *shape: int, dtype: str = "float32") -> jax.Array:
        """Return standard normal numbers as a JAX array.

        Raises:
            ValueError: the dtype needs 64-bit types, and they are off.
        """
        if jax.dtypes.canonicalize_dtype(dtype) != np.dtype(dtype):
            message = "`draw.floats` cannot give {dtype}, since 64-bit types are off; turn on `x64` in `course.toml`"
            raise ValueError(message.format(dtype=np.dtype(dtype).name))
        return jax.numpy.asarray(self.numpy(*shape, dtype=dtype))

    def key(self) -> jax.Array:
        """Return a typed PRNG key: key<fry>[]."""
        return jax.random.wrap_key_data(self._bits(2), impl="threefry2x32")

    def keys(self, count: int) -> jax.Array:
        """Return typed PRNG keys: key<fry>[count]."""
        return jax.random.wrap_key_data(self._bits(count, 2), impl="threefry2x32")

    def legacy_key(self) -> jax.Array:
        """Return a legacy PRNG key, as `jax.random.PRNGKey` does: uint32[2]."""
        return self._bits(2)

    def _bits(self, *shape: int) -> jax.Array:
        return jax.numpy.asarray(self.generator.integers(0, 2**32, size=shape, dtype=np.uint32))
