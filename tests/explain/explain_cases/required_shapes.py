"""Cases of functions that ask for certain shapes, and of shapes that do not fit in the code of a library."""

from explain_cases.case import Case, no_code, no_edits


def case(name: str, kind: str, variable: str, source: str, after_fix: list[object]) -> Case:
    return Case(name, kind, variable, source, "result", after_fix)


CASES = [
    case(
        "einsum_letter_of_two_lengths",
        "einsum_sizes",
        "k",
        """
q, k = jnp.ones((2, 5, 8)), jnp.ones((2, 7, 9))
result = jnp.einsum("bqd,bkd->bqk", q, k)  # <--
""",
        [no_code],
    ),
    case(
        "einsum_with_an_axis_too_many",
        "einsum_rank",
        "x",
        """
w = jnp.ones((3, 4))
@jax.jit
def f(x):
    return jnp.einsum("oi,i->o", w, x)  # <--
result = f(jnp.ones((10, 4)))
""",
        [no_code],
    ),
    case(
        "convolution_with_channels_last",
        "convolution_channels",
        "image",
        """
image, kernel = jnp.ones((1, 8, 8, 3)), jnp.ones((3, 3, 3, 16))
result = lax.conv_general_dilated(image, kernel, (1, 1), "SAME").shape  # <--
""",
        [no_code],
    ),
    case(
        "convolution_without_dimension_numbers",
        "convolution_channels",
        "image",
        """
image, kernel = jnp.ones((1, 8, 8, 3)), jnp.ones((5, 5, 3, 16))
result = lax.conv(image, kernel, (1, 1), "SAME").shape  # <--
""",
        [no_code],
    ),
    case(
        "convolution_with_the_kernels_channels_first",
        "convolution_channels",
        "image",
        """
image, kernel = jnp.ones((1, 16, 16, 3)), jnp.ones((8, 3, 3, 3))
result = lax.conv(image, kernel, (1, 1), "SAME").shape  # <--
""",
        [no_code],
    ),
    case(
        "convolution_with_the_kernels_channels_last",
        "convolution_channels",
        "image",
        """
image, kernel = jnp.ones((1, 3, 8, 8)), jnp.ones((5, 5, 3, 16))
result = lax.conv_general_dilated(image, kernel, (1, 1), "SAME").shape  # <--
""",
        [no_code],
    ),
    case(
        "convolution_of_other_channels",
        "convolution_channels",
        "image",
        """
image, kernel = jnp.ones((1, 3, 8, 8)), jnp.ones((16, 1, 3, 3))
result = lax.conv(image, kernel, (1, 1), "SAME")  # <--
""",
        [no_code],
    ),
    case(
        "squeeze_of_many",
        "squeeze_of_a_long_axis",
        "x",
        "x = jnp.ones((4, 3))\nresult = x.squeeze(-1)  # <--\n",
        [no_code, no_code],
    ),
    case(
        "squeeze_function_of_many",
        "squeeze_of_a_long_axis",
        "x",
        "x = jnp.ones((4, 3))\nresult = jnp.squeeze(x, axis=0)  # <--\n",
        [no_code, no_code],
    ),
    case(
        "inverse_of_a_long_matrix",
        "matrix_not_square",
        "x",
        "x = jnp.ones((3, 2))\nresult = jnp.linalg.inv(x).shape  # <--\n",
        [no_code],
    ),
    case(
        "equations_of_another_size",
        "shared_axis_differs",
        "b",
        "a, b = jnp.eye(3), jnp.ones(4)\nresult = jnp.linalg.solve(a, b)  # <--\n",
        [no_code],
    ),
    case(
        "one_start_for_two_axes",
        "start_for_each_axis",
        "x",
        "x = jnp.ones((5, 5))\nresult = lax.dynamic_slice(x, (1,), (2,))  # <--\n",
        [no_code],
    ),
    case(
        "update_of_integers",
        "lax_dtypes",
        "new",
        """
x, new = jnp.zeros(3), jnp.ones(2, jnp.int32)
result = lax.dynamic_update_slice(x, new, (1,))  # <--
""",
        [[0.0, 1.0, 1.0], no_code],
    ),
    case(
        "stack_of_a_named_list",
        "joined_shapes",
        "rows[1]",
        "rows = [jnp.ones(3), jnp.ones(4)]\nresult = jnp.stack(rows)  # <--\n",
        [no_code],
    ),
    case(
        "as_many_keys_as_names",
        "keys_unpacked",
        "jax.random.split(key)",
        "key = jax.random.key(0)\na, b, c = jax.random.split(key)  # <--\nresult = c.shape\n",
        [[]],
    ),
    case(
        "more_keys_than_names",
        "keys_unpacked",
        "jax.random.split(key, 3)",
        "key = jax.random.key(0)\na, b = jax.random.split(key, 3)  # <--\nresult = b.shape\n",
        [[]],
    ),
    case(
        "a_key_made_for_numpy",
        "key_to_numpy",
        "jax.random.key(0)",
        "result = np.asarray(jax.random.key(0)).shape  # <--\n",
        [[2]],
    ),
    case(
        "json_of_a_loss",
        "json_of_array",
        "loss",
        'import json\nloss = jnp.float32(1.5)\nresult = json.loads(json.dumps({"loss": loss}))["loss"]  # <--\n',
        [1.5],
    ),
    case(
        "json_of_a_dict",
        "json_of_array",
        None,  # type: ignore[arg-type]
        'import json\nmetrics = {"loss": jnp.float32(1.5)}\nresult = json.dumps(metrics)  # <--\n',
        [no_code],
    ),
    case(
        "json_while_tracing",
        "json_of_array",
        "x",
        "import json\n@jax.jit\ndef f(x):\n    return json.dumps([x])  # <--\nresult = f(1.0)\n",
        [no_code],
    ),
    case(
        "length_of_a_row",
        "length_of_scalar",
        "x",
        "result = jax.vmap(lambda x: x / len(x))(jnp.ones(2))  # <--\n",
        [[1.0, 1.0], no_code],
    ),
    case(
        "loop_over_a_sum",
        "scalar_iteration",
        "x.sum()",
        """
@jax.jit
def f(x):
    total = 0.0
    for part in x.sum():  # <--
        total += part
    return total
result = f(jnp.ones(3))
""",
        [3.0],
    ),
    case(
        "a_set_of_labels",
        "set_of_arrays",
        "labels",
        "labels = jnp.array([1, 2, 2])\nresult = len(set(labels))  # <--\n",
        [no_code],
    ),
    case(
        "an_array_looked_for_in_a_set",
        "array_in_set",
        "x",
        "x = jnp.array(3)\nresult = x in {1, 2, 3}  # <--\n",
        [True],
    ),
    case(
        "a_compiled_program_for_other_sizes",
        "compiled_for_other_types",
        "x",
        "f = jax.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()\nresult = f(jnp.ones(4))  # <--\n",
        [no_code, no_code],
    ),
    case(
        "no_such_backend",
        "no_backend",
        'jax.devices("metal")',
        'result = jax.devices("metal")[0].platform  # <--\n',
        ["cpu"],
    ),
    case(
        "a_mask_that_may_be_none",
        "array_given_or_none",
        "mask",
        """
@jax.jit
def f(x, mask=None):
    if mask:  # <--
        x = x * mask
    return x
result = f(jnp.ones(2), jnp.zeros(2))
""",
        [[0.0, 0.0]],
    ),
    case(
        "a_mask_or_its_default",
        "array_given_or_none",
        "mask",
        """
def f(x, *, mask=None):
    mask = mask or jnp.ones_like(x)  # <--
    return x * mask
result = f(jnp.ones(2), mask=jnp.zeros(2))
""",
        [[0.0, 0.0]],
    ),
    case(
        "a_bias_that_may_be_none_in_a_choice",
        "array_given_or_none",
        "bias",
        """
class Layer:
    def __call__(self, x, bias=None):
        return x if not bias else x + bias  # <--
result = jax.jit(lambda x, bias: Layer()(x, bias))(jnp.ones(2), jnp.ones(2))
""",
        [[2.0, 2.0]],
    ),
    case(
        "largest_values_and_where",
        "values_and_indices",
        "dim",
        "x = jnp.array([[1.0, 3.0]])\nresult, where = x.max(dim=1)  # <--\n",
        [no_code],
    ),
    case(
        "a_chain_of_another_library",
        "method_of_another_library",
        "x",
        "x = jnp.ones((2, 3))\nresult = x.permute(1, 0).contiguous().sum(0).cpu().view(2, 1).shape  # <--\n",
        [no_code],
    ),
    case(
        "half_of_a_length",
        "index_of_floats",
        "len(x) / 2",
        "x = jnp.arange(4)\nresult = x[len(x) / 2]  # <--\n",
        [2],
    ),
    case(
        "an_index_of_unknown_floats",
        "index_of_floats",
        "where()",
        "def where():\n    return jnp.array([1.0])\nx = jnp.arange(4)\nresult = x[where()]  # <--\n",
        [no_code],
    ),
    case(
        "an_axis_that_is_not_mapped",
        "vmap_in_axes",
        "in_axes",
        """
f = lambda w, x, b: w @ x + b
result = jax.vmap(f, in_axes=(None, 0))(jnp.ones((2, 3)), jnp.ones((5, 3)), jnp.ones(2)).shape  # <--
""",
        [[5, 2]],
    ),
    case(
        "an_axis_of_unknown_arguments",
        "vmap_in_axes",
        "in_axes",
        """
def make():
    return jnp.ones((5, 2))
result = jax.vmap(lambda x, y: x + y, in_axes=(0,))(make(), make())  # <--
""",
        [no_code],
    ),
    case(
        "gradients_in_a_comprehension",
        "arithmetic_on_trees",
        "grads",
        """
params, grads = {"w": jnp.ones(1)}, {"w": jnp.ones(1)}
result = {k: v - 0.5 * grads for k, v in params.items()}  # <--
""",
        [no_code],
    ),
    case(
        "gradients_in_a_loop",
        "arithmetic_on_trees",
        "grads",
        """
result, grads = {"w": jnp.ones(1)}, {"w": jnp.ones(1)}
for name in result:
    result[name] = result[name] - 0.5 * grads  # <--
""",
        [no_code],
    ),
    case(
        "an_item_of_a_donated_dict",
        "deleted_array",
        "state['w']",
        """
@partial(jax.jit, donate_argnames="state")
def update(state):
    return {"w": state["w"] + 1}
state = {"w": jnp.ones(1)}
new = update(state)
result = 2 * state["w"]  # <--
""",
        [[2.0], no_code, no_code],
    ),
    case(
        "one_call_for_two_branches",
        "if_on_tracer",
        "x",
        """
def shifted(x, by):
    seen.append(1)
    return x + by
seen = []
@jax.jit
def f(x):
    if x > 0:  # <--
        shifted(x, 1.0)
    else:
        shifted(-x, 2.0)
    return x
result = f(1.0)
""",
        [no_code],
    ),
    case(
        "a_flag_for_a_function_that_may_need_it",
        "not_on_tracer",
        "train",
        """
def layer(x, deterministic):
    return x if deterministic else 2 * x
@jax.jit
def f(x, train):
    return layer(x, deterministic=not train)  # <--
result = f(1.0, True)
""",
        [2.0],
    ),
    case(
        "a_printed_number",
        "format_of_tracer",
        "loss",
        """
result = jax.jit(lambda x: x)(1.0)
@jax.jit
def f(loss):
    print(f"loss {loss.item():.3f}")  # <--
    return loss
result = f(2.0)
""",
        [2.0, no_edits],
    ),
    case(
        "a_leak_beside_shapes_that_differ",
        "leaked_tracer",
        "seen[0]",
        """
seen = []
@jax.jit
def f(x):
    seen.append(x)
    return x + 1
f(jnp.ones(3))
result = seen[0] + jnp.ones(4)  # <--
""",
        [no_code],
    ),
    case(
        "a_leak_that_is_asked_for_its_truth",
        "leaked_tracer",
        "losses[0]",
        """
losses = []
def loss(w):
    losses.append(w)
    return w
jax.grad(loss)(1.0)
result = 1 if losses[0] > 0 else 0  # <--
""",
        [no_code],
    ),
    Case(
        name="a_key_kept_in_a_global",
        kind="leaked_tracer",
        variable="key",
        source="""
key = jax.random.key(0)
@jax.jit
def sample(x):
    global key
    key, own = jax.random.split(key)
    return x + jax.random.normal(own, x.shape)
sample(jnp.ones(2))
result = sample(jnp.ones(3))  # <--
""",
    ),
    case(
        "a_lambda_as_backward_rule",
        "backward_rule_count",
        "<lambda>",
        """
@jax.custom_vjp
def f(x, y):
    return x * y
f.defvjp(lambda x, y: (x * y, (x, y)), lambda saved, g: (g * saved[1],))  # <--
result = jax.grad(f)(1.0, 2.0)
""",
        [no_code],
    ),
    case(
        "a_loop_body_that_writes_by_its_carry",
        "swapped_parameters",
        "i",
        """
def body(x, i):
    return x.at[i].set(1.0)  # <--
result = lax.fori_loop(0, 2, body, jnp.zeros(2))
""",
        [no_code],
    ),
    case(
        "a_number_of_a_written_array",
        "scalar_of_array",
        "jnp.ones(3)",
        "result = float(jnp.ones(3))  # <--\n",
        [no_code],
    ),
]
