"""The source of a check's inputs: seeded, the same for the reference and for every student."""

import hashlib
import hmac
import secrets

import jax
import numpy as np

DEFAULT_SEED = 0
# A seed fits the integers of SQLite; nobody tries so many.
_SEED_BITS = 63


def fresh_seed() -> int:
    """Return a new seed that nobody can guess, for hidden inputs that are to stay secret until it is published."""
    return secrets.randbits(_SEED_BITS)


class Draw:
    """Inputs of one check of one exercise, a deterministic function of the seed and the two names.

    >>> first, again = Draw(0, "exercise", "check"), Draw(0, "exercise", "check")
    >>> first.integer(0, 100) == again.integer(0, 100)
    True
    """

    def __init__(self, seed: int, exercise: str, check: str):
        self._start(hashlib.sha256(f"{seed}/{exercise}/{check}".encode()).digest())

    @classmethod
    def hidden(cls, seed: int, course_digest: str, exercise: str, check: str) -> "Draw":
        """Return the inputs of a hidden check: HMAC-SHA256 under the seed, of the course's digest and the two names.

        Visible inputs tell nothing of them. Who knows the seed needs the key too, which the digest is of.

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
        """Return standard normal numbers as a JAX array."""
        return jax.numpy.asarray(self.numpy(*shape), dtype=dtype)

    def key(self) -> jax.Array:
        """Return a typed PRNG key: key<fry>[]."""
        return jax.random.wrap_key_data(self._bits(2), impl="threefry2x32")

    def keys(self, count: int) -> jax.Array:
        """Return typed PRNG keys: key<fry>[count]."""
        return jax.random.wrap_key_data(self._bits(count, 2), impl="threefry2x32")

    def legacy_key(self) -> jax.Array:
        """Return a legacy PRNG key, as `jax.random.PRNGKey` makes: uint32[2]."""
        return self._bits(2)

    def _bits(self, *shape: int) -> jax.Array:
        return jax.numpy.asarray(self.generator.integers(0, 2**32, size=shape, dtype=np.uint32))
