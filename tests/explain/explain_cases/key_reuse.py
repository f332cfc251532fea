"""Cases of keys that `jax.debug_key_reuse` finds used twice."""

from explain_cases.case import Case

_FOUND = """
jax.config.update("jax_debug_key_reuse", True)
"""


def _case(name: str, variable: str, source: str) -> Case:
    return Case(name, "key_used_twice", variable, _FOUND + source)


CASES = [
    _case(
        "key_drawn_from_twice",
        "key",
        """
key = jax.random.key(0)
weights = jax.random.uniform(key, (3,))
noise = jax.random.normal(key, (3,))  # <--
""",
    ),
    _case(
        "key_drawn_from_and_split",
        "key",
        """
key = jax.random.key(0)
x = jax.random.normal(key)
first, last = jax.random.split(key)  # <--
""",
    ),
    _case(
        "key_drawn_from_in_every_turn",
        "key",
        """
key, total = jax.random.key(0), []
for _ in range(3):
    total.append(float(jax.random.normal(key)))  # <--
""",
    ),
    _case(
        "key_drawn_from_twice_under_jit",
        "key",
        """
@jax.jit
def f(key):
    w = jax.random.normal(key)
    return w, jax.random.normal(key)  # <--
pair = f(jax.random.key(0))
""",
    ),
    _case(
        "key_given_to_two_helpers",
        "key",
        """
def weights(key):
    return jax.random.normal(key)
def main(key):
    w = weights(key)
    return w, weights(key)  # <--
pair = main(jax.random.key(0))
""",
    ),
    _case(
        "keys_drawn_from_twice",
        "keys",
        """
keys = jax.random.split(jax.random.key(0), 3)
x = jax.vmap(jax.random.normal)(keys)
y = jax.vmap(jax.random.uniform)(keys)  # <--
""",
    ),
    _case(
        "key_of_a_loop",
        "key",
        """
key = jax.random.key(0)
def body(c, _):
    return c + jax.random.normal(key), None
total, _ = lax.scan(body, 0.0, None, length=3)  # <--
""",
    ),
    _case(
        "key_used_twice_in_branches",
        "f",
        """
@jax.jit
def f(key, flag):
    x = lax.cond(flag, lambda: jax.random.normal(key), lambda: 0.0)
    return x + jax.random.normal(key)
x = f(jax.random.key(0), True)  # <--
""",
    ),
]
