"""Cases of NumPy functions that change an array in place."""

from explain_cases.case import Case, no_code


def case(name: str, kind: str, variable: str, lines: str, *after_fix: object) -> Case:
    """Return a case with a vector `v` and a matrix `x`; the last line fails."""
    head = "v = jnp.array([3.0, -1.0, 2.0])\nx = jnp.ones((2, 2))\n"
    return Case(name, kind, variable, f"{head}{lines}  # <--\n", variable, [*after_fix])


CASES = [
    case("view_of_jax", "read_only_view", "a", "a = np.asarray(v)\na[0] = 5.0", [5.0, -1.0, 2.0]),
    case("view_changed", "read_only_view", "a", "a = np.asarray(2 * v)\na += 1", [7.0, -1.0, 5.0]),
    case("view_sorted", "read_only_view", "a", "a = np.asarray(v)\na.sort()", [-1.0, 2.0, 3.0]),
    case("view_of_device_get", "read_only_view", "a", "a = jax.device_get(v)\na[0] = 5.0", [5.0, -1.0, 2.0]),
    case("fill_diagonal", "changed_by_numpy", "x", "np.fill_diagonal(x, 0.0)", no_code),
    case("copyto", "changed_by_numpy", "v", "np.copyto(v, 0.0)", no_code),
    case("copyto_where", "changed_by_numpy", "v", "np.copyto(v, 0.0, where=v < 0)", no_code),
    case("putmask", "changed_by_numpy", "v", "np.putmask(v, v < 0, 0.0)", no_code),
    case("out_of_numpy", "changed_by_numpy", "v", "np.add(v, 1.0, out=v)", no_code),
    case("shuffle_of_numpy", "changed_by_numpy", "v", "np.random.shuffle(v)", no_code),
]
