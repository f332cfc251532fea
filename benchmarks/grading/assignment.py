"""The assignment's tests and answers for otter-grader and nbgrader, and submissions for all three graders."""

import dataclasses

IMPORTS = "import jax\nimport jax.numpy as jnp\nimport numpy as np"

ANSWERS = {
    "standardize": """\
def standardize(x):
    deviation = x.std(axis=0)
    return jnp.where(deviation > 0, (x - x.mean(axis=0)) / jnp.where(deviation > 0, deviation, 1), 0)""",
    "stable_softmax": """\
def stable_softmax(scores):
    powers = jnp.exp(scores - scores.max())
    return powers / powers.sum()""",
    "loss_gradient": """\
def loss_gradient(w, x, y):
    return jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)""",
    "distances": """\
def distances(a, b):
    def between(u, v):
        return jnp.sqrt(((u - v) ** 2).sum())

    return jax.vmap(lambda u: jax.vmap(lambda v: between(u, v))(b))(a)""",
    "smooth": """\
def smooth(values, decay):
    def step(last, value):
        new = decay * last + (1 - decay) * value
        return new, new

    return jax.lax.scan(step, values[0], values)[1]""",
}

_HEAD = "import jax.numpy as jnp\nimport numpy as np\nrng = np.random.default_rng({seed})\n"
_CLOSE = "np.testing.assert_allclose({call}, {expected}, rtol=1e-4, atol=1e-5)"


def _test(seed: int, inputs: str, call: str, expected: str) -> str:
    return _HEAD.format(seed=seed) + inputs + "\n" + _CLOSE.format(call=call, expected=expected)


def _floats(*shape: int) -> str:
    return f"jnp.asarray(rng.normal(size={shape}), 'float32')"


_SMOOTHED = """\
expected = [values[0]]
for value in values[1:]:
    expected.append(decay * expected[-1] + (1 - decay) * value)"""
_LOSS = "2 * x.T @ (x @ w - y) / len(y)"
_DISTANCES = "np.sqrt(((np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2).sum(-1))"
_SOFTMAX = "np.exp(np.asarray(scores) - scores.max()) / np.exp(np.asarray(scores) - scores.max()).sum()"

# Each exercise's visible and hidden test, equivalent to the course's visible and hidden check.
TESTS: dict[str, tuple[str, str]] = {
    "standardize": (
        _test(1, f"x = {_floats(6, 3)}", "standardize(x)", "(x - x.mean(0)) / x.std(0)"),
        _test(
            2,
            f"x = {_floats(5, 3)}.at[:, 1].set(2.0)\ns = x.std(0).at[1].set(1.0)",
            "standardize(x)",
            "(x - x.mean(0)) / s",
        ),
    ),
    "stable_softmax": (
        _test(3, f"scores = {_floats(5)}", "stable_softmax(scores)", _SOFTMAX),
        _test(4, f"scores = 500 + {_floats(6)}", "stable_softmax(scores)", _SOFTMAX),
    ),
    "loss_gradient": (
        _test(5, f"w, x, y = {_floats(3)}, {_floats(4, 3)}, {_floats(4)}", "loss_gradient(w, x, y)", _LOSS),
        _test(6, f"w, x, y = {_floats(2)}, {_floats(7, 2)}, {_floats(7)}", "loss_gradient(w, x, y)", _LOSS),
    ),
    "distances": (
        _test(7, f"a, b = {_floats(3, 2)}, {_floats(4, 2)}", "distances(a, b)", _DISTANCES),
        _test(8, f"a, b = {_floats(2, 5)}, {_floats(3, 5)}", "distances(a, b)", _DISTANCES),
    ),
    "smooth": (
        _test(
            9,
            f"values, decay = {_floats(4)}, jnp.float32(0.75)\n{_SMOOTHED}",
            "smooth(values, decay)",
            "np.stack(expected)",
        ),
        _test(
            10,
            f"values, decay = {_floats(9)}, jnp.float32(0.25)\n{_SMOOTHED}",
            "smooth(values, decay)",
            "np.stack(expected)",
        ),
    ),
}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of submission: its cells, and the fair mark out of 10.

    Args:
        name: the kind's name in tables.
        cells: (exercise name, source) of each answer's cell, in order; a name may occur twice or not at all.
        fair: the marks for the exercises that it answers right.
        is_truncated: whether the file is cut off in the middle.
    """

    name: str
    cells: tuple[tuple[str, str], ...]
    fair: int
    is_truncated: bool = False


def well_behaved(number: int) -> Kind:
    """Return a right submission that differs from all others in a comment."""
    cells = [(name, f"# student {number}\n{source}") for name, source in ANSWERS.items()]
    return Kind(f"student{number:04d}", tuple(cells), 10)


def _with_body(name: str, body: str, fair: int) -> Kind:
    """Return a submission that is right except that `loss_gradient` runs `body` when called."""
    cells = dict(ANSWERS)
    cells["loss_gradient"] = f"def loss_gradient(w, x, y):\n    {body}\n    return w"
    return Kind(name, tuple(cells.items()), fair)


def _wrong_with(name: str, source: str) -> Kind:
    """Return a submission without right answers, whose first cell begins with `source`."""
    cells = {one: answer.partition("\n")[0] + "\n    return None" for one, answer in ANSWERS.items()}
    cells["standardize"] = source + "\n" + cells["standardize"]
    return Kind(name, tuple(cells.items()), 0)


_PATCH = """\
import numpy.testing
for _name in dir(numpy.testing):
    if _name.startswith("assert_"):
        setattr(numpy.testing, _name, lambda *args, **fields: None)"""
_FORGE = """\
import json, os, pathlib
_plain = json.dumps({"score": 10, "tests": [{"name": "all", "score": 10, "max_score": 10}]})
for _folder in (".", "..", os.path.expanduser("~")):
    for _file in ("results.json", "grades.csv"):
        try:
            pathlib.Path(_folder, _file).write_text(_plain)
        except OSError:
            pass
print(_plain)
import atexit
atexit.register(print, _plain)
class _Right:
    __array_priority__ = 1000
    shape, dtype, ndim, size = (), "float32", 0, 1
    def __array__(self, *args, **fields):
        import sys
        frame = sys._getframe()
        while frame is not None:
            for name in ("desired", "y"):
                if name in frame.f_locals and frame.f_locals[name] is not self:
                    return np.asarray(frame.f_locals[name])
            frame = frame.f_back
        return np.zeros(())"""


def _forged() -> Kind:
    kind = _wrong_with("forged results and values", _FORGE)
    cells = [(name, source.replace("return None", "return _Right()")) for name, source in kind.cells]
    return Kind(kind.name, tuple(cells), 0)


def bad_kinds() -> list[Kind]:
    """Return the misbehaving and malformed submissions that a class also sends."""
    right = tuple(ANSWERS.items())
    noisy = [(n, s.replace("\n", "\n    import sys; print('a warning', file=sys.stderr)\n", 1)) for n, s in right]
    return [
        _with_body("endless loop", "while True: pass", 8),
        _with_body("os._exit(0)", "import os; os._exit(0)", 8),
        _with_body("sys.exit()", "import sys; sys.exit()", 8),
        _wrong_with("patched numpy.testing", _PATCH),
        _forged(),
        _with_body("200 MB of output", "[print('x' * 1_000_000) for _ in range(200)]", 8),
        _with_body("3 GB of memory", "big = np.ones(3 * 2**30, np.uint8)", 8),
        Kind("stderr noise", tuple(noisy), 10),
        Kind("deleted cell", right[:1] + right[2:], 8),
        Kind("copied cell", right[:2] + right[1:], 10),
        Kind("reordered cells", right[::-1], 10),
        Kind("truncated file", right, 0, is_truncated=True),
    ]
