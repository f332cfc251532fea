# %% [markdown]
# # Automatic differentiation
#
# **Core:** 8 exercises, about 55 minutes. **Beyond the core:** 9 exercises.
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
# This installs jaxguide where it is missing, as in Colab. It does nothing elsewhere.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("jaxguide") is None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True
    )
    importlib.invalidate_caches()

# %%
from jaxguide.lesson import check, hint, progress, solution, start

start("autodiff")

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

# %% [markdown]
# ### Exercise: The n-th derivative (2 points)
#
# Return the n-th derivative of f, as a function.
#
# ```python
# >>> slope = nth_derivative(lambda x: x**4, 1)
# >>> slope(2.0)
# Array(32., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `f`: a function from one float to one float.
# - `n`: int, 0 or more. The derivative number 0 is f itself.
#
# **Returns:** A function from a float, or float32[], to float32[].

# %%
def nth_derivative(f, n):
    """Return the n-th derivative of f, as a function."""
    ...


check(nth_derivative)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(nth_derivative)
# solution(nth_derivative)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-13, S2-15,
# S2-16, S2-19)</summary>
#
# Documented and today's output agree. For the cubic, the page shows how the functions
# are made, and no output.
#
# > ```python
# > grad = jax.grad
# > print(grad(jnp.tanh)(2.0))
# > print(grad(grad(jnp.tanh))(2.0))
# > print(grad(grad(grad(jnp.tanh)))(2.0))
# >
# > dfdx = grad(lambda x: x**3 + 2 * x**2 - 3 * x + 1)
# > d2fdx = grad(dfdx)
# > d3fdx = grad(d2fdx)
# > d4fdx = grad(d3fdx)
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > 0.070650816
# > -0.13621868
# > 0.25265405
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: Gradients by position (2 points)
#
# Return the gradient of f with respect to the arguments at some positions.
#
# ```python
# >>> gradient_by_position(lambda p, q: p * q, (2.0, 3.0), (1, 0))
# (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
# ```
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: floats and float arrays.
# - `which`: None for the first argument; an int, a position from 0 on; or a tuple of
#   one or more such ints.
#
# **Returns:** One gradient with the shape of its argument; for a tuple, a tuple of
# gradients in that order.

# %%
def gradient_by_position(f, args, which=None):
    """Return the gradient of f with respect to the arguments at some positions."""
    ...


check(gradient_by_position)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(gradient_by_position)
# solution(gradient_by_position)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-23, S2-24,
# S2-25, S2-26, S2-27)</summary>
#
# Since JAX 0.5.0 the same key gives other random numbers, so W and b are others today.
# With `jax.threefry_partitionable(False)` you get those of the page; a last digit may
# differ, since JAX 0.7.0. That `grad(f, i)` is the partial derivative with respect to
# argument i, the page says in words.
#
# > ```python
# > key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# > W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# > W_grad = jax.grad(loss, argnums=0)(W, b)
# > print(f"{W_grad=}")
# > W_grad = jax.grad(loss)(W, b)
# > print(f"{W_grad=}")
# > b_grad = jax.grad(loss, 1)(W, b)
# > print(f"{b_grad=}")
# > W_grad, b_grad = jax.grad(loss, (0, 1))(W, b)
# > print(f"{W_grad=}")
# > print(f"{b_grad=}")
# > print(*(jax.grad(bend, i)(2.0, 3.0, 0.5) for i in range(3)))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# > W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# > b_grad=Array(-0.29227245, dtype=float32)
# > W_grad=Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32)
# > b_grad=Array(-0.29227245, dtype=float32)
# > ```
#
# Today:
#
# > ```text
# > W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# > W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# > b_grad=Array(-0.69001776, dtype=float32)
# > W_grad=Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32)
# > b_grad=Array(-0.69001776, dtype=float32)
# > 9.0 12.0 0.87758255
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: One step downhill (2 points)
#
# Take one step of gradient descent, for parameters in any container. They stay as they
# are.
#
# ```python
# >>> x = jnp.float32(3.0)
# >>> gradient, new = gradient_step(lambda p: p["x"] ** 2, {"x": x}, 0.25)
# >>> gradient["x"], new["x"]
# (Array(6., dtype=float32), Array(1.5, dtype=float32))
# ```
#
# **Args:**
#
# - `f`: a function from the parameters to one number.
# - `params`: a pytree of float32 arrays: dicts, tuples and lists, nested in any way, or
#   an array alone.
# - `rate`: float; each parameter p with gradient g becomes p - rate * g.
#
# **Returns:** A tuple `(gradient, new_params)`, both of the same structure as `params`.

# %%
def gradient_step(f, params, rate):
    """Take one step of gradient descent, for parameters in any container."""
    ...


check(gradient_step)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(gradient_step)
# solution(gradient_step)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-28,
# S2-29)</summary>
#
# Today W and b are others, since the same key gives other random numbers. That tuples,
# lists and dicts may be nested in any way, the page says in words.
#
# > ```python
# > key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# > W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# >
# >
# > def loss2(params_dict):
# >     return loss(params_dict["W"], params_dict["b"])
# >
# >
# > print(jax.grad(loss2)({"W": W, "b": b}))
# > print(jax.grad(nested_loss)([W, [b]]))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > {'W': Array([-0.16965583, -0.8774644 , -1.4901346 ], dtype=float32),
# >  'b': Array(-0.29227245, dtype=float32)}
# > ```
#
# Today:
#
# > ```text
# > {'W': Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32),
# >  'b': Array(-0.69001776, dtype=float32)}
# > [Array([-0.433146 , -0.7354605, -1.2598922], dtype=float32),
# >  [Array(-0.69001776, dtype=float32)]]
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Value and gradient at once (2 points)
#
# Return the value of f and its gradient with respect to all arguments, and compute f
# only once.
#
# ```python
# >>> loss_and_gradient(lambda p, q: p * q, (2.0, 3.0))[0]
# Array(6., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: floats, float arrays, or containers of these.
#
# **Returns:** A tuple `(value, gradient)`: float32[], and a tuple with one gradient for
# each argument, also if there is only one.

# %%
def loss_and_gradient(f, args):
    """Return the value of f and its gradient with respect to all arguments, and compute
    f only once.
    """
    ...


check(loss_and_gradient)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loss_and_gradient)
# solution(loss_and_gradient)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-31,
# S2-32)</summary>
#
# Today W and b are others, since the same key gives other random numbers. That value
# and gradient come from one pass, the page says in words: `loss_aloud` speaks once.
#
# > ```python
# > key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# > W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# > loss_value, Wb_grad = jax.value_and_grad(loss_aloud, (0, 1))(W, b)
# > print("loss value", loss_value)
# > print("loss value", loss(W, b))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > loss value 3.0519385
# > loss value 3.0519385
# > ```
#
# Today:
#
# > ```text
# > the loss is computed
# > loss value 2.9729187
# > loss value 2.9729187
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Train (3 points)
#
# Take many steps of gradient descent, and note the loss and the accuracy before each
# step.
#
# In each step, every parameter p with the gradient g of the loss becomes p - rate * g.
# All steps are one jitted program with a loop, in which the function is computed once
# for each step. A second call with other numbers of the same shapes traces nothing
# anew.
#
# ```python
# >>> _, losses, accuracies = train(moon_loss, untrained, 0.1, 3)
# >>> [round(float(loss), 3) for loss in losses]
# [0.693, 0.647, 0.616]
# ```
#
# **Args:**
#
# - `function`: a function from the parameters to a tuple `(loss, accuracy)` of two
#   float32[], such as `moon_loss`.
# - `params`: a pytree of float32 arrays.
# - `rate`: float.
# - `steps`: int, 0 or more.
#
# **Returns:** A tuple `(params, losses, accuracies)`: the parameters after the last
# step, in their container; and two float32[steps], the loss and the accuracy before
# each step.

# %%
def train(function, params, rate, steps):
    """Take many steps of gradient descent, and note the loss and the accuracy before
    each step.
    """
    ...


check(train)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(train)
# solution(train)

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

# %% [markdown]
# ### Exercise: A slope in two ways (2 points)
#
# Compute the slope of f along a direction: by a central finite difference, and by
# automatic differentiation.
#
# The finite difference is (f(args + eps/2 * direction) - f(args - eps/2 * direction)) /
# eps, where f gets float32 and computes in float32. The direction is taken as it is:
# twice the direction gives twice the slope.
#
# ```python
# >>> one = jnp.float32(1.0)
# >>> numerical, exact = slope_in_two_ways(lambda x: x**3, (one,), (one,), 1.0)
# >>> float(numerical), float(exact)
# (3.25, 3.0)
# ```
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: float32 arrays of any shape.
# - `direction`: a tuple, for each argument a float32 array of the same shape: how far
#   it moves.
# - `eps`: float, the step.
#
# **Returns:** A tuple `(numerical, exact)` of two numbers: float32[] or floats.

# %%
def slope_in_two_ways(f, args, direction, eps):
    """Compute the slope of f along a direction: by a central finite difference, and by
    automatic differentiation.
    """
    ...


check(slope_in_two_ways)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slope_in_two_ways)
# solution(slope_in_two_ways)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-33,
# S2-34)</summary>
#
# Today W, b and the unit vector are others, since the same key gives other random
# numbers. The losses are rounded, so that the two numerical slopes come in steps of
# 0.0024; the last digits differ between releases.
#
# > ```python
# > eps = 1e-4
# > key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# > W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# > b_grad_numerical = (loss(W, b + eps / 2.0) - loss(W, b - eps / 2.0)) / eps
# > print(f"b_grad_numerical {b_grad_numerical:.2f}")
# > print("b_grad_autodiff", jax.grad(loss, 1)(W, b))
# >
# > key, subkey = jax.random.split(key)
# > vec = jax.random.normal(subkey, W.shape)
# > unitvec = vec / jnp.sqrt(jnp.vdot(vec, vec))
# > ahead, behind = (loss(W + step * unitvec, b) for step in (eps / 2.0, -eps / 2.0))
# > print(f"W_dirderiv_numerical {(ahead - behind) / eps:.2f}")
# > print("W_dirderiv_autodiff", jnp.vdot(jax.grad(loss)(W, b), unitvec))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > b_grad_numerical -0.29325485
# > b_grad_autodiff -0.29227245
# > W_dirderiv_numerical -0.2002716
# > W_dirderiv_autodiff -0.19909117
# > ```
#
# Today:
#
# > ```text
# > b_grad_numerical -0.69
# > b_grad_autodiff -0.69001776
# > W_dirderiv_numerical 1.30
# > W_dirderiv_autodiff 1.3006744
# > ```
#
# </details>

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

# %% [markdown]
# ### Predict: the better step (1 point)
#
# Here, along b: does the finite difference with eps = 0.01 or eps = 0.000001 come
# nearer to the exact slope?
#
# **Returns:** A float: 0.01 or 0.000001.

# %%
def predict_better_step():
    """Here, along b: does the finite difference with eps = 0.01 or eps = 0.000001 come
    nearer to the exact slope?
    """
    ...


check(predict_better_step)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(predict_better_step)
# solution(predict_better_step)

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

# %% [markdown]
# ### Repair: a division that is guarded twice (3 points)
#
# Compute sin(x) / x, which is 1 at x = 0, with a gradient that is finite everywhere,
# and 0 at x = 0.
#
# The value below is right, and its gradient is not: repair it.
#
# ```python
# >>> jax.grad(sine_ratio)(0.0)
# Array(0., dtype=float32, weak_type=True)
# ```
#
# **Args:**
#
# - `x`: float32 array of any shape; each number is 0, or at least 0.000001 away from
#   it.
#
# **Returns:** float32 array of the same shape. NaN stays NaN.

# %%
def sine_ratio(x):
    """Compute sin(x) / x, which is 1 at x = 0, with a gradient that is finite
    everywhere, and 0 at x = 0.
    """
    return jnp.where(x == 0, 1.0, jnp.sin(x) / x)


check(sine_ratio)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sine_ratio)
# solution(sine_ratio)

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

# %% [markdown]
# ### Exercise: A table of derivatives (2 points, beyond the core)
#
# Tabulate f and its first four derivatives at many points, and print the four
# derivatives at the first point.
#
# Print each with Python's `print`, and nothing else on its line.
#
# ```python
# >>> table = print_derivatives(lambda x: x**2, jnp.array([3.0, 4.0]))
# 6.0
# 2.0
# 0.0
# 0.0
# >>> table[0]
# Array([ 9., 16.], dtype=float32)
# ```
#
# **Args:**
#
# - `f`: a function from one float to one float; it works on each number of an array,
#   too, as `jnp.sin` does.
# - `xs`: float32[n], one point or more.
#
# **Returns:** float32[5,n]: row 0 has the values of f, row k those of its k-th
# derivative.

# %%
def print_derivatives(f, xs):
    """Tabulate f and its first four derivatives at many points, and print the four
    derivatives at the first point.
    """
    ...


check(print_derivatives)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(print_derivatives)
# solution(print_derivatives)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-17, S2-18,
# S2-20, S2-21)</summary>
#
# Documented and today's output agree. The page also writes the derivatives as formulas:
# 3x² + 4x - 3, 6x + 4, 6 and 0, which are 4, 10, 6 and 0 at 1. (In the copy that this
# course reproduces, these formulas are lost.)
#
# > ```python
# > dfdx = jax.grad(lambda x: x**3 + 2 * x**2 - 3 * x + 1)
# > d2fdx = jax.grad(dfdx)
# > d3fdx = jax.grad(d2fdx)
# > d4fdx = jax.grad(d3fdx)
# > print(dfdx(1.0))
# > print(d2fdx(1.0))
# > print(d3fdx(1.0))
# > print(d4fdx(1.0))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > 4.0
# > 10.0
# > 6.0
# > 0.0
# > ```
#
# Today's JAX prints the same.
#
# </details>

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

# %% [markdown]
# ### Exercise: The gradient, or why not (2 points, beyond the core)
#
# Return a function that gives the gradient of f, or JAX's own message if `jax.grad`
# raises a TypeError.
#
# Making that function runs nothing of f, and never fails. Other errors pass.
#
# ```python
# >>> message = gradient_or_refusal(wave)(jnp.array([0.0, 1.0]))
# >>> message
# 'Gradient only defined for scalar-output functions. Output had shape: (2,)....'
# ```
#
# **Args:**
#
# - `f`: a function of one argument.
#
# **Returns:** A function of x, a number or an array: it returns `jax.grad(f)(x)`; or
# the message, a str, all of it.

# %%
def gradient_or_refusal(f):
    """Return a function that gives the gradient of f, or JAX's own message if
    `jax.grad` raises a TypeError.
    """
    ...


check(gradient_or_refusal)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(gradient_or_refusal)
# solution(gradient_or_refusal)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-14)</summary>
#
# That still holds. The page says it in words.
#
# > ```python
# > made = jax.grad(lambda x: (print("f runs with", x), x**2)[1])
# > print(callable(made), jax.grad(jnp.tanh)(2.0))
# > for x in (jnp.arange(3.0), 2):
# >     try:
# >         jax.grad(jnp.tanh)(x)
# >     except TypeError as error:
# >         print("TypeError:", error)
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# says:
#
# > `jax.grad` takes a function with one number as its result, and returns a function.
#
# Today:
#
# > ```text
# > True 0.070650816
# > TypeError: Gradient only defined for scalar-output functions. Output had shape: (3,)....
# > TypeError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype
# > of np.inexact), but got int32....
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: The start of the regression (1 point, beyond the core)
#
# Draw the first parameters of the regression on four rows, and compute their loss.
#
# Split the key in three. Keep the first new key for later, draw w from the second and b
# from the third. Both are standard normal.
#
# ```python
# >>> _, _, value = start_of_regression(jax.random.key(0))
# >>> round(float(value), 4)
# 2.9729
# ```
#
# **Args:**
#
# - `key`: `key<fry>[]`, one key.
#
# **Returns:** A tuple `(w, b, loss)`: float32[3], float32[] and float32[].

# %%
def start_of_regression(key):
    """Draw the first parameters of the regression on four rows, and compute their loss.
    """
    ...


check(start_of_regression)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(start_of_regression)
# solution(start_of_regression)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-22)</summary>
#
# Since JAX 0.5.0 the same key gives other random numbers. With
# `threefry_partitionable(False)` you get those of the page, and the loss that it shows
# later.
#
# > ```python
# > for setting in (True, False):
# >     with jax.threefry_partitionable(setting):
# >         key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# >         W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# >     print(W, b, loss(W, b))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > loss value 3.0519385
# > ```
#
# Today:
#
# > ```text
# > [-2.4424558  -2.0356805   0.20554423] 1.2956359 2.9729187
# > [-0.36838785 -2.275689    0.01144757] 0.8535516 3.0519385
# > ```
#
# </details>

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

# %% [markdown]
# ### Repair: the gradient of a model (3 points, beyond the core)
#
# Return the gradient of `model_loss` with respect to a whole Model, as a Model: repair
# the class.
#
# `Model` may stand above the function. It has the attributes w and b, and JAX must find
# both: for `jax.grad`, `jax.jit` and `jax.vmap`.
#
# ```python
# >>> gradient_of_model(jnp.zeros(3), jnp.float32(0.0)).b
# Array(-1., dtype=float32)
# ```
#
# **Args:**
#
# - `w`: float32[3].
# - `b`: float32[].
#
# **Returns:** A Model: its w is the gradient with respect to w, its b the gradient with
# respect to b.

# %%
def gradient_of_model(w, b):
    """Return the gradient of `model_loss` with respect to a whole Model, as a Model:
    repair the class.
    """

    class Model:
        def __init__(self, w, b):
            self.w, self.b = w, b

    return jax.grad(model_loss)(Model(w, b))


check(gradient_of_model)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(gradient_of_model)
# solution(gradient_of_model)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-30)</summary>
#
# That still holds, with the same way to register a class. The page says it in words.
# (`Circle` and `area` are the lesson's.)
#
# > ```python
# > print(jax.jit(jax.grad(area))(Circle(2.0, "red")).radius)
# > print(jax.vmap(jax.grad(area))(Circle(jnp.array([1.0, 2.0]), "red")).radius)
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# says:
#
# > You can create pytree nodes of your own, which then work with `jax.grad`, `jax.jit`,
# > `jax.vmap` and so on.
#
# Today:
#
# > ```text
# > 12.566371
# > [ 6.2831855 12.566371 ]
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: Are the derivatives right? (2 points, beyond the core)
#
# Say whether the first and second derivatives of f agree with finite differences.
#
# ```python
# >>> derivatives_agree(wrong_slope, (1.0,))
# False
# ```
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, its arguments: floats and float arrays.
#
# **Returns:** True or False.

# %%
def derivatives_agree(f, args):
    """Say whether the first and second derivatives of f agree with finite differences.
    """
    ...


check(derivatives_agree)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(derivatives_agree)
# solution(derivatives_agree)

# %% [markdown]
# <details>
# <summary>The document's example, today: Automatic differentiation (S2-35)</summary>
#
# Documented and today's output agree: there is none, for the derivatives are right.
#
# > ```python
# > key, W_key, b_key = jax.random.split(jax.random.key(0), 3)
# > W, b = jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())
# > print("nothing is raised:", check_grads(loss, (W, b), order=2))
# > ```
#
# [Automatic differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html)
# shows:
#
# > ```text
# > (no output)
# > ```
#
# Today:
#
# > ```text
# > nothing is raised: None
# > ```
#
# </details>

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

# %% [markdown]
# ### Exercise: A Jacobian, in two ways (3 points, beyond the core)
#
# Compute the Jacobian of f at x: forward, column by column, or in reverse, row by row.
#
# Forward, the work is that of about n calls of f, and in reverse of about m, all at
# once: no Python loop, and no loop of `jax.lax`. If JAX cannot differentiate f in that
# mode, let its error pass.
#
# ```python
# >>> jacobian_by_hand(spin, jnp.array([2.0, 3.0, 5.0]), "forward")
# Array([[ 3.,  2.,  0.],
#        [ 0.,  0., 10.]], dtype=float32)
# ```
#
# **Args:**
#
# - `f`: a function from float32[n] to float32[m].
# - `x`: float32[n].
# - `mode`: "forward" or "reverse".
#
# **Returns:** float32[m,n]: entry i, j is the slope of result i with respect to x[j].

# %%
def jacobian_by_hand(f, x, mode):
    """Compute the Jacobian of f at x: forward, column by column, or in reverse, row by
    row.
    """
    ...


check(jacobian_by_hand)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(jacobian_by_hand)
# solution(jacobian_by_hand)

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

# %% [markdown]
# ### Exercise: Per-example gradients (2 points, beyond the core)
#
# Give the gradient of `squared_error` with respect to the parameters, for each example.
#
# No Python loop over the examples, and no loop of `jax.lax`.
#
# ```python
# >>> xs = jnp.array([[1.0, 1.0], [2.0, 1.0]])
# >>> per_example_gradients(line, xs, jnp.array([3.0, 3.0]))["w"]
# Array([[1., 1.],
#        [6., 3.]], dtype=float32)
# ```
#
# **Args:**
#
# - `params`: a dict of "w" float32[d] and "b" float32[].
# - `xs`: float32[n,d].
# - `ys`: float32[n].
#
# **Returns:** A dict of "w" float32[n,d] and "b" float32[n]: entry i is the gradient
# for example i.

# %%
def per_example_gradients(params, xs, ys):
    """Give the gradient of `squared_error` with respect to the parameters, for each
    example.
    """
    ...


check(per_example_gradients)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(per_example_gradients)
# solution(per_example_gradients)

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

# %% [markdown]
# ### Exercise: Clip the gradient (3 points, beyond the core)
#
# Return a function with the values of f, whose gradient is that of f with each entry
# clipped to ±limit.
#
# It works under `jax.jit` and `jax.vmap`, and under `jax.vmap` each row is clipped by
# itself.
#
# ```python
# >>> tame = with_clipped_gradient(energy, 5.0)
# >>> tame(jnp.array([1.0, -4.0])), jax.grad(tame)(jnp.array([1.0, -4.0]))
# (Array(17., dtype=float32), Array([ 2., -5.], dtype=float32))
# ```
#
# **Args:**
#
# - `f`: a function of a float32 array whose result is one number.
# - `limit`: float, 0 or more.
#
# **Returns:** A function of a float32 array whose result is one number.

# %%
def with_clipped_gradient(f, limit):
    """Return a function with the values of f, whose gradient is that of f with each
    entry clipped to ±limit.
    """
    ...


check(with_clipped_gradient)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(with_clipped_gradient)
# solution(with_clipped_gradient)

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

# %% [markdown]
# ### Repair: a Hessian times a vector (3 points, beyond the core)
#
# Multiply the Hessian of f at x by v: make this fast, and build no n × n matrix.
#
# With more parameters, the cost may grow as much as that of f grows, and no more.
#
# ```python
# >>> hessian_times(energy, jnp.array([1.0, 2.0]), jnp.array([1.0, 10.0]))
# Array([ 2., 20.], dtype=float32)
# ```
#
# **Args:**
#
# - `f`: a function from float32[n] to one number.
# - `x`: float32[n], the point.
# - `v`: float32[n], the vector.
#
# **Returns:** float32[n].

# %%
def hessian_times(f, x, v):
    """Multiply the Hessian of f at x by v: make this fast, and build no n × n matrix.
    """
    return jax.hessian(f)(x) @ v


check(hessian_times)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(hessian_times)
# solution(hessian_times)

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
