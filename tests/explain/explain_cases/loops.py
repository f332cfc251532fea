"""Cases of loops in `jax.lax`, and of their carries."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="scan_list_for_tuple",
        kind="carry_structure",
        variable="state",
        source="""
def step(state, x):
    w, n = state
    return [w + x, n + 1], w
result = lax.scan(step, (0.0, 0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_part_too_many",
        kind="carry_structure",
        variable="state",
        source="""
def step(state, x):
    w, n = state
    return (w + x, n + 1, x), w
result = lax.scan(step, (0.0, 0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_carry_without_output",
        kind="carry_structure",
        variable="state",
        source="""
def step(state, x):
    w, n = state
    return w + x, n + 1
result = lax.scan(step, (0.0, 0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="while_list_for_tuple",
        kind="carry_structure",
        variable="c",
        source="""
result = lax.while_loop(lambda c: c[0] < 3, lambda c: [c[0] + 1, c[1]], (0, 1.0))  # <--
""",
    ),
    Case(
        name="scan_new_key",
        kind="carry_structure",
        variable="state",
        source="""
def step(state, x):
    state['n'] = 1
    return state, None
lax.scan(step, {'w': 0.0}, jnp.ones(3))  # <--
""",
    ),
    Case(
        name="fori_fewer_parts",
        kind="carry_structure",
        variable="c",
        source="""
def body(i, c):
    a, b = c
    return a + b
lax.fori_loop(0, 3, body, (0.0, 1.0))  # <--
""",
    ),
    Case(
        name="fori_no_return",
        kind="loop_body_returns_none",
        variable="body",
        source="""
def body(i, c):
    c = c + i
result = lax.fori_loop(0, 3, body, 0.0)  # <--
""",
    ),
    Case(
        name="fori_parts_no_return",
        kind="loop_body_returns_none",
        variable="body",
        source="""
def body(i, c):
    a, b = c
    a = a + b
result = lax.fori_loop(0, 3, body, (0.0, 1.0))  # <--
""",
    ),
    Case(
        name="fori_dict_no_return",
        kind="loop_body_returns_none",
        variable="body",
        source="""
def body(i, state):
    state['w'] = state['w'] + i
result = lax.fori_loop(0, 3, body, {'w': 0.0})  # <--
""",
    ),
    Case(
        name="while_no_return",
        kind="loop_body_returns_none",
        variable="double",
        source="""
def double(c): c * 2
result = lax.while_loop(lambda c: c < 3, double, 1)  # <--
""",
    ),
    Case(
        name="scan_no_return",
        kind="loop_body_returns_none",
        variable="step",
        source="""
def step(c, x):
    c = c + x
result = lax.scan(step, 0.0, jnp.ones(3))  # <--
""",
    ),
    Case(
        name="while_print_no_return",
        kind="loop_body_returns_none",
        variable="body",
        source="""
def body(c):
    jax.debug.print("{}", c)
lax.while_loop(lambda c: c < 3, body, 1)  # <--
""",
    ),
    Case(
        name="scan_concatenate",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return jnp.concatenate([c, x[None]]), None
result = lax.scan(step, jnp.zeros(0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_append_in_a_lambda",
        kind="carry_type",
        variable="c",
        source="""
result = lax.scan(lambda c, x: (jnp.append(c, x), None), jnp.zeros(0), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="fori_grows",
        kind="carry_type",
        variable="c",
        source="""
def body(i, c):
    return jnp.append(c, i * 1.0)
lax.fori_loop(0, 3, body, jnp.zeros(0))  # <--
""",
    ),
    Case(
        name="fori_dtypes_of_parts",
        kind="carry_type",
        variable="c[0]",
        source="""
def body(i, c):
    return c[0] + 0.5, c[1] + 0.5
result = lax.fori_loop(0, 2, body, (jnp.int32(0), jnp.int32(1)))  # <--
""",
    ),
    Case(
        name="carry_of_a_method",
        kind="carry_type",
        variable="c",
        source="""
class Model:
    def turn(self, i, c):
        return c + jnp.ones(2)
    def run(self):
        return lax.fori_loop(0, 3, self.turn, 1.0)  # <--
result = Model().run()
""",
        after_fix=[[4.0, 4.0], no_code],
    ),
    Case(
        name="scan_shape",
        kind="carry_type",
        variable="c",
        source="""
def step(c, x):
    return jnp.append(c, x), None
result = lax.scan(step, jnp.zeros(1), jnp.ones(3))  # <--
""",
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
    ),
    Case(
        name="while_cond",
        kind="while_condition",
        variable="c",
        source="""
result = lax.while_loop(lambda c: c, lambda c: c - 1, 3)  # <--
""",
    ),
    Case(
        name="fori_body",
        kind="function_arguments",
        variable="body",
        source="""
def body(c):
    return c + 1
result = lax.fori_loop(0, 3, body, 0)  # <--
""",
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
        after_fix=[([3.0, 3.0, 3.0], None), no_code],
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
    ),
    Case(
        name="fori_of_a_method_without_the_turn",
        kind="function_arguments",
        variable="model.turn",
        source="""
class Model:
    w = 2.0
    def turn(self, c):
        return c * self.w
model = Model()
result = lax.fori_loop(0, 3, model.turn, 1.0)  # <--
""",
    ),
]
