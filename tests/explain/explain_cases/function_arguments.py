"""Cases of functions that take another number of arguments than JAX gives them."""

from explain_cases.case import Case

CASES = [
    Case(
        name="scan_three_args",
        kind="function_arguments",
        variable="step",
        source="""
def step(carry, x, target):
    return carry + x - target, carry
result = jax.lax.scan(step, 0.0, (jnp.ones(3), jnp.ones(3)))  # <--
""",
        after_fix=[[0.0, [0.0, 0.0, 0.0]]],
    ),
    Case(
        name="scan_one_arg",
        kind="function_arguments",
        variable="step",
        source="""
def step(carry):
    return carry + 1.0, carry
result = jax.lax.scan(step, 0.0, None, length=3)  # <--
""",
    ),
    Case(
        name="scan_kw_params",
        kind="function_arguments",
        variable="step",
        source="""
def step(params, carry, x):
    return carry * params + x, carry
result = jax.lax.scan(step, 1.0, jnp.arange(3.0))  # <--
""",
    ),
    Case(
        name="scan_bound_partial",
        kind="function_arguments",
        variable="partial(step, 2.0)",
        source="""
def step(params, scale, carry, x):
    return carry * params + x * scale, carry
result = jax.lax.scan(partial(step, 2.0), 1.0, jnp.arange(3.0))  # <--
""",
    ),
    Case(
        name="scan_method",
        kind="function_arguments",
        variable="self.step",
        source="""
class M:
    def step(self, c, x, y):
        return c + x * y, c
    def run(self):
        return jax.lax.scan(self.step, 0.0, (jnp.ones(3), jnp.ones(3)))  # <--
result = M().run()
""",
        after_fix=[[3.0, [0.0, 1.0, 2.0]]],
    ),
    Case(
        name="while_body_two_args",
        kind="function_arguments",
        variable="cond",
        source="""
def cond(i, x):
    return i < 3
def body(i, x):
    return i + 1, x * 2
result = jax.lax.while_loop(cond, body, (0, 1.0))  # <--
""",
    ),
    Case(
        name="while_lambda_two_args",
        kind="function_arguments",
        variable="lambda",
        source="""
result = jax.lax.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, 1.0))  # <--
""",
    ),
    Case(
        name="fori_body_three",
        kind="function_arguments",
        variable="body",
        source="""
def body(i, a, b):
    return a + 1, b * 2
result = jax.lax.fori_loop(0, 3, body, (0.0, 1.0))  # <--
""",
    ),
    Case(
        name="cond_args",
        kind="function_arguments",
        variable="down",
        source="""
def up(x, y):
    return x + y
def down(x):
    return x
result = jax.lax.cond(True, up, down, 1.0, 2.0)  # <--
""",
    ),
    Case(
        name="cond_args_tuple",
        kind="function_arguments",
        variable="up",
        source="""
def up(x, y):
    return x + y
def down(x, y):
    return x - y
result = jax.lax.cond(True, up, down, (1.0, 2.0))  # <--
""",
    ),
    Case(
        name="cond_lambda_noarg",
        kind="function_arguments",
        variable="lambda",
        source="""
x = 3.0
result = jax.lax.cond(x > 0, lambda: x + 1, lambda: x - 1, x)  # <--
""",
    ),
    Case(
        name="switch_args",
        kind="function_arguments",
        variable="lambda",
        source="""
result = jax.lax.switch(1, [lambda x, y: x + y, lambda x: x], 2.0, 3.0)  # <--
""",
    ),
    Case(
        name="map_two_args",
        kind="function_arguments",
        variable="lambda",
        source="""
result = jax.lax.map(lambda x, y: x + y, (jnp.ones(3), jnp.ones(3)))  # <--
""",
    ),
    Case(
        name="map_two_xs",
        kind="function_arguments",
        variable="jnp.ones(3)",
        source="""
result = jax.lax.map(lambda x, y: x + y, jnp.ones(3), jnp.ones(3))  # <--
""",
    ),
    Case(
        name="scan_list_xs",
        kind="scan_over_numbers",
        variable="[1, 2, 3]",
        source="""
result = jax.lax.scan(lambda c, x: (c + x, c), 0, [1, 2, 3])  # <--
""",
    ),
    Case(
        name="scan_range",
        kind="scan_over_numbers",
        variable="range(3)",
        source="""
result = jax.lax.scan(lambda c, i: (c + i, c), 0, range(3))  # <--
""",
        after_fix=[[3, [0, 0, 1]]],
    ),
    Case(
        name="scan_listed_range",
        kind="scan_over_numbers",
        variable="list(range(1, 4))",
        source="""
result = jax.lax.scan(lambda c, i: (c + i, c), 0, list(range(1, 4)))  # <--
""",
        after_fix=[[6, [0, 1, 3]]],
    ),
    Case(
        name="scan_int_xs",
        kind="scan_over_numbers",
        variable="5",
        source="""
result = jax.lax.scan(lambda c, i: (c + i, c), 0, 5)  # <--
""",
        after_fix=[[10, [0, 0, 1, 3, 6]]],
    ),
    Case(
        name="scan_dict_xs",
        kind="scan_over_numbers",
        variable='{"a": jnp.ones(3), "b": 2.0}',
        source="""
result = jax.lax.scan(lambda c, d: (c + d["a"] * d["b"], c), 0.0, {"a": jnp.ones(3), "b": 2.0})  # <--
""",
    ),
    Case(
        name="scan_swapped",
        kind="function_elsewhere",
        variable="jnp.ones(3)",
        source="""
def step(x, carry):
    return carry + x, carry
result = jax.lax.scan(jnp.ones(3), 0.0, step)  # <--
""",
    ),
    Case(
        name="while_args_order",
        kind="function_elsewhere",
        variable="1.0",
        source="""
result = jax.lax.while_loop(1.0, lambda x: x < 10.0, lambda x: x * 2)  # <--
""",
    ),
]
