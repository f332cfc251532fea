"""Loops of `jax.lax`."""

from explain_cases.case import Case

CASES = [
    Case(
        name="scan_shape",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return jnp.append(c, x), None
result = lax.scan(step, jnp.zeros(1), jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[([0.0], [1.0, 1.0, 1.0])],
    ),
    Case(
        name="scan_struct",
        kind="carry_structure",
        variable="c",
        source="""
def step(c, x):
    return (c, x), None
result = lax.scan(step, 0.0, jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[(0.0, [1.0, 1.0, 1.0])],
    ),
    Case(
        name="scan_nopair",
        kind="scan_pair",
        variable="step",
        source="""
def step(c, x):
    return c + x
result = lax.scan(step, 0.0, jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[(3.0, None), (3.0, [1.0, 2.0, 3.0])],
    ),
    Case(
        name="scan_len",
        kind="scan_length",
        variable="(jnp.ones(3), jnp.ones(4))",
        source="""
def step(c, x):
    a, b = x
    return c + a + b, None
result = lax.scan(step, 0.0, (jnp.ones(3), jnp.ones(4)))  # <--
""",
        result="result",
        after_fix=[(6.0, None)],
    ),
    Case(
        name="scan_length_mismatch",
        kind="scan_length",
        variable="length",
        source="""
def step(c, x):
    return c + x, None
result = lax.scan(step, 0.0, jnp.ones(3), length=5)  # <--
""",
        result="result",
        after_fix=[(3.0, None)],
    ),
    Case(
        name="while_cond",
        kind="while_condition",
        variable="c",
        source="""
result = lax.while_loop(lambda c: c, lambda c: c - 1, 3)  # <--
""",
        result="result",
        after_fix=[0],
    ),
    Case(
        name="fori_body",
        kind="loop_body_arguments",
        variable="body",
        source="""
def body(c):
    return c + 1
result = lax.fori_loop(0, 3, body, 0)  # <--
""",
        result="result",
        after_fix=[3],
    ),
    Case(
        name="carry_dtype",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return c + x, None
result = lax.scan(step, jnp.zeros((), jnp.int32), jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[(3.0, None), (3, None)],
    ),
    Case(
        name="carry_scalar",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return c + jnp.ones(3) * x, None
result = lax.scan(step, 0.0, jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[([3.0, 3.0, 3.0], None)],
    ),
    Case(
        name="scan_of_a_method",
        kind="scan_pair",
        variable="self.step",
        source="""
class Filter:
    def step(self, c, x):
        return c + x
    def run(self, xs):
        return lax.scan(self.step, 0.0, xs)  # <--
result = Filter().run(jnp.ones(3))
""",
        result="result",
        after_fix=[(3.0, None), (3.0, [1.0, 2.0, 3.0])],
    ),
    Case(
        name="while_of_a_method",
        kind="while_condition",
        variable="c < jnp.ones(1)",
        source="""
class Search:
    @staticmethod
    def go_on(c):
        return c < jnp.ones(1)
    def turn(self, c):
        return c + 1.0
    def run(self):
        return lax.while_loop(self.go_on, self.turn, 0.0)  # <--
result = Search().run()
""",
        result="result",
        after_fix=[1.0],
    ),
    Case(
        name="fori_of_a_method_without_the_turn",
        kind="loop_body_arguments",
        variable="turn",
        source="""
class Model:
    w = 2.0
    def turn(self, c):
        return c * self.w
model = Model()
result = lax.fori_loop(0, 3, model.turn, 1.0)  # <--
""",
        result="result",
        after_fix=[8.0],
    ),
]
