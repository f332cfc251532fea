# %% [markdown]
# # Automatic differentiation
#
# You write a function. JAX computes its derivative: exactly, and without formulas from
# you. This lesson shows how to ask for the derivative that you mean, and how to see
# when it is wrong.
#
# After this lesson you can
#
# - take slopes, gradients and higher derivatives with `jax.grad`,
# - differentiate with respect to any argument, and to dicts, lists and classes of
#   parameters,
# - check a derivative with finite differences, and choose a step that works in float32,
# - mend a gradient that is NaN, stop one, write your own rule, and multiply by a
#   Hessian that is never built.
#
# You need NumPy; of JAX you need `jit` and `vmap`. The lesson takes about two hours.
# You can stop after each part.

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

# %% [markdown]
# Run the cells from top to bottom. A cell with a function to write or to repair is an
# **exercise**: `check(...)` tells you what is right. If you are stuck,
# `hint(name_of_the_function)` gives a small hint, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed. You get the point
# for guessing, right or wrong.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

# %%
import jax
import jax.numpy as jnp
import jax.test_util
import matplotlib.pyplot as plt
import numpy as np

# %% [markdown]
# ## Part 1. Slopes
#
# `jax.grad` takes a function and returns a function: the slope of the first one.
# Nothing is computed until you call that new function.

# %%
def wave(x):
    """Go up and down: x -> sin(2 x)."""
    return jnp.sin(2 * x)


slope_of_wave = jax.grad(wave)
print("the slope is a function:", slope_of_wave)
print("at 0:", slope_of_wave(0.0))
print("at 1:", slope_of_wave(1.0), "and by hand:", 2 * np.cos(2.0))

# %% [markdown]
# The slope is the steepness of the tangent. Here are some tangents, each drawn from one
# call of `slope_of_wave`.

# %%
xs = jnp.linspace(-2.0, 2.0, 200)
plt.figure(figsize=(6, 3))
plt.plot(xs, wave(xs), color="tab:blue")
for x in (-1.5, -0.5, 0.0, 1.0):
    step = np.array([-0.3, 0.3])
    plt.plot(x + step, wave(x) + slope_of_wave(x) * step, color="tab:orange", linewidth=3)
plt.title("sin(2x) and four tangents")
plt.show()

# %% [markdown]
# How does JAX know the slope? It follows your function operation by operation, and has
# a rule for each: for `sin` the rule is `cos`. Here is the program of `wave`, and then
# that of its slope.

# %%
from jaxguide.tracing import draw_program

draw_program(wave, 1.0)

# %%
draw_program(slope_of_wave, 1.0)

# %% [markdown]
# The slope is an ordinary JAX function. So it has a slope of its own:
# `jax.grad(jax.grad(wave))`.

# %%
print("second derivative at 1:", jax.grad(jax.grad(wave))(1.0))
print("by hand:               ", -4 * np.sin(2.0))

# %% [markdown]
# Two functions for the exercises. The second one is a polynomial, so you can check its
# derivatives on paper: 3x² + 4x - 3, then 6x + 4, then 6, then 0.

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
# ### Many points
#
# `jax.grad` wants a function with **one number** as its result. A slope at many points
# is not that, so this fails:

# %%
try:
    jax.grad(wave)(jnp.array([0.0, 1.0]))
except TypeError as error:
    print("TypeError:", error)

# %% [markdown]
# For many points, take the slope at one point and let `jax.vmap` do it for each.

# %%
print(jax.vmap(jax.grad(wave))(jnp.array([0.0, 1.0])))

# %% [markdown]
# ### Exercise: A table of derivatives (2 points)
#
# Tabulate f and its first four derivatives at many points.
#
# **Args:**
#
# - `f`: a function from one float to one float; it works on each number of an array
#   too, as `jnp.sin` does.
# - `xs`: float32[n], the points.
#
# **Returns:** float32[5,n]: row 0 has the values of f, row k those of its k-th
# derivative.

# %%
def derivative_table(f, xs):
    """Tabulate f and its first four derivatives at many points."""
    ...


check(derivative_table)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(derivative_table)
# solution(derivative_table)

# %% [markdown]
# A table is quickly drawn. Where a curve is flat, its derivative is 0; where it is
# steepest, its second derivative is.

# %%
xs = jnp.linspace(-3.0, 3.0, 200)
f = tanh
plt.figure(figsize=(6, 3))
for name in ("tanh", "first", "second", "third"):
    plt.plot(xs, jax.vmap(f)(xs), label=name)
    f = jax.grad(f)
plt.legend()
plt.title("tanh and its derivatives")
plt.show()

# %% [markdown]
# ### What `grad` refuses
#
# You have seen one refusal. There is a second one. Try both on functions of your own,
# then describe what you found.

# %%
def energy(x):
    """Sum the squares of all entries."""
    return jnp.sum(x**2)


def first_entry(x):
    """Return the first entry, as a vector of one number."""
    return x[:1]


def square_and_cube(x):
    """Return x² and x³, in one array."""
    return jnp.stack([x**2, x**3])


print(jax.grad(energy)(jnp.array([1.0, 2.0])))
try:
    jax.grad(energy)(jnp.array([1, 2]))
except TypeError as error:
    print("TypeError:", error)

# %% [markdown]
# ### Exercise: What grad refuses (2 points)
#
# Say what `jax.grad(f)(x)` refuses.
#
# **Args:**
#
# - `f`: a function of one argument; its result is a float, or an array of floats.
# - `x`: a number or an array of any size; its dtype is a float, also bfloat16, an int
#   or bool.
#
# **Returns:** A str: "input" if `jax.grad` refuses to differentiate with respect to
# this x; otherwise "output" if it refuses the result of f; otherwise "nothing".

# %%
def what_grad_refuses(f, x):
    """Say what `jax.grad(f)(x)` refuses."""
    ...


check(what_grad_refuses)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(what_grad_refuses)
# solution(what_grad_refuses)

# %% [markdown]
# ### Whole numbers
#
# The slope of the cubic at the point 2 is clear, whether you write `2` or `2.0`. But
# for JAX a slope belongs to a point that can move a little, and an integer cannot. So
# convert the input **before** `grad` sees it.

# %% [markdown]
# ### Exercise: A slope at whole numbers too (2 points)
#
# Repair this: return the slope of f, as a function that takes whole numbers too, also
# under `jax.jit`.
#
# **Args:**
#
# - `f`: a function from one float to one float.
#
# **Returns:** A function from an int, a float, int32[] or float32[] to float32[].

# %%
def slope_at_any_number(f):
    """Repair this: return the slope of f, as a function that takes whole numbers too,
    also under `jax.jit`.
    """
    return jax.grad(f)


check(slope_at_any_number)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(slope_at_any_number)
# solution(slope_at_any_number)

# %% [markdown]
# ## Part 2. Many parameters
#
# The example of this part is a small logistic regression. It says for each of four rows
# of data how likely the label `True` is, from three weights `w` and a bias `b`.

# %%
inputs = jnp.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
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
    """Return the negative log-likelihood of the labels."""
    probabilities = predict(w, b, inputs)
    right = probabilities * targets + (1 - probabilities) * (1 - targets)
    return -jnp.sum(jnp.log(right))


print(loss(jnp.zeros(3), 0.0))

# %% [markdown]
# The regression starts with random numbers. In JAX they come from a **key**:
# `jax.random.split(key, 3)` makes three new keys of one, and each new key is for one
# draw. (Why so, says the lesson `random_numbers`.)

# %%
first_key, second_key = jax.random.split(jax.random.key(7))
print("a standard normal vector:", jax.random.normal(first_key, (2,)))
print("a standard normal number:", jax.random.normal(second_key))

# %% [markdown]
# With `jax.random.key(0)`, JAX's documentation shows the loss 3.0519385 at the start.
# Today it is 2.9729187: since JAX 0.5.0 the same key gives other numbers.
# `jax.threefry_partitionable(False)` gives the old ones.

# %% [markdown]
# ### Exercise: The start of the regression (1 point)
#
# Draw the first parameters of the regression, and compute their loss.
#
# Split the key in three. Keep the first new key for later, draw w from the second and b
# from the third. Both are standard normal.
#
# **Args:**
#
# - `key`: `key<fry>[]`, one key.
#
# **Returns:** A tuple `(w, b, loss)`: float32[3], float32[] and float32[].

# %%
def start_of_regression(key):
    """Draw the first parameters of the regression, and compute their loss."""
    ...


check(start_of_regression)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(start_of_regression)
# solution(start_of_regression)

# %% [markdown]
# ### Which argument?
#
# `jax.grad(f)` differentiates with respect to the **first** argument. `argnums` chooses
# another one, or several.

# %%
def bend(p, q, r):
    """Compute p q² + sin(r)."""
    return p * q**2 + jnp.sin(r)


print("first:         ", jax.grad(bend)(2.0, 3.0, 0.5))
print("number 1:      ", jax.grad(bend, argnums=1)(2.0, 3.0, 0.5))
print("numbers 2 and 0:", jax.grad(bend, argnums=(2, 0))(2.0, 3.0, 0.5))

# %% [markdown]
# ### Exercise: Gradients by position (2 points)
#
# Return the gradient of f with respect to the arguments at some positions.
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: floats and float arrays.
# - `which`: None for the first argument; an int, a position from 0 on; or a tuple of
#   such ints.
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
# Here is the gradient of the loss at the start, with the numbers of today and with
# those of the documentation. There it is [-0.16965583, -0.8774644, -1.4901346]: the
# last digits are rounding, and differ between releases of JAX.

# %%
for name, setting in (("today", True), ("as documented", False)):
    with jax.threefry_partitionable(setting):
        _, w_key, b_key = jax.random.split(jax.random.key(0), 3)
        start_w, start_b = jax.random.normal(w_key, (3,)), jax.random.normal(b_key)
    print(f"{name}: {jax.grad(loss)(start_w, start_b)}")

# %% [markdown]
# ### Small steps
#
# What are all these partial derivatives good for? Together they say how much the result
# changes if **all** arguments move a little: each moves it by its partial derivative
# times its step.

# %%
by_p, by_q, by_r = jax.grad(bend, argnums=(0, 1, 2))(2.0, 3.0, 0.5)
print("foretold:", by_p * 0.01 + by_q * 0.02 + by_r * -0.01)
print("found:   ", bend(2.01, 3.02, 0.49) - bend(2.0, 3.0, 0.5))

# %% [markdown]
# ### Exercise: The change to first order (2 points)
#
# Foretell how much f changes when its arguments move by `steps`, to first order.
#
# Each entry of each argument moves the result by its partial derivative times its step;
# return the sum of it all.
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: float32[] and float arrays.
# - `steps`: a tuple, for each argument a step of the same shape.
#
# **Returns:** One number: float32[] or a float.

# %%
def first_order_change(f, args, steps):
    """Foretell how much f changes when its arguments move by `steps`, to first order.
    """
    ...


check(first_order_change)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(first_order_change)
# solution(first_order_change)

# %% [markdown]
# ### Containers of parameters
#
# Real models have many parameters, in dicts and lists. `jax.grad` differentiates by the
# whole container, and the gradient comes back **in the same container**. Such nested
# containers are called **pytrees**.

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


params = {"w": jnp.ones(3), "b": jnp.float32(0.0)}
print(jax.grad(dict_loss)(params))
print(jax.tree.map(lambda x: 10 * x, params))

# %% [markdown]
# ### Exercise: One step downhill (2 points)
#
# Take one step of gradient descent, for parameters in any container.
#
# **Args:**
#
# - `f`: a function from the parameters to one number.
# - `params`: a pytree of float32 arrays: dicts, tuples and lists, nested in any way.
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
# ### Exercise: The gradient of a model (3 points)
#
# Repair this: return the gradient of `model_loss` by a whole Model, as a Model.
#
# `Model` may stand above the function. It has the attributes w and b, and JAX must find
# both: for `jax.grad`, `jax.jit` and `jax.vmap`.
#
# **Args:**
#
# - `w`: float32[3].
# - `b`: float32[].
#
# **Returns:** A Model: its w is the gradient by w, its b the gradient by b.

# %%
def gradient_of_model(w, b):
    """Repair this: return the gradient of `model_loss` by a whole Model, as a Model."""

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
# ### Value and gradient
#
# In training you need both: the loss to look at, and the gradient to step. To compute a
# gradient, JAX computes the value anyway. `loss_aloud` tells each time that it is
# computed.

# %%
def loss_aloud(w, b):
    """Print a line, and return the loss."""
    print("the loss is computed")
    return loss(w, b)


w, b = jnp.ones(3), jnp.float32(0.0)
print("value:", loss_aloud(w, b))
print("gradient:", jax.grad(loss_aloud)(w, b))

# %% [markdown]
# ### Exercise: Value and gradient at once (2 points)
#
# Make this fast: return the value of f and its gradient by all arguments, and compute f
# only once.
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: float arrays.
#
# **Returns:** A tuple `(value, gradient)`: float32[], and a tuple with one gradient for
# each argument.

# %%
def loss_and_gradient(f, args):
    """Make this fast: return the value of f and its gradient by all arguments, and
    compute f only once.
    """
    value = f(*args)
    gradient = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return value, gradient


check(loss_and_gradient)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loss_and_gradient)
# solution(loss_and_gradient)

# %% [markdown]
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
# ### Exercise: Per-example gradients (2 points)
#
# Give the gradient of `squared_error` with respect to the parameters, for each example.
#
# No Python loop over the examples, and no loop of `jax.lax`.
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
# ## Part 3. Is the derivative right?
#
# A derivative is easy to check: take a small step, and see how much the function
# changes. This is a **finite difference**. For many parameters, step in one direction:
# all parameters move at once.

# %%
eps = 0.01
numerical = (wave(1.0 + eps / 2) - wave(1.0 - eps / 2)) / eps
print("finite difference:", numerical)
print("jax.grad:         ", jax.grad(wave)(1.0))

# %% [markdown]
# ### Exercise: A slope in two ways (2 points)
#
# Compute the slope of f along a direction: by a central finite difference, and by
# automatic differentiation.
#
# The finite difference is (f(args + eps/2 * direction) - f(args - eps/2 * direction)) /
# eps. The direction is taken as it is: twice the direction gives twice the slope.
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, the arguments of f: float32[] and float arrays.
# - `direction`: a tuple, for each argument a direction of the same shape.
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
# ### How small a step?
#
# The documentation takes the step 0.0001. With its numbers, the finite difference by b
# is -0.29325 and the exact slope is -0.29227: only two digits agree. Is the step too
# large, or too small?

# %% [markdown]
# ### Predict: the better step (1 point)
#
# Finite differences of the loss by b: does eps = 0.01 or eps = 0.000001 come nearer to
# the exact slope?
#
# **Returns:** A float: 0.01 or 0.000001.

# %%
def predict_better_step():
    """Finite differences of the loss by b: does eps = 0.01 or eps = 0.000001 come
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
# the left it is too small: `b + eps / 2` and the loss are rounded to 7 digits, and what
# is left of their difference is noise.

# %%
w, b = jnp.array([-2.4, -2.0, 0.2]), jnp.float32(1.3)
exact = jax.grad(loss, 1)(w, b)
steps = np.logspace(-7, 1, 60)
errors = [abs((loss(w, b + eps / 2) - loss(w, b - eps / 2)) / eps - exact) for eps in steps.tolist()]
plt.figure(figsize=(6, 3))
plt.loglog(steps, np.maximum(errors, 1e-9), ".-")
plt.axvline(1e-4, color="tab:orange", label="the documentation's step")
plt.xlabel("step eps")
plt.ylabel("error")
plt.legend()
plt.show()

# %% [markdown]
# The best step lies in between: it gives up about a third of the digits to keep the
# others. And a step is small, or large, **compared with x**. In the next exercise
# `jax.grad` cannot help you: the functions are NumPy code, in float32.

# %%
def cube_in_numpy(x):
    """Compute x³ in float32, with NumPy."""
    return np.float32(x) ** 3


def root_in_numpy(x):
    """Compute the square root in float32, with NumPy."""
    return np.sqrt(np.float32(x))


def inverse_in_numpy(x):
    """Compute 1/x in float32, with NumPy."""
    return np.float32(1) / np.float32(x)


try:
    jax.grad(root_in_numpy)(2.0)
except jax.errors.TracerArrayConversionError as error:
    print("TracerArrayConversionError:", str(error).split("\n")[0])

# %% [markdown]
# ### Exercise: A step that fits (2 points)
#
# Repair this: the derivative of a float32 function, by finite differences, to a
# relative error below 0.001.
#
# **Args:**
#
# - `f`: a function from a float to np.float32; it may be NumPy code, which JAX cannot
#   differentiate. It is smooth, and changes on the scale of x, as powers and roots do.
# - `x`: float, from 0.01 to 1000.
#
# **Returns:** A number: a float, float32[] or float64[].

# %%
def numerical_derivative(f, x):
    """Repair this: the derivative of a float32 function, by finite differences, to a
    relative error below 0.001.
    """
    eps = 1e-4
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


check(numerical_derivative)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(numerical_derivative)
# solution(numerical_derivative)

# %% [markdown]
# ### `check_grads`
#
# JAX has this test ready: `jax.test_util.check_grads(f, args, order=2)` compares
# derivatives up to an order with finite differences. It returns nothing; if they
# differ, it raises an `AssertionError`.
#
# You can give a function a rule of your own with `jax.custom_jvp`, and then JAX
# believes you. Here are two bad rules, and a function that uses the first one.

# %%
def with_rule(function, slope):
    """Return `function` with a rule of its own for its slope."""
    ruled = jax.custom_jvp(function)
    ruled.defjvp(lambda primals, tangents: (function(*primals), slope(*primals) * tangents[0]))
    return ruled


def wrong_slope(x):
    """Compute sin(x), with a wrong rule: the slope is said to be sin(x)."""
    return with_rule(jnp.sin, jnp.sin)(x)


def frozen_slope(x):
    """Compute sin(x), with a rule whose slope is right, but frozen: the second derivative is said to be 0."""
    return with_rule(jnp.sin, lambda x: jax.lax.stop_gradient(jnp.cos(x)))(x)


def wrong_by_q(p, q):
    """Compute p sin(q), with the wrong rule for sin: right by p, wrong by q."""
    return p * wrong_slope(q)


print("at 1, the slope should be", np.cos(1.0))
print("wrong_slope: ", jax.grad(wrong_slope)(1.0))
print("frozen_slope:", jax.grad(frozen_slope)(1.0))

# %% [markdown]
# ### Exercise: Are the derivatives right? (2 points)
#
# Say whether the first and second derivatives of f agree with finite differences.
#
# **Args:**
#
# - `f`: a function whose result is one number.
# - `args`: a tuple, its arguments: float32[] and float arrays.
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
# ## Part 4. Where gradients go wrong
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
# infinity there, or NaN; `where` multiplies it by 0, and that is NaN. `find_nan` says
# where it happens.

# %%
from jaxguide.debug import find_nan

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
# ### Exercise: A division that is guarded twice (3 points)
#
# Repair this: sin(x) / x, which is 1 at x = 0, with a gradient that is finite
# everywhere, and 0 at x = 0.
#
# **Args:**
#
# - `x`: float32 array of any shape; each number is 0, or at least 0.000001 away from
#   it.
#
# **Returns:** float32 array of the same shape.

# %%
def sine_ratio(x):
    """Repair this: sin(x) / x, which is 1 at x = 0, with a gradient that is finite
    everywhere, and 0 at x = 0.
    """
    return jnp.where(x == 0, 1.0, jnp.sin(x) / x)


check(sine_ratio)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(sine_ratio)
# solution(sine_ratio)

# %% [markdown]
# ### Stop a gradient
#
# Sometimes the true gradient is useless. `jnp.round` is a staircase: its slope is 0
# everywhere, so nothing can be learned through it. `jax.lax.stop_gradient(x)` is x, but
# for `jax.grad` it is a constant.

# %%
def half_frozen(x):
    """Compute x * x, but only the first factor counts for the gradient."""
    return x * jax.lax.stop_gradient(x)


print("slope of round at 1.3:", jax.grad(jnp.round)(1.3))
print("value of half_frozen at 3:", half_frozen(3.0), " slope:", jax.grad(half_frozen)(3.0))

# %% [markdown]
# ### Exercise: Round, but let the gradient through (2 points)
#
# Round to whole numbers, but with the gradient of x itself: 1 everywhere.
#
# **Args:**
#
# - `x`: float32 array of any shape.
#
# **Returns:** float32 array of the same shape: whole numbers, as `jnp.round` gives.

# %%
def straight_through_round(x):
    """Round to whole numbers, but with the gradient of x itself: 1 everywhere."""
    ...


check(straight_through_round)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(straight_through_round)
# solution(straight_through_round)

# %% [markdown]
# ### A rule of your own
#
# `log(1 + exp(x))` is nearly x for large x. But `exp(100)` is more than float32 can
# hold. With `jax.custom_jvp` you write the function and the rule for its slope
# yourself. The rule gets the point and the step: `primals` and `tangents`. It returns
# the value, and the slope **times the step**.

# %%
@jax.custom_jvp
def logarithm(x):
    """Compute log(x)."""
    return jnp.log(x)


@logarithm.defjvp
def logarithm_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return logarithm(x), dx / x


print("slope at 4:", jax.grad(logarithm)(4.0))
print("second derivative at 4:", jax.grad(jax.grad(logarithm))(4.0))

# %% [markdown]
# ### Exercise: Stable for large numbers (3 points)
#
# Repair this: log(1 + exp(x)), with value, slope and second derivative right from -100
# to 100.
#
# **Args:**
#
# - `x`: float32 array of any shape.
#
# **Returns:** float32 array of the same shape. Its slope is 1 / (1 + exp(-x)).

# %%
def soft_plus(x):
    """Repair this: log(1 + exp(x)), with value, slope and second derivative right from
    -100 to 100.
    """
    return jnp.log(1 + jnp.exp(x))


check(soft_plus)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(soft_plus)
# solution(soft_plus)

# %% [markdown]
# ### The Hessian, without the Hessian
#
# The second derivatives by n parameters are a matrix of n × n numbers, the **Hessian**.
# For a million parameters nobody can store it. But often you need only its product with
# one vector v.
#
# That product is the slope of the *gradient* along v: how the gradient changes if you
# step in the direction v.

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
# ### Exercise: A Hessian times a vector (3 points)
#
# Make this fast: multiply the Hessian of f at x by v, and build no n × n matrix.
#
# With more parameters, the cost may grow as much as that of f grows, and no more.
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
    """Make this fast: multiply the Hessian of f at x by v, and build no n × n matrix.
    """
    return jax.hessian(f)(x) @ v


check(hessian_times)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(hessian_times)
# solution(hessian_times)

# %% [markdown]
# How much does the full matrix cost? Here is its work, compared with that of the
# gradient alone (both counted in multiplications and additions of the programs).

# %%
from jaxguide.tracing import program

sizes = [4, 8, 16, 32, 64]
work = [[program(g(valley), jnp.ones(n)).matmul_flops for g in (jax.hessian, jax.grad)] for n in sizes]
plt.figure(figsize=(6, 3))
plt.plot(sizes, [full / gradient for full, gradient in work], "o-")
plt.xlabel("number of parameters n")
plt.ylabel("times as much work")
plt.title("the full Hessian, compared with the gradient")
plt.show()

# %% [markdown]
# ## What to remember
#
# - `jax.grad(f)` is a function. f must return one number; its input must be floats.
# - `argnums` chooses the arguments, by position from 0. Gradients come back in the same
#   container.
# - `jax.value_and_grad` gives both for the price of one.
# - In float32, a finite difference needs a step near 0.01 times the size of x.
#   `check_grads` does the test for you.
# - `where` runs both branches, backward too: make the *input* of the risky function
#   safe.
# - `stop_gradient` makes a constant; `custom_jvp` takes your word for it, so check it.
# - A Hessian times a vector is the slope of the gradient along it: no matrix is needed.

# %% [markdown]
# ## What to read next
#
# - [Automatic
#   differentiation](https://docs.jax.dev/en/latest/automatic-differentiation.html), the
#   source
# - [Advanced automatic
#   differentiation](https://docs.jax.dev/en/latest/advanced-autodiff.html): both modes
# - [Custom derivative
#   rules](https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html)
# - [Pytrees](https://docs.jax.dev/en/latest/pytrees.html)
# - [Gradients that are NaN with
#   `where`](https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where)
