# %% check
from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_different,
    expect_documented,
    expect_dtype,
    expect_no_key_problem,
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
    expect_that(isinstance(got, tuple | list) and len(got) == count, f"Return a tuple of {count} values.", got)
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


# %% exercise
@exercise(
    title="The n-th derivative",
    points=2,
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
    expect_shape(answer.then(given("tanh"), 1)(2.0), ())


@visible(nth_derivative, idea="One `jax.grad` is one derivative.", reproduces=["S2-13"])
def the_first_derivative_of_tanh(answer):
    """The first derivative of tanh at 2 is 0.0706508."""
    got = answer.then(given("tanh"), 1)(2.0)
    expect_documented("S2-13", got, message="The first derivative of tanh at 2 should be 0.0706508.")


@visible(
    nth_derivative,
    idea="Differentiate the function that came out of the last round, not its value.",
    reproduces=["S2-15", "S2-16"],
)
def the_next_derivatives_of_tanh(answer):
    """The second derivative of tanh at 2 is -0.136219, the third is 0.252654."""
    for n, example in ((2, "S2-15"), (3, "S2-16")):
        message = f"The derivative number {n} of tanh at 2 should be the expected number."
        expect_documented(example, answer.then(given("tanh"), n)(2.0), message=message)


@visible(nth_derivative, idea="A polynomial loses one power with each derivative.", reproduces=["S2-19"])
def the_derivatives_of_the_cubic(answer):
    """At 2, the derivatives 2, 3 and 4 of the cubic are 16, 6 and 0."""
    got = [float(answer.then(given("cubic"), n)(2.0)) for n in (2, 3, 4)]
    expect_documented("S2-19", got, message="The derivatives 2, 3 and 4 of the cubic at 2 should be 16, 6 and 0.")


@visible(nth_derivative, idea="Doing nothing zero times over leaves the function as it is.")
def number_zero_is_the_function_itself(answer):
    """The derivative number 0 is the function itself."""
    expect_close(answer.then(given("cubic"), 0)(2.0), 11.0, "With n = 0, the function should give what f gives.")


@visible(nth_derivative, stage="jit", idea="A derivative can be compiled like any other function.")
def the_derivative_can_be_compiled(answer):
    """Under `jax.jit` it gives the same numbers."""
    expect_close(answer.then(given("tanh"), 2).jit(0.5), answer.then(given("tanh"), 2)(0.5))


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


# %% exercise
@exercise(
    title="A table of derivatives",
    points=2,
    reproduces=["S2-17", "S2-18", "S2-20", "S2-21"],
    hints=[
        "How do you get the numbers of one row: one derivative, at all points?",
        "`jax.vmap(jax.grad(f))` is the slope at each point of a vector. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "rows = []\nfor _ in range(5):\n    rows.append(jax.vmap(f)(xs))\n    f = ____\nreturn jnp.stack(rows)",
        """# Like it: the next three steps of Newton's method, from many points.
def newton_rows(function, starts):
    value, steepness = jax.vmap(function), jax.vmap(jax.grad(function))
    rows = []
    for _ in range(3):
        starts = starts - value(starts) / steepness(starts)
        rows.append(starts)
    return jnp.stack(rows)


rows = newton_rows(lambda t: t**2 - 4, jnp.array([1.0, 3.0, -5.0]))
print(rows.shape, rows[2])  # (3, 3), and near [ 2 2 -2]""",
    ],
)
def derivative_table(f, xs):
    """Tabulate f and its first four derivatives at many points.

    Args:
        f: a function from one float to one float; it works on each number of an array too, as `jnp.sin` does.
        xs: float32[n], the points.

    Returns:
        float32[5,n]: row 0 has the values of f, row k those of its k-th derivative.
    """
    ...


# %% check
@visible(derivative_table, stage="shape", idea="One row for f and for each derivative, one column for each point.")
def five_rows_of_n_numbers(answer, draw):
    """The table has 5 rows and n columns of float32."""
    got = answer(given("cubic"), draw.floats(9))
    expect_shape(got, (5, 9))
    expect_dtype(got, "float32")


@visible(derivative_table, idea="Row 0 is f itself, row 1 its slope.", reproduces=["S2-17"])
def the_cubic_and_its_slope(answer):
    """At 1 the cubic is 1 and its slope is 4."""
    table = np.asarray(answer(given("cubic"), jnp.linspace(-2.0, 2.0, 9)))
    expect_documented("S2-17", table[:2, 6].tolist(), message="The rows 0 and 1 should be f and its slope.")


@visible(
    derivative_table,
    idea="The slope of the slope is the second derivative: 3x² + 4x - 3, 6x + 4, 6, 0, exact at each point.",
    reproduces=["S2-18", "S2-20", "S2-21"],
)
def the_documented_derivatives(answer):
    """At 1, the four derivatives of the cubic are 4, 10, 6 and 0; at nine points they are what the formulas give."""
    table = np.asarray(answer(given("cubic"), jnp.linspace(-2.0, 2.0, 9)))[1:]
    message = "By the formulas, the four derivatives of the cubic at 1 should be 4, 10, 6 and 0."
    expect_documented("S2-20", table[:, 6].tolist(), message=message)
    # What `print` shows of each, one to a line; 0.0 may come out as -0.0.
    printed = "\n".join(str(round(number, 4) + 0.0) for number in table[:, 6].tolist())
    expect_documented("S2-21", printed, message="The four derivatives at 1 should print as expected.")
    expect_documented("S2-18", table.tolist(), message="The table should be what the formulas of the cubic give.")


@visible(derivative_table, idea="JAX differentiates the function that it is given; you need no formula.")
def any_function_can_be_tabulated(answer, draw):
    """For sin(2x), each derivative is right too."""
    xs = draw.floats(9)
    wanted = [2**k * np.sin(2 * np.asarray(xs, np.float64) + k * np.pi / 2) for k in range(5)]
    expect_close(
        answer(given("wave"), xs),
        np.stack(wanted).astype("float32"),
        "For sin(2x), row k should be 2**k sin(2x + k pi/2).",
    )


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


# %% exercise
@exercise(
    title="What grad refuses",
    points=2,
    reproduces=["S2-14"],
    hints=[
        "What does `jax.grad` say about x: its shape, or its dtype? And what does it say about f(x)?",
        "Catch the `TypeError` and read its message, or look at `x` and at `f(x)` yourself. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        'if not jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating):\n    return "input"\nif jnp.shape(____) != ():\n'
        '    return "output"\nreturn "nothing"',
        """# Like it: what is wrong with a mask for x: its dtype, or its shape?
def what_is_wrong(mask, x):
    if not jnp.issubdtype(jnp.asarray(mask).dtype, jnp.bool_):
        return "dtype"
    if jnp.shape(mask) != jnp.shape(x):
        return "shape"
    return "nothing"


print(what_is_wrong(jnp.array([1, 0]), jnp.ones(2)))  # dtype
print(what_is_wrong(jnp.array([True]), jnp.ones(2)))  # shape""",
    ],
)
def what_grad_refuses(f, x):
    """Say what `jax.grad(f)(x)` refuses.

    Args:
        f: a function of one argument; its result is a float, or an array of floats.
        x: a number or an array of any size; its dtype is a float, also bfloat16, an int or bool.

    Returns:
        A str: "input" if `jax.grad` refuses to differentiate with respect to this x; otherwise "output" if it refuses
        the result of f; otherwise "nothing".
    """
    ...


# %% check
@visible(
    what_grad_refuses,
    idea="The output must be one number of shape (). The input may have any shape, but must be of a float dtype.",
    reproduces=["S2-14"],
)
def five_calls_are_judged(answer):
    """Of five calls, two are fine, two have an output that is not one number, and one has an integer input."""
    vector = jnp.arange(3.0)
    calls = [("tanh", 2.0), ("energy", vector), ("tanh", vector), ("first_entry", vector), ("tanh", 2)]
    said = [answer(given(name), x) for name, x in calls]
    message = "For tanh at 2.0, energy of a vector, tanh of a vector, first_entry of a vector, and tanh at the int 2:"
    expect_documented("S2-14", said, message=f"{message} all five should be told right.")


@visible(what_grad_refuses, idea="A bool is no float either, and the shape of the input does not matter.")
def the_shape_of_the_input_does_not_matter(answer):
    """A matrix of floats is no problem; bools and ints are, in any shape; and one float may give two numbers."""
    told = [answer(given("energy"), jnp.ones((2, 3), dtype)) for dtype in ("float16", "int32", "bool")]
    message = "For float16[2,3], int32[2,3] and bool[2,3], all three should be told right."
    expect_that(told == ["nothing", "input", "input"], message, told, ["nothing", "input", "input"])
    got = answer(given("square_and_cube"), 2.0)
    message = "At 2.0, `square_and_cube` gives two numbers: that should be told."
    expect_that(got == "output", message, got, "output")


# %% [markdown]
# ### Whole numbers
#
# The slope of the cubic at the point 2 is clear, whether you write `2` or `2.0`. But
# for JAX a slope belongs to a point that can move a little, and an integer cannot. So
# convert the input **before** `grad` sees it.


# %% exercise
@exercise(
    title="A slope at whole numbers too",
    points=2,
    hints=[
        "At which moment must x be a float: before `jax.grad(f)` is called with it, or inside f?",
        "`jnp.asarray(x, dtype)` converts numbers and arrays, also traced ones; `float(x)` does not. "
        "https://docs.jax.dev/en/latest/errors.html#jax.errors.ConcretizationTypeError",
        "def slope(x):\n    return jax.grad(f)(____)\n\nreturn slope",
        """# Like it: `jax.lax.sqrt` refuses whole numbers; convert before it sees them.
def root(number):
    return jax.lax.sqrt(jnp.asarray(number, dtype=jnp.float32))


print(root(4), root(4.0))  # 2.0 2.0
print(jax.jit(root)(9))  # 3.0: a traced number is converted too""",
    ],
)
def slope_at_any_number(f):
    """Repair this: return the slope of f, as a function that takes whole numbers too, also under `jax.jit`.

    Args:
        f: a function from one float to one float.

    Returns:
        A function from an int, a float, int32[] or float32[] to float32[].
    """
    return jax.grad(f)


# %% check
@visible(
    slope_at_any_number, stage="dtype", idea="With `allow_int=True` the result has the dtype float0: no numbers at all."
)
def slopes_are_float32(answer):
    """The slope at the float 2.0 and at the int 2 is float32."""
    for x in (2.0, 2):
        expect_dtype(answer.then(given("wave"))(x), "float32")


@visible(slope_at_any_number, idea="The point is the same, so the slope is the same.")
def whole_numbers_have_the_same_slope(answer):
    """At 2, as int, float or array, the slope of the cubic is 17."""
    slope = answer.then(given("cubic"))
    for x in (2, 2.0, jnp.asarray(2), jnp.asarray(2.0), np.int32(2)):
        expect_close(slope(x), jnp.float32(17.0), "The slope of the cubic at 2 should be 17.")
    expect_close(slope(-0.5), jnp.float32(-4.25), "The slope of the cubic at -0.5 should be -4.25.")


@visible(
    slope_at_any_number,
    stage="jit",
    idea="Under `jax.jit` x is a tracer: JAX can convert it, Python's `float` cannot.",
)
def whole_numbers_under_jit(answer):
    """Under `jax.jit`, a traced int gives the same slope."""
    expect_close(answer.then(given("cubic")).jit(3), jnp.float32(36.0))


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


# %% exercise
@exercise(
    title="The start of the regression",
    points=1,
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
    """Draw the first parameters of the regression, and compute their loss.

    Split the key in three. Keep the first new key for later, draw w from the second and b from the third. Both are
    standard normal.

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
    idea="The second key is for w, the third for b. The digits depend on the setting, the program does not.",
    reproduces=["S2-22"],
)
def the_documented_start(answer):
    """For key 0, parameters and loss are the documented ones with the old setting, and today's without it."""
    key = jax.random.key(0)
    expect_documented("S2-22", flat(parts(answer(key), 3)), "today", START_MESSAGE)
    message = "With the setting before JAX 0.5.0, the numbers should be those of the documentation."
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


# %% exercise
@exercise(
    title="Gradients by position",
    points=2,
    reproduces=["S2-23", "S2-24", "S2-25", "S2-26"],
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

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: floats and float arrays.
        which: None for the first argument; an int, a position from 0 on; or a tuple of such ints.

    Returns:
        One gradient with the shape of its argument; for a tuple, a tuple of gradients in that order.
    """
    ...


# %% check
@visible(gradient_by_position, stage="shape", idea="A gradient has the shape of what you differentiate by.")
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


@visible(
    gradient_by_position, idea="Position 0 is the first argument, and also the default.", reproduces=["S2-23", "S2-24"]
)
def the_gradient_by_the_weights(answer):
    """The gradient of the loss by w is the documented one, with `which=0` and without."""
    for part, documented in PARTS:
        args = first_parameters(documented)[:2]
        expect_documented("S2-23", flat(answer(given("loss"), args, 0)), part, START_MESSAGE)
        expect_documented("S2-24", flat(answer(given("loss"), args)), part, START_MESSAGE)


@visible(gradient_by_position, idea="Position 1 is the second argument.", reproduces=["S2-25", "S2-26"])
def the_gradients_by_the_bias_and_by_both(answer):
    """The gradient of the loss by b, and by both, are the documented ones."""
    for part, documented in PARTS:
        args = first_parameters(documented)[:2]
        expect_documented("S2-25", flat(answer(given("loss"), args, 1)), part, START_MESSAGE)
        expect_documented("S2-26", flat(answer(given("loss"), args, (0, 1))), part, START_MESSAGE)


@visible(gradient_by_position, idea="The gradients come in the order in which you asked for them.")
def the_order_of_positions_counts(answer, draw):
    """For the positions (2, 0), the gradient by the third argument comes first."""
    p, q, r = draw.floats(3)
    got = answer(given("bend"), (p, q, r), (2, 0))
    expect_close(parts(got, 2), [jnp.cos(r), q**2], "The gradients of p q² + sin(r) by (r, p) should be (cos(r), q²).")


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


# %% exercise
@exercise(
    title="The change to first order",
    points=2,
    reproduces=["S2-27"],
    hints=[
        "What is one argument's share, if it is a number? And if it is a vector?",
        "`argnums` for all arguments gives all partial derivatives at once; `jax.jvp` computes the sum itself. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.jvp.html",
        "partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)\n"
        "return sum(jnp.sum(____) for partial, step in zip(partials, steps))",
        """# Like it: how uncertain is a result, if each number has an error of its own?
def total_error(function, values, errors):
    every = tuple(range(len(values)))
    partials = jax.grad(function, argnums=every)(*values)
    pairs = zip(partials, errors, strict=True)
    return jnp.sqrt(sum((partial * error) ** 2 for partial, error in pairs))


def rectangle(width, height):
    return width * height


print(total_error(rectangle, (4.0, 3.0), (1.0, 1.0)))  # 5.0: root of 3² + 4²""",
    ],
)
def first_order_change(f, args, steps):
    """Foretell how much f changes when its arguments move by `steps`, to first order.

    Each entry of each argument moves the result by its partial derivative times its step; return the sum of it all.

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: float32[] and float arrays.
        steps: a tuple, for each argument a step of the same shape.

    Returns:
        One number: float32[] or a float.
    """
    ...


# %% check
@visible(first_order_change, stage="shape", idea="Add up everything, also the entries of a vector.")
def the_change_is_one_number(answer, draw):
    """The change is one number, also for vectors."""
    args, steps = (draw.floats(3), draw.floats()), (draw.floats(3), draw.floats())
    expect_shape(answer(given("loss"), args, steps), ())


@visible(
    first_order_change,
    idea="For p q² + sin(r) the partial derivatives are q², 2 p q and cos(r).",
    reproduces=["S2-27"],
)
def each_unit_step_gives_a_partial_derivative(answer):
    """A step of 1 in one argument, and 0 in the others, gives the partial derivative: 9, 12 and 0.87758."""
    args = (jnp.float32(2.0), jnp.float32(3.0), jnp.float32(0.5))
    steps = [tuple(jnp.float32(i == j) for j in range(3)) for i in range(3)]
    got = [float(answer(given("bend"), args, step)) for step in steps]
    message = "At (2, 3, 0.5), unit steps in one argument at a time should change p q² + sin(r) by 9, 12 and 0.87758."
    expect_documented("S2-27", got, message=message)


@visible(first_order_change, idea="Each entry's share is its partial derivative times its step.")
def all_shares_are_added(answer, draw):
    """For the loss, and for a function of a matrix, all shares are added."""
    args, steps = (draw.floats(3), draw.floats()), (draw.floats(3), draw.floats())
    got, wanted = answer(given("loss"), args, steps), jax.jvp(loss, args, steps)[1]
    expect_close(number(got), float(wanted), "For the loss, all shares should be added.", rtol=1e-4, atol=1e-4)
    matrix, step = draw.floats(2, 2), draw.floats(2, 2)
    got, message = answer(given("energy"), (matrix,), (step,)), "For the energy of a matrix, it should be 2 x · step."
    expect_close(number(got), float(2 * jnp.sum(matrix * step)), message, rtol=1e-4, atol=1e-4)


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


# %% exercise
@exercise(
    title="One step downhill",
    points=2,
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
    """Take one step of gradient descent, for parameters in any container.

    Args:
        f: a function from the parameters to one number.
        params: a pytree of float32 arrays: dicts, tuples and lists, nested in any way.
        rate: float; each parameter p with gradient g becomes p - rate * g.

    Returns:
        A tuple `(gradient, new_params)`, both of the same structure as `params`.
    """
    ...


# %% check
@visible(
    gradient_step,
    idea="The gradient by a dict is a dict.",
    reproduces=["S2-28"],
)
def the_gradient_of_a_dict_is_a_dict(answer):
    """For a dict of parameters, the gradient is the documented dict."""
    for part, documented in PARTS:
        w, b, _ = first_parameters(documented)
        gradient, _new = parts(answer(given("dict_loss"), {"w": w, "b": b}, 0.5), 2)
        is_dict = isinstance(gradient, dict) and sorted(gradient) == ["b", "w"]
        expect_that(is_dict, "The gradient should be a dict of w and b.", gradient)
        expect_documented("S2-28", flat([gradient["w"], gradient["b"]]), part, START_MESSAGE)


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
    title="The gradient of a model",
    points=3,
    reproduces=["S2-30"],
    hints=[
        "What of a `Model` are the arrays that you want to differentiate by: w, b, or both?",
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
    """Repair this: return the gradient of `model_loss` by a whole Model, as a Model.

    `Model` may stand above the function. It has the attributes w and b, and JAX must find both: for `jax.grad`,
    `jax.jit` and `jax.vmap`.

    Args:
        w: float32[3].
        b: float32[].

    Returns:
        A Model: its w is the gradient by w, its b the gradient by b.
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
    """The gradient by w stands in w, the gradient by b in b; compiled too."""
    w, b = draw.floats(3), draw.floats()
    wanted = dict(zip(((3,), ()), jax.grad(loss, (0, 1))(w, b), strict=True))
    for got in (answer(w, b), answer.jit(w, b)):
        for part in children(got):
            message = "w should hold the gradient by w, and b the gradient by b."
            expect_close(part, wanted[np.shape(part)], message, rtol=1e-4, atol=1e-4)


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


# %% exercise
@exercise(
    title="Value and gradient at once",
    points=2,
    reproduces=["S2-31", "S2-32"],
    hints=[
        "How often is f computed in the starter?",
        "One function of JAX does both in one pass. https://docs.jax.dev/en/latest/_autosummary/jax.value_and_grad.html",
        "return jax.value_and_grad(f, argnums=tuple(range(len(args))))____",
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
    """Make this fast: return the value of f and its gradient by all arguments, and compute f only once.

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: float arrays.

    Returns:
        A tuple `(value, gradient)`: float32[], and a tuple with one gradient for each argument.
    """
    value = f(*args)
    gradient = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return value, gradient


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
    """The value is the documented loss, and what f alone gives."""
    for part, documented in PARTS:
        args = first_parameters(documented)[:2]
        value, _gradient = parts(answer(given("loss"), args), 2)
        expect_documented("S2-31", flat([value, loss(*args)]), part, START_MESSAGE)


@visible(loss_and_gradient, idea="Differentiate by every argument, not by the first alone.")
def the_gradient_is_that_of_f(answer, draw):
    """The gradient is right, for functions of two and of three arguments."""
    args = (draw.floats(3), draw.floats())
    _value, gradient = parts(answer(given("loss"), args), 2)
    expect_close(tuple(gradient), jax.grad(loss, (0, 1))(*args), rtol=1e-4, atol=1e-4)
    p, q, r = draw.floats(3)
    value, gradient = parts(answer(given("bend"), (p, q, r)), 2)
    expect_close(value, bend(p, q, r))
    expect_close(tuple(gradient), (q**2, 2 * p * q, jnp.cos(r)))


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
    expect_documented("S2-32", runs, message=f"f should be computed once; yours ran it {runs} times.")


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


# %% exercise
@exercise(
    title="Per-example gradients",
    points=2,
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

    Args:
        params: a dict of "w" float32[d] and "b" float32[].
        xs: float32[n,d].
        ys: float32[n].

    Returns:
        A dict of "w" float32[n,d] and "b" float32[n]: entry i is the gradient for example i.
    """
    ...


# %% check
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
    expect_close(answer(params, xs, ys), gradients_by_hand(params, xs, ys), message, rtol=1e-4, atol=1e-5)


@visible(per_example_gradients, stage="cost", idea="`vmap` of `grad` is one program for all examples.", required=True)
def no_loop_over_the_examples(answer, draw):
    """The program is as long for 40 examples as for 4."""
    params = {"w": draw.floats(3), "b": draw.floats()}
    small, large = (params, draw.floats(4, 3), draw.floats(4)), (params, draw.floats(40, 3), draw.floats(40))
    expect_no_growth(answer, small, large, UNROLLED)


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


# %% exercise
@exercise(
    title="A slope in two ways",
    points=2,
    reproduces=["S2-33", "S2-34"],
    hints=[
        "In which two points must f be computed, so that the point itself lies in the middle?",
        "The slope along a direction is the gradient times the direction, summed over everything. "
        "https://docs.jax.dev/en/latest/automatic-differentiation.html",
        "ahead = [x + eps / 2 * d for x, d in zip(args, direction)]\nbehind = ____\n"
        "numerical = (f(*ahead) - f(*behind)) / eps\nexact = ____\nreturn numerical, exact",
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

    The finite difference is (f(args + eps/2 * direction) - f(args - eps/2 * direction)) / eps. The direction is taken
    as it is: twice the direction gives twice the slope.

    Args:
        f: a function whose result is one number.
        args: a tuple, the arguments of f: float32[] and float arrays.
        direction: a tuple, for each argument a direction of the same shape.
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


@visible(slope_in_two_ways, idea="To move b alone, the direction of w is zero.", reproduces=["S2-33"])
def the_documented_slope_by_the_bias(answer):
    """Along b, with eps = 1e-4, both are the documented numbers: near each other, and not equal."""
    for part, documented in PARTS:
        w, b, _ = first_parameters(documented)
        direction = (jnp.zeros(3), jnp.float32(1.0))
        expect_documented("S2-33", flat(answer(given("loss"), (w, b), direction, 1e-4)), part, START_MESSAGE)


@visible(slope_in_two_ways, idea="To move w alone, the direction of b is zero.", reproduces=["S2-34"])
def the_documented_slope_along_a_direction(answer):
    """Along a unit vector for w, with eps = 1e-4, both are the documented numbers."""
    for part, documented in PARTS:
        w, b, unit = first_parameters(documented)
        direction = (unit, jnp.float32(0.0))
        expect_documented("S2-34", flat(answer(given("loss"), (w, b), direction, 1e-4)), part, START_MESSAGE)


# %% [markdown]
# ### How small a step?
#
# The documentation takes the step 0.0001. With its numbers, the finite difference by b
# is -0.29325 and the exact slope is -0.29227: only two digits agree. Is the step too
# large, or too small?


# %% exercise
@prediction(
    title="Predict: the better step",
    points=1,
    hints=[
        "float32 keeps about 7 digits. If two numbers agree in 6 of them, how many digits has their difference?",
        "A smaller step makes a smaller mistake on paper. But each loss is rounded, and eps divides the rounding. "
        "https://docs.jax.dev/en/latest/automatic-differentiation.html",
        "# A smaller case: the two losses are 2.97292 and 2.97291, both rounded to 6 digits, and eps is 0.00001.\n"
        "# The slope may be anything between 0 and ____\nreturn ____",
    ],
)
def predict_better_step():
    """Finite differences of the loss by b: does eps = 0.01 or eps = 0.000001 come nearer to the exact slope?

    Returns:
        A float: 0.01 or 0.000001.
    """
    ...


# %% check
@reveal(predict_better_step)
def compare_two_steps():
    """We computed both finite differences at today's start of the regression, and compared them with `jax.grad`."""
    w, b, _ = first_parameters(documented=False)
    exact = jax.grad(loss, 1)(w, b)
    errors = {eps: abs((loss(w, b + eps / 2) - loss(w, b - eps / 2)) / eps - exact) for eps in (0.01, 0.000001)}
    return min(errors, key=errors.get)


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


# %% exercise
@exercise(
    title="A step that fits",
    points=2,
    hints=[
        "Is 0.0001 a small step for x = 1000? How many numbers of float32 lie between 1000 and 1000.0001?",
        "Two errors are in balance where the step is about the third root of the precision, times the size of x. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.finfo.html",
        "eps = ____ * abs(x)\nreturn (f(x + eps / 2) - f(x - eps / 2)) / eps",
        """# Like it: a second derivative; its best step is about the fourth root.
def numerical_curvature(function, at):
    eps = np.finfo(np.float32).eps ** (1 / 4) * abs(at)  # 0.0186 times at
    ahead, behind = function(at + eps), function(at - eps)
    return (ahead - 2 * function(at) + behind) / eps**2


print(numerical_curvature(cube_in_numpy, 1.0))  # near 6
print(numerical_curvature(cube_in_numpy, 1000.0))  # near 6000""",
    ],
)
def numerical_derivative(f, x):
    """Repair this: the derivative of a float32 function, by finite differences, to a relative error below 0.001.

    Args:
        f: a function from a float to np.float32; it may be NumPy code, which JAX cannot differentiate. It is smooth,
            and changes on the scale of x, as powers and roots do.
        x: float, from 0.01 to 1000.

    Returns:
        A number: a float, float32[] or float64[].
    """
    eps = 1e-4
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


# %% check
@visible(numerical_derivative, stage="shape")
def the_slope_is_one_number(answer):
    """The result is one number."""
    expect_shape(answer(given("cube_in_numpy"), 1.0), ())


@visible(
    numerical_derivative,
    idea="With too small a step only rounding is left; with too large a step the curve is no line.",
)
def small_errors_at_every_size(answer):
    """From 0.01 to 1000, the error is below 0.001 of the slope."""
    slopes = {
        "cube_in_numpy": lambda x: 3 * x**2,
        "root_in_numpy": lambda x: 0.5 / x**0.5,
        "inverse_in_numpy": lambda x: -1 / x**2,
    }
    for x in (1.0, 3.3, 47.0, 1000.0, 0.01):
        for name, slope in slopes.items():
            got = float(np.asarray(answer(given(name), x)))
            near = abs(got - slope(x)) <= 1e-3 * abs(slope(x))
            expect_that(near, f"The slope of {name} at {x} should be right to 0.001.", got, slope(x))


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


# %% exercise
@exercise(
    title="Are the derivatives right?",
    points=2,
    reproduces=["S2-35"],
    hints=[
        "How does `check_grads` tell that the derivatives agree? And how, that they do not?",
        "`check_grads(f, args, order=2)` raises an AssertionError where they differ. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html",
        "from jax.test_util import check_grads\n\ntry:\n    check_grads(f, args, order=2)\nexcept ____:\n"
        "    return False\nreturn True",
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

    Args:
        f: a function whose result is one number.
        args: a tuple, its arguments: float32[] and float arrays.

    Returns:
        True or False.
    """
    ...


# %% check
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
    for got in told.values():
        expect_shape(got, (), "Return True or False.")
    message = "Of the loss (right), wrong_slope and frozen_slope (both wrong), all three should be told right."
    expect_documented("S2-35", [bool(np.asarray(got)) for got in told.values()], message=message)


@visible(
    derivatives_agree, idea="JAX's own rules are right. A derivative may be right by one argument and wrong by another."
)
def each_argument_counts(answer, draw):
    """p q² + sin(r) is right; p sin(q) with a wrong rule for q is not."""
    x = jnp.float32(draw.integer(1, 5) / 10)
    got = answer(given("bend"), (x, x + 1, x))
    message = "The derivatives of p q² + sin(r) are right: the answer should be True."
    expect_that(bool(np.asarray(got)), message, got, "True")
    got = answer(given("wrong_by_q"), (x + 1, x))
    message = "The derivative of `wrong_by_q` by its second argument is wrong: the answer should be False."
    expect_that(not bool(np.asarray(got)), message, got, "False")


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


# %% exercise
@exercise(
    title="A division that is guarded twice",
    points=3,
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
    """Repair this: sin(x) / x, which is 1 at x = 0, with a gradient that is finite everywhere, and 0 at x = 0.

    Args:
        x: float32 array of any shape; each number is 0, or at least 0.000001 away from it.

    Returns:
        float32 array of the same shape.
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


# %% exercise
@exercise(
    title="Round, but let the gradient through",
    points=2,
    hints=[
        "Which two things do you want: whose value, and whose slope?",
        "Write x plus something that `jax.grad` does not see. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html",
        "return x + jax.lax.stop_gradient(____)",
        """# Like it: a step from 0 to 1, but with the slope of `sigmoid`.
def soft_step(t):
    hard, soft = jnp.where(t > 0, 1.0, 0.0), sigmoid(t)
    nothing = soft - jax.lax.stop_gradient(soft)  # 0, with a slope
    return hard + nothing


print(soft_step(0.0), jax.grad(soft_step)(0.0))  # 0.0 0.25""",
    ],
)
def straight_through_round(x):
    """Round to whole numbers, but with the gradient of x itself: 1 everywhere.

    Args:
        x: float32 array of any shape.

    Returns:
        float32 array of the same shape: whole numbers, as `jnp.round` gives.
    """
    ...


# %% check
@visible(straight_through_round, stage="shape")
def rounding_keeps_the_shape(answer, draw):
    """The result has the shape of x."""
    for shape in ((2, 3), ()):
        expect_shape(answer(draw.floats(*shape)), shape)


@visible(straight_through_round, stage="dtype")
def rounded_numbers_are_float32(answer, draw):
    """The result is float32."""
    expect_dtype(answer(draw.floats(2, 3)), "float32")


@visible(straight_through_round, idea="The value is that of `jnp.round`.")
def the_value_is_rounded(answer, draw):
    """The values are whole numbers, the nearest ones; halfway they are even: 2.5 becomes 2."""
    for x in (10 * draw.floats(2, 3), jnp.array([0.5, 1.5, 2.5, -0.5])):
        expect_close(answer(x), jnp.round(x), "The values should be those of `jnp.round`.")


@visible(
    straight_through_round,
    stage="gradient",
    required=True,
    idea="What stands in `stop_gradient` is a constant for `jax.grad`; what stands outside is not.",
)
def the_slope_is_one(answer):
    """The slope is 1 everywhere."""
    for x in (0.2, 1.3, -2.6):
        expect_close(answer.grad()(x), jnp.float32(1.0), f"The slope at {x} should be 1.")


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


# %% exercise
@exercise(
    title="Stable for large numbers",
    points=3,
    hints=[
        "What does the starter give at 100, and what should it give? And its slope?",
        "`jnp.logaddexp(x, 0.0)` has the right value; the slope is the sigmoid of x, and the rule may call itself. "
        "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html",
        "@jax.custom_jvp\ndef soft_plus(x):\n    return jnp.logaddexp(x, 0.0)\n\n\n@soft_plus.defjvp\n"
        "def rule(primals, tangents):\n    (x,), (dx,) = primals, tangents\n    return soft_plus(x), ____",
        """# Like it: the root of 1 + t², stable for large t, with a rule of its own.
@jax.custom_jvp
def bowl(t):
    return jnp.hypot(1.0, t)


@bowl.defjvp
def bowl_rule(primals, tangents):
    (t,), (dt,) = primals, tangents
    return bowl(t), t / bowl(t) * dt


print(jax.grad(lambda t: jnp.sqrt(1 + t**2))(1e30))  # 0.0, and should be 1.0
print(jax.grad(bowl)(1e30))  # 1.0""",
    ],
)
def soft_plus(x):
    """Repair this: log(1 + exp(x)), with value, slope and second derivative right from -100 to 100.

    Args:
        x: float32 array of any shape.

    Returns:
        float32 array of the same shape. Its slope is 1 / (1 + exp(-x)).
    """
    return jnp.log(1 + jnp.exp(x))


# %% check
# No round numbers: where an answer that is pieced together changes its formula, `jnp.minimum` and `abs` have no slope.
LARGE = jnp.array([-99.7, -18.7, -1.3, 0.3, 2.7, 18.7, 99.7], dtype="float32")


def true_sigmoid(x):
    """Compute 1 / (1 + exp(-x)) in float64."""
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


@visible(soft_plus, stage="dtype")
def soft_plus_is_float32(answer, draw):
    """The result is float32, with the shape of x."""
    x = draw.floats(2, 3)
    expect_shape(answer(x), (2, 3))
    expect_dtype(answer(x), "float32")


@visible(soft_plus, idea="For large x the result is x; for very negative x it is nearly 0.")
def values_from_minus_100_to_100(answer):
    """From -100 to 100, the values are log(1 + exp(x))."""
    wanted = np.logaddexp(np.asarray(LARGE, np.float64), 0.0).astype("float32")
    expect_close(answer(LARGE), wanted, "The values should be log(1 + exp(x)).", atol=1e-6)


@visible(soft_plus, stage="jit", idea="Under `jax.jit` Python cannot look at x; `jnp.where` can.")
def soft_plus_can_be_compiled(answer):
    """Under `jax.jit` it gives the same."""
    expect_close(answer.jit(LARGE), answer(LARGE))


@visible(
    soft_plus,
    stage="gradient",
    required=True,
    idea="The slope is the sigmoid of x; a rule returns the slope times the step.",
)
def slopes_from_minus_100_to_100(answer):
    """From -100 to 100, the slope is 1 / (1 + exp(-x))."""
    got = answer.grad().vmap()(LARGE)
    expect_close(got, true_sigmoid(LARGE).astype("float32"), "The slopes should be 1 / (1 + exp(-x)).", atol=1e-6)


@visible(soft_plus, stage="gradient", idea="A rule is differentiated too: it must be stable itself.")
def second_derivatives_are_finite(answer):
    """From -100 to 100, the second derivative is finite and right."""
    slope = true_sigmoid(LARGE)
    wanted = (slope * (1 - slope)).astype("float32")
    got = answer.grad().grad().vmap()(LARGE)
    expect_close(got, wanted, "The second derivatives should be s * (1 - s), where s is the slope.", atol=1e-6)


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


# %% exercise
@exercise(
    title="A Hessian times a vector",
    points=3,
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
    """Make this fast: multiply the Hessian of f at x by v, and build no n × n matrix.

    With more parameters, the cost may grow as much as that of f grows, and no more.

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
    *(wave, tanh, cubic, energy, first_entry, bend, loss, loss_aloud, dict_loss, pair_loss, nested_loss, valley),
    *(cube_in_numpy, root_in_numpy, inverse_in_numpy, wrong_slope, frozen_slope, wrong_by_q),
    *(square_and_cube, half_frozen, sigmoid, safer_root),
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
