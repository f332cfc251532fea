"""What `jax.jit` cannot take or hand back."""

from explain_cases.case import Case, no_code, no_edits

CASES = [
    Case(
        name="unhash_static",
        kind="unhashable_static",
        variable="axes",
        source="""
@partial(jax.jit, static_argnames=('axes',))
def f(x, axes):
    return x.sum(axes)
result = f(jnp.ones((2, 3)), axes=[0, 1])  # <--
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="unhash_static_arr",
        kind="unhashable_static",
        variable="w",
        source="""
@partial(jax.jit, static_argnums=1)
def f(x, w):
    return x * w
result = f(jnp.ones(3), np.ones(3))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="unhash_static_dict",
        kind="unhashable_static",
        variable="cfg",
        source="""
@partial(jax.jit, static_argnums=1)
def f(x, cfg):
    return x * cfg['a']
result = f(jnp.ones(3), {'a': 1})  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="str_arg",
        kind="string_argument",
        variable="'relu'",
        source="""
@jax.jit
def f(x, mode):
    return x
result = f(1.0, 'relu')  # <--
""",
        result="result",
        after_fix=[1.0],
    ),
    Case(
        name="fn_arg",
        kind="function_argument",
        variable="jnp.sin",
        source="""
@jax.jit
def apply(g, x):
    return g(x)
result = apply(jnp.sin, 1.0)  # <--
""",
        result="result",
        after_fix=[0.8414709568023682, no_edits],
    ),
    Case(
        name="obj_arg",
        kind="object_argument",
        variable="Cfg()",
        source="""
class Cfg:
    lr = 0.1
@jax.jit
def f(cfg, x):
    return x * cfg.lr
result = f(Cfg(), 1.0)  # <--
""",
        result="result",
        after_fix=[0.10000000149011612, no_code],
    ),
    Case(
        name="self_jit",
        kind="object_argument",
        variable="self",
        source="""
class M:
    def __init__(self): self.w = 2.0
    @jax.jit
    def f(self, x):
        return self.w * x
result = M().f(1.0)  # <--
""",
        result="result",
        after_fix=[2.0, no_code],
    ),
    Case(
        name="ret_str",
        kind="result_no_array",
        variable="'ok'",
        source="""
@jax.jit
def f(x):
    return x, 'ok'  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[1.0, no_edits],
    ),
    Case(
        name="jit_static_missing",
        kind="string_argument",
        variable="'double'",
        source="""
@jax.jit
def f(x, mode):
    if mode == 'double':
        return 2 * x
    return x
result = f(1.0, mode='double')  # <--
""",
        result="result",
        after_fix=[2.0],
    ),
    Case(
        name="vmap_noncall",
        kind="function_called_too_early",
        variable="f(x)",
        source="""
def f(x): return x**2
x = jnp.ones(3)
result = jax.vmap(f(x))(x)  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="static_wrongname",
        kind="static_name_unknown",
        variable="m",
        source="""
@partial(jax.jit, static_argnames='m')  # <--
def f(x, n):
    return jnp.zeros(n) + x
result = f(1.0, 3)
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="static_kw",
        kind="static_number_unknown",
        variable="static_argnums",
        source="""
@partial(jax.jit, static_argnums=5)  # <--
def f(x, n):
    return jnp.zeros(n) + x
result = f(1.0, 3)
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="dict_static",
        kind="unhashable_static",
        variable="opts",
        source="""
@partial(jax.jit, static_argnames=("n", "opts"))
def f(x, n, opts):
    return x * n
result = f(1.0, 2, {"a": 1})  # <--
""",
        result="result",
        after_fix=[2.0],
    ),
]
