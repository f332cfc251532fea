"""Cases of arguments and results that `jax.jit` does not support."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="static_inside_jit",
        kind="traced_for_static",
        variable="n",
        source="""
@partial(jax.jit, static_argnums=1)
def power(x, n):
    for _ in range(n): x = x * x
    return x

@jax.jit
def outer(x, n):
    return power(x, n)  # <--
result = outer(2.0, 3)
""",
        result="result",
        after_fix=[256.0],
    ),
    Case(
        name="static_under_vmap",
        kind="traced_for_static",
        variable="jnp.arange(3)",
        source="""
@partial(jax.jit, static_argnums=1)
def power(x, n):
    for _ in range(n): x = x * x
    return x

result = jax.vmap(power)(jnp.ones(3), jnp.arange(3))  # <--
""",
        result="result",
    ),
    Case(
        name="jitted_call_method",
        kind="object_argument",
        variable="self",
        source="""
class Net:
    def __init__(self): self.w = jnp.ones(3)
    @jax.jit
    def __call__(self, x): return self.w @ x

net = Net()
result = net(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="jitted_call_of_a_new_object",
        kind="object_argument",
        variable="self",
        source="""
class Net:
    def __init__(self): self.w = jnp.ones(3)
    @jax.jit
    def __call__(self, x): return self.w @ x

result = Net()(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="dataclass_under_jit",
        kind="object_argument",
        variable="p",
        source="""
from dataclasses import dataclass
@dataclass
class P:
    w: jax.Array
    b: float = 0.0

@jax.jit
def f(p, x): return p.w * x
p = P(jnp.ones(2))
result = f(p, 2.0)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0]],
    ),
    Case(
        name="text_for_a_jitted_lambda",
        kind="string_argument",
        variable="'relu'",
        source="""
result = jax.jit(lambda x, mode: x if mode == 'relu' else -x)(1.0, 'relu')  # <--
""",
        result="result",
        after_fix=[1.0],
    ),
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
    ),
    Case(
        name="unhash_static_dataclass",
        kind="unhashable_static",
        variable="cfg",
        source="""
from dataclasses import dataclass
@dataclass(order=True)
class Config:
    depth: int
    width: float = 2.0
@partial(jax.jit, static_argnames="cfg")
def f(x, cfg):
    return x * cfg.width if cfg.depth > 1 else x
result = f(jnp.ones(2), cfg=Config(3))  # <--
""",
        result="result",
    ),
    Case(
        name="unhash_static_dataclass_that_is_changed",
        kind="unhashable_static",
        variable="cfg",
        source="""
from dataclasses import dataclass
@dataclass
class Config:
    depth: int
@partial(jax.jit, static_argnums=1)
def f(x, cfg):
    return x * cfg.depth
cfg = Config(3)
cfg.depth = 4
result = f(1.0, cfg)  # <--
""",
        result="result",
    ),
    Case(
        name="unhash_static_dataclass_of_a_list",
        kind="unhashable_static",
        variable="cfg",
        source="""
from dataclasses import dataclass
@dataclass
class Config:
    sizes: list
@partial(jax.jit, static_argnums=1)
def f(x, cfg):
    return x * cfg.sizes[0]
result = f(1.0, Config([3]))  # <--
""",
        result="result",
    ),
    Case(
        name="unhash_static_frozen_dataclass_of_a_list",
        kind="unhashable_static",
        variable="cfg",
        source="""
from dataclasses import dataclass
@dataclass(frozen=True)
class Config:
    sizes: list
@partial(jax.jit, static_argnums=1)
def f(x, cfg):
    return x * cfg.sizes[0]
result = f(1.0, Config([3]))  # <--
""",
        result="result",
    ),
    Case(
        name="unhash_static_class_with_eq",
        kind="unhashable_static",
        variable="cfg",
        source="""
class Config:
    def __eq__(self, other):
        return True
@partial(jax.jit, static_argnums=1)
def f(x, cfg):
    return x
result = f(1.0, Config())  # <--
""",
        result="result",
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
        after_fix=[0.8414709568023682, no_code],
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
        after_fix=[no_code, no_code],
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
        after_fix=[no_code, no_code],
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
        after_fix=[no_code, no_code],
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
    ),
]
