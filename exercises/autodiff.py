# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_different,
    expect_documented,
    expect_dtype,
    expect_no_key_problem,
    expect_raises,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)
from jaxguide.keys import documented_draws


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
    return list(got)


def flat(value):
    """Return all numbers of a result, in order, as one list of Python floats."""
    if isinstance(value, tuple | list):
        return [number for part in value for number in flat(part)]
    return np.asarray(value, dtype=np.float64).ravel().tolist()


def number(value):
    """Return a scalar of any kind as a Python float."""
    expect_shape(value, ())
    return float(np.asarray(value))


def layout(value):
    """Write the containers of a result and the types in them: `(float32[3], float32[])`."""
    if isinstance(value, tuple | list):
        left, right = "()" if isinstance(value, tuple) else "[]"
        return left + ", ".join(map(layout, value)) + right
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {layout(value[name])}" for name in sorted(value)) + "}"
    if not hasattr(value, "dtype"):
        return type(value).__name__
    return f"{value.dtype.name}[{','.join(map(str, value.shape))}]"


def first_parameters(documented):
    """Return the weights, the bias and a unit direction of the documented regression, then or today."""
    if documented:
        with documented_draws():
            return first_parameters(documented=False)
    key, weights_key, bias_key = jax.random.split(jax.random.key(0), 3)
    weights, bias = jax.random.normal(weights_key, (3,)), jax.random.normal(bias_key)
    vector = jax.random.normal(jax.random.split(key)[1], (3,))
    return weights, bias, vector / jnp.sqrt(jnp.vdot(vector, vector))


# The two parts of a record of the regression, and whether it starts with the digits of the documents.
PARTS = (("today", False), ("documented", True))
START_MESSAGE = "For the regression that starts with `jax.random.key(0)`, the numbers should be the expected ones."


def expect_no_growth(answer, small, large, message):
    """Expect a program that is as long for 40 rows, the arguments `large`, as for 4, the arguments `small`."""
    short, long = answer.program(*small).equations, answer.program(*large).equations
    # A loop adds several equations for each of the 36 more; padding or reshaping may add a few in all.
    expect_that(long < short + 36, message, f"{long} equations for 40 rows", f"{short}, as for 4")


def expect_no_loop(answer, *args):
    """Expect a program without the loops that `jax.lax.map`, `scan` and `fori_loop` make."""
    loops = [name for name in ("scan", "while") if answer.program(*args).primitives.get(name)]
    message = "The program should do all at once; yours holds a loop, which does one after the other."
    expect_that(not loops, message, ", ".join(loops), "no scan, no while")


UNROLLED = (
    "The program should be as long for 40 as for 4, and yours grows with the batch. Use `jax.vmap`, or an operation "
    "for all at once."
)


# %% [markdown]
# # Automatic differentiation
#
# A model learns by going downhill: it moves each parameter a little, in the direction
# in which the errors shrink. Which direction is that? `jax.grad` tells, for any
# function that you write: exactly, and without formulas from you.
#
# After this lesson you can
#
# - take slopes, gradients and higher derivatives,
# - differentiate with respect to any argument, and to any container of parameters,
# - train a model, with the loss and its gradient from one pass,
# - notice when a gradient is wrong, and mend one that is NaN.
#
# You need the lessons `jit_and_tracing` and `vectorization`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import jax.test_util
import matplotlib.pyplot as plt
import numpy as np

from jaxguide.clock import real_machine
from jaxguide.data import moons
from jaxguide.debug import find_nan
from jaxguide.tracing import program

# %% [markdown]
# ## The task: two half moons
#
# Here are 200 points on two half moons, each of which reaches into the other. Your
# model will look at a point and say how likely it is to be on the lower moon. No
# straight line tells the moons apart. Later in this lesson you train the model, and see
# the curve that it has found.

# %%
points, moon = (jnp.asarray(array) for array in moons(200))


def draw_points(axes):
    """Draw the points, in a colour for each moon."""
    axes.scatter(points[:, 0], points[:, 1], c=moon, cmap="coolwarm", s=12)
    axes.set_aspect("equal")


draw_points(plt.figure(figsize=(5, 2.6), layout="constrained").add_subplot())
plt.show()

# %% [markdown]
# ## Part 1. Slopes
#
# `jax.grad` takes a function and returns a function: the slope of the first one.
# Nothing is computed until you call that new function.


# %%
def wave(x):
    """Go up and down: x -> sin(2x)."""
    return jnp.sin(2 * x)


slope_of_wave = jax.grad(wave)
print("the slope is a function:", slope_of_wave)
print("at 1:", slope_of_wave(1.0), "and by hand:", 2 * np.cos(2.0))

# %% [markdown]
# (The slope is a function of its own; JAX only keeps the name `wave` for it.)
#
# How does JAX know the slope? It follows your function operation by operation, and has
# a rule for each: for `sin` the rule is `cos`, and for `2 * x` it is 2. First it goes
# **forward**, from x to the result, and computes `2 * x` and its `sin`. Then it goes
# **backward**, from the result to x: it starts with 1, and multiplies by the slope of
# each operation. You see both in the program of the slope.

# %%
program(slope_of_wave, 1.0)

# %% [markdown]
# So the slope is an ordinary JAX function. It can be jitted and mapped, and it has a
# slope of its own. Two functions to try that on:


# %%
def tanh(x):
    """Squash a number to a value between -1 and 1."""
    return jnp.tanh(x)


def cubic(x):
    """Compute x³ + 2x² - 3x + 1."""
    return x**3 + 2 * x**2 - 3 * x + 1


# %% exercise
@exercise(
    title="The n-th derivative",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S2-13", "S2-15", "S2-16", "S2-19"],
    hints=[
        "How often is `jax.grad` applied to get the second derivative? And to get the derivative number 0?",
        "`jax.grad` gives a function, and that function can go into `jax.grad` again. "
        "https://docs.jax.dev/en/latest/automatic-differentiation.html",
        "for _ in range(n):\n    f = ____\nreturn f",
        """# Like it: give a function one more batch axis, n times over.
def with_batch_axes(function, n):
    for _ in range(n):
        function = jax.vmap(function)
    return function


numbers = jnp.arange(8).reshape(2, 2, 2)
print(with_batch_axes(jnp.max, 2)(numbers).tolist())  # [[1, 3], [5, 7]]
print(with_batch_axes(jnp.max, 0)(numbers))  # 7""",
    ],
)
def nth_derivative(f, n):
    """Return the n-th derivative of f, as a function.

    >>> slope = nth_derivative(lambda x: x**4, 1)
    >>> slope(2.0)
    Array(32., dtype=float32, weak_type=True)

    Args:
        f: a function from one float to one float.
        n: int, 0 or more. The derivative number 0 is f itself.

    Returns:
        A function from a float, or float32[], to float32[].
    """
    ...


# %% check
@visible(nth_derivative, stage="shape", idea="`jax.grad(f)` is a function; `jax.grad(f)(x)` is a number.")
def the_derivative_is_a_function(answer):
    """What comes back is a function, and it gives one number."""
    expect_shape(answer.then(given("tanh"), 2)(2.0), ())


@visible(nth_derivative, idea="One `jax.grad` is one derivative.", reproduces=["S2-13"])
def the_first_derivative_of_tanh(answer):
    """The first derivative of tanh at 2 is 0.0706508."""
    got = answer.then(given("tanh"), 1)(2.0)
    expect_documented("S2-13", got, message="The first derivative of tanh at 2 should be 0.0706508.")


@visible(
    nth_derivative,
    idea="Differentiate the function that came out of the last round, not its value.",
    reproduces=["S2-15"],
)
def the_second_derivative_of_tanh(answer):
    """The second derivative of tanh at 2 is -0.136219."""
    got = answer.then(given("tanh"), 2)(2.0)
    expect_documented("S2-15", got, message="The second derivative of tanh at 2 should be -0.136219.")


@visible(nth_derivative, idea="Each derivative is a function that `jax.grad` accepts.", reproduces=["S2-16"])
def the_third_derivative_of_tanh(answer):
    """The third derivative of tanh at 2 is 0.252654."""
    got = answer.then(given("tanh"), 3)(2.0)
    expect_documented("S2-16", got, message="The third derivative of tanh at 2 should be 0.252654.")


@visible(nth_derivative, idea="A polynomial loses one power with each derivative.", reproduces=["S2-19"])
def the_derivatives_of_the_cubic(answer):
    """At 2, the derivatives 2, 3 and 4 of the cubic are 16, 6 and 0."""
    got = [number(answer.then(given("cubic"), n)(2.0)) for n in (2, 3, 4)]
    expect_documented("S2-19", got, message="The derivatives 2, 3 and 4 of the cubic at 2 should be 16, 6 and 0.")


@visible(nth_derivative, idea="Doing nothing zero times over leaves the function as it is.")
def number_zero_is_the_function_itself(answer):
    """The derivative number 0 is the function itself."""
    expect_close(answer.then(given("cubic"), 0)(2.0), 11.0, "With n = 0, the function should give what f gives.")


@visible(nth_derivative, stage="jit", idea="A derivative can be compiled like any other function.")
def the_derivative_can_be_compiled(answer):
    """Under `jax.jit` it gives the same numbers."""
    expect_close(answer.then(given("tanh"), 2).jit(0.5), answer.then(given("tanh"), 2)(0.5), rtol=1e-5, atol=1e-6)


# %% documented S2-13 S2-15 S2-16 S2-19
# Documented and today's output agree. For the cubic, the page shows how the functions
# are made, and no output.
grad = jax.grad
print(grad(jnp.tanh)(2.0))
print(grad(grad(jnp.tanh))(2.0))
print(grad(grad(grad(jnp.tanh)))(2.0))

dfdx = grad(lambda x: x**3 + 2 * x**2 - 3 * x + 1)
d2fdx = grad(dfdx)
d3fdx = grad(d2fdx)
d4fdx = grad(d3fdx)

# documented
# 0.070650816
# -0.13621868
# 0.25265405

# %% [markdown]
# Where a curve is flat, its derivative is 0. Where it is steepest, its second
# derivative is 0.


# %%
def draw_derivatives(f):
    """Draw f and its first three derivatives, by `nth_derivative`."""
    if nth_derivative(f, 1) is None:
        print("Write `nth_derivative` first: then this cell draws tanh and its derivatives.")
        return
    xs = jnp.linspace(-3.0, 3.0, 200)
    _, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
    for n, name in enumerate(["tanh", "first derivative", "second", "third"]):
        axes.plot(xs, jax.vmap(nth_derivative(f, n))(xs), label=name)
    axes.legend()
    plt.show()


draw_derivatives(tanh)

# %% [markdown]
# ### One number comes out
#
# `jax.grad` wants a function with **one number** as its result. What goes in may have
# any shape: of an array, you get the slope for each entry. That is the **gradient**,
# and it has the shape of the array.


# %%
def energy(x):
    """Sum the squares of all entries."""
    return jnp.sum(x**2)


print(jax.grad(energy)(jnp.array([1.0, 2.0, 5.0])))
try:
    jax.grad(wave)(jnp.array([0.0, 1.0]))  # two numbers come out
except TypeError as error:
    print("TypeError:", error)

# %% [markdown]
# For slopes at many points, let `jax.vmap` do it for each: `jax.vmap(jax.grad(wave))`.

# %% [markdown]
# ## Part 2. Many parameters
#
# First a small example: four rows of data, with a label each. For each row, the model
# says how likely the label `True` is, from three weights `w` and a bias `b`. This is a
# *logistic regression*.


# %%
rows = [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
inputs = jnp.array(rows)
targets = jnp.array([True, True, False, True])


def sigmoid(x):
    """Squash a number to a probability."""
    return 0.5 * (jnp.tanh(x / 2) + 1)


def predict(w, b, inputs):
    """Return the probability of the label True, for each row."""
    return sigmoid(jnp.dot(inputs, w) + b)


print(predict(jnp.zeros(3), 0.0, inputs))

# %% [markdown]
# The **loss** is one number: how badly the probabilities fit the labels. Learning means
# to make it small.


# %%
def loss(w, b):
    """Return minus the logarithm of how likely the labels are, for these parameters."""
    probabilities = predict(w, b, inputs)
    right = probabilities * targets + (1 - probabilities) * (1 - targets)
    return -jnp.sum(jnp.log(right))


print("weights of 0:  ", loss(jnp.zeros(3), 0.0))
print("better weights:", loss(jnp.array([1.0, -1.0, 2.0]), 0.0))

# %% [markdown]
# ### Which argument?
#
# `jax.grad(f)` differentiates with respect to the **first** argument. `argnums` chooses
# another one, or several. Positions count from 0.


# %%
def bend(p, q, r):
    """Compute p q² + sin(r)."""
    return p * q**2 + jnp.sin(r)


print("first:          ", jax.grad(bend)(2.0, 3.0, 0.5))
print("numbers 2 and 0:", jax.grad(bend, argnums=(2, 0))(2.0, 3.0, 0.5))


# %% exercise
@exercise(
    title="Gradients by position",
    points=2,
    core=True,
    minutes=5,
    reproduces=["S2-23", "S2-24", "S2-25", "S2-26", "S2-27"],
    why_so_many="Five ways to say which argument is meant.",
    follows={"S2-27": ("S2-25", "the gradient at position 1 is one of the partial derivatives")},
    hints=[
        "Does `jax.grad` count arguments from 0 or from 1? What does it do without `argnums`?",
        "`argnums` may be an int or a tuple of ints. https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "if which is None:\n    return jax.grad(f)(*args)\nreturn ____",
        """# Like it: which of the chosen arguments moves the result most?
def strongest(function, values, chosen):
    slopes = jax.grad(function, argnums=chosen)(*values)  # a tuple, as chosen
    return chosen[int(jnp.argmax(jnp.abs(jnp.array(slopes))))]


def volume(width, depth, height):
    return width * depth * height


print(strongest(volume, (2.0, 3.0, 5.0), (1, 2)))  # 1: slope 10, not 6""",
    ],
)
def gradient_by_position(f, args, which=None):
    """Return the gradient of f with respect to the arguments at some positions.

    >>> gradient_by_position(lambda p, q: p * q, (2.0, 3.0), (1, 0))
    (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: floats and float arrays.
        which: None for the first argument; an int, a position from 0 on; or a tuple of one or more such ints.

    Returns:
        One gradient with the shape of its argument; for a tuple, a tuple of gradients in that order.
    """
    ...


# %% check
@visible(gradient_by_position, stage="shape", idea="A gradient has the shape of the argument that it belongs to.")
def gradients_have_the_shapes_of_arguments(answer):
    """The gradient has the shape of its argument, and for a tuple of positions there is a tuple of gradients."""
    args = (jnp.ones(3), jnp.float32(0.5))
    expect_shape(answer(given("loss"), args, 0), (3,))
    expect_shape(answer(given("loss"), args, 1), ())
    for part, shape in zip(parts(answer(given("loss"), args, (0, 1)), 2), ((3,), ()), strict=True):
        expect_shape(part, shape)
    got = answer(given("loss"), args, (1,))
    is_tuple = isinstance(got, tuple | list) and len(got) == 1
    expect_that(is_tuple, "For a tuple of one position, return a tuple of one gradient.", got)


@visible(gradient_by_position, idea="Position 0 is the first argument.", reproduces=["S2-23"])
def the_gradient_by_the_weights(answer):
    """For position 0, it is the gradient of the loss with respect to w."""
    for part, documented in PARTS:
        got = answer(given("loss"), first_parameters(documented)[:2], 0)
        expect_documented("S2-23", {"grad(loss, argnums=0)": flat(got)}, part, START_MESSAGE)


@visible(gradient_by_position, idea="Position 0 is also the default.", reproduces=["S2-24"])
def the_gradient_without_a_position(answer):
    """Without a position, too, it is the gradient of the loss with respect to w."""
    for part, documented in PARTS:
        got = answer(given("loss"), first_parameters(documented)[:2])
        expect_documented("S2-24", {"grad(loss)": flat(got)}, part, START_MESSAGE)


@visible(gradient_by_position, idea="Position 1 is the second argument.", reproduces=["S2-25"])
def the_gradient_by_the_bias(answer):
    """For position 1, it is the gradient of the loss with respect to b."""
    for part, documented in PARTS:
        got = answer(given("loss"), first_parameters(documented)[:2], 1)
        expect_documented("S2-25", {"grad(loss, 1)": flat(got)}, part, START_MESSAGE)


@visible(gradient_by_position, idea="A tuple of positions gives a tuple of gradients.", reproduces=["S2-26"])
def the_gradients_by_both(answer):
    """For the positions (0, 1), these are the gradients of the loss with respect to w and to b."""
    for part, documented in PARTS:
        got = answer(given("loss"), first_parameters(documented)[:2], (0, 1))
        expect_documented("S2-26", {"grad(loss, (0, 1))": flat(got)}, part, START_MESSAGE)


@visible(
    gradient_by_position,
    idea="For p q² + sin(r) the partial derivatives are q², 2 p q and cos(r).",
    reproduces=["S2-27"],
)
def each_position_gives_a_partial_derivative(answer):
    """At (2, 3, 0.5), the partial derivatives of p q² + sin(r) are 9, 12 and 0.87758."""
    got = [number(answer(given("bend"), (2.0, 3.0, 0.5), i)) for i in range(3)]
    message = "At (2, 3, 0.5), the positions 0, 1 and 2 should give 9, 12 and 0.87758 for p q² + sin(r)."
    expect_documented("S2-27", got, message=message)


@visible(gradient_by_position, idea="The gradients come in the order in which you asked for them.")
def the_order_of_positions_counts(answer, draw):
    """For the positions (2, 0), the gradient with respect to the third argument comes first."""
    p, q, r = draw.floats(3)
    got = answer(given("bend"), (p, q, r), (2, 0))
    message = "For (r, p), the gradients of p q² + sin(r) should be (cos(r), q²)."
    expect_close(parts(got, 2), [jnp.cos(r), q**2], message, rtol=1e-5, atol=1e-6)


# %% documented S2-23 S2-24 S2-25 S2-26 S2-27
# Since JAX 0.5.0 the same key gives other random numbers, so W and b are others today.
# With `jax.threefry_partitionable(False)` you get those of the page; a last digit may
# differ, since JAX 0.7.0. That `grad(f, i)` is the partial derivative with respect to
# argument i, the page says in words.
key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
W_grad = jax.grad(loss, argnums=0)(W, b)
print(f"{W_grad=}")
W_grad = jax.grad(loss)(W, b)
print(f"{W_grad=}")
b_grad = jax.grad(loss, 1)(W, b)
print(f"{b_grad=}")
W_grad, b_grad = jax.grad(loss, (0, 1))(W, b)
print(f"{W_grad=}")
print(f"{b_grad=}")
print(*(jax.grad(bend, i)(2.0, 3.0, 0.5) for i in range(3)))

# documented
# W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# b_grad=Array(-0.29227245, dtype=float32)
# W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# b_grad=Array(-0.29227245, dtype=float32)

# today
# W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# b_grad=Array(-0.69001776, dtype=float32)
# W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# b_grad=Array(-0.69001776, dtype=float32)
# 9.0 12.0 0.87758255

# %% [markdown]
# ### Containers of parameters
#
# Real models have many parameters, in nested dicts, lists and tuples: pytrees.
# `jax.grad` differentiates with respect to a whole container, and the gradient comes
# back **in the same container**. `jax.tree.map(f, tree, other)` goes through the arrays
# of two containers of the same form: it calls f with each pair of arrays, and puts the
# results into such a container again.


# %%
def dict_loss(params):
    """Compute the loss of parameters {"w": ..., "b": ...}."""
    return loss(params["w"], params["b"])


def pair_loss(params):
    """Compute the loss of parameters (w, b)."""
    return loss(*params)


def nested_loss(params):
    """Compute the loss of parameters [w, [b]]."""
    w, [b] = params
    return loss(w, b)


some_params = {"w": jnp.ones(3), "b": jnp.float32(0.0)}
print(jax.grad(dict_loss)(some_params))
print(jax.grad(nested_loss)([jnp.ones(3), [jnp.float32(0.0)]]))
print(jax.tree.map(lambda x, y: x + 10 * y, some_params, some_params))


# %% exercise
@exercise(
    title="One step downhill",
    points=2,
    core=True,
    minutes=4,
    reproduces=["S2-28", "S2-29"],
    hints=[
        "How do you compute `p - rate * g` for each parameter p and its gradient g, if you do not know the container?",
        "`jax.tree.map(function, tree, other_tree)` goes through two trees of one structure at once. "
        "https://docs.jax.dev/en/latest/pytrees.html",
        "gradient = jax.grad(f)(params)\nnew = jax.tree.map(lambda p, g: ____, params, gradient)\nreturn gradient, new",
        """# Like it: a running mean of parameters, in any container.
def running_mean(mean, latest):
    return jax.tree.map(lambda m, new: 0.75 * m + 0.25 * new, mean, latest)


before = {"weights": jnp.zeros(2), "rest": [jnp.float32(4.0)]}
after = {"weights": jnp.array([4.0, 8.0]), "rest": [jnp.float32(0.0)]}
mean = running_mean(before, after)
print(mean["weights"], mean["rest"][0])  # [1. 2.] 3.0""",
    ],
)
def gradient_step(f, params, rate):
    """Take one step of gradient descent, for parameters in any container. They stay as they are.

    >>> x = jnp.float32(3.0)
    >>> gradient, new = gradient_step(lambda p: p["x"] ** 2, {"x": x}, 0.25)
    >>> gradient["x"], new["x"]
    (Array(6., dtype=float32), Array(1.5, dtype=float32))

    Args:
        f: a function from the parameters to one number.
        params: a pytree of float32 arrays: dicts, tuples and lists, nested in any way, or an array alone.
        rate: float; each parameter p with gradient g becomes p - rate * g.

    Returns:
        A tuple `(gradient, new_params)`, both of the same structure as `params`.
    """
    ...


# %% check
@visible(gradient_step, idea="The gradient of a dict is a dict.", reproduces=["S2-28"])
def the_gradient_of_a_dict_is_a_dict(answer):
    """For a dict of parameters, the gradient is a dict of the gradients."""
    for part, documented in PARTS:
        w, b, _ = first_parameters(documented)
        gradient, _new = parts(answer(given("dict_loss"), {"w": w, "b": b}, 0.5), 2)
        is_dict = isinstance(gradient, dict) and sorted(gradient) == ["b", "w"]
        expect_that(is_dict, "The gradient should be a dict of w and b.", gradient)
        expect_documented("S2-28", {"W": flat(gradient["w"]), "b": flat(gradient["b"])}, part, START_MESSAGE)


@visible(
    gradient_step,
    idea="Containers are pytrees; `jax.tree.map` works on all of them.",
    reproduces=["S2-29"],
)
def every_container_comes_back(answer):
    """A tuple gives a tuple, and a nested list gives a nested list, for the gradient and for the new parameters."""
    w, b, _ = first_parameters(documented=False)
    both = [
        parts(answer(given("pair_loss"), (w, b), 0.5), 2),
        parts(answer(given("nested_loss"), [w, [b]], 0.5), 2),
    ]
    message = "The gradient and the new parameters should have the containers, shapes and dtypes of the parameters."
    expect_documented("S2-29", [layout(gradient) for gradient, _new in both], message=message)
    expect_documented("S2-29", [layout(new) for _gradient, new in both], message=message)


@visible(gradient_step, idea="The gradient points uphill, so downhill is minus.")
def each_parameter_goes_downhill(answer, draw):
    """Each new parameter is p - rate * g."""
    for rate in (0.5, 0.1):
        w, b = draw.floats(3), draw.floats()
        gradient, new = parts(answer(given("pair_loss"), (w, b), rate), 2)
        wanted = jax.grad(pair_loss)((w, b))
        expect_close(gradient, wanted, "The gradient should be that of f.", rtol=1e-4, atol=1e-4)
        wanted = (w - rate * wanted[0], b - rate * wanted[1])
        expect_close(new, wanted, "The new parameters should be p - rate * g.", rtol=1e-4, atol=1e-4)


# %% documented S2-28 S2-29
# Today W and b are others, since the same key gives other random numbers. That tuples,
# lists and dicts may be nested in any way, the page says in words.
key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())


def loss2(params_dict):
    return loss(params_dict["W"], params_dict["b"])


print(jax.grad(loss2)({"W": W, "b": b}))
print(jax.grad(nested_loss)([W, [b]]))

# documented
# {'W': Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32),
#  'b': Array(-0.29227245, dtype=float32)}

# today
# {'W': Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32),
#  'b': Array(-0.69001776, dtype=float32)}
# [Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32),
#  [Array(-0.69001776, dtype=float32)]]

# %% [markdown]
# ### The loss and its gradient
#
# In training you need both: the loss to look at, and the gradient to step. To compute a
# gradient, JAX computes the value anyway. This function tells each time that it runs.


# %%
def loss_aloud(w, b):
    """Print a line, and return the loss."""
    print("the loss is computed")
    return loss(w, b)


print("value:", loss_aloud(jnp.ones(3), 0.0))
print("gradient:", jax.grad(loss_aloud)(jnp.ones(3), 0.0))

# %% [markdown]
# It ran twice. `jax.value_and_grad(f)` is a function that returns both, `(value,
# gradient)`, from one run. It takes `argnums`, as `jax.grad` does.


# %% exercise
@exercise(
    title="Value and gradient at once",
    points=2,
    core=True,
    minutes=3,
    reproduces=["S2-31", "S2-32"],
    hints=[
        "With respect to how many arguments do you want the gradient? Which argument of `jax.grad` said that?",
        "`jax.value_and_grad` takes `argnums`, too. https://docs.jax.dev/en/latest/_autosummary/jax.value_and_grad.html",
        "every = tuple(range(len(args)))\nreturn jax.value_and_grad(f, argnums=____)(____)",
        """# Like it: how high a hill is, and how steep, in one pass.
def hill(t):
    print("the hill is computed")
    return (t - 3) ** 2


height_and_steepness = jax.value_and_grad(hill)  # a function
height, steepness = height_and_steepness(5.0)
print(height, steepness)  # 4.0 4.0""",
    ],
)
def loss_and_gradient(f, args):
    """Return the value of f and its gradient with respect to all arguments, and compute f only once.

    >>> loss_and_gradient(lambda p, q: p * q, (2.0, 3.0))[0]
    Array(6., dtype=float32, weak_type=True)

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: floats, float arrays, or containers of these.

    Returns:
        A tuple `(value, gradient)`: float32[], and a tuple with one gradient for each argument, also if there is only
        one.
    """
    ...


# %% check
@visible(loss_and_gradient, stage="shape")
def a_value_and_a_tuple_of_gradients(answer, draw):
    """The result is a number, and a tuple of one gradient for each argument."""
    value, gradient = parts(answer(given("loss"), (draw.floats(3), draw.floats())), 2)
    expect_shape(value, (), "The first part should be the value: one number.")
    for part, shape in zip(parts(gradient, 2), ((3,), ()), strict=True):
        expect_shape(part, shape)


@visible(loss_and_gradient, idea="The value is that of f itself.", reproduces=["S2-31"])
def the_value_is_the_loss(answer):
    """The value is what f gives, and the gradients are those of the loss with respect to w and b."""
    for part, documented in PARTS:
        args = first_parameters(documented)[:2]
        value, gradient = parts(answer(given("loss"), args), 2)
        found = {"loss value": flat([value, loss(*args)]), "Wb_grad": flat(gradient)}
        expect_documented("S2-31", found, part, START_MESSAGE)


@visible(loss_and_gradient, idea="Differentiate with respect to every argument, not to the first alone.")
def the_gradient_is_that_of_f(answer, draw):
    """The gradient is right, for functions of two and of three arguments."""
    args = (draw.floats(3), draw.floats())
    _value, gradient = parts(answer(given("loss"), args), 2)
    expect_close(tuple(parts(gradient, 2)), jax.grad(loss, (0, 1))(*args), rtol=1e-4, atol=1e-4)
    p, q, r = draw.floats(3)
    value, gradient = parts(answer(given("bend"), (p, q, r)), 2)
    expect_close(value, bend(p, q, r), rtol=1e-5, atol=1e-5)
    expect_close(tuple(parts(gradient, 3)), (q**2, 2 * p * q, jnp.cos(r)), rtol=1e-5, atol=1e-5)


@visible(
    loss_and_gradient,
    stage="cost",
    idea="The pass that makes the gradient computes the value on its way.",
    reproduces=["S2-32"],
    required=True,
)
def the_loss_is_computed_once(answer):
    """f is computed once."""
    lines = answer.observe(given("loss_aloud"), (jnp.ones(3), jnp.float32(0.0))).lines
    runs = sum("the loss is computed" in line for line in lines)
    message = f"f should be computed once; yours ran it {runs} times."
    expect_documented("S2-32", {"f is computed": runs}, message=message)


# %% documented S2-31 S2-32
# Today W and b are others, since the same key gives other random numbers. That value
# and gradient come from one pass, the page says in words: `loss_aloud` speaks once.
key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
loss_value, Wb_grad = jax.value_and_grad(loss_aloud, (0, 1))(W, b)
print("loss value", loss_value)
print("loss value", loss(W, b))

# documented
# loss value 3.0519385
# loss value 3.0519385

# today
# the loss is computed
# loss value 2.9729187
# loss value 2.9729187

# %% [markdown]
# ## Part 3. Train
#
# Now the moons. The model is the one that you know, `predict`, but a straight line will
# not do. So it gets nine *features* of each point: its two coordinates x and y, and
# their products up to the third power. Where a weighted sum of these is 0, there is a
# curve.


# %%
def features(points):
    """Return nine features of each point: points[n,2] -> [n,9]."""
    x, y = points.T
    columns = [x, y, x**2, x * y, y**2, x**3, x**2 * y, x * y**2, y**3]
    return jnp.stack(columns, axis=1)


def moon_loss(params):
    """Return the mean loss of the model on the points, and its accuracy."""
    lower = predict(params["w"], params["b"], features(points))
    right = jnp.where(moon == 1, lower, 1 - lower)
    return -jnp.mean(jnp.log(right)), jnp.mean((lower > 0.5) == (moon == 1))


untrained = {"w": jnp.zeros(9), "b": jnp.float32(0.0)}
print(moon_loss(untrained))

# %% [markdown]
# `moon_loss` returns two numbers: the loss, and the share of points that the model puts
# on the right moon. Only the loss is to be differentiated, and the other is to come
# along. That is what `has_aux=True` is for (auxiliary data):

# %%
value_and_gradient = jax.value_and_grad(moon_loss, has_aux=True)
(loss_at_start, accuracy_at_start), gradient_at_start = value_and_gradient(untrained)
print("loss", loss_at_start, "accuracy", accuracy_at_start)
print(gradient_at_start)

# %% [markdown]
# One step downhill is small; training is hundreds of them. From the lesson
# `jit_and_tracing` you know `jax.lax.scan(body, first, length=steps)`, which puts the
# loop into the program. `body(carry, x)` returns the next carry, and what to keep of
# this step; the kept values come out stacked. Here nothing is passed for x, so it is
# None. A function and a number of steps cannot be traced: as arguments, they are
# static.


# %%
@partial(jax.jit, static_argnames=("function", "times"))
def repeated(function, x, times):
    """Apply a function to x many times; keep x and its square from before each time."""

    def body(x, _):
        return function(x), (x, x**2)

    return jax.lax.scan(body, x, length=times)


print(repeated(jnp.sqrt, 16.0, 3))


# %% exercise
@exercise(
    title="Train",
    points=3,
    core=True,
    minutes=7,
    hints=[
        "What must one step know of the step before? And which two numbers are to be kept of each step?",
        "Carry the parameters through `jax.lax.scan`. The function and the number of steps may be static arguments: "
        "see `film` in the lesson `jit_and_tracing`. https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        '@partial(jax.jit, static_argnames=("function", "steps"))\ndef train(function, params, rate, steps):\n'
        "    def step(params, _):\n        (loss, accuracy), gradient = ____(params)\n"
        "        params = jax.tree.map(lambda p, g: ____, params, gradient)\n        return params, ____\n\n"
        "    params, (losses, accuracies) = jax.lax.scan(step, ____, length=steps)\n"
        "    return params, losses, accuracies",
        """# Like it: roll down a curve with momentum, and note the height and whether it is below 1.
@partial(jax.jit, static_argnames=("curve", "rounds"))
def roll(curve, place, rounds):
    def move(state, _):
        place, speed = state
        (height, is_low), slope = jax.value_and_grad(curve, has_aux=True)(place)
        speed = 0.5 * speed - 0.25 * slope
        return (place + speed, speed), (height, is_low)

    (place, _), (heights, low) = jax.lax.scan(move, (place, 0.0), length=rounds)
    return place, heights, low


print(roll(lambda t: (t**2, t**2 < 1), 2.0, 3)[1])  # [4. 1. 0.25]""",
    ],
)
def train(function, params, rate, steps):
    """Take many steps of gradient descent, and note the loss and the accuracy before each step.

    In each step, every parameter p with the gradient g of the loss becomes p - rate * g. All steps are one jitted
    program with a loop, in which the function is computed once for each step. A second call with other numbers of the
    same shapes traces nothing anew.

    >>> _, losses, accuracies = train(moon_loss, untrained, 0.1, 3)
    >>> [round(float(loss), 3) for loss in losses]
    [0.693, 0.647, 0.616]

    Args:
        function: a function from the parameters to a tuple `(loss, accuracy)` of two float32[], such as `moon_loss`.
        params: a pytree of float32 arrays.
        rate: float.
        steps: int, 0 or more.

    Returns:
        A tuple `(params, losses, accuracies)`: the parameters after the last step, in their container; and two
        float32[steps], the loss and the accuracy before each step.
    """
    ...


# %% check
def trained_by_hand(function, params, rate, steps):
    """Return what training gives, in a Python loop."""
    noted = []
    for _ in range(steps):
        pair, gradient = jax.value_and_grad(function, has_aux=True)(params)
        noted.append(pair)
        params = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
    return params, *(np.float32([one[i] for one in noted]) for i in (0, 1))


def some_weights(draw):
    """Return random parameters for the moons."""
    return {"w": 0.1 * draw.floats(9), "b": draw.floats()}


@visible(train, stage="shape", idea="A scan stacks what is kept of each step.")
def one_loss_and_one_accuracy_for_each_step(answer, draw):
    """There is a loss and an accuracy for each step."""
    _, losses, accuracies = parts(answer(given("moon_loss"), some_weights(draw), 0.1, 4), 3)
    expect_shape(losses, (4,), "There should be one loss for each step.")
    expect_shape(accuracies, (4,), "There should be one accuracy for each step.")


@visible(train, idea="Each step starts where the one before has ended.")
def the_parameters_go_downhill(answer, draw):
    """After 1 step and after 4, the parameters are those of a plain loop."""
    params = some_weights(draw)
    for rate, steps in ((0.25, 1), (0.1, 4)):
        got, _, _ = parts(answer(given("moon_loss"), params, rate, steps), 3)
        wanted = trained_by_hand(moon_loss, params, rate, steps)[0]
        message = "The parameters should be those after the last step."
        expect_close(got, wanted, message, rtol=1e-4, atol=1e-4)


@visible(train, idea="The loss of a step is the one that its gradient came with: before the step.")
def the_notes_are_those_before_each_step(answer, draw):
    """The first loss is that of the parameters that go in, and so on; so are the accuracies."""
    params = {"w": jnp.zeros(9), "b": jnp.float32(draw.integer(0, 9) / 100)}
    _, losses, accuracies = parts(answer(given("moon_loss"), params, 0.5, 4), 3)
    _, wanted, shares = trained_by_hand(moon_loss, params, 0.5, 4)
    message = "Loss number i should be that before step i, with i from 0."
    expect_close(losses, wanted, message, rtol=1e-4, atol=1e-4)
    # A point or two near the line may change sides by rounding; in the first step, dozens do.
    expect_close(accuracies, shares, "The accuracies should be those before each step.", rtol=0.0, atol=0.011)


@visible(train, stage="traces", idea="A rate that is an argument may have any value, and so may the parameters.")
def one_trace_for_all_numbers(answer, draw):
    """Calls with another rate and other parameters need no other trace."""
    calls = [(given("moon_loss"), some_weights(draw), rate, 3) for rate in (0.1, 0.2, 0.3)]
    counts = [seen.traces for seen in answer.observe_calls(calls)]
    expect_that(counts[0] > 0, "It should be jitted; in yours nothing is traced by `jax.jit`.", counts)
    message = "Calls with another rate and other parameters should need no other trace."
    expect_that(sum(counts[1:]) == 0, message, counts)


@visible(train, stage="cost", idea="`scan` is a loop in the program; a Python loop is unrolled.", required=True)
def the_steps_are_a_loop_in_the_program(answer, draw):
    """The program has a loop, is as long for 120 steps as for 31, and all of it is jitted."""
    params = some_weights(draw)
    short, long = (answer.program(given("moon_loss"), params, 0.1, steps) for steps in (31, 120))
    loops = short.primitives.get("scan", 0) + short.primitives.get("while", 0)
    expect_that(loops > 0, "There should be a loop in the program; yours has none.", short, "a scan")
    message = "The program should be as long for 120 steps as for 31."
    lengths = [short.equations, long.equations]
    expect_that(lengths[0] == lengths[1], message, f"{lengths[1]} equations for 120 steps", f"{lengths[0]}, as for 31")
    outside = "scan" in short.unjitted or "while" in short.unjitted
    expect_that(not outside, "The loop should be in a jitted function; yours is outside.", short.unjitted)


@visible(train, stage="cost", idea="`value_and_grad` gives loss, accuracy and gradient from one pass.", required=True)
def each_step_computes_the_function_once(answer, draw):
    """In the loop, the model is computed once."""
    sigmoids = answer.program(given("moon_loss"), some_weights(draw), 0.1, 3).primitives.get("tanh", 0)
    message = "In a step, the model should be computed once: its program has one `tanh`."
    expect_that(sigmoids == 1, message, f"{sigmoids} times", "once")


# %% [markdown]
# Train it. On the left you see the loss fall and the accuracy rise. On the right is the
# curve on which the model finds both moons equally likely: after 5 steps (dotted), and
# in the end.


# %%
def draw_training(rate=1.0, steps=500):
    """Draw the loss, the accuracy, and the curve that tells the moons apart."""
    if train(moon_loss, untrained, rate, 2) is None:
        print("Write `train` first: then this cell trains your model on the moons.")
        return
    early, _, _ = train(moon_loss, untrained, rate, 5)
    late, losses, accuracies = train(moon_loss, untrained, rate, steps)
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    left.plot(losses, label="loss")
    left.plot(accuracies, label="accuracy")
    left.set(xlabel="step (logarithmic)", xscale="symlog")
    left.legend()
    x, y = np.meshgrid(np.linspace(-1.5, 2.5, 200), np.linspace(-1, 1.5, 200))
    grid = features(jnp.asarray(np.stack([x.ravel(), y.ravel()], axis=1)))
    for params, style in ((early, "dotted"), (late, "solid")):
        lower = predict(params["w"], params["b"], grid).reshape(x.shape)
        right.contour(x, y, lower, levels=[0.5], colors="black", linestyles=style)
    draw_points(right)
    plt.show()
    print(f"accuracy after {steps} steps: {moon_loss(late)[1]:.3f}")


draw_training()

# %% [markdown]
# And what does `jit` save here? `with jax.disable_jit()` runs your `train` in Python,
# loop and all: each step is differentiated anew, and runs one operation at a time. The
# stopwatch is `real_machine(function)`: `run()` calls the function, and `clock()` tells
# the time.


# %%
def seconds_for(function):
    """Return the seconds of one call on this computer: the median of three."""
    machine = real_machine(function)
    machine.run().block_until_ready()
    times = []
    for _ in range(3):
        before = machine.clock()
        machine.run().block_until_ready()
        times.append(machine.clock() - before)
    return float(np.median(times))


def compare_steps():
    """Print how long one step of training takes, in Python and jitted."""
    if train(moon_loss, untrained, 1.0, 2) is None:
        print("Write `train` first: then this cell times one of its steps.")
        return
    with jax.disable_jit():
        plain = seconds_for(lambda: train(moon_loss, untrained, 1.0, 5)[1]) / 5
    jitted = seconds_for(lambda: train(moon_loss, untrained, 1.0, 500)[1]) / 500
    print(f"in Python:         {plain * 1e6:9,.1f} µs for a step")
    print(f"jitted, in a scan: {jitted * 1e6:9,.1f} µs")


compare_steps()

# %% [markdown]
# ## Part 4. Is the gradient right?
#
# JAX's own rules are right. But you can give a function a rule of your own, as below
# under "More", which may be wrong; and rounding may spoil what is right on paper. There
# is a simple test: take a small step, and see how much the function changes. This is a
# **finite difference**.

# %%
eps = 0.01
print("finite difference:", (wave(1.0 + eps / 2) - wave(1.0 - eps / 2)) / eps)
print("jax.grad:         ", jax.grad(wave)(1.0))

# %% [markdown]
# With many parameters, choose a **direction**: how far each of them moves. They all
# move at once. The exact slope along a direction is one number: multiply each entry of
# the gradient by how far that parameter moves, and add all that up. For two arrays of
# one shape, `jnp.vdot` does this.

# %%
ahead, behind = jnp.array([1.005, 2.0, 4.99]), jnp.array([0.995, 2.0, 5.01])
print("finite difference:", (energy(ahead) - energy(behind)) / 0.01)
direction = jnp.array([1.0, 0.0, -2.0])  # ahead and behind are half of 0.01 of it away
gradient = jax.grad(energy)(jnp.array([1.0, 2.0, 5.0]))
print("jax.grad:         ", jnp.vdot(gradient, direction))


# %% exercise
@exercise(
    title="A slope in two ways",
    points=2,
    core=True,
    minutes=5,
    reproduces=["S2-33", "S2-34"],
    hints=[
        "In which two points must f be computed, so that the point itself lies in the middle?",
        "The slope along a direction is the gradient times the direction, summed over everything. "
        "https://docs.jax.dev/en/latest/automatic-differentiation.html",
        "ahead = [x + eps / 2 * d for x, d in zip(args, direction)]\nbehind = ____\n"
        "numerical = (f(*ahead) - f(*behind)) / eps\n"
        "gradient = jax.grad(f, argnums=tuple(range(len(args))))(*args)\n"
        "exact = sum(jnp.vdot(____, ____) for g, d in zip(gradient, direction))\nreturn numerical, exact",
        """# Like it: the curvature along a direction, in two ways.
def curvature_in_two_ways(function, point, along, eps):
    def walk(t):
        return function(point + t * along)

    numerical = (walk(eps) - 2 * walk(0.0) + walk(-eps)) / eps**2
    return numerical, jax.grad(jax.grad(walk))(0.0)


point, along = jnp.array([2.0, 1.0]), jnp.array([1.0, 0.0])
two = curvature_in_two_ways(lambda p: jnp.sum(p**4), point, along, 0.5)
print(two[0], two[1])  # 48.5 48.0""",
    ],
)
def slope_in_two_ways(f, args, direction, eps):
    """Compute the slope of f along a direction: by a central finite difference, and by automatic differentiation.

    The finite difference is (f(args + eps/2 * direction) - f(args - eps/2 * direction)) / eps, where f gets float32
    and computes in float32. The direction is taken as it is: twice the direction gives twice the slope.

    >>> one = jnp.float32(1.0)
    >>> numerical, exact = slope_in_two_ways(lambda x: x**3, (one,), (one,), 1.0)
    >>> float(numerical), float(exact)
    (3.25, 3.0)

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: float32 arrays of any shape.
        direction: a tuple, for each argument a float32 array of the same shape: how far it moves.
        eps: float, the step.

    Returns:
        A tuple `(numerical, exact)` of two numbers: float32[] or floats.
    """
    ...


# %% check
@visible(slope_in_two_ways, stage="shape", idea="A slope along one direction is one number.")
def two_slopes(answer, draw):
    """The result is two numbers, also for vectors."""
    args, direction = (draw.floats(3), draw.floats()), (draw.floats(3), draw.floats())
    for part in parts(answer(given("loss"), args, direction, 0.01), 2):
        expect_shape(part, ())


@visible(slope_in_two_ways, idea="A central difference steps half of eps to each side.")
def the_difference_is_central(answer):
    """For the cubic at 1 and eps = 1, the central difference is 4.25, and the slope is 4."""
    message = "For the cubic at 1, along 1 and with eps = 1, the two numbers should be 4.25 and 4."
    one = jnp.float32(1.0)
    got = [number(part) for part in parts(answer(given("cubic"), (one,), (one,), 1.0), 2)]
    expect_close(got, [4.25, 4.0], message, rtol=1e-4)


@visible(slope_in_two_ways, idea="The slope along twice the direction is twice the slope.")
def the_direction_is_taken_as_it_is(answer, draw):
    """For p q² + sin(r), both are near q² dp + 2 p q dq + cos(r) dr."""
    (p, q, r), (dp, dq, dr) = draw.floats(3), draw.floats(3)
    wanted = float(q**2 * dp + 2 * p * q * dq + jnp.cos(r) * dr)
    numerical, exact = parts(answer(given("bend"), (p, q, r), (dp, dq, dr), 0.01), 2)
    expect_close(number(exact), wanted, "The exact slope should be q² dp + 2 p q dq + cos(r) dr.", rtol=1e-4, atol=1e-4)
    message = "The finite difference should be near q² dp + 2 p q dq + cos(r) dr."
    expect_close(number(numerical), wanted, message, rtol=5e-3, atol=5e-3)


@visible(slope_in_two_ways, idea="All arguments take their step before f is computed.")
def all_arguments_move_at_once(answer):
    """For p q² + sin(r) at (2, 3, 0), along (1, 1, 0) and with eps = 1, the two are 21.25 and 21."""
    args, direction = (tuple(map(jnp.float32, numbers)) for numbers in ((2, 3, 0), (1, 1, 0)))
    got = [number(part) for part in parts(answer(given("bend"), args, direction, 1.0), 2)]
    message = "For p q² + sin(r) at (2, 3, 0), along (1, 1, 0), eps = 1, the two numbers should be 21.25 and 21."
    expect_close(got, [21.25, 21.0], message, rtol=1e-4)


def two_slopes_of_the_loss(answer, direction, documented):
    """Return both slopes of the loss with eps = 1e-4, once the first is seen to be a difference, and in float32."""
    (w, b, _unit), eps = first_parameters(documented), 1e-4
    numerical, exact = (number(part) for part in parts(answer(given("loss"), (w, b), direction, eps), 2))
    ends = [loss(*(x + t * d for x, d in zip((w, b), direction, strict=True))) for t in (eps / 2, -eps / 2)]
    wanted, spacing = float(ends[0] - ends[1]) / eps, 2.0**-22  # float32 from 2 to 4, where the losses are
    message = "The finite difference of the loss should be about {:.4f}: it is computed in float32, and rounded."
    near = abs(numerical - wanted) < 2.5 * spacing / eps
    expect_that(near, message.format(wanted), numerical, wanted)
    steps = numerical * eps / spacing
    message = "The finite difference should be one of two losses in float32, and no other slope."
    expect_that(abs(steps - round(steps)) < 0.02, message, numerical, wanted)
    expect_close(exact, float(jax.jvp(loss, (w, b), direction)[1]), "The exact slope should be exact.", rtol=1e-5)
    return {"numerical": numerical, "autodiff": exact}


@visible(slope_in_two_ways, idea="To move b alone, the direction of w is zero.", reproduces=["S2-33"])
def the_documented_slope_by_the_bias(answer):
    """Along b, with eps = 1e-4, both are near each other, and not equal."""
    for part, documented in PARTS:
        found = two_slopes_of_the_loss(answer, (jnp.zeros(3), jnp.float32(1.0)), documented)
        expect_documented("S2-33", found, part, START_MESSAGE)


@visible(slope_in_two_ways, idea="To move w alone, the direction of b is zero.", reproduces=["S2-34"])
def the_documented_slope_along_a_direction(answer):
    """Along a unit vector for w, with eps = 1e-4, both are near each other, and not equal."""
    for part, documented in PARTS:
        unit = first_parameters(documented)[2]
        found = two_slopes_of_the_loss(answer, (unit, jnp.float32(0.0)), documented)
        expect_documented("S2-34", found, part, START_MESSAGE)


@visible(slope_in_two_ways, idea="What goes into f stays float32: then its results are rounded, as in training.")
def the_difference_is_that_of_float32(answer):
    """For the cubic at 2 and eps = 0.0001, it is a difference of two float32 numbers, near 17."""
    numerical, _exact = parts(answer(given("cubic"), (jnp.float32(2.0),), (jnp.float32(1.0),), 1e-4), 2)
    steps = number(numerical) * 1e-4 * 2**20  # from 8 to 16, float32 has 2**20 numbers for each 1
    message = "For the cubic at 2, along 1 and with eps = 0.0001, the difference should be that of two float32 numbers."
    is_rounded = abs(number(numerical) - 17) < 0.1 and abs(steps - round(steps)) < 0.02
    expect_that(is_rounded, message, numerical, "about 17, and rounded to a multiple of 0.0095")


# %% documented S2-33 S2-34
# Today W, b and the unit vector are others, since the same key gives other random
# numbers. The losses are rounded, so that the two numerical slopes come in steps of
# 0.0024; the last digits differ between releases.
eps = 1e-4
key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
b_grad_numerical = (loss(W, b + eps / 2.0) - loss(W, b - eps / 2.0)) / eps
print(f"b_grad_numerical {b_grad_numerical:.2f}")
print("b_grad_autodiff", jax.grad(loss, 1)(W, b))

key, subkey = jax.random.split(key)
vec = jax.random.normal(subkey, W.shape)
unitvec = vec / jnp.sqrt(jnp.vdot(vec, vec))
ahead, behind = (loss(W + step * unitvec, b) for step in (eps / 2.0, -eps / 2.0))
print(f"W_dirderiv_numerical {(ahead - behind) / eps:.2f}")
print("W_dirderiv_autodiff", jnp.vdot(jax.grad(loss)(W, b), unitvec))

# documented
# b_grad_numerical -0.29325485
# b_grad_autodiff -0.29227245
# W_dirderiv_numerical -0.2002716
# W_dirderiv_autodiff -0.19909117

# today
# b_grad_numerical -0.69
# b_grad_autodiff -0.69001776
# W_dirderiv_numerical 1.30
# W_dirderiv_autodiff 1.3006744

# %% [markdown]
# ### How small a step?
#
# Here is the slope of the loss along b, with eps = 0.0001. Only two digits are right.
# Is that step too large, or too small?

# %%
some_w, some_b = jnp.array([-2.4, -2.0, 0.2]), jnp.float32(1.3)
losses_nearby = [loss(some_w, some_b + step) for step in (0.00005, -0.00005)]
print("finite difference:", (losses_nearby[0] - losses_nearby[1]) / 0.0001)
print("jax.grad:         ", jax.grad(loss, argnums=1)(some_w, some_b))


# %% exercise
@prediction(
    title="Predict: the better step",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "float32 keeps about 7 digits. If two numbers agree in 6 of them, how many digits has their difference?",
        "A smaller step makes a smaller mistake on paper. But each loss is rounded, and eps divides the rounding. "
        "https://docs.jax.dev/en/latest/automatic-differentiation.html",
        "# A smaller case: the two losses are 2.97292 and 2.97291, both rounded to 6 digits, and eps is 0.00001.\n"
        "# The slope may be anything between 0 and ____\nreturn ____",
    ],
)
def predict_better_step():
    """Here, along b: does the finite difference with eps = 0.01 or eps = 0.000001 come nearer to the exact slope?

    Returns:
        A float: 0.01 or 0.000001.
    """
    ...


# %% check
@reveal(
    predict_better_step,
    why="The losses are near 3 and rounded to 0.0000002. With eps = 0.000001, that alone may shift the slope by 0.2; "
    "with eps = 0.01 by 0.00002, and the curve is nearly straight over so short a way.",
    shows="""w, b = jnp.array([-2.4, -2.0, 0.2]), 1.3
print(f"exact:        {jax.grad(loss, 1)(w, b):.5f}")
for eps in (1.0, 0.01, 0.0001, 0.000001):
    print(f"eps {eps:<8g}: {(loss(w, b + eps / 2) - loss(w, b - eps / 2)) / eps:.5f}")""",
)
def compare_two_steps():
    """We computed both finite differences there, and compared them with `jax.grad`."""
    w, b = jnp.array([-2.4, -2.0, 0.2]), 1.3
    exact = jax.grad(loss, 1)(w, b)
    errors = {eps: abs((loss(w, b + eps / 2) - loss(w, b - eps / 2)) / eps - exact) for eps in (0.01, 0.000001)}
    return min(errors, key=errors.get)


# %% [markdown]
# See it for many steps. On the right the step is too large: the curve is not a line. On
# the left it is too small: the losses are rounded, and what is left of their difference
# is noise. The best step lies in between: about 0.01 times the parameter that moves, or
# a little more. Here b is 1.3.


# %%
def draw_errors():
    """Draw how far the two slopes are apart, for many steps."""
    w, b = jnp.array([-2.4, -2.0, 0.2]), jnp.float32(1.3)
    along_b = (jnp.zeros(3), jnp.float32(1.0))
    if slope_in_two_ways(loss, (w, b), along_b, 0.01) is None:
        print("Write `slope_in_two_ways` first: then this cell draws its error for many steps.")
        return
    steps = np.logspace(-6, 0.7, 60)
    slopes = [slope_in_two_ways(loss, (w, b), along_b, eps) for eps in steps.tolist()]
    _, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
    axes.loglog(steps, [max(abs(numerical - exact), 1e-9) for numerical, exact in slopes], ".-")
    axes.set(xlabel="step eps", ylabel="error")
    plt.show()


draw_errors()

# %% [markdown]
# JAX has this test ready: `jax.test_util.check_grads`. It is an exercise in "More".
#
# ### NaN in a gradient
#
# `jnp.where` chooses between two values. But JAX computes **both**, forward and
# backward. Look at this root, which should be safe for all numbers.


# %%
def safe_root(x):
    """Return the root of x, and 0 for numbers below 0."""
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


print("values: ", [float(safe_root(x)) for x in (4.0, 0.0, -1.0)])
print("slopes: ", [float(jax.grad(safe_root)(x)) for x in (4.0, 0.0, -1.0)])

# %% [markdown]
# At 0 and at -1 the value is right, and the slope is NaN. The unused root has the slope
# infinity there, or NaN; `where` multiplies it by 0, and that is NaN. `find_nan` finds
# the line. The division that it names is not in your code: the slope of the root is
# 0.5 / sqrt(x), and at 0 that is 0.5 / 0.

# %%
find_nan(safe_root, 0.0)

# %% [markdown]
# The cure: keep the bad number **away from the risky function**. Choose the input
# first, then the output: two `where`.


# %%
def safer_root(x):
    """Return the root of x, and 0 for numbers below 0; the root never sees them."""
    harmless = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(harmless), 0.0)


print("slopes: ", [float(jax.grad(safer_root)(x)) for x in (4.0, 0.0, -1.0)])

# %% [markdown]
# In a model, one such NaN spoils all parameters in the next step. Here is a function
# with the same fault: it divides by 0.


# %% exercise
@exercise(
    title="Repair: a division that is guarded twice",
    points=3,
    core=True,
    minutes=5,
    hints=[
        "At x = 0, which division is computed, although nobody wants its result?",
        "Make the input safe before the division, and choose the output after it. "
        "https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where",
        "harmless = jnp.where(x == 0, ____, x)\nreturn jnp.where(x == 0, 1.0, jnp.sin(harmless) / harmless)",
        """# Like it: the length of a vector, with the gradient 0 at the zero vector.
def safe_length(vector):
    squares = jnp.sum(vector**2)
    harmless = jnp.where(squares > 0, squares, 9.0)  # any number above 0
    return jnp.where(squares > 0, jnp.sqrt(harmless), 0.0)


print(jax.grad(lambda v: jnp.sqrt(jnp.sum(v**2)))(jnp.zeros(2)))  # [nan nan]
print(jax.grad(safe_length)(jnp.zeros(2)))  # [0. 0.]""",
    ],
)
def sine_ratio(x):
    """Compute sin(x) / x, which is 1 at x = 0, with a gradient that is finite everywhere, and 0 at x = 0.

    The value below is right, and its gradient is not: repair it.

    >>> jax.grad(sine_ratio)(0.0)
    Array(0., dtype=float32, weak_type=True)

    Args:
        x: float32 array of any shape; each number is 0, or at least 0.000001 away from it.

    Returns:
        float32 array of the same shape. NaN stays NaN.
    """
    return jnp.where(x == 0, 1.0, jnp.sin(x) / x)


# %% check
POINTS = jnp.array([0.0, 0.05, 0.5, -0.5, 3.0, -7.0, 1e-6], dtype="float32")


@visible(sine_ratio, stage="shape")
def the_shape_is_kept(answer, draw):
    """The result has the shape of x."""
    for shape in ((2, 3), ()):
        expect_shape(answer(draw.floats(*shape)), shape)


@visible(sine_ratio, stage="dtype")
def the_ratio_is_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.floats(2, 3)), "float32")


@visible(sine_ratio, idea="The value at 0 is 1; nothing else changes.")
def the_ratio_is_right(answer):
    """The values are sin(x) / x, and 1 at 0."""
    wanted = np.sinc(np.asarray(POINTS, np.float64) / np.pi).astype("float32")
    expect_close(answer(POINTS), wanted, "The values should be sin(x) / x, and 1 at 0.")


@visible(sine_ratio, stage="jit", idea="Under `jax.jit` Python cannot look at x; `jnp.where` can.")
def the_ratio_can_be_compiled(answer):
    """Under `jax.jit` the values are the same."""
    expect_close(answer.jit(POINTS), answer(POINTS))


@visible(
    sine_ratio,
    stage="gradient",
    required=True,
    idea="`where` picks the right value, yet the unused branch still sends 0 * inf back: make its input safe.",
)
def the_gradient_is_finite(answer):
    """The gradient is finite everywhere, 0 at 0, and right elsewhere."""
    got = answer.grad().vmap()(POINTS)
    x = np.asarray(POINTS, np.float64)
    with np.errstate(all="ignore"):
        wanted = np.where(abs(x) < 1e-3, -x / 3, (x * np.cos(x) - np.sin(x)) / x**2)
    # Near 0 two numbers near 1/x are subtracted: what float32 leaves there is tested only for being finite.
    is_finite = bool(np.isfinite(np.asarray(got)).all())
    expect_that(is_finite, "The gradient should be finite, and yours holds NaN or infinity.", got, "finite numbers")
    message = "The gradient should be that of sin(x) / x, and 0 at 0."
    expect_close(np.asarray(got)[:6], wanted[:6].astype("float32"), message, atol=1e-4)


@visible(
    sine_ratio,
    stage="gradient",
    required=True,
    idea="All comparisons with NaN are False, but for `!=`: let NaN go through the division.",
)
def nan_stays_nan(answer):
    """NaN stays NaN, so that a mistake made before is not hidden."""
    got = np.asarray(answer(jnp.array([jnp.nan, 0.5])))
    expect_that(bool(np.isnan(got[0])), "At NaN the value should be NaN.", got[0], "NaN")


# %% [markdown]
# Two `where` cure NaN, and no more. At x = 0.00001 the slope should be -0.0000033, and
# JAX finds -0.0078. The slope is cos(x) / x - sin(x) / x²: two numbers near 1/x are
# subtracted, and only rounding is left. Such a gradient is finite and wrong, and no
# error tells you. Near 0, a polynomial does better: 1 - x²/6.

# %%
print("sin(x) / x:", jax.grad(lambda x: jnp.sin(x) / x)(1e-5))
print("1 - x²/6:  ", jax.grad(lambda x: 1 - x**2 / 6)(1e-5))

# %% [markdown]
# ## What to remember
#
# - `jax.grad(f)` is a function. f must return one number, and what you differentiate
#   with respect to must be floats.
# - `argnums` chooses the arguments, by position from 0. Gradients come back in the
#   container of the parameters.
# - `jax.value_and_grad` gives both from one pass, and with `has_aux=True` whatever else
#   you want to see. Train in a jitted `scan`.
# - In float32, a finite difference needs a step of about 0.01 times the parameter.
# - JAX computes both branches of `where`, backward too: make the *input* of the risky
#   function safe.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### A table of derivatives
#
# With `jax.vmap`, one derivative is computed at many points. With a loop over the
# derivatives, that makes a table.


# %% exercise
@exercise(
    title="A table of derivatives",
    points=2,
    minutes=4,
    reproduces=["S2-17", "S2-18", "S2-20", "S2-21"],
    hints=[
        "How do you get the numbers of one row: one derivative, at all points?",
        "`jax.vmap(jax.grad(f))` is the slope at each point of a vector. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "rows = [jax.vmap(f)(xs)]\nfor _ in range(4):\n    f = ____\n    rows.append(jax.vmap(f)(xs))\n"
        "    print(rows[-1][____])\nreturn jnp.stack(rows)",
        """# Like it: the next three steps of Newton's method, from many points; print the first of each.
def newton_rows(function, starts):
    value, steepness = jax.vmap(function), jax.vmap(jax.grad(function))
    rows = []
    for _ in range(3):
        starts = starts - value(starts) / steepness(starts)
        print(starts[0])
        rows.append(starts)
    return jnp.stack(rows)


rows = newton_rows(lambda t: t**2 - 4, jnp.array([1.0, 3.0, -5.0]))
print(rows.shape, rows[2])  # (3, 3), and near [ 2 2 -2]""",
    ],
)
def print_derivatives(f, xs):
    """Tabulate f and its first four derivatives at many points, and print the four derivatives at the first point.

    Print each with Python's `print`, and nothing else on its line.

    >>> table = print_derivatives(lambda x: x**2, jnp.array([3.0, 4.0]))
    6.0
    2.0
    0.0
    0.0
    >>> table[0]
    Array([ 9., 16.], dtype=float32)

    Args:
        f: a function from one float to one float; it works on each number of an array, too, as `jnp.sin` does.
        xs: float32[n], one point or more.

    Returns:
        float32[5,n]: row 0 has the values of f, row k those of its k-th derivative.
    """
    ...


# %% check
@visible(print_derivatives, stage="shape", idea="One row for f and for each derivative, one column for each point.")
def five_rows_of_n_numbers(answer, draw):
    """The table has 5 rows and n columns of float32."""
    got = answer(given("cubic"), draw.floats(9))
    expect_shape(got, (5, 9))
    expect_dtype(got, "float32")


@visible(print_derivatives, idea="Row 0 is f itself, row 1 its slope.", reproduces=["S2-17"])
def the_cubic_and_its_slope(answer):
    """At 1 the cubic is 1 and its slope is 4; at 2 they are 11 and 17."""
    table = np.asarray(answer(given("cubic"), jnp.array([1.0, 2.0])))
    expect_documented("S2-17", table[:2].T.tolist(), message="The rows 0 and 1 should be f and its slope.")


@visible(
    print_derivatives,
    idea="The slope of the slope is the second derivative: 3x² + 4x - 3, 6x + 4, 6, 0, exact at each point.",
    reproduces=["S2-18"],
)
def the_formulas_hold(answer):
    """At nine points, the four derivatives of the cubic are what the formulas give."""
    table = np.asarray(answer(given("cubic"), jnp.linspace(-2.0, 2.0, 9)))
    message = "The rows 1 to 4 should be what the formulas of the cubic give."
    expect_documented("S2-18", table[1:].tolist(), message=message)


@visible(print_derivatives, idea="One point is enough for a table: it has one column.", reproduces=["S2-20"])
def the_derivatives_at_1(answer):
    """At 1 alone, the four derivatives of the cubic are 4, 10, 6 and 0, in a column."""
    table = np.asarray(answer(given("cubic"), jnp.array([1.0])))
    message = "At 1 alone, the derivatives of the cubic should be a column of 4, 10, 6 and 0."
    expect_documented("S2-20", table[1:].tolist(), message=message)


@visible(
    print_derivatives,
    idea="Outside of `jit`, `print` shows numbers: one derivative at a time.",
    reproduces=["S2-21"],
    required=True,
)
def four_lines_are_printed(answer):
    """At 1 and 2, the derivatives at 1 are printed: 4.0, 10.0, 6.0 and 0.0, one to a line."""
    lines = answer.observe(given("cubic"), jnp.array([1.0, 2.0])).lines
    expect_documented("S2-21", lines, message="The four derivatives at the first point should be printed, one a line.")


@visible(print_derivatives, idea="JAX differentiates the function that it is given; you need no formula.")
def any_function_can_be_tabulated(answer, draw):
    """For sin(2x), each derivative is right too."""
    xs = draw.floats(9)
    wanted = [2**k * np.sin(2 * np.asarray(xs, np.float64) + k * np.pi / 2) for k in range(5)]
    message = "For sin(2x), row k should be 2**k sin(2x + k pi/2)."
    expect_close(answer(given("wave"), xs), np.stack(wanted).astype("float32"), message, rtol=1e-4, atol=1e-4)


# %% documented S2-17 S2-18 S2-20 S2-21
# Documented and today's output agree. The page also writes the derivatives as formulas:
# 3x² + 4x - 3, 6x + 4, 6 and 0, which are 4, 10, 6 and 0 at 1. (In the copy that this
# course reproduces, these formulas are lost.)
dfdx = jax.grad(lambda x: x**3 + 2 * x**2 - 3 * x + 1)
d2fdx = jax.grad(dfdx)
d3fdx = jax.grad(d2fdx)
d4fdx = jax.grad(d3fdx)
print(dfdx(1.0))
print(d2fdx(1.0))
print(d3fdx(1.0))
print(d4fdx(1.0))

# documented
# 4.0
# 10.0
# 6.0
# 0.0

# %% [markdown]
# ### What `grad` refuses
#
# You have seen one refusal, a result of two numbers. There are more. A slope belongs to
# a point that can move a little, and a whole number cannot.


# %%
def square_and_cube(x):
    """Return x² and x³, in one array."""
    return jnp.stack([x**2, x**3])


def cube_aloud(x):
    """Print a line, and return x³."""
    print("the cube is computed")
    return x**3


try:
    jax.grad(cube_aloud)(2)
except TypeError as error:
    print("TypeError:", error)


# %% exercise
@exercise(
    title="The gradient, or why not",
    points=2,
    minutes=4,
    reproduces=["S2-14"],
    hints=[
        "When does `jax.grad` refuse: when it makes the new function, or when that function is called?",
        "Catch the `TypeError` where the function is called; `str(error)` is its message. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "def gradient_or_message(x):\n    try:\n        return ____\n    except TypeError as error:\n"
        "        return ____\n\nreturn gradient_or_message",
        """# Like it: a product of matrices, or what JAX says against it.
def product_or_message(matrix):
    def product(other):
        try:
            return jnp.matmul(matrix, other)
        except TypeError as error:
            return str(error).splitlines()[0]

    return product


times = product_or_message(jnp.ones((2, 3)))
print(times(jnp.ones(3)))  # [3. 3.]
print(times(jnp.ones(4)))  # a message about shapes""",
    ],
)
def gradient_or_refusal(f):
    """Return a function that gives the gradient of f, or JAX's own message if `jax.grad` raises a TypeError.

    Making that function runs nothing of f, and never fails. Other errors pass.

    >>> message = gradient_or_refusal(wave)(jnp.array([0.0, 1.0]))
    >>> message
    'Gradient only defined for scalar-output functions. Output had shape: (2,)....'

    Args:
        f: a function of one argument.

    Returns:
        A function of x, a number or an array: it returns `jax.grad(f)(x)`; or the message, a str, all of it.
    """
    ...


# %% check
def refusal(f, x):
    """Return what `jax.grad` says against differentiating f at x."""
    try:
        jax.grad(f)(x)
    except TypeError as error:
        return str(error)
    raise AssertionError("this should be refused")


@visible(
    gradient_or_refusal,
    idea="`jax.grad` takes a function with one number as its result, and floats as its input; it returns a function, "
    "and refuses only when that is called.",
    reproduces=["S2-14"],
)
def what_grad_accepts(answer):
    """For tanh it gives the slope at 2.0, and the two messages for a vector and for the int 2."""
    lines = answer.observe(given("cube_aloud")).lines
    told = {"three numbers": answer.then(given("tanh"))(jnp.arange(3.0)), "an int": answer.then(given("tanh"))(2)}
    phrases = "only defined for scalar-output functions", "requires real- or complex-valued inputs"
    slope = answer.then(given("tanh"))(2.0)
    is_slope = not isinstance(slope, str) and np.shape(slope) == () and abs(float(slope) - 0.0706508) < 1e-6
    found = {
        "jax.grad(f)": "runs nothing" if not lines else "runs f",
        "at 2.0": "the slope" if is_slope else "something else",
        **{
            at: next((phrase for phrase in phrases if isinstance(text, str) and phrase in text), "no refusal")
            for at, text in told.items()
        },
    }
    message = "For tanh it should give the slope at 2.0, and at three numbers and at the int 2 JAX's own messages."
    expect_documented("S2-14", found, message=message)


@visible(gradient_or_refusal, idea="The message names what was found: ask JAX, and do not write it yourself.")
def the_message_is_all_of_jaxs_own(answer):
    """The message is JAX's, word by word, for results of other shapes and for inputs of other dtypes."""
    calls = [(square_and_cube, "square_and_cube", 2.0), (tanh, "tanh", jnp.ones((2, 1)))]
    calls += [(energy, "energy", jnp.ones((2, 3), dtype)) for dtype in ("int32", "bool", "int8")]
    for function, name, x in calls:
        got, wanted = answer.then(given(name))(x), refusal(function, x)
        expect_that(got == wanted, f"For `{name}`, the message should be JAX's own, all of it.", got, wanted)


@visible(gradient_or_refusal, stage="shape", idea="A gradient has the shape and the dtype of x.")
def vectors_and_short_floats_have_gradients(answer):
    """The gradient of the energy is 2x, also for a matrix of bfloat16."""
    for x in (jnp.arange(6.0).reshape(2, 3), jnp.ones((2, 2), "bfloat16"), jnp.zeros(0)):
        expect_close(answer.then(given("energy"))(x), 2 * x, "The gradient of the energy should be 2x.")


# %% documented S2-14
# That still holds. The page says it in words.
made = jax.grad(lambda x: (print("f runs with", x), x**2)[1])
print(callable(made), jax.grad(jnp.tanh)(2.0))
for x in (jnp.arange(3.0), 2):
    try:
        jax.grad(jnp.tanh)(x)
    except TypeError as error:
        print("TypeError:", error)

# documented
# `jax.grad` takes a function with one number as its result, and returns a function.

# today
# True 0.070650816
# TypeError: Gradient only defined for scalar-output functions. Output had shape: (3,)....
# TypeError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype
# of np.inexact), but got int32....

# %% [markdown]
# ### The start of the regression
#
# Where do the first parameters come from? They are random numbers, and in JAX these
# come from a **key**: `jax.random.split(key, 3)` makes three new keys of one, and each
# new key is for one draw. (Why so, says the lesson
# [`random_numbers`](random_numbers.ipynb).)

# %%
first_key, second_key = jax.random.split(jax.random.key(7))
print("a standard normal vector:", jax.random.normal(first_key, (2,)))
print("a standard normal number:", jax.random.normal(second_key))


# %% exercise
@exercise(
    title="The start of the regression",
    points=1,
    minutes=3,
    reproduces=["S2-22"],
    hints=[
        "You need two draws. How many keys does `jax.random.split(key, 3)` give, and which two do you use?",
        "`key, w_key, b_key = jax.random.split(key, 3)`: the first one stays for later. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.random.split.html",
        "key, w_key, b_key = jax.random.split(key, 3)\nw = jax.random.normal(w_key, (3,))\nb = ____\n"
        "return w, b, loss(w, b)",
        """# Like it: toss three coins and draw a stake; the last key is for later.
def toss(key):
    coins_key, stake_key, later = jax.random.split(key, 3)
    coins = jax.random.bernoulli(coins_key, shape=(3,))
    stake = jax.random.uniform(stake_key)
    return coins, stake, later


coins, stake, later = toss(jax.random.key(0))
print(coins, stake)""",
    ],
)
def start_of_regression(key):
    """Draw the first parameters of the regression on four rows, and compute their loss.

    Split the key in three. Keep the first new key for later, draw w from the second and b from the third. Both are
    standard normal.

    >>> _, _, value = start_of_regression(jax.random.key(0))
    >>> round(float(value), 4)
    2.9729

    Args:
        key: key<fry>[], one key.

    Returns:
        A tuple `(w, b, loss)`: float32[3], float32[] and float32[].
    """
    ...


# %% check
@visible(start_of_regression, stage="shape")
def weights_bias_and_loss(answer, draw):
    """The result is three weights, a bias and a loss."""
    for part, shape in zip(parts(answer(draw.key()), 3), ((3,), (), ()), strict=True):
        expect_shape(part, shape)


@visible(
    start_of_regression,
    idea="The second key is for w, the third for b. The digits depend on JAX's release, the program does not.",
    reproduces=["S2-22"],
)
def the_documented_start(answer):
    """For key 0, parameters and loss are the documented ones with the random numbers of then, and today's else."""
    key = jax.random.key(0)
    expect_documented("S2-22", flat(parts(answer(key), 3)), "today", START_MESSAGE)
    message = "With the random numbers before JAX 0.5.0, parameters and loss should be those of the documentation."
    expect_documented("S2-22", flat(parts(answer.documented_draws(key), 3)), "documented", message)


@visible(start_of_regression, idea="The loss belongs to the parameters that you return.")
def the_loss_belongs_to_the_parameters(answer, draw):
    """The loss is that of the parameters returned; another key gives others."""
    w, b, value = parts(answer(draw.key()), 3)
    expect_close(value, loss(np.asarray(w), np.asarray(b)), "The third part should be the loss of w and b.", rtol=1e-4)
    expect_different(parts(answer(draw.key()), 3)[0], w, "Another key should give other weights.")


@visible(start_of_regression, stage="keys", idea="Each key serves once.")
def each_key_serves_once(answer, draw):
    """No key is used twice."""
    expect_no_key_problem(answer.key_use(draw.key()))


# %% documented S2-22
# Since JAX 0.5.0 the same key gives other random numbers. With
# `threefry_partitionable(False)` you get those of the page, and the loss that it shows
# later.
for setting in (True, False):
    with jax.threefry_partitionable(setting):
        key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
        W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
    print(W, b, loss(W, b))

# documented
# loss value 3.0519385

# today
# [-2.4424558  -2.0356805   0.20554423] 1.2956359 2.9729187
# [-0.36838785 -2.275689    0.01144757] 0.8535516 3.0519385

# %% [markdown]
# ### Your own class
#
# JAX knows dicts, lists and tuples. Of your own class it knows nothing, until you
# **register** it: you tell it how to take an object apart into arrays, and how to put
# it together again.


# %%
def model_loss(model):
    """Compute the loss of a model with the attributes w and b."""
    return loss(model.w, model.b)


class Unknown:
    def __init__(self, w, b):
        self.w, self.b = w, b


try:
    jax.grad(model_loss)(Unknown(jnp.ones(3), 0.0))
except TypeError as error:
    print("TypeError:", str(error).split("\n")[0])

# %% [markdown]
# Here is a registered class. `tree_flatten` returns two things: the arrays, called
# **children**, and all the rest, which stays as it is. `tree_unflatten` gets both back.


# %%
@jax.tree_util.register_pytree_node_class
class Circle:
    def __init__(self, radius, colour):
        self.radius, self.colour = radius, colour

    def tree_flatten(self):
        return (self.radius,), self.colour

    @classmethod
    def tree_unflatten(cls, colour, children):
        return cls(*children, colour)


def area(circle):
    """Return the area of a circle."""
    return jnp.pi * circle.radius**2


slope = jax.grad(area)(Circle(2.0, "red"))
print(type(slope).__name__, slope.radius, slope.colour)


# %% exercise
@exercise(
    title="Repair: the gradient of a model",
    points=3,
    minutes=5,
    reproduces=["S2-30"],
    hints=[
        "Which arrays of a `Model` should have a gradient: w, b, or both?",
        "`jax.tree_util.register_pytree_node_class` decorates a class with the methods `tree_flatten` and "
        "`tree_unflatten`. https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_pytree_node_class.html",
        "@jax.tree_util.register_pytree_node_class\nclass Model:\n    def __init__(self, w, b):\n"
        "        self.w, self.b = w, b\n\n    def tree_flatten(self):\n        return ____, None\n\n    @classmethod\n"
        "    def tree_unflatten(cls, aux, children):\n        return cls(*children)",
        """# Like it: tell JAX how to take an interval apart, and how to build one.
class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


jax.tree_util.register_pytree_node(
    Interval,
    lambda it: ((it.low, it.high), None),  # the arrays, and the rest
    lambda _, arrays: Interval(*arrays),
)
got = jax.grad(lambda it: it.low * it.high)(Interval(2.0, 3.0))
print(type(got).__name__, got.low, got.high)  # Interval 3.0 2.0""",
    ],
)
def gradient_of_model(w, b):
    """Return the gradient of `model_loss` with respect to a whole Model, as a Model: repair the class.

    `Model` may stand above the function. It has the attributes w and b, and JAX must find both: for `jax.grad`,
    `jax.jit` and `jax.vmap`.

    >>> gradient_of_model(jnp.zeros(3), jnp.float32(0.0)).b
    Array(-1., dtype=float32)

    Args:
        w: float32[3].
        b: float32[].

    Returns:
        A Model: its w is the gradient with respect to w, its b the gradient with respect to b.
    """

    class Model:
        def __init__(self, w, b):
            self.w, self.b = w, b

    return jax.grad(model_loss)(Model(w, b))


# %% check
def children(model):
    """Return the arrays of an object of a registered class."""
    is_object = hasattr(model, "children")
    message = "The gradient should be an object of a registered class, not its parts alone."
    expect_that(is_object, message, model)
    return jax.tree.leaves(dict(model.children))


@visible(
    gradient_of_model, stage="shape", idea="What `tree_flatten` calls children is differentiated; the rest is not."
)
def the_gradient_is_a_model(answer, draw):
    """The gradient is an object with two arrays in it: w and b."""
    got = children(answer(draw.floats(3), draw.floats()))
    shapes = sorted(np.shape(part) for part in got)
    expect_that(shapes == [(), (3,)], "The arrays in the object should have the shapes (3,) and ().", shapes)


@visible(
    gradient_of_model,
    idea="A registered class works with every transformation.",
    reproduces=["S2-30"],
)
def a_model_passes_every_transformation(answer, draw):
    """`jax.grad` gives a Model, so does `jax.jit`, and `jax.vmap` gives a Model of batches."""
    one, batch = (draw.floats(3), draw.floats()), (draw.floats(2, 3), draw.floats(2))
    results = [answer(*one), answer.jit(*one), answer.vmap()(*batch)]
    shapes = [sorted((list(np.shape(part)) for part in children(got)), key=len, reverse=True) for got in results]
    same = len({got.type_name for got in results}) == 1
    message = "All three should give a Model, with arrays of the expected shapes."
    expect_documented("S2-30", [same, shapes], message=message)


@visible(gradient_of_model, idea="`tree_unflatten` gets the children in the order in which `tree_flatten` gave them.")
def the_gradient_is_in_its_place(answer, draw):
    """w holds the gradient with respect to w, and b that with respect to b; compiled too."""
    w, b = draw.floats(3), draw.floats()
    wanted = dict(zip(((3,), ()), jax.grad(loss, (0, 1))(w, b), strict=True))
    for got in (answer(w, b), answer.jit(w, b)):
        for part in children(got):
            message = "w should hold the gradient with respect to w, and b that with respect to b."
            expect_close(part, wanted[np.shape(part)], message, rtol=1e-4, atol=1e-4)


# %% documented S2-30
# That still holds, with the same way to register a class. The page says it in words.
# (`Circle` and `area` are the lesson's.)
print(jax.jit(jax.grad(area))(Circle(2.0, "red")).radius)
print(jax.vmap(jax.grad(area))(Circle(jnp.array([1.0, 2.0]), "red")).radius)

# documented
# You can create pytree nodes of your own, which then work with `jax.grad`, `jax.jit`,
# `jax.vmap` and so on.

# today
# 12.566371
# [ 6.2831855 12.566371 ]

# %% [markdown]
# ### `check_grads`
#
# `jax.test_util.check_grads(f, args, order=2)` compares derivatives up to an order with
# finite differences. It returns nothing; if they differ, it raises an `AssertionError`.
#
# You can give a function a rule of your own with `jax.custom_jvp`, and then JAX
# believes you. Here are two bad rules, and a function that uses the first one.


# %%
from jax.test_util import check_grads


def with_rule(function, slope):
    """Return `function` with a rule of its own for its slope."""
    ruled = jax.custom_jvp(function)
    ruled.defjvp(lambda primals, tangents: (function(*primals), slope(*primals) * tangents[0]))
    return ruled


def wrong_slope(x):
    """Compute sin(x), with a wrong rule: the slope is said to be sin(x)."""
    return with_rule(jnp.sin, jnp.sin)(x)


def frozen_slope(x):
    """Compute sin(x); its slope is right, but frozen: the second derivative is said to be 0."""
    return with_rule(jnp.sin, lambda x: jax.lax.stop_gradient(jnp.cos(x)))(x)


def wrong_by_q(p, q):
    """Compute p sin(q), with the wrong rule for sin: right for p, wrong for q."""
    return p * wrong_slope(q)


check_grads(jnp.sin, (1.0,), order=2)  # returns nothing: all is well
print("at 1, the slope should be", np.cos(1.0))
print("wrong_slope: ", jax.grad(wrong_slope)(1.0))
print("frozen_slope:", jax.grad(frozen_slope)(1.0))


# %% exercise
@exercise(
    title="Are the derivatives right?",
    points=2,
    minutes=3,
    reproduces=["S2-35"],
    hints=[
        "How does `check_grads` tell that the derivatives agree? And how, that they do not?",
        "`check_grads(f, args, order=2)` raises an AssertionError where they differ. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html",
        "try:\n    check_grads(f, args, order=2)\nexcept ____:\n    return False\nreturn True",
        """# Like it: this test of NumPy returns nothing too, or raises.
def is_growing(values):
    try:
        np.testing.assert_array_less(values[:-1], values[1:])
    except AssertionError:
        return False
    return True


print(is_growing(np.array([1, 2, 4])))  # True
print(is_growing(np.array([1, 2, 2])))  # False""",
    ],
)
def derivatives_agree(f, args):
    """Say whether the first and second derivatives of f agree with finite differences.

    >>> derivatives_agree(wrong_slope, (1.0,))
    False

    Args:
        f: a function whose result is one number.
        args: a tuple, its arguments: floats and float arrays.

    Returns:
        True or False.
    """
    ...


# %% check
def truth(got):
    """Return what a result says that should be True or False."""
    is_bool = np.shape(got) == () and np.asarray(got).dtype == bool
    expect_that(is_bool, "Return True or False.", got)
    return bool(np.asarray(got))


@visible(
    derivatives_agree,
    idea="`check_grads` returns None when all is well, and raises when it is not; `order=2` asks for the second too.",
    reproduces=["S2-35"],
)
def two_bad_rules_are_found(answer):
    """The loss is right; the two bad rules are found."""
    point = (jnp.float32(1.0),)
    told = {
        "loss": answer(given("loss"), first_parameters(documented=True)[:2]),
        "wrong_slope": answer(given("wrong_slope"), point),
        "frozen_slope": answer(given("frozen_slope"), point),
    }
    message = "Of the loss (right), wrong_slope and frozen_slope (both wrong), all three should be told right."
    expect_documented("S2-35", [truth(got) for got in told.values()], message=message)


@visible(
    derivatives_agree,
    idea="JAX's own rules are right. A derivative may be right for one argument and wrong for another.",
)
def each_argument_counts(answer, draw):
    """p q² + sin(r) is right; p sin(q) with a wrong rule for q is not."""
    x = jnp.float32(draw.integer(1, 5) / 10)
    got = answer(given("bend"), (x, x + 1, x))
    message = "The derivatives of p q² + sin(r) are right: the answer should be True."
    expect_that(truth(got), message, got, "True")
    got = answer(given("wrong_by_q"), (x + 1, x))
    message = "The derivative of `wrong_by_q` with respect to its second argument is wrong: the answer should be False."
    expect_that(not truth(got), message, got, "False")


# %% documented S2-35
# Documented and today's output agree: there is none, for the derivatives are right.
key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
print("nothing is raised:", check_grads(loss, (W, b), order=2))

# documented
# (no output)

# today
# nothing is raised: None

# %% [markdown]
# ### Forward and reverse
#
# A function from n numbers to m numbers has m times n slopes: its **Jacobian**, a row
# for each result and a column for each argument. JAX can go through a function in two
# ways.
#
# - **Forward**: `jax.jvp(f, (x,), (v,))` gives f(x), and how f changes if x moves along
#   v: the Jacobian times v. With v = (1, 0, 0, …), that is its first column.
# - **Reverse**: `value, pull = jax.vjp(f, x)` gives f(x), and a function. `pull(u)` is
#   a tuple with one entry, u times the Jacobian. With u = (1, 0, 0, …), that is its
#   first row.
#
# Either costs about as much as f itself, for one v or one u. So forward takes n times
# the work of f, and reverse m times. A loss has one result, m = 1: that is why
# `jax.grad` goes in reverse.


# %%
def spin(x):
    """Return two numbers for three: [3] -> [2]."""
    return jnp.array([x[0] * x[1], x[2] ** 2])


at = jnp.array([2.0, 3.0, 5.0])
print("first column:", jax.jvp(spin, (at,), (jnp.array([1.0, 0.0, 0.0]),))[1])
value, pull = jax.vjp(spin, at)
print("first row:   ", pull(jnp.array([1.0, 0.0]))[0])
print(jax.jacobian(spin)(at))

# %% [markdown]
# For an unknown number of rounds, only forward is possible: reverse must keep what each
# round computed, and for a `while_loop` nobody knows how much that is.


# %%
def first_number(x):
    """Return the first number, as a vector: [n] -> [1]."""
    return x[:1]


def grow(x):
    """Double x until its first number is more than 100."""
    return jax.lax.while_loop(lambda y: y[0] <= 100, lambda y: 2 * y, x)


def widen(x):
    """Make 40 numbers of a few: [n] -> [40]."""
    return jnp.tanh(jnp.cos(jnp.arange(40.0)[:, None] * jnp.arange(1.0, x.size + 1)) @ x)


def narrow(x):
    """Make 2 numbers of many: [n] -> [2]."""
    return jnp.tanh(jnp.cos(jnp.arange(1.0, 3.0)[:, None] * jnp.arange(x.size)) @ x)


# %% exercise
@exercise(
    title="A Jacobian, in two ways",
    points=3,
    minutes=6,
    hints=[
        "Which vectors give you all columns, one after the other? And which ones all rows?",
        "The unit vectors are the rows of `jnp.eye(n)`; map over them with `jax.vmap`. Columns come out as rows at "
        "first. https://docs.jax.dev/en/latest/jacobian-vector-products.html",
        'if mode == "forward":\n    columns = jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1])(jnp.eye(x.size))\n'
        "    return ____\nvalue, pull = jax.vjp(f, x)\nreturn jax.vmap(lambda u: ____)(jnp.eye(____))",
        """# Like it: the diagonal of a Jacobian, forward, one unit vector at a time.
def diagonal(function, x):
    def entry(i):
        unit = jnp.zeros(x.size).at[i].set(1.0)
        return jax.jvp(function, (x,), (unit,))[1][i]

    return jax.vmap(entry)(jnp.arange(x.size))


print(diagonal(lambda x: x**2 + jnp.sum(x), jnp.array([1.0, 2.0])))  # [3. 5.]""",
    ],
)
def jacobian_by_hand(f, x, mode):
    """Compute the Jacobian of f at x: forward, column by column, or in reverse, row by row.

    Forward, the work is that of about n calls of f, and in reverse of about m, all at once: no Python loop, and no
    loop of `jax.lax`. If JAX cannot differentiate f in that mode, let its error pass.

    >>> jacobian_by_hand(spin, jnp.array([2.0, 3.0, 5.0]), "forward")
    Array([[ 3.,  2.,  0.],
           [ 0.,  0., 10.]], dtype=float32)

    Args:
        f: a function from float32[n] to float32[m].
        x: float32[n].
        mode: "forward" or "reverse".

    Returns:
        float32[m,n]: entry i, j is the slope of result i with respect to x[j].
    """
    ...


# %% check
def jacobian_of_widen(x):
    """Return the Jacobian of `widen`, by its formula and in float64."""
    matrix = np.cos(np.arange(40)[:, None] * np.arange(1.0, x.size + 1))
    return ((1 - np.tanh(matrix @ np.asarray(x, np.float64)) ** 2)[:, None] * matrix).astype("float32")


MODES = ("forward", "reverse")


@visible(jacobian_by_hand, stage="shape", idea="There is a row for each result, and a column for each argument.")
def results_by_arguments(answer, draw):
    """For a function from 3 numbers to 2 the Jacobian is [2,3], and from 3 to 40 it is [40,3]."""
    for mode in MODES:
        expect_shape(answer(given("spin"), draw.floats(3), mode), (2, 3))
        expect_shape(answer(given("widen"), draw.floats(3), mode), (40, 3))


@visible(jacobian_by_hand, idea="Both ways give the same matrix.")
def the_jacobian_is_right(answer, draw):
    """In both modes, entry i, j is the slope of result i with respect to x[j]."""
    for mode in MODES:
        x = draw.floats(3)
        wanted = jnp.array([[x[1], x[0], 0.0], [0.0, 0.0, 2 * x[2]]])
        expect_close(answer(given("spin"), x, mode), wanted, f"In mode {mode!r}, entry i, j should be that slope.")
        expect_close(answer(given("widen"), x, mode), jacobian_of_widen(x), rtol=1e-4, atol=1e-4)


@visible(
    jacobian_by_hand,
    idea="What a `while_loop` needs for the way back is not known in advance: it has a forward mode only.",
    required=True,
)
def a_while_loop_goes_forward_only(answer, draw):
    """Through a `while_loop`, forward works, and in reverse JAX's own ValueError passes."""
    x = jnp.abs(draw.floats(2)) + 1
    factor = 2.0 ** float(np.floor(np.log2(100 / float(x[0]))) + 1)
    wanted = (factor * np.eye(2)).astype("float32")
    expect_close(answer(given("grow"), x, "forward"), wanted, "Forward should work through a `while_loop`.")
    seen = answer.observe_error(given("grow"), x, "reverse")
    message = "In reverse, JAX should raise its ValueError for a `while_loop`; yours returned a value."
    expect_that(seen.error is not None, message, seen.value, "ValueError")
    expect_raises(seen, "ValueError", "Reverse-mode differentiation does not work")
    by_hand = seen.error.source.lstrip().startswith("raise ")
    expect_that(not by_hand, "The error should be JAX's own; yours is raised by hand.", seen.error.source)


@visible(jacobian_by_hand, stage="cost", idea="Forward costs n times f, reverse m times f.", required=True)
def each_mode_has_its_cost(answer):
    """From 2 numbers to 40, forward costs a few times f, and from 40 to 2 reverse does."""
    for name, n, cheap in (("widen", 2, "forward"), ("narrow", 40, "reverse")):
        for mode in MODES:
            work = answer.program(given(name), jnp.ones(n), mode).matmul_flops / 160  # that of one call
            message = f"Of `{name}` at {n} numbers, mode {mode!r} should take about {{}} times the work of f."
            if mode == cheap:
                expect_that(work <= 5, message.format("2 or 3"), f"{work:.0f} times", "at most 5")
            else:
                expect_that(work >= 20, message.format(40), f"{work:.0f} times", "about 40")


@visible(jacobian_by_hand, stage="cost", idea="`vmap` takes all unit vectors at once.", required=True)
def no_loop_over_unit_vectors(answer):
    """The program is as long for 40 columns as for 4, and holds no loop."""
    small, large = ((given("narrow"), jnp.ones(n), "forward") for n in (4, 40))
    expect_no_growth(answer, small, large, UNROLLED)
    expect_no_loop(answer, *small)
    expect_no_loop(answer, given("widen"), jnp.ones(3), "reverse")


# %% [markdown]
# `jax.jacfwd(f)` and `jax.jacrev(f)` are these two; `jax.jacobian` is `jacrev`.
#
# ### A gradient for each example
#
# For a batch, most programs take the gradient of the *mean* loss. With `jax.vmap` you
# can have one for each example.


# %%
def squared_error(params, x, y):
    """The loss of one example: params of w[d] and b[], x[d], y[] -> []."""
    return (x @ params["w"] + params["b"] - y) ** 2


line = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(0.5)}
print(jax.grad(squared_error)(line, jnp.array([1.0, 1.0]), 3.0))


# %% exercise
@exercise(
    title="Per-example gradients",
    points=2,
    minutes=4,
    hints=[
        "For one example, the gradient is a dict like the parameters. What is mapped, and what stays whole?",
        "Put `vmap` around `grad`, and `None` for the parameters. "
        "https://docs.jax.dev/en/latest/advanced-autodiff.html#per-example-gradients",
        "return jax.vmap(jax.grad(____), in_axes=____)(params, xs, ys)",
        """# Like it: one pull on many springs; the gradient for each spring.
def tension(spring, pull):
    return spring["stiffness"] * (pull - spring["rest"]) ** 2


springs = {"stiffness": jnp.array([1.0, 2.0]), "rest": jnp.array([0.0, 1.0])}
of_each = jax.vmap(jax.grad(tension), in_axes=(0, None))(springs, 3.0)
print(of_each["stiffness"], of_each["rest"])  # [9. 4.] [-6. -8.]""",
    ],
)
def per_example_gradients(params, xs, ys):
    """Give the gradient of `squared_error` with respect to the parameters, for each example.

    No Python loop over the examples, and no loop of `jax.lax`.

    >>> xs = jnp.array([[1.0, 1.0], [2.0, 1.0]])
    >>> per_example_gradients(line, xs, jnp.array([3.0, 3.0]))["w"]
    Array([[1., 1.],
           [6., 3.]], dtype=float32)

    Args:
        params: a dict of "w" float32[d] and "b" float32[].
        xs: float32[n,d].
        ys: float32[n].

    Returns:
        A dict of "w" float32[n,d] and "b" float32[n]: entry i is the gradient for example i.
    """
    ...


# %% check
def gradients_by_hand(params, xs, ys):
    """Return what calculus gives: 2 (x w + b - y) times x, and times 1."""
    xs = np.asarray(xs)
    twice = 2 * (xs @ np.asarray(params["w"]) + np.asarray(params["b"]) - np.asarray(ys))
    return {"w": twice[:, None] * xs, "b": twice}


@visible(per_example_gradients, stage="shape", idea="The batch axis comes in front of each parameter's shape.")
def one_gradient_for_each_example(answer, draw):
    """For four examples of three numbers, "w" is [4,3] and "b" is [4]."""
    got = answer({"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4))
    expect_that(isinstance(got, dict) and sorted(got) == ["b", "w"], 'Return a dict of "w" and "b".', got)
    expect_shape(got["w"], (4, 3), "There should be a gradient of w for each example: [4,3].")
    expect_shape(got["b"], (4,), "There should be a gradient of b for each example: [4].")


@visible(per_example_gradients, idea="Each gradient is that of one example's loss, not a part of a mean.")
def gradients_are_those_of_one_example(answer, draw):
    """Entry i is the gradient of example i alone."""
    params, xs, ys = {"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4)
    message = "Entry i should be the gradient of the loss of example i alone."
    expect_close(answer(params, xs, ys), gradients_by_hand(params, xs, ys), message, rtol=1e-4, atol=1e-4)


@visible(per_example_gradients, stage="cost", idea="`vmap` of `grad` is one program for all examples.", required=True)
def no_loop_over_the_examples(answer, draw):
    """The program is as long for 40 examples as for 4, and holds no loop."""
    params = {"w": draw.floats(3), "b": draw.floats()}
    small, large = (params, draw.floats(4, 3), draw.floats(4)), (params, draw.floats(40, 3), draw.floats(40))
    expect_no_growth(answer, small, large, UNROLLED)
    expect_no_loop(answer, *small)


# %% [markdown]
# ### A rule of your own
#
# Sometimes you do not want the true gradient. One point far off may make a gradient so
# large that a step throws the model out of its valley. So people **clip** it. This must
# happen on the way back, while nothing changes on the way forward: no function has such
# a gradient by itself.
#
# With `jax.custom_vjp` you write both ways yourself. On the way forward, return the
# result, and what the way back will need. On the way back, you get that, and the
# gradient with respect to the result (the *cotangent*); return a tuple with a gradient
# for each argument.


# %%
@jax.custom_vjp
def flipped(x):
    """Return x, with a gradient of the other sign."""
    return x


def flipped_forward(x):
    """Return the result, and what the way back needs: nothing."""
    return x, None


def flipped_backward(kept, cotangent):
    """Return a gradient for each argument."""
    return (-cotangent,)


flipped.defvjp(flipped_forward, flipped_backward)
print(flipped(3.0), jax.grad(lambda x: flipped(x) ** 2)(3.0))


# %% exercise
@exercise(
    title="Clip the gradient",
    points=3,
    minutes=5,
    hints=[
        "Where must the clipping stand, so that all of the gradient of f comes through it: before f, or after it?",
        "Write a function with a rule, which returns x as it is, and on the way back clips the cotangent. Let f take "
        "its result. https://docs.jax.dev/en/latest/_autosummary/jax.custom_vjp.html",
        "@jax.custom_vjp\ndef through(x):\n    return x\n\ndef forward(x):\n    return x, None\n\n"
        "def backward(_, cotangent):\n    return (____,)\n\nthrough.defvjp(forward, backward)\n"
        "return lambda x: f(____)",
        """# Like it: a product whose gradient goes to the first factor only.
@jax.custom_vjp
def times(a, b):
    return a * b


def times_forward(a, b):
    return a * b, (a, b)


def times_backward(factors, cotangent):
    a, b = factors
    return cotangent * b, jnp.zeros_like(b)


times.defvjp(times_forward, times_backward)
print(jax.grad(times, argnums=(0, 1))(2.0, 5.0))  # 5.0 and 0.0""",
    ],
)
def with_clipped_gradient(f, limit):
    """Return a function with the values of f, whose gradient is that of f with each entry clipped to ±limit.

    It works under `jax.jit` and `jax.vmap`, and under `jax.vmap` each row is clipped by itself.

    >>> tame = with_clipped_gradient(energy, 5.0)
    >>> tame(jnp.array([1.0, -4.0])), jax.grad(tame)(jnp.array([1.0, -4.0]))
    (Array(17., dtype=float32), Array([ 2., -5.], dtype=float32))

    Args:
        f: a function of a float32 array whose result is one number.
        limit: float, 0 or more.

    Returns:
        A function of a float32 array whose result is one number.
    """
    ...


# %% check
@visible(with_clipped_gradient, idea="On the way forward nothing changes.")
def the_values_are_those_of_f(answer, draw):
    """The values are those of f, small or large."""
    for x in (draw.floats(4), 100 * draw.floats(2, 3)):
        got = answer.then(given("energy"), 0.5)(x)
        expect_close(got, jnp.sum(x**2), "The value should be that of f.", rtol=1e-4)


@visible(
    with_clipped_gradient,
    stage="gradient",
    idea="The cotangent at x is the gradient of f: clip it there, after f has been gone through.",
    required=True,
)
def each_entry_is_clipped(answer):
    """Large entries become ±limit, and small ones stay."""
    x = jnp.array([3.0, -3.0, 0.25, -0.125, 0.0])
    for limit in (2.0, 0.375):
        wanted = jnp.clip(2 * x, -limit, limit)
        got = answer.then(given("energy"), limit).grad()(x)
        expect_close(got, wanted, f"With limit {limit}, each entry of 2x should be clipped to ±{limit}.")
    got = answer.then(given("cubic"), 5.0).grad()(2.0)
    expect_close(got, 5.0, "The slope of the cubic at 2 is 17; with limit 5, it should be 5.")


@visible(
    with_clipped_gradient,
    stage="gradient",
    idea="A function with a rule is jitted and mapped like any other.",
    required=True,
)
def it_works_jitted_and_mapped(answer, draw):
    """Jitted and mapped, each row is clipped by itself."""
    xs = draw.floats(3, 4)
    got = answer.then(given("energy"), 1.0).grad().vmap().jit(xs)
    expect_close(got, jnp.clip(2 * xs, -1.0, 1.0), "Each row of gradients should be clipped by itself.")


# %% [markdown]
# ### The Hessian, without the Hessian
#
# The second derivatives with respect to n parameters are a matrix of n × n numbers, the
# **Hessian**. For a million parameters nobody can store it. But often you need only its
# product with one vector v.
#
# That product is the slope of the *gradient* along v: how the gradient changes if you
# step in the direction v. `jax.jvp(g, (x,), (v,))` gives g(x), and how g changes along
# v.


# %%
def valley(x):
    """Return the sum of the fourth powers of a matrix of n × n, times x."""
    n = x.shape[0]
    matrix = jnp.cos(jnp.arange(n)[:, None] * jnp.arange(1.0, n + 1))
    return jnp.sum((matrix @ x) ** 4)


x, v = jnp.array([0.1, 0.2, 0.3]), jnp.array([1.0, 0.0, 0.0])
print("Hessian:\n", jax.hessian(valley)(x))
print("its product with v:", jax.hessian(valley)(x) @ v)


# %% exercise
@exercise(
    title="Repair: a Hessian times a vector",
    points=3,
    minutes=4,
    hints=[
        "`jax.grad(f)` is a function from a vector to a vector. How does its value change along v?",
        "`jax.jvp(g, (x,), (v,))` gives g(x), and how g changes along v. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.jvp.html",
        "_, change = jax.jvp(____, (x,), (v,))\nreturn change",
        """# Like it: a Jacobian times a vector, without the Jacobian.
def stretch(p):
    return p * jnp.sum(p)


at, along = jnp.array([2.0, 3.0]), jnp.array([1.0, 1.0])
value, change = jax.jvp(stretch, (at,), (along,))
print(value, change)  # [10. 15.] [ 9. 11.]
print(jax.jacobian(stretch)(at) @ along)  # the same change, by the matrix""",
    ],
)
def hessian_times(f, x, v):
    """Multiply the Hessian of f at x by v: make this fast, and build no n × n matrix.

    With more parameters, the cost may grow as much as that of f grows, and no more.

    >>> hessian_times(energy, jnp.array([1.0, 2.0]), jnp.array([1.0, 10.0]))
    Array([ 2., 20.], dtype=float32)

    Args:
        f: a function from float32[n] to one number.
        x: float32[n], the point.
        v: float32[n], the vector.

    Returns:
        float32[n].
    """
    return jax.hessian(f)(x) @ v


# %% check
def valley_hessian(x):
    """Return the Hessian of `valley`, by its formula and in float64."""
    n = len(x)
    matrix = np.cos(np.arange(n)[:, None] * np.arange(1.0, n + 1))
    return (matrix.T * (12 * (matrix @ np.asarray(x, np.float64)) ** 2)) @ matrix


@visible(hessian_times, stage="shape")
def the_product_is_a_vector(answer, draw):
    """The product is a vector of n numbers."""
    expect_shape(answer(given("energy"), draw.floats(4), draw.floats(4)), (4,))


@visible(hessian_times, idea="The Hessian holds the slopes of the gradient; times v, it is their sum along v.")
def the_product_is_right(answer, draw):
    """The product is that of the full matrix with v."""
    x, v = draw.numpy(4), draw.numpy(4)
    wanted = valley_hessian(x) @ v
    scale = float(np.abs(wanted).max())
    message = "This should be the Hessian times v."
    expect_close(answer(given("valley"), x, v), wanted.astype("float32"), message, rtol=2e-4, atol=2e-4 * scale)
    expect_close(answer(given("energy"), x, v), 2 * v, "The Hessian of the sum of squares, times v, should be 2 v.")


# All that checks send by name, so that a student's own function of such a name is never sent instead.
SENT = (
    *(wave, tanh, cubic, energy, bend, loss, loss_aloud, dict_loss, pair_loss, nested_loss, moon_loss, valley),
    *(
        wrong_slope,
        frozen_slope,
        wrong_by_q,
        square_and_cube,
        cube_aloud,
        sigmoid,
        safer_root,
        spin,
        grow,
        first_number,
    ),
    *(widen, narrow),
)


@visible(
    hessian_times,
    stage="cost",
    idea="One slope of the gradient along v costs a few times f. The whole Hessian costs n times that.",
    required=True,
)
def the_cost_grows_as_that_of_f(answer):
    """From n = 8 to n = 16, the cost grows 4 times, as that of f does, and not 8 times."""
    small, large = (answer.program(given("valley"), jnp.ones(n), jnp.ones(n)).matmul_flops for n in (8, 16))
    message = "From n = 8 to n = 16, the work should grow as that of f, about 4 times."
    expect_that(0 < large < 6 * small, message, f"{large / max(small, 1):.0f} times", "4 times")


# %% [markdown]
# How much work is that? Here it is, compared with that of the gradient alone, for the
# full matrix and for your product.


# %%
def draw_work():
    """Draw how the work grows with the number of parameters, as counted in the programs."""
    sizes, ways = [4, 8, 16, 32, 64], {"full Hessian": jax.hessian(valley)}
    ways["hessian_times"] = lambda x: hessian_times(valley, x, jnp.ones_like(x))
    _, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
    for name, way in ways.items():
        work = [[program(f, jnp.ones(n)).matmul_flops for f in (way, jax.grad(valley))] for n in sizes]
        axes.plot(sizes, [one / gradient for one, gradient in work], "o-", label=name)
    axes.set(xlabel="number of parameters n", ylabel="times as much work")
    axes.legend()
    plt.show()


draw_work()

# %% [markdown]
# ## What to read next
#
# - [Automatic
#   differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html), the
#   page behind the documented examples
# - [Advanced automatic
#   differentiation](https://docs.jax.dev/en/latest/advanced-autodiff.html): both modes
# - [Custom derivative
#   rules](https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html)
# - [Pytrees](https://docs.jax.dev/en/latest/pytrees.html)
# - [Gradients that are NaN with
#   `where`](https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where)
