"""The answers that the benchmark saves: two exercises, a new right answer for each save, and pytest tests."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Subject:
    """An exercise with an answer that can be varied, and with plain pytest tests.

    Args:
        lesson: the lesson's name.
        name: the exercise.
        source: the answer; `{number}` differs for each save, so that code that uses it is compiled again.
        tests: a pytest file that tests the same as the visible checks, as far as plain NumPy can.
    """

    lesson: str
    name: str
    source: str
    tests: str

    def answer(self, number: int) -> str:
        """Return the answer with this number."""
        return self.source.replace("{number}", str(number))


SUBJECTS = (
    Subject(
        lesson="random_numbers",
        name="two_samples",
        source="""\
def two_samples(key, n, m):
    first, second = jax.random.split(key)
    offset = {number} * 1e-9
    return jax.random.normal(first, (n,)) + offset, jax.random.normal(second, (m,)) + offset
""",
        tests="""\
import jax
import numpy as np
from mine import two_samples


def test_sizes():
    for n, m in ((3, 5), (4, 4)):
        a, b = two_samples(jax.random.key(1), n, m)
        assert (a.shape, b.shape) == ((n,), (m,))


def test_dtypes():
    assert [part.dtype for part in two_samples(jax.random.key(2), 3, 5)] == ["float32"] * 2


def test_same_key_same_samples():
    for a, b in zip(two_samples(jax.random.key(3), 3, 5), two_samples(jax.random.key(3), 3, 5)):
        np.testing.assert_array_equal(a, b)


def test_other_key_other_samples():
    for a, b in zip(two_samples(jax.random.key(4), 3, 5), two_samples(jax.random.key(5), 3, 5)):
        assert not np.array_equal(a, b)


def test_neither_begins_with_the_other():
    a, b = two_samples(jax.random.key(6), 3, 5)
    assert not np.array_equal(a, b[:3])


def test_equal_sizes_differ():
    a, b = two_samples(jax.random.key(7), 4, 4)
    assert not np.array_equal(a, b)


def test_no_number_is_in_both():
    for n, m in ((4, 4), (3, 4), (4, 3), (2, 4), (4, 2), (103, 3), (1003, 3)):
        for seed in (8, 9):
            a, b = two_samples(jax.random.key(seed), n, m)
            assert len(np.intersect1d(a, b)) < 2


def test_standard_normal():
    for part in two_samples(jax.random.key(10), 400, 300):
        values = np.asarray(part, np.float64)
        assert abs(values.mean()) < 7 / np.sqrt(values.size)
        assert abs(values.std() - 1) < 7 / np.sqrt(2 * values.size)
""",
    ),
    Subject(
        lesson="vectorization",
        name="pairwise_distances",
        source="""\
@jax.jit
def pairwise_distances(xs, ys):
    def distance(x, y):
        return jnp.sqrt(jnp.sum((x - y) ** 2)) + {number} * 1e-9

    return jax.vmap(jax.vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(xs, ys)
""",
        tests="""\
import jax
import jax.numpy as jnp
import numpy as np
from mine import pairwise_distances


def cloud(seed, n):
    return jax.random.normal(jax.random.key(seed), (n, 2))


def test_shape():
    assert pairwise_distances(cloud(1, 4), cloud(2, 3)).shape == (4, 3)


def test_triangle():
    got = pairwise_distances(jnp.array([[0.0, 0.0]]), jnp.array([[3.0, 4.0], [0.0, 1.0]]))
    np.testing.assert_allclose(got, [[5.0, 1.0]], atol=1e-4)


def test_every_pair():
    xs, ys = np.asarray(cloud(3, 4)), np.asarray(cloud(4, 3))
    wanted = np.sqrt(((xs[:, None] - ys[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(pairwise_distances(xs, ys), wanted, atol=2e-3)


def test_no_loop():
    sizes = [len(jax.make_jaxpr(pairwise_distances)(cloud(5, n), cloud(6, 3)).eqns) for n in (4, 40)]
    assert sizes[0] == sizes[1]
""",
    ),
)
