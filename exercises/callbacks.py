# %% check
from jaxguide.course.author import (
    StudentError,
    exercise,
    expect_close,
    expect_documented,
    expect_shape,
    expect_that,
    given,
    prediction,
    reveal,
    visible,
)


def parts(got, count):
    """Return the parts of a result that should be a tuple of `count` values."""
    message = f"Return a tuple of {count} values."
    is_tuple = isinstance(got, tuple | list) or hasattr(got, "children")  # a NamedTuple is a node with children
    expect_that(is_tuple and len(got) == count, message, got)
    return list(got)


def entries(got, names):
    """Return a result that should be a dict with these keys."""
    right = isinstance(got, dict) and set(got) == set(names)
    expect_that(right, f"Return a dict with the keys {', '.join(map(repr, names))}.", got)
    return got


def number(value):
    """Return a scalar of any kind as a Python number."""
    expect_shape(value, ())
    return np.asarray(value).item()


def shown(value):
    """Write an array as the document does."""
    return repr(jnp.asarray(value))


def expect_jaxs_own(observation, message):
    """Expect an error that JAX raised, and no `raise` of the answer."""
    expect_that(observation.error is not None, message, "no error", "an error from JAX")
    by_hand = observation.error.source.startswith("raise ")
    expect_that(not by_hand, f"{message} Yours raises an error itself.", observation.error.source, "JAX's own error")


def expect_fixed_length(answer, small, large, message):
    """Expect a program that is as long for the arguments `large` as for `small`."""
    lengths = [answer.program(*args).equations for args in (small, large)]
    # A loop adds equations for each number; padding or reshaping may add a few in all.
    expect_that(lengths[1] < lengths[0] + 8, message, f"{lengths[1]} equations", f"{lengths[0]}")


# %% [markdown]
# # Callbacks: Python in the middle of a JAX program
#
# Light that passes through a small round hole paints rings on a wall. How wide are
# they? The formula needs a function that SciPy has and JAX has not. A **callback** lets
# a compiled program call Python while it runs: to ask SciPy, to save something, or to
# report how it is getting on and be told to stop.
#
# After this lesson you can
#
# - choose among the three kinds of callback,
# - say which calls are dropped, repeated or put in order,
# - use a NumPy or SciPy function inside `jit`, `vmap` and `grad`,
# - watch a compiled loop from Python, and stop it.
#
# Some exercises reproduce an example of JAX's own documentation. Below each of these, a
# folded cell shows the example, its documented output and today's.
#
# You need the lessons `jit_and_tracing`, `vectorization` and `autodiff`, and
# `jax.debug.print` of the lesson `debugging`. [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract) explains the types in the
# tasks, such as `float32[n,m]`.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.special
from jax.experimental import io_callback

from jaxguide.callbacks import callback_timeline, host_function
from jaxguide.clock import real_machine, simulated_machine
from jaxguide.data import rings
from jaxguide.explain import explain

# %% [markdown]
# ## The task: rings of light
#
# Someone has measured the light along a line from the middle outwards. Theory says that
# at a radius r it is (2 J₁(x) / x)² with x = r / width. J₁ is a *Bessel function*: a
# wave that slowly dies out. Which width fits the points?

# %%
radii, light = map(jnp.asarray, rings(80))


def draw_rings(curves):
    """Draw the measured light, and curves by their names; what is brighter than 0.3 is cut off."""
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    axes.plot(radii, light, ".", color="gray", label="measured")
    for name, curve in curves.items():
        axes.plot(radii, curve, label=name)
    axes.set(xlabel="radius", ylabel="light", ylim=(-0.02, 0.3))
    axes.legend()
    plt.show()


x = np.asarray(radii) / 2.5
draw_rings({"width 2.5, by SciPy": (2 * scipy.special.j1(x) / x) ** 2})

# %% [markdown]
# You know how to fit: gradient descent, in a compiled loop. But J₁ is computed by
# SciPy, in Python. At the end of this lesson it is a part of the program, with a
# derivative, and the loop tells you how it is doing.

# %% [markdown]
# ## Part 1. Three kinds of callback
#
# When JAX traces a function, Python runs it once, on tracers. After that only the
# compiled program runs, on the **device**. Python is the **host**; on your computer,
# both may be the same CPU. A callback is a call of a host function that is *in the
# program*, so that it happens each time the program runs, with the numbers of that run.
#
# `jax.debug.callback(function, *args)` is the simplest kind. It gives nothing back.


# %%
def greet(value):
    """Say what arrived on the host."""
    print("the host got", value)


@jax.jit
def double(x):
    """Double x, and show it to the host."""
    jax.debug.callback(greet, x)
    return 2 * x


print(double(4.0))
print(double(5.0))


# %% exercise
@exercise(
    title="Three prints",
    points=2,
    core=True,
    minutes=3,
    reproduces=["S4-01", "S4-02", "S4-06"],
    hints=[
        "Which of the three prints runs while JAX traces, and which run with the program?",
        "`jax.debug.print` takes a format string and, apart from it, the values. What `jax.debug.callback` calls may "
        "be any function, also one with a `print` in it. https://docs.jax.dev/en/latest/external-callbacks.html",
        'y = x + 1\nprint(f"intermediate value: {y}")\njax.debug.print("intermediate value: {}", ____)\n'
        "jax.debug.callback(lambda value: print(____), y)\nreturn 2 * y",
        """# Like it: a speed, seen by Python, by `jax.debug.print` and by a host function.
def say_speed(speed):
    print(f"host: {speed:.1f} km/h")

@jax.jit
def speed(way, hours):
    v = way / hours
    print(f"Python: {v}")  # a tracer, at the first call only
    jax.debug.print("program: {v} km/h", v=v)
    jax.debug.callback(say_speed, v)
    return v

print(speed(90.0, 2.0))  # 45.0""",
    ],
)
def three_prints(x):
    """Compute y = x + 1, print y in three ways, and return 2 * y.

    Each line reads `intermediate value: ` and y. One comes from Python's `print`, one from `jax.debug.print`, and one
    from a `print` of your own that `jax.debug.callback` calls. So under `jax.jit` the first shows a tracer, and only
    when JAX traces; the others show the number, at each call.

    >>> print(three_prints(3))
    intermediate value: 4
    intermediate value: 4
    intermediate value: 4
    8

    Args:
        x: int, or int32[]; also under `jax.jit`.

    Returns:
        int, or int32[].
    """
    ...


# %% check
def three_lines(answer):
    """Return the lines of the first call under jit, for 2, and the callbacks of the program."""
    return answer.jit.observe(2).lines, answer.program(2).primitives


@visible(three_prints, idea="The prints do not change the result.")
def returns_twice_the_sum(answer):
    """The result is 2 * (x + 1)."""
    for x in (2, 5):
        expect_that(number(answer(x)) == 2 * (x + 1), "The result should be 2 * (x + 1).", answer(x), 2 * (x + 1))
    dtype = answer.jit(3).dtype
    expect_that(dtype == np.int32, "For an int, the result should be int32 under jit.", dtype, "int32")


@visible(
    three_prints,
    stage="jit",
    idea="While it traces, Python sees a tracer: it has a dtype and a shape, and no number.",
    reproduces=["S4-01"],
    required=True,
)
def pythons_print_shows_a_tracer(answer):
    """Under jit, the first line shows a tracer: it comes from Python's print."""
    lines, _ = three_lines(answer)
    message = "The first line should show the tracer of y, after `intermediate value: `."
    expect_documented("S4-01", lines[0] if lines else "", message=message)


@visible(
    three_prints,
    stage="jit",
    idea="`jax.debug.print` is in the program, so it prints the number of each run.",
    reproduces=["S4-02"],
    required=True,
)
def debug_print_shows_the_number(answer):
    """Under jit, `jax.debug.print` shows the number."""
    lines, primitives = three_lines(answer)
    message = "Your program should hold a `jax.debug.print`."
    expect_that("debug_print" in primitives, message, primitives, "a debug_print")
    expect_documented("S4-02", lines[-1] if lines else "", message="The last line should show the number y.")


@visible(
    three_prints,
    stage="jit",
    idea="A print in a host function shows the number too: it runs when the program does.",
    reproduces=["S4-06"],
    required=True,
)
def a_print_on_the_host_shows_the_number(answer):
    """Under jit, a host function of your own prints the same line."""
    lines, primitives = three_lines(answer)
    own = primitives.get("debug_callback", 0) > 0
    expect_that(own, "Your program should hold a `jax.debug.callback`.", primitives, "a debug_callback")
    found = {"called by": "debug_callback", "prints": lines[-2:][0] if len(lines) > 1 else ""}
    expect_documented("S4-06", found, message="The host function should print the line, with the number y.")


@visible(three_prints, stage="jit", kind="observed", idea="Nothing is traced in the second call, so Python is silent.")
def the_second_call_prints_two_lines(answer):
    """Under jit, a second call prints two lines, with its own number."""
    lines = answer.jit.observe_calls([(2,), (7,)])[1].lines
    wanted = ["intermediate value: 8"] * 2
    expect_that(lines == wanted, "The second call should print two lines: nothing is traced.", lines, wanted)


# %% documented S4-01 S4-02 S4-06
# A tracer prints differently today (since 0.6.1; today's text since 0.8.2). And while
# `jax.debug.print` was made of `jax.debug.callback` once, it has been an operation of
# its own since 0.7.2.
@jax.jit
def f(x):
    y = x + 1
    print(f"intermediate value: {y}")
    return y * 2


result = f(2)


@jax.jit
def f(x):
    y = x + 1
    jax.debug.print("intermediate value: {}", y)
    return y * 2


result = f(2)
jax.effects_barrier()
print([one.primitive.name for one in jax.make_jaxpr(lambda y: jax.debug.print("{}", y))(3).eqns])

# documented
# intermediate value: Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace>
# intermediate value: 3
# (The print function used before is a wrapper around debug.callback.)

# today
# intermediate value: JitTracer(~int32[])
# intermediate value: 3
# ['debug_print']

# %% [markdown]
# Run your function twice under `jax.jit`. The tracer shows once:

# %%
print("returned", [jax.jit(three_prints)(n) for n in (3, 4)])

# %% [markdown]
# ### Which one?
#
# The three kinds differ in what JAX may do with the call.
#
# | kind | for a host function that | so the call |
# | --- | --- | --- |
# | `jax.pure_callback` | only computes a value from its arguments | may be dropped, repeated or moved |
# | `io_callback` | does something: it saves, reads, counts | runs, whether its value is used or not |
# | `jax.debug.callback` | watches, and gives nothing back | runs whenever the program comes by: once, twice or never |
#
# Calls come in any order, unless you pass `ordered=True` to `io_callback` or
# `jax.debug.callback`; more on that in Part 4.
#
# JAX cannot look into a host function. So `jax.grad` raises an error if a number that
# it differentiates goes to one of the first two. Such a number can only be shown to
# `jax.debug.callback`.
#
# Of what the first two give back, you must **promise** the shape and dtype: the program
# is compiled before the value is there. The promise is a `jax.ShapeDtypeStruct`, or any
# array or NumPy number with this shape and dtype, such as `np.int32(0)`. A broken
# promise is an error at run time; only a float64 is rounded to float32, as everywhere
# in JAX. An `io_callback` that gives nothing back has the promise None.

# %%
promise = jax.ShapeDtypeStruct((), jnp.float32)


def root_on_host(value):
    """Compute the square root with NumPy."""
    return np.sqrt(value)


@jax.jit
def add_root(x):
    """Add to x its square root, and greet the host."""
    io_callback(greet, None, x)
    return x + jax.pure_callback(root_on_host, promise, x)


print(add_root(jnp.float32(9.0)))

# %% [markdown]
# `value` in `root_on_host` is a small `jax.Array` on the CPU. NumPy and SciPy take it;
# so do `float(value)` and `int(value)`. Do not call `jnp` there: the program waits for
# the host function, and if the host function waits for JAX, both may wait for ever (a
# *deadlock*).
#
# Old pages use a module `host_callback`: `hcb.call(f, x, result_shape=promise)` for a
# value, and `hcb.id_tap(f, x)` for all else. JAX does not have it any more. Here are
# three host functions from such a page. One computes, one saves, one watches.


# %%
def offset_of(step):
    """Compute the offset that belongs to a step."""
    print(f"computed for step {int(step)}")
    return np.float32(0.5 ** int(step))


def save_step(step):
    """Save the step; printing stands for writing to a disk."""
    print(f"saved step {int(step)}")


def look_at(width):
    """Watch a width."""
    print(f"looked at {float(width):.2f}")


# %% exercise
@exercise(
    title="Repair: an old page",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S4-04", "S4-05"],
    hints=[
        "For each host function: is its value used? Does it change the world? Is its argument differentiated?",
        "`jax.pure_callback(function, promise, *args)` and `io_callback(function, promise, *args)` take a promise, "
        "`jax.debug.callback(function, *args)` does not. https://docs.jax.dev/en/latest/external-callbacks.html",
        "offset = ____(offset_of, jax.ShapeDtypeStruct((), jnp.float32), step)\n____(save_step, ____, step)\n"
        "____(look_at, width)\nreturn width**2 + offset",
        """# Like it: a price from a table, a sale for the books, and a look at the total.
def price_of(item):
    return np.float32([2.5, 4.0][int(item)])

def book(item):
    print("sold item", int(item))

def total(count, item):
    price = jax.pure_callback(price_of, jax.ShapeDtypeStruct((), jnp.float32), item)
    io_callback(book, None, item)
    jax.debug.callback(lambda n: print("a count of", float(n)), count)
    return count * price

print(jax.grad(total)(3.0, 1))  # 4.0, and two lines from the host""",
    ],
)
def right_callback(width, step):
    """Port this from an old page, which knew one kind of callback for everything: take the kind that fits each call.

    `offset_of` computes, `save_step` saves and `look_at` watches; each is called once when the program runs. The result
    can be differentiated with respect to `width`. If a compiled program does not need the offset, `offset_of` is not
    called; `save_step` always is. The lines may come in any order.

    >>> float(right_callback(2.0, 1))
    computed for step 1
    saved step 1
    looked at 2.00
    4.5

    Args:
        width: float32[].
        step: int32[], or int.

    Returns:
        float32[]: the square of the width, plus the offset that belongs to the step.
    """
    from jax.experimental import host_callback as hcb

    offset = hcb.call(offset_of, step, result_shape=jax.ShapeDtypeStruct((), jnp.float32))
    hcb.id_tap(lambda value, _: save_step(value), step)
    hcb.id_tap(lambda value, _: look_at(value), width)
    return width**2 + offset


# %% check
HOSTS = {"computed": "offset_of", "saved": "save_step", "looked": "look_at"}


def called(lines):
    """Return how often each host function printed."""
    return {name: sum(line.startswith(word) for line in lines) for word, name in HOSTS.items()}


@visible(right_callback, idea="The host's value comes back into the program.")
def the_offset_is_added(answer):
    """The result is the square of the width plus the offset."""
    for width, step in ((2.0, 1), (-3.0, 4)):
        expect_close(answer(width, step), np.float32(width**2 + 0.5**step))


@visible(right_callback, stage="gradient", idea="What a debug callback sees may be differentiated.")
def it_has_a_slope(answer):
    """Its derivative with respect to the width is twice the width."""
    for width in (1.5, -2.0):
        expect_close(answer.grad()(width, 3), np.float32(2 * width))


@visible(
    right_callback,
    stage="cost",
    idea="One old kind of callback has three successors, each for another purpose.",
    reproduces=["S4-04"],
    required=True,
)
def one_of_each_kind(answer):
    """The program holds one callback of each kind."""
    seen = answer.program(1.5, 3).primitives
    printed = seen.get("debug_print", 0)  # watches, too
    found = {name: seen.get(name, 0) for name in ("pure_callback", "io_callback", "debug_callback")}
    found["debug_callback"] += printed
    expect_documented("S4-04", found, message="Your program should hold one callback of each kind.")


@visible(
    right_callback,
    stage="cost",
    idea="A pure call is dropped if nobody needs its value. A save runs, and so does a look.",
    reproduces=["S4-05"],
    required=True,
)
def each_call_is_of_its_kind(answer):
    """Under jit, each is called once; for the derivative, which needs no offset, it is not computed."""
    found = {
        "the value": called(answer.jit.observe(1.5, 3).lines),
        "its derivative": called(answer.grad().jit.observe(1.5, 3).lines),
    }
    message = "Each should be called once, but `offset_of` not for the derivative, which does not need the offset."
    expect_documented("S4-05", found, message=message)


# %% documented S4-04 S4-05
# `host_callback` was deprecated; it stopped working in JAX 0.4.35, and since 0.8.0 it
# is gone. The rule that says which of its successors is for what still holds: it is
# what your code has shown.
try:
    import jax.experimental.host_callback
except ModuleNotFoundError as error:
    print(f"ModuleNotFoundError: {error}")
for kind in (jax.pure_callback, io_callback, jax.debug.callback):
    print(kind.__name__)

# documented
# Earlier versions had a single kind of callback, in `jax.experimental.host_callback`,
# which is deprecated in favour of:
# pure_callback: for pure functions, without side effects
# io_callback: for impure functions, such as reading or writing data on a disk
# debug.callback: for functions that should reflect what the compiled program executes

# today
# ModuleNotFoundError: No module named 'jax.experimental.host_callback'
# pure_callback
# io_callback
# debug_callback

# %% [markdown]
# ## Part 2. A value from the host
#
# A host function is written for one example, as any other. What should `vmap` make of
# it? JAX refuses to guess.

# %%
try:
    jax.vmap(lambda x: jax.pure_callback(root_on_host, promise, x))(jnp.ones(3))
except NotImplementedError as error:
    explanation = explain(error)
explanation

# %% [markdown]
# With `vmap_method=` you say it:
#
# - `"sequential"`: call the host once for each row,
# - `"expand_dims"`: call it once; arguments without a batch get a batch axis of
#   length 1,
# - `"broadcast_all"`: call it once; all arguments are repeated to the full batch.
#
# The last two need a host function that understands one more axis, in front of each
# argument. (In front: if one argument has fewer axes than another, they no longer pair
# off. So broadcast both to one shape before the call.) The default, None, refuses.
#
# Only `jax.pure_callback` has a `vmap_method`. Under `vmap`, an `io_callback` or
# `jax.debug.callback` calls the host once for each row.


# %% exercise
@exercise(
    title="NumPy's sine",
    points=3,
    core=True,
    minutes=4,
    reproduces=["S4-13", "S4-14", "S4-15", "S4-17"],
    follows={"S4-14": ("S4-13", "a shape that does not keep the promise breaks it under `jit`, too")},
    hints=[
        "Which shape and dtype can you promise, if x may have any shape?",
        "`vmap_method` is an argument of `jax.pure_callback`, and None is its default. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "def host(value):\n    return np.sin(value)\n\npromise = jax.ShapeDtypeStruct(____, ____)\n"
        "return jax.pure_callback(host, promise, x, vmap_method=____)",
        """# Like it: NumPy sorts rows, as many in a call as `method` says.
def sort_on_host(row, method=None):
    def by_numpy(values):
        print("sorting", values.shape)
        return np.sort(values, axis=-1)

    like_row = jax.ShapeDtypeStruct(row.shape, row.dtype)
    return jax.pure_callback(by_numpy, like_row, row, vmap_method=method)

table = jnp.array([[3, 1, 2], [9, 8, 7]])
print(jax.vmap(partial(sort_on_host, method="expand_dims"))(table))""",
    ],
)
def sine_on_host(x, method=None):
    """Compute the sine with NumPy, by `jax.pure_callback`: alone, under `jax.jit` and under `jax.vmap`.

    Under `jax.vmap`, `method` says what to do with a batch; with None, JAX refuses. `jax.grad` is refused, too: give no
    derivative. Let these errors of JAX pass.

    >>> jax.vmap(partial(sine_on_host, method="sequential"))(jnp.array([0.0, 1.0]))
    Array([0.       , 0.8414...], dtype=float32)

    Args:
        x: float32 array of any shape.
        method: None, or what `vmap_method` may be.

    Returns:
        float32, of the shape of x.
    """
    ...


# %% check
def sines(x):
    """Return NumPy's sines."""
    return np.sin(np.asarray(x, np.float32))


@visible(sine_on_host, idea="The host function gets the numbers, and its value comes back.", reproduces=["S4-13"])
def alone_it_gives_the_sines(answer):
    """Alone it gives the sines of 0, 1, 2, 3, 4."""
    got = answer(jnp.arange(5.0))
    expect_documented("S4-13", ["f(x)", shown(got)], message="These should be the sines of 0, 1, 2, 3, 4, as float32.")


@visible(sine_on_host, idea="The promise has the shape of x, whatever that is.")
def any_shape_will_do(answer, draw):
    """It keeps the shape."""
    for shape in ((2, 3), ()):
        x = draw.floats(*shape)
        expect_close(answer(x), sines(x))


@visible(
    sine_on_host,
    stage="jit",
    idea="Under jit x has no numbers while Python runs; only the host function sees them.",
    reproduces=["S4-14"],
    required=True,
)
def under_jit_the_host_gives_the_sines(answer):
    """Under jit it gives the same, and the host alone computes it."""
    x = jnp.arange(5.0)
    seen = answer.jit.program(x)
    asks = seen.primitives.get("pure_callback", 0) > seen.unused.get("pure_callback", 0)
    expect_that(asks, "Your program should hold a `pure_callback`, and use its value.", seen, "a pure_callback")
    own = [name for name in ("sin", "cos", "tan", "exp") if name in seen.primitives]
    expect_that(not own, "The host alone should compute the sine; your program computes itself.", ", ".join(own))
    message = "Under jit, these should be the sines of 0, 1, 2, 3, 4."
    expect_documented("S4-14", ["jax.jit(f)(x)", shown(answer.jit(x))], message=message)


@visible(
    sine_on_host,
    stage="jit",
    idea="Only you know whether the host function takes a batch, so you must say it.",
    reproduces=["S4-15"],
    required=True,
)
def vmap_needs_a_method(answer):
    """Under vmap JAX refuses without a method; with "sequential" it gives the sines."""
    x = jnp.arange(5.0)
    seen = answer.vmap().observe_error(x)
    message = "Under vmap, without a method, JAX should refuse."
    expect_jaxs_own(seen, message)
    mapped = answer.vmap(in_axes=(0, None))(x, "sequential")
    refusal = f"{seen.error.type_name}: {seen.error.message}"
    message = 'Without a method JAX should refuse; with "sequential" there should be the sines of 0, 1, 2, 3, 4.'
    expect_documented("S4-15", [refusal, shown(mapped)], message=message)


@visible(
    sine_on_host,
    stage="cost",
    idea="`sequential` is a loop in the program, which calls the host for each row; `expand_dims` is one call.",
)
def the_method_is_passed_on(answer, draw):
    """With "sequential" there is a loop of calls, with "expand_dims" and "broadcast_all" one call."""
    for method, loops in (("sequential", True), ("expand_dims", False), ("broadcast_all", False)):
        mapped = answer.vmap(in_axes=(0, None))
        x = draw.floats(4, 3)
        seen = mapped.program(x, method).primitives
        wanted = "a loop of host calls" if loops else "one host call, no loop"
        expect_that(("scan" in seen) == loops, f'With "{method}" there should be {wanted}.', seen, wanted)
        expect_close(mapped(x, method), sines(x))


@visible(
    sine_on_host,
    stage="gradient",
    kind="observed",
    idea="JAX cannot look into a host function, so it has no derivative for it.",
    reproduces=["S4-17"],
    required=True,
)
def grad_is_refused(answer):
    """Under grad JAX refuses."""
    seen = answer.grad().observe_error(jnp.arange(5.0))
    message = "Under grad JAX should refuse: a pure callback has no derivative."
    expect_jaxs_own(seen, message)
    expect_documented("S4-17", seen, message=message)


# %% documented S4-13 S4-14 S4-15 S4-17
# Under `vmap` it warned until JAX 0.5, and called the host for each row. Since 0.6.0 it
# refuses; with `vmap_method="sequential"` the documented array comes back.
def f_host(x):
    return np.sin(x).astype(x.dtype)


def f(x, method=None):
    result_shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(f_host, result_shape, x, vmap_method=method)


x = jnp.arange(5.0)
print(repr(f(x)))
print(repr(jax.jit(f)(x)))
try:
    jax.vmap(f)(x)
except NotImplementedError as error:
    print(f"NotImplementedError: {error}")
print(repr(jax.vmap(partial(f, method="sequential"))(x)))
try:
    jax.grad(f)(x)
except ValueError as error:
    print(f"ValueError: {error}")

# documented
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# DeprecationWarning: The default behavior of pure_callback under vmap will soon change.
# Currently, the default behavior is to generate a sequential vmap (i.e. a loop), but in
# the future the default will be to raise an error. To keep the current default, set
# vmap_method='sequential'.
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# callbacks while taking gradients.

# today
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# NotImplementedError: vmap is only supported for the pure_callback primitive when
# vmap_method is one of 'sequential', 'sequential_unrolled', 'expand_dims',
# 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None.
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)
# ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# callbacks while taking gradients.

# %% [markdown]
# ### JAX takes you at your word
#
# "Pure" is a promise of yours, and nobody checks it. So what happens to a host function
# that is not pure, such as this one?


# %%
def print_something(*anything):
    """Print, and return 0: not pure at all."""
    print("printing something")
    return np.int32(0)


# %% exercise
@exercise(
    title="Used or not",
    points=3,
    core=True,
    minutes=5,
    reproduces=["S4-18", "S4-19", "S4-20", "S4-28"],
    hints=[
        "Who can find out that a value is not used: Python, JAX while it traces, or the compiler?",
        "Make the call in a function under `jax.jit`; only the compiler drops calls. For four rows, give the callback "
        "an argument to map over. https://docs.jax.dev/en/latest/external-callbacks.html",
        'def call(*row):\n    if kind == "pure":\n        return jax.pure_callback(print_something, np.int32(0), *row, '
        'vmap_method="sequential")\n    return io_callback(____)\n\n@jax.jit\ndef program():\n'
        '    if how == "twice":\n        return call() + ____\n    if how == "rows":\n'
        "        return jax.vmap(____)(jnp.arange(4))\n    value = call()\n    return ____\n\nreturn program()",
        """# Like it: of two host functions, only the one that is needed is asked.
def ask(name):
    print("asked:", name)
    return np.float32(2.0)

@jax.jit
def double_left(x):
    left = jax.pure_callback(partial(ask, "left"), np.float32(0))
    right = jax.pure_callback(partial(ask, "right"), np.float32(0))
    return x * left

print(double_left(3.0))  # 6.0, and before it only "asked: left\"""",
    ],
)
def ask_the_host(kind, how):
    """Call `print_something` by a callback, in a function under `jax.jit`, and return what that function returns.

    >>> ask_the_host("pure", "used")
    printing something
    Array(0, dtype=int32)

    Args:
        kind: "pure" for `jax.pure_callback`, "io" for `io_callback`, which is not ordered.
        how: what the jitted function does. "used": it makes the call and returns its value. "unused": it makes the call
            and returns 1.0. "twice": it makes the same call twice and returns the sum of the values. "rows": it makes
            the call for each row of `jnp.arange(4)`, by `jax.vmap`, and returns the four values.

    Returns:
        int32[], int32[4] for "rows", or float32[] 1.0 for "unused".
    """
    ...


# %% check
def lines_of(answer, kind, how):
    """Return what a call prints."""
    return answer.observe(kind, how).lines


@visible(ask_the_host, idea="The jitted function returns the host's value, or 1.0.")
def values_or_one(answer):
    """The result is 0, four times 0 for the rows, or 1.0."""
    for kind in ("pure", "io"):
        for how, wanted in (("used", 0), ("twice", 0), ("rows", [0] * 4), ("unused", 1)):
            got = answer(kind, how)
            expect_shape(got, np.shape(wanted))
            message = f'For "{kind}" and "{how}" the result should be {wanted}.'
            expect_that(np.array_equal(np.asarray(got), wanted), message, got, wanted)


@visible(
    ask_the_host,
    stage="jit",
    kind="observed",
    idea="A value that is used must be computed.",
    reproduces=["S4-18"],
    required=True,
)
def a_used_pure_call_runs(answer):
    """A pure call whose value is used runs once."""
    message = "The host function should run once: its value is returned."
    expect_documented("S4-18", "\n".join(lines_of(answer, "pure", "used")), message=message)


@visible(
    ask_the_host,
    stage="jit",
    kind="observed",
    idea="The compiler drops a pure call whose value nobody uses.",
    reproduces=["S4-19"],
    required=True,
)
def an_unused_pure_call_is_dropped(answer):
    """A pure call whose value is not used does not run."""
    seen = answer.program("pure", "unused").primitives
    expect_that("pure_callback" in seen, "The call should be in the program that JAX traces.", seen, "a pure_callback")
    message = "The host function should not run: nobody uses its value, and the compiler drops the call."
    expect_documented("S4-19", lines_of(answer, "pure", "unused"), message=message)


@visible(
    ask_the_host,
    stage="jit",
    kind="observed",
    idea="How often a pure call runs is up to JAX. Today two equal calls are two; it might make one of them.",
    reproduces=["S4-20"],
)
def pure_calls_are_repeated(answer):
    """Two equal pure calls run twice, and four rows four times."""
    found = {how: len(lines_of(answer, "pure", how)) for how in ("twice", "rows")}
    message = "Two pure calls should print twice, and four rows four times."
    expect_documented("S4-20", found, message=message)


@visible(
    ask_the_host,
    stage="jit",
    kind="observed",
    idea="An io_callback runs, because what it does may count more than its value.",
    reproduces=["S4-28"],
    required=True,
)
def an_unused_io_call_runs(answer):
    """An io call whose value is not used runs once."""
    found = {"unused": len(lines_of(answer, "io", "unused"))}
    expect_documented("S4-28", found, message="An io call should run once, though its value is not used.")


@visible(
    ask_the_host,
    stage="cost",
    idea="The call is in the program that JAX traces; it is dropped later, by the compiler.",
    required=True,
)
def each_call_is_in_a_jitted_program(answer):
    """Each call is in a jitted function, whether its value is used or not."""
    for kind, how in (("pure", "used"), ("pure", "unused"), ("pure", "rows"), ("io", "used"), ("io", "unused")):
        seen, name = answer.program(kind, how), f"{kind}_callback"
        message = f'For "{kind}" and "{how}", your program should hold a `{name}` in a jitted function.'
        expect_that(name in seen.primitives and name not in seen.unjitted, message, seen, f"a {name} under jit")


# %% documented S4-18 S4-19 S4-20 S4-28
# All of this is still so: the first program prints, the second does not, and an
# `io_callback` prints although its value is not used. How often a pure function runs is
# not promised; two equal calls are two calls today.
@jax.jit
def f1():
    return jax.pure_callback(print_something, np.int32(0))


@jax.jit
def f2():
    jax.pure_callback(print_something, np.int32(0))
    return 1.0


for program in (f1, f2):
    print(program.__name__)
    program().block_until_ready()
for how in ("twice", "rows"):
    print(how)
    ask_the_host("pure", how).block_until_ready()
print("unused, by io_callback")
ask_the_host("io", "unused").block_until_ready()
jax.effects_barrier()

# documented
# f1 prints "printing something", f2 prints nothing.
# A function that is passed to pure_callback may be dropped, or called several times.
# The compiler does not remove an io_callback whose output is not used.

# today
# f1
# printing something
# f2
# twice
# printing something
# printing something
# rows
# printing something
# printing something
# printing something
# printing something
# unused, by io_callback
# printing something

# %% [markdown]
# Here are all eight, each below its name:


# %%
def show_calls():
    """Make each call of `ask_the_host` once."""
    for kind in ("pure", "io"):
        for how in ("used", "unused", "twice", "rows"):
            print(f"{kind}, {how}:")
            jax.block_until_ready(ask_the_host(kind, how))
            jax.effects_barrier()


show_calls()


# %%
def same_in_each_step(host, x):
    """Ask the host the same thing in each of three steps, and add up what it says."""

    def step(total, _):
        return total + jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x), None

    return jax.lax.scan(step, jnp.float32(0), length=3)[0]


# %% exercise
@prediction(
    title="Predict: the same question in each step",
    points=1,
    core=True,
    minutes=1,
    hints=[
        "Does the argument of the callback change from step to step?",
        "The compiler may compute once, before the loop, what is the same in each step. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "# A smaller case: not used at all, the host is asked 0 times.\nreturn ____  # an int",
    ],
)
def predict_same_question():
    """`same_in_each_step` asks the host the same thing in each of three steps. How many host calls are there under jit?

    Returns:
        An int.
    """
    ...


# %% check
@reveal(
    predict_same_question,
    why="A pure function gives the same value for the same argument. So the compiler moves the call out of the loop, "
    "and the host is asked once.",
    shows="""def loud_host(value):
    print("asked for", value)
    return np.float32(1)

print(jax.jit(partial(same_in_each_step, loud_host))(2.0))""",
)
def count_the_same_question():
    """We ran `same_in_each_step` under jit with a host function that counts."""
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    jax.block_until_ready(jax.jit(partial(same_in_each_step, host))(jnp.float32(2.0)))
    jax.effects_barrier()
    return len(calls)


# %% [markdown]
# ## Part 3. SciPy in JAX: Bessel functions
#
# SciPy has all Bessel functions: `scipy.special.jv(v, z)` is J of the order v at z. The
# old page wrapped it with `vectorized=True`, to say that SciPy takes whole batches.
# That argument is gone, but JAX does not say so. It hands what it does not know on to
# the *host function*, which fails when the program runs. JAX then logs a traceback, and
# raises a `JaxRuntimeError`, whose last line we print here:

# %%
try:
    jax.pure_callback(root_on_host, promise, jnp.float32(9.0), vectorized=True).block_until_ready()
except Exception as error:
    print(type(error).__name__, "...", str(error).strip().splitlines()[-1])


# %% exercise
@exercise(
    title="SciPy's Bessel function",
    points=4,
    core=True,
    minutes=6,
    reproduces=["S4-33", "S4-34", "S4-35", "S4-36", "S4-37"],
    why_so_many="They are one function of the document, called alone, under jit, under vmap and under grad.",
    hints=[
        "What may v and z be before you ask for their shape and dtype? And which axes do they have under `vmap`?",
        "The batch axis comes in front of each argument. If v and z have one shape before the call, they still fit "
        "together then. https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "v, z = jnp.asarray(v), jnp.asarray(z)\nassert jnp.issubdtype(v.dtype, ____)\n"
        "v, z = jnp.broadcast_arrays(v, z.astype(____))\n\n"
        "def host(v, z):\n    return scipy.special.jv(v, z).astype(____)\n\n"
        "return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method=____)",
        """# Like it: NumPy's quotient and rest of arrays whose shapes may differ.
def divmod_on_host(a, b):
    a, b = jnp.broadcast_arrays(a, b)
    like_a = jax.ShapeDtypeStruct(a.shape, a.dtype)

    def by_numpy(a, b):
        return np.divmod(np.asarray(a), np.asarray(b))

    return jax.pure_callback(by_numpy, (like_a, like_a), a, b, vmap_method="expand_dims")

mapped = jax.vmap(divmod_on_host, in_axes=(0, None))
quotients, rests = mapped(jnp.array([17, 23]), jnp.array([5, 10, 4]))
print(quotients.tolist())  # [[3, 1, 4], [4, 2, 5]]
print(rests.tolist())  # [[2, 7, 1], [3, 3, 3]]""",
    ],
)
def bessel_on_host(v, z):
    """Repair this: SciPy's Bessel function J_v(z), alone, under `jax.jit` and under `jax.vmap`.

    An order v whose dtype is not an integer type raises an AssertionError, TypeError or ValueError. A z of whole
    numbers gives float32. The shapes of v and z are broadcast, under `vmap` too, where the host is called once for the
    whole batch. Give no derivative: `jax.grad` is refused by JAX.

    >>> bessel_on_host(1, jnp.array([0, 2]))
    Array([0.       , 0.5767248], dtype=float32)

    Args:
        v: int32 array or int, the order.
        z: float32 or int32 array, or float or int.

    Returns:
        float32, of the broadcast shape of v and z.
    """

    def host(v, z):
        return scipy.special.jv(v, z)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vectorized=True)


# %% check
def bessel_values(v, z):
    """Return SciPy's values as float32."""
    return scipy.special.jv(np.asarray(v), np.asarray(z, np.float64)).astype(np.float32)


@visible(bessel_on_host, idea="Python numbers have no shape and no dtype: make arrays of them.", reproduces=["S4-34"])
def j1_alone(answer):
    """Alone, with 1 as the order, it gives J₁ at 0, 1, 2, 3, 4."""
    got = ["print(j1(z))", str(np.asarray(answer(1, jnp.arange(5.0))))]
    expect_documented("S4-34", got, message="These should be J₁ at 0, 1, 2, 3, 4.")


@visible(
    bessel_on_host,
    idea="The promise: the shape by broadcasting, the dtype of z made floating; and no order but a whole one.",
    reproduces=["S4-33"],
)
def the_three_rules_hold(answer):
    """A float order is refused, a z of ints gives float32, and shapes are broadcast."""
    refused = answer.observe_error(np.float32([1.5]), np.float32([0.5, 1.5])).error
    kinds = ("AssertionError", "TypeError", "ValueError")
    whole, points = answer(np.int32([1]), np.int32([0, 3])), np.arange(5, dtype=np.float32)
    table = answer(np.int32([[0], [3]]), points)
    found = {
        "float order": "refused" if refused is not None and refused.type_name in kinds else "computed",
        "int z": str(whole.dtype),
        "shape": list(table.shape),
    }
    message = "A float order should raise an error, ints should give float32, and (2, 1) with (5,) should give (2, 5)."
    expect_documented("S4-33", found, message=message)
    expect_close(whole, bessel_values([1], [0, 3]))
    expect_close(table, bessel_values([[0], [3]], points))


@visible(
    bessel_on_host,
    stage="jit",
    idea="Under jit only shapes and dtypes are known, of the order too.",
    reproduces=["S4-35"],
    required=True,
)
def j1_under_jit(answer):
    """Under jit it gives the same, and the host alone computes it."""
    z = jnp.arange(5.0)
    seen = answer.jit.program(1, z)
    asks = seen.primitives.get("pure_callback", 0) > seen.unused.get("pure_callback", 0)
    expect_that(asks, "Your program should hold a `pure_callback`, and use its value.", seen, "a pure_callback")
    got = ["print(jax.jit(j1)(z))", str(np.asarray(answer.jit(jnp.int32(1), z)))]
    expect_documented("S4-35", got, message="Under jit, these should be J₁ at 0, 1, 2, 3, 4.")


@visible(
    bessel_on_host,
    stage="jit",
    idea="SciPy takes a whole batch, so one call is enough.",
    reproduces=["S4-36"],
)
def j1_under_vmap(answer):
    """Under vmap over z it gives the same, in one host call."""
    v, z, mapped = jnp.int32(1), jnp.arange(5.0), answer.vmap(in_axes=(None, 0))
    seen = mapped.program(v, z).primitives
    message = "The host should be called once for the batch; yours is called for each row."
    expect_that("scan" not in seen and seen.get("pure_callback") == 1, message, seen, "one pure_callback, no loop")
    got = ["print(jax.vmap(j1)(z))", str(np.asarray(mapped(v, z)))]
    expect_documented("S4-36", got, message="Under vmap, these should be J₁ at 0, 1, 2, 3, 4.")


@visible(
    bessel_on_host,
    stage="jit",
    idea="A batch axis comes in front: v int32[3] and z float32[] then pair off wrongly.",
)
def orders_and_points_of_different_shapes(answer):
    """Under vmap over z alone, each row has all orders."""
    v, z = np.array([0, 1, 2], np.int32), np.array([0.5, 1.5, 2.5], np.float32)
    message = "Row i should have the three orders at z[i]."
    expect_close(answer.vmap(in_axes=(None, 0))(v, z), bessel_values(v, z[:, None]), message, atol=1e-5)


@visible(
    bessel_on_host,
    stage="gradient",
    kind="observed",
    idea="A pure callback has no derivative. A rule comes in the next exercise.",
    reproduces=["S4-37"],
)
def grad_of_j1_is_refused(answer):
    """Under grad JAX refuses."""
    expect_close(answer(jnp.int32(1), jnp.arange(5.0)), bessel_values(1, np.arange(5)), atol=1e-5)
    seen = answer.grad(argnums=1).observe_error(jnp.int32(1), jnp.arange(5.0))
    message = "Under grad JAX should refuse: a pure callback has no derivative."
    expect_jaxs_own(seen, message)
    expect_documented("S4-37", ["jax.grad(j1)(z)", f"{seen.error.type_name}: {seen.error.message}"], message=message)


# %% documented S4-33 S4-34 S4-35 S4-36 S4-37
# Until JAX 0.5, `vectorized=True` worked and warned. From 0.6.0 to 0.9.2 it raised a
# ValueError that named `vmap_method`; since 0.10.0 it goes to the host function, which
# fails. With `vmap_method="broadcast_all"` the documented numbers come out.
def jv(v, z, **options):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    result = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(lambda v, z: scipy.special.jv(v, z).astype(z.dtype), result, v, z, **options)


z = jnp.arange(5.0)
try:
    jv(1, z, vectorized=True).block_until_ready()
except Exception as error:
    print(type(error).__name__, "...", str(error).strip().splitlines()[-1])
j1 = partial(jv, 1, vmap_method="broadcast_all")
print(j1(z))
print(jax.jit(j1)(z))
print(jax.vmap(j1)(z))
try:
    jax.grad(j1)(z)
except ValueError as error:
    print(f"ValueError: {error}")

# documented
# [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# DeprecationWarning: The vectorized argument of jax.pure_callback is deprecated and
# setting it will soon raise an error. To avoid an error in the future, and to suppress
# this warning, please use the vmap_method argument instead.
# (and the same numbers and warning under jit and under vmap)
# ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# callbacks while taking gradients.

# today
# JaxRuntimeError ... TypeError: ... got an unexpected keyword argument 'vectorized'
# [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
# ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use
# callbacks while taking gradients.

# %% [markdown]
# ### A derivative for it
#
# JAX cannot look into SciPy, but mathematics can. Write J(v, z) for the Bessel function
# of the order v at z. Its slope in z is
#
# - `-J(1, z)` for the order 0,
# - `(J(v - 1, z) - J(v + 1, z)) / 2` for all other orders.
#
# `jax.custom_jvp` takes such a rule from you, as in the lesson `autodiff`. The rule
# gets the point and the step, and returns the value, and the slope **times the step**.
# An argument that is an int, such as the order, has a step that means nothing: leave it
# out. This is the rule for NumPy's exponential:


# %%
@jax.custom_jvp
def host_exp(x):
    """Compute exp(x) on the host."""
    return jax.pure_callback(np.exp, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@host_exp.defjvp
def host_exp_rule(primals, tangents):
    """Return the value, and the slope times the step."""
    (x,), (dx,) = primals, tangents
    return host_exp(x), host_exp(x) * dx


print(jax.grad(host_exp)(jnp.float32(1.0)), jax.grad(jax.grad(host_exp))(jnp.float32(1.0)))

# %% [markdown]
# The rule calls `host_exp`, which has a rule, and not NumPy, which has none. That is
# why there is a second derivative. It does not call itself for ever: only `grad` uses
# the rule, once for each derivative.
#
# The helper `host_function` makes a JAX function of a NumPy or SciPy function, with
# promise and `vmap_method`. `elementwise=True` says that the function works number by
# number, so that it takes any shapes that broadcast. Here is one without a rule:

# %%
scipy_jv = host_function(scipy.special.jv, elementwise=True)
print(scipy_jv(1, jnp.arange(3.0)))


# %% exercise
@exercise(
    title="Differentiable to any order",
    points=4,
    core=True,
    minutes=6,
    reproduces=["S4-10", "S4-38", "S4-39", "S4-40", "S4-41"],
    why_so_many="They are one derivative rule of the document and what follows from it.",
    follows={
        "S4-41": ("S4-40", "without a slope at a single number, there is no slope of the slope either"),
    },
    hints=[
        "What must the rule call, so that its result can be differentiated once more?",
        "`jnp.where(v == 0, a, b)` chooses for each order. The order is a whole number, so its step does not matter. "
        "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html",
        "@jax.custom_jvp\ndef bessel(v, z):\n    return scipy_jv(v, z)\n\n\n@bessel.defjvp\n"
        "def bessel_rule(primals, tangents):\n    (v, z), (_, dz) = primals, tangents\n"
        "    slope = jnp.where(v == 0, -bessel(v + 1, z), ____)\n    return bessel(v, z), slope * dz",
        """# Like it: NumPy's x**n, with a slope in x: n * x**(n - 1).
numpy_power = host_function(np.power, elementwise=True)

@jax.custom_jvp
def power(x, n):
    return numpy_power(x, n)

@power.defjvp
def power_rule(primals, tangents):
    (x, n), (dx, _) = primals, tangents
    return power(x, n), n * power(x, n - 1) * dx

print(jax.jit(jax.grad(power))(5.0, 3))  # 75.0 = 3 * 5**2
print(jax.jit(jax.grad(jax.grad(power)))(5.0, 3))  # 30.0 = 3 * 2 * 5""",
    ],
)
def bessel(v, z):
    """Give `scipy_jv` a rule: J_v(z), differentiable in z to any order, also under `jax.jit` and `jax.vmap`.

    >>> print(jax.grad(bessel, argnums=1)(1, 2.0), jax.hessian(bessel, argnums=1)(1, 2.0))
    -0.06447162 -0.4003078

    Args:
        v: int32 array or int: the order, or several, each 0 or more.
        z: float32 array, or float.

    Returns:
        float32, of the broadcast shape of v and z.
    """
    ...


# %% check
@visible(bessel, idea="The value is SciPy's.")
def the_value_is_scipys(answer):
    """The value is that of SciPy, for several orders."""
    z = np.linspace(0.5, 4, 5, dtype=np.float32)
    for v in (0, 1, 3):
        expect_close(answer(v, z), bessel_values(v, z), atol=1e-5)


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="With a rule by `jax.custom_jvp`, what a pure callback computes can be differentiated.",
    reproduces=["S4-10"],
    required=True,
)
def the_gradient_asks_the_host(answer):
    """There is a gradient, and the host computes it."""
    z, slope = jnp.array([0.5, 3.0]), answer.sum.grad(argnums=1)
    got, seen = slope(1, z), slope.program(1, z)
    asks = seen.primitives.get("pure_callback", 0) > seen.unused.get("pure_callback", 0)
    found = {"slopes": bool(np.isfinite(np.asarray(got)).all()), "the host is asked": asks}
    message = "There should be a gradient, computed from what the host gives in a `pure_callback`."
    expect_documented("S4-10", found, message=message)


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="The slope of J_v is -J₁ for the order 0, and else half the difference of its neighbours.",
    reproduces=["S4-38"],
)
def slopes_follow_the_recurrence(answer):
    """The slopes of the orders 0 to 4 at 0.5 and 3 are right."""
    z = np.array([0.5, 3.0], np.float32)
    slopes = [np.asarray(answer.sum.grad(argnums=1)(v, z)).tolist() for v in range(5)]
    expect_documented("S4-38", slopes, message="These should be the slopes of J_0 to J_4, each at 0.5 and 3.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="The orders may be an array: the rule must choose for each of them, and Python's `if` cannot.",
    reproduces=["S4-39"],
)
def the_rule_chooses_for_each_order(answer):
    """For the orders 0 and 1 in one call, values and slopes at 1.5 are right."""
    v, z = np.array([0, 1], np.int32), np.float32([1.5, 1.5])
    got = [np.asarray(one).tolist() for one in (answer(v, z), answer.sum.grad(argnums=1)(v, z))]
    expect_documented("S4-39", got, message="These should be J_0 and J_1 at 1.5, and then their slopes there.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="A single number has a slope, too.",
    reproduces=["S4-40"],
    required=True,
)
def the_slope_of_j1_at_two(answer):
    """The slope of J₁ at 2 is -0.06447162."""
    slope = answer.grad(argnums=1)(1, 2.0)
    expect_documented("S4-40", slope, message="The slope of J₁ at 2 should be -0.06447162.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="A rule that calls the function itself can be differentiated again.",
    reproduces=["S4-41"],
    required=True,
)
def the_second_derivative_of_j1_at_two(answer):
    """The second derivative of J₁ at 2 is -0.4003078."""
    second = answer.grad(argnums=1).grad(argnums=1)(1, 2.0)
    expect_documented("S4-41", second, message="The second derivative of J₁ at 2 should be -0.4003078.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="Under jit the order is a tracer, and under vmap there is one for each row.",
)
def slopes_under_jit_and_vmap(answer):
    """Under jit of vmap over orders, the slopes are right."""
    v, z = np.array([0, 1, 2, 3], np.int32), np.float32(1.5)
    got = answer.grad(argnums=1).vmap(in_axes=(0, None)).jit(v, z)
    expect_close(got, scipy.special.jvp(v, 1.5).astype(np.float32), atol=1e-5)


# %% documented S4-10 S4-38 S4-39 S4-40 S4-41
# With `vmap_method` in place of `vectorized` all of it comes out as documented, without
# the warnings.
def jv(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    z = z.astype(jnp.result_type(float, z.dtype))
    result = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(
        lambda v, z: scipy.special.jv(v, z).astype(z.dtype), result, v, z, vmap_method="broadcast_all"
    )


jv = jax.custom_jvp(jv)


@jv.defjvp
def jv_rule(primals, tangents):
    (v, z), (_, z_dot) = primals, tangents
    jv_minus_1, jv_plus_1 = jv(v - 1, z), jv(v + 1, z)
    djv_dz = jnp.where(v == 0, -jv_plus_1, 0.5 * (jv_minus_1 - jv_plus_1))
    return jv(v, z), z_dot * djv_dz


j1 = partial(jv, 1)
print(jax.grad(j1)(2.0))
print(repr(jax.hessian(j1)(2.0)))

# documented
# pure_callback can be used with custom_jvp to make it compatible with autodiff.
# d J_v(z) = -J_1(z) for v = 0, and (J_{v-1}(z) - J_{v+1}(z)) / 2 otherwise
# -0.06447162
# Array(-0.4003078, dtype=float32, weak_type=True)

# today
# -0.06447162
# Array(-0.4003078, dtype=float32, weak_type=True)

# %% [markdown]
# `host_function` takes a slope, too, and then makes the rule for you. Its `verify`
# compares the slope with finite differences, on the host, in float64. (All radii are
# above 0, so that the slope of J₁ may divide by z.)

# %%
j0 = host_function(scipy.special.j0, elementwise=True, derivative=lambda z: -j1(z))
j1 = host_function(scipy.special.j1, elementwise=True, derivative=lambda z: j0(z) - j1(z) / z)


def ring(width):
    """Compute the light at all radii, for a ring of this width."""
    x = radii / width
    return (2 * j1(x) / x) ** 2


def ring_loss(width):
    """Compute how far a ring of this width is from the measured light."""
    return jnp.mean((ring(width) - light) ** 2)


print(j1.verify(jnp.float32(2.0)))
print("slope of the loss at width 2.5:", jax.grad(ring_loss)(2.5))

# %% [markdown]
# ## Part 4. Watch a compiled loop, and stop it
#
# The fit is a loop: `width = width - rate * slope`, again and again. As one compiled
# `while_loop` it is fast, and silent. An `io_callback` in the loop can report to
# Python, and bring an answer back: go on, or stop.
#
# Are the reports made in the order of the steps? Without a promise, JAX may run two
# callbacks in any order. With `io_callback(..., ordered=True)` each call waits for the
# one before. (There is a price: JAX then refuses to `vmap` the program, because rows
# have no order.)
#
# A call that is made only now and then belongs in one branch of a `jax.lax.cond`:


# %%
def say_even(number):
    """Say that a number is even, and whether it is large."""
    print(f"{int(number)} is even")
    return np.bool_(int(number) > 5)


def next_number(state):
    """Add 1, and ask the host about even numbers."""
    number, _ = state
    number = number + 1

    def ask():
        return io_callback(say_even, jax.ShapeDtypeStruct((), bool), number, ordered=True)

    return number, jax.lax.cond(number % 2 == 0, ask, lambda: False)


print(jax.lax.while_loop(lambda state: ~state[1], next_number, (0, False)))

# %% [markdown]
# (`~a` stands for "not a", and `a & b` for "a and b", where Python's words would need a
# value.)


# %%
def print_report(step, loss):
    """Report a loss, and go on."""
    print(f"step {int(step)}: loss {float(loss):.4f}")
    return np.bool_(False)


def square_loss(width):
    """Compute a loss that is least at a width of 1."""
    return (width - 1) ** 2


# %% exercise
@exercise(
    title="A fit that reports",
    points=4,
    core=True,
    minutes=7,
    hints=[
        "What must the loop carry from step to step, so that it knows when to stop?",
        "`jax.lax.while_loop(goes_on, body, state)`, with `io_callback(..., ordered=True)` in a branch of "
        "`jax.lax.cond`. https://docs.jax.dev/en/latest/_autosummary/jax.experimental.io_callback.html",
        "def body(state):\n    width, step, _ = state\n    width = width - rate * jax.grad(loss)(width)\n"
        "    step = step + 1\n    ask = lambda: io_callback(report, jax.ShapeDtypeStruct((), bool), ____)\n"
        "    return width, step, jax.lax.cond(____, ask, lambda: False)\n\n"
        "def goes_on(state):\n    _, step, stop = state\n    return ____\n\n"
        "width, step, _ = jax.lax.while_loop(goes_on, body, (jnp.float32(width), jnp.int32(0), False))\n"
        "return width, step",
        """# Like it: halve a number until the host says that it is small; ask in each third round.
def is_small(x):
    print("is it small?", float(x))
    return np.bool_(float(x) < 0.1)

def body(state):
    x, rounds, _ = state
    x, rounds = x / 2, rounds + 1
    ask = lambda: io_callback(is_small, jax.ShapeDtypeStruct((), bool), x, ordered=True)
    return x, rounds, jax.lax.cond(rounds % 3 == 0, ask, lambda: False)

print(jax.lax.while_loop(lambda state: ~state[2], body, (1.0, 0, False)))""",
    ],
)
def fit_with_progress(loss, report, width, rate, most):
    """Fit a width by gradient descent, in one `jax.lax.while_loop` that reports every tenth step and can be stopped.

    A step is `width = width - rate * slope`, where slope is the derivative of the loss at the width before the step.
    After the steps 10, 20, 30 and so on, and no others, the program calls `report(step, loss)` by an ordered
    `io_callback`: with the number of the step, and the loss at the width after it. If `report` returns True, it stops;
    otherwise after `most` steps.

    >>> width, steps = fit_with_progress(square_loss, print_report, 3.0, 0.05, 25)
    step 10: loss 0.4863
    step 20: loss 0.0591
    >>> print(f"{width:.4f}", steps)
    1.1436 25

    Args:
        loss: a function of float32[] that returns float32[], such as `ring_loss`.
        report: a host function of int32[] and float32[] that returns a NumPy bool, such as `print_report`.
        width: float, the width to start from.
        rate: float.
        most: int, 0 or more.

    Returns:
        A tuple `(width, steps)`: float32[], the width after the last step; and int32[], how many steps were made.
    """
    ...


# %% check
def descended(width, rate, steps, slope):
    """Return the width after some steps, as NumPy computes it."""
    for _ in range(steps):
        width = width - rate * slope(width)
    return np.float32(width)


def reported(lines):
    """Return the steps and the losses of printed reports."""
    found = [line.removeprefix("step ").split(": loss ") for line in lines]
    expect_that(all(len(one) == 2 for one in found), "Only reports should be printed.", lines)
    return [int(step) for step, _ in found], [float(loss) for _, loss in found]


def slope_of_square(width):
    """Compute the slope of `square_loss`."""
    return 2 * (width - 1)


@visible(fit_with_progress, idea="Each step goes against the slope.")
def most_steps_are_made(answer):
    """Without a stop, `most` steps are made."""
    for start, most in ((3.0, 25), (-1.0, 4), (2.0, 0)):
        width, steps = parts(answer(given(square_loss.__name__), given(print_report.__name__), start, 0.05, most), 2)
        expect_that(number(steps) == most, f"There should be {most} steps.", steps, most)
        expect_close(width, descended(start, 0.05, most, slope_of_square), rtol=1e-4)


@visible(
    fit_with_progress,
    stage="jit",
    kind="observed",
    idea="A callback in a branch of `cond` is made only when this branch is taken.",
    required=True,
)
def every_tenth_step_is_reported(answer):
    """The steps 10, 20 and 30 are reported, with the loss after the step."""
    seen = answer.observe(given(square_loss.__name__), given(print_report.__name__), 3.0, 0.05, 35)
    steps, losses = reported(seen.lines)
    expect_that(steps == [10, 20, 30], "The steps 10, 20 and 30 should be reported, in order.", seen.lines)
    wanted = [(descended(3.0, 0.05, step, slope_of_square) - 1) ** 2 for step in steps]
    right = np.allclose(losses, wanted, rtol=1e-3, atol=1e-4)
    text = [f"step {step}: loss {loss:.4f}" for step, loss in zip(steps, wanted, strict=True)]
    expect_that(right, "The loss should be that of the width after the step.", seen.lines, text)


@visible(
    fit_with_progress,
    stage="cost",
    idea="Only a loop in the program can stop by a value.",
    required=True,
)
def one_loop_is_in_the_program(answer):
    """The program holds a `while` loop with an `io_callback`, and is as long for 200 steps as for 20."""
    given_to = (given(square_loss.__name__), given(print_report.__name__), 3.0, 0.05)
    seen = answer.program(*given_to, 20)
    right = {"while", "io_callback"} <= seen.primitives.keys()
    expect_that(right, "There should be a `while` loop with an `io_callback` in it.", seen, "while, io_callback")
    expect_fixed_length(answer, (*given_to, 20), (*given_to, 200), "The program should not grow with `most`.")


@visible(
    fit_with_progress,
    stage="cost",
    idea="On a CPU the order often comes out right by chance; `ordered=True` promises it.",
    required=True,
)
def the_reports_are_ordered(answer):
    """The order of the reports is promised: JAX refuses to map the program."""
    mapped = answer.vmap(in_axes=(None, None, 0, None, None))
    seen = mapped.observe_error(given(square_loss.__name__), given(print_report.__name__), np.float32([2, 3]), 0.05, 20)
    message = "JAX should refuse to map your program, because the order of its reports is promised."
    said = "no error" if seen.error is None else seen.error.message
    refused = "Ordered IO" in said or "ordered IO" in said.replace("Unordered", "")
    expect_that(refused, message, said, "Ordered IO effects not supported in vmap.")


# %% [markdown]
# Now fit the rings. The reports go into a list, and `report` says stop when the loss
# has fallen by less than a thousandth since the report before.


# %%
def fit_rings(start, rate):
    """Fit the rings; return the width, the number of steps, and the reports."""
    reports = []

    def report(step, loss):
        reports.append((int(step), float(loss)))
        return np.bool_(len(reports) > 1 and reports[-1][1] > 0.999 * reports[-2][1])

    width, steps = jax.block_until_ready(fit_with_progress(ring_loss, report, start, rate, 500))
    return float(width), int(steps), reports


def draw_fit():
    """Draw the fitted rings, and the reports."""
    if fit_with_progress(square_loss, print_report, 1.0, 0.0, 0) is None:
        print("Write `fit_with_progress` first: then this cell fits the rings.")
        return
    width, steps, reports = fit_rings(2.5, 1.0)
    draw_rings({"width 2.5": ring(2.5), f"width {width:.3f}, after {steps} steps": ring(width)})
    _, axes = plt.subplots(figsize=(6, 2), layout="constrained")
    axes.semilogy(*zip(*reports, strict=True), "o-")
    axes.set(xlabel="step", ylabel="loss")
    plt.show()


draw_fit()

# %% [markdown]
# The rings were made with a width of 1.3. And what did each step cost?
# `callback_timeline` runs a program once, and draws the calls on the host, with a row
# for each place in the program that makes them. Here are ten steps of the fit and their
# report. In each step SciPy is asked three times, for J₁ and for what its slope needs;
# the last two calls are those of the report, for the loss and to print it.


# %%
def show_ten_steps():
    """Return the host calls of ten steps."""
    if fit_with_progress(square_loss, print_report, 1.0, 0.0, 0) is None:
        return print("Write `fit_with_progress` first: then this cell draws its calls on the host.")
    return callback_timeline(lambda start: fit_with_progress(ring_loss, print_report, start, 1.0, 10)[0], 2.5)


show_ten_steps()

# %% [markdown]
# "As text" says how long each host function **took**. From the end of one call to the
# start of the next, the program goes to the host and back: on an idle CPU, that costs
# some 50 µs for each call, however little it computes. On a GPU or TPU it costs more:
# the data travel, and the device waits. So call the host for what JAX does not have,
# and make few calls, with much to do in each. ("The cost of a call" below measures it.)

# %% [markdown]
# ## What to remember
#
# - `jax.pure_callback` for values, `io_callback` for effects, `jax.debug.callback` for
#   watching.
# - A pure call may be dropped, moved or repeated. An io call runs even if its value is
#   not used (but do not rely on that in a loop that `jax.grad` differentiates: see "The
#   table of callbacks" below). Only `ordered=True` promises an order.
# - Promise the right shape and dtype, and say with `vmap_method` how to call for a
#   batch.
# - Give a host function a slope in terms of functions that have one: by
#   `jax.custom_jvp`, or with `host_function`.
# - On the host use NumPy, never `jnp`. Each call leaves the program: make few.

# %% [markdown]
# ## More
#
# The rest is for another day. Pick what you need: no section builds on another.
#
# ### What arrives on the host
#
# NumPy functions take what arrives on the host. But what is it: a tracer, a NumPy
# array, or something else? See for yourself.


# %%
def describe(value):
    """Say what kind of array this is, and where it is; print that, and return it."""
    kind = "jax.Array" if isinstance(value, jax.Array) else type(value).__name__
    if isinstance(value, jax.core.Tracer):
        kind = "tracer"
    text = f"{kind} {value.dtype}{list(value.shape)}"
    if kind == "jax.Array":
        text += f" on {next(iter(value.devices())).platform}"
    print(text)
    return text


# %% exercise
@exercise(
    title="What the host gets",
    points=2,
    minutes=3,
    reproduces=["S4-03"],
    hints=[
        "Which function runs on the host: the one that you write, or the one that you hand to the callback?",
        "The host function can put what it sees into a Python list or dict. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "seen = {}\n\ndef note(kind, value):\n    seen[kind] = ____\n    return np.asarray(value)\n\n"
        'y = jax.pure_callback(partial(note, "pure_callback"), jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n'
        "# ... io_callback, jax.debug.callback ...\n"
        "jax.block_until_ready(y)\njax.effects_barrier()  # and wait for the other callbacks\nreturn seen",
        """# Like it: two host functions note a fact each about what they get.
facts = {}

def note_fact(name, measure, value):
    facts[name] = float(measure(np.asarray(value)))

numbers = jnp.arange(6.0)
jax.debug.callback(partial(note_fact, "mean", np.mean), numbers)
io_callback(partial(note_fact, "length", len), None, numbers)
jax.effects_barrier()
print(sorted(facts.items()))  # [('length', 6.0), ('mean', 2.5)]""",
    ],
)
def what_arrives(x):
    """Hand x to all three kinds of callback, and let `describe` say what each host function gets.

    >>> what_arrives(jnp.ones((2, 1)))["io_callback"]
    jax.Array float32[2, 1] on cpu
    jax.Array float32[2, 1] on cpu
    jax.Array float32[2, 1] on cpu
    'jax.Array float32[2, 1] on cpu'

    Args:
        x: float32 or int32 array of any shape, with one number or more.

    Returns:
        A dict: "pure_callback", "io_callback" and "debug.callback", each with the text that `describe` returns for the
        argument of the host function.
    """
    ...


# %% check
KINDS = ("pure_callback", "io_callback", "debug.callback")


def arrived(answer, x):
    """Return what the answer says, which must be what `describe` printed."""
    seen = answer.observe(x)
    got = entries(seen.value, KINDS)
    message = "Each text should be what `describe` printed on the host."
    expect_that(sorted(map(str, got.values())) == sorted(seen.lines), message, seen.lines, list(got.values()))
    return got


@visible(
    what_arrives,
    idea="The program hands the numbers of x to the host, as a JAX array on the CPU: no tracer, no NumPy array.",
    reproduces=["S4-03"],
)
def the_host_gets_an_array_on_the_cpu(answer):
    """Each host function gets a jax.Array on the CPU."""
    got = arrived(answer, np.ones(3, np.float32))
    expect_documented("S4-03", got, message="Each host function should get a jax.Array float32[3] on the CPU.")


# %% documented S4-03
# This is still so, for all three kinds.
what_arrives(jnp.ones(3))

# documented
# The value of y at run time is passed back to the host process as a CPU `jax.Array`.

# today
# jax.Array float32[3] on cpu
# jax.Array float32[3] on cpu
# jax.Array float32[3] on cpu
# {...}

# %% [markdown]
# ### In a loop, and all at once
#
# How often does the host work? In a loop of the program, once for each step. But you
# may be able to hand it all the work in one call. Here `noisy_sine` says what it gets.


# %%
def noisy_sine(value):
    """Compute the sine with NumPy, on the host, and print the shape of the argument."""
    print("host got", np.shape(value))
    return np.sin(value).astype(np.float32)


# %% exercise
@exercise(
    title="In a loop, and all at once",
    points=3,
    minutes=4,
    reproduces=["S4-16"],
    hints=[
        "How many host calls does a loop of 5 steps make? Which `vmap_method` makes one call for all rows?",
        "`jax.lax.scan(step, carry, xs)` calls step with each x; `vmap_method` decides for a batch. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def one(x):\n    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        "    return jax.pure_callback(noisy_sine, promise, x, vmap_method=____)\n\n"
        "_, looped = jax.lax.scan(lambda carry, x: (carry, one(x)), None, xs)\nreturn looped, jax.vmap(one)(xs)",
        """# Like it: round on the host, one by one in jax.lax.map, then all in one call.
def noisy_round(value):
    print("host rounds", np.size(value))
    return np.round(np.asarray(value))

def rounded(x):
    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(noisy_round, like_x, x, vmap_method="broadcast_all")

numbers = jnp.array([0.9, 2.2])
print(jax.lax.map(rounded, numbers), jax.vmap(rounded)(numbers))""",
    ],
)
def sines_two_ways(xs):
    """Compute the sines of all numbers in two ways, with `noisy_sine` on the host.

    One way is `jax.lax.scan`, with one host call for each number. The other makes one host call for all numbers.

    >>> sines_two_ways(jnp.array([0.0, 0.0]))[0]
    host got ()
    host got ()
    host got (2,)
    Array([0., 0.], dtype=float32)

    Args:
        xs: float32[n], n > 0; also under `jax.jit`.

    Returns:
        A tuple of two float32[n]: the sines from the scan, and those from one call.
    """
    ...


# %% check
@visible(sines_two_ways, stage="shape")
def two_vectors_of_sines(answer, draw):
    """The result is two vectors of n numbers."""
    for part in parts(answer(draw.floats(5)), 2):
        expect_shape(part, (5,))


@visible(sines_two_ways, idea="A pure_callback works inside a scan.", reproduces=["S4-16"])
def the_scan_gives_the_documented_sines(answer):
    """The scan gives the sines of 0, 1, 2, 3, 4."""
    looped = parts(answer(jnp.arange(5.0)), 2)[0]
    message = "The first vector should hold the sines of 0, 1, 2, 3, 4."
    expect_documented("S4-16", ["jax.lax.scan(body_fun, None, jnp.arange(5.0))[1]", shown(looped)], message=message)


@visible(sines_two_ways, idea="Both ways compute the same.")
def both_ways_give_sines(answer, draw):
    """Both vectors hold the sines."""
    xs = draw.floats(5)
    for part in parts(answer(xs), 2):
        expect_close(part, np.sin(np.asarray(xs)))


@visible(
    sines_two_ways,
    stage="cost",
    idea="`sequential` calls the host for each row; `expand_dims` and `broadcast_all` call it once for the batch.",
    required=True,
)
def one_host_call_for_the_batch(answer, draw):
    """The host is called n times for the scan, and once for the batch."""
    seen = sorted(answer.observe(draw.floats(5)).lines)
    wanted = sorted(["host got (5,)", *["host got ()"] * 5])
    message = "For 5 numbers the host should get 5 single numbers, and one batch of shape (5,)."
    expect_that(seen == wanted, message, seen, wanted)


@visible(
    sines_two_ways,
    stage="cost",
    idea="A scan stays one loop in the program; a Python loop is written out.",
    required=True,
)
def the_scan_stays_a_loop(answer):
    """The program holds a scan, and does not grow with n."""
    small, large = ((np.ones(n, np.float32),) for n in (3, 20))
    seen = answer.program(*small).primitives
    expect_that("scan" in seen, "Your program should hold a `scan`.", seen, "a scan")
    expect_fixed_length(answer, small, large, "The program should be as long for 20 numbers as for 3.")


# %% documented S4-16
# Documented and today's output agree.
def f(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def body_fun(_, x):
    return _, f(x)


jax.lax.scan(body_fun, None, jnp.arange(5.0))[1]

# documented
# Array([ 0.       ,  0.841471 ,  0.9092974,  0.14112  , -0.7568025], dtype=float32)

# %% [markdown]
# ### The table of callbacks
#
# JAX's documentation has a table of what each kind supports. Let us not believe it, but
# try. These functions make one call of each kind.


# %%
def by_pure(host, x, method=None):
    """Call the host by pure_callback."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method=method)


def by_pure_sequential(host, x):
    """Call the host by pure_callback, under vmap once for each row: the default until JAX 0.5."""
    return by_pure(host, x, "sequential")


def by_io(host, x, ordered=False):
    """Call the host by io_callback."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, ordered=ordered)


def by_io_ordered(host, x):
    """Call the host by io_callback, in order."""
    return by_io(host, x, True)


def by_debug(host, x):
    """Call the host by debug.callback."""
    return jax.debug.callback(host, x)


# %% [markdown]
# And these are the situations. Each runs a function f that makes a call.


# %%
def value_used(f):
    """Use the value: 1 call."""
    return f(jnp.float32(1.0)) + 1


def under_jit(f):
    """Compile: 1 call."""
    return jax.jit(f)(1.0)


def under_vmap(f):
    """Map over three rows: 3 calls."""
    return jax.vmap(f)(jnp.arange(3.0))


def under_grad(f):
    """Differentiate: 1 call."""
    return jax.grad(lambda x: x if (y := f(x)) is None else y)(1.0)


def in_loops(f):
    """Call in a scan of three steps, and in a while loop of three steps: 6 calls."""
    jax.block_until_ready(jax.lax.scan(lambda carry, x: (carry, f(x)), None, jnp.arange(3.0)))

    def body(x):
        y = f(x)
        return x + 1 if y is None else x + 1 + 0 * y

    return jax.lax.while_loop(lambda x: x < 3, body, 0.0)


def value_unused(f):
    """Compile a call whose value nobody uses: 1 call if it is guaranteed."""
    return jax.jit(lambda x: (f(x), x)[1])(1.0)


def same_in_scan_under_grad(f):
    """Differentiate a scan of three steps which makes the same call in each: 3 calls if guaranteed."""

    def step(total, _):
        f(jnp.float32(1.0))
        return total * 2, None

    return jax.grad(lambda x: jax.lax.scan(step, x, length=3)[0])(1.0)


def vmap_of_scan(f):
    """Map a scan of two steps over two rows: 4 calls."""
    rows = jnp.array([[0.0, 1.0], [10.0, 11.0]])
    return jax.vmap(lambda row: jax.lax.scan(lambda carry, x: (carry, f(x)), None, row)[1])(rows)


def vmap_of_while(f):
    """Map a while loop over rows that need 0, 1 and 2 steps: 3 calls."""
    return jax.vmap(lambda n: jax.lax.while_loop(lambda x: x < n, lambda x: x + 1 + 0 * f(x), 0.0))(jnp.arange(3.0))


# %% exercise
@exercise(
    title="Try the table out",
    points=4,
    minutes=5,
    reproduces=["S4-07", "S4-08", "S4-09", "S4-11", "S4-12"],
    why_so_many="They are the rows and the footnotes of one table, and one function tries them all.",
    hints=[
        "Which classes can the exceptions have? Where do you note the numbers, and when may you read your notes?",
        "`type(error).__name__` and `str(error)` say what was refused; `jax.effects_barrier()` waits for callbacks. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "seen = []\n\ndef host(value):\n    seen.append(float(value))\n    return np.asarray(value)\n\ntry:\n"
        "    jax.block_until_ready(situation(lambda x: kind(host, x)))\n    jax.effects_barrier()\n"
        "except Exception as error:\n    return ____\nreturn seen, ''",
        """# Like it: how often does Python run a function, and what does JAX say?
def runs_and_class(function, transform):
    runs = []
    def noted(x):
        runs.append(1)
        return function(x)
    try:
        jax.block_until_ready(transform(noted)(jnp.arange(3.0)))
    except Exception as error:
        return len(runs), type(error).__name__
    return len(runs), "no error"

print(runs_and_class(jnp.sin, jax.jit))  # (1, 'no error')
print(runs_and_class(jnp.sin, jax.grad))  # (1, 'TypeError')""",
    ],
)
def try_call(kind, situation):
    """Make one kind of call in one situation, and say what the host saw and what JAX refused.

    The host function returns the number that it gets. The situation is run once.

    >>> try_call(by_io, under_vmap)
    ([0.0, 1.0, 2.0], '')

    Args:
        kind: a function of a host function and x that calls it on x, such as `by_io`.
        situation: a function of f, where f is a function of x that makes the call, such as `under_vmap`.

    Returns:
        A tuple `(seen, error)`: a list of the floats that the host function got, in the order of its calls; and "", or
        "Class: message" of the exception that was raised, whatever its class.
    """
    ...


# %% check
def tried(answer, kind, situation):
    """Return the numbers seen, and the first line of the error."""
    seen, error = parts(answer(given(kind), given(situation)), 2)
    expect_that(isinstance(seen, tuple | list), "The first value should be a list of numbers.", seen)
    message = 'The second value should be a str: "" or "Class: message".'
    expect_that(isinstance(error, str), message, error)
    return [number(one) for one in seen], (error.splitlines() or [""])[0].strip()


SEEN = {
    "value_used": [1],
    "under_jit": [1],
    "under_vmap": [0, 1, 2],
    "under_grad": [1],
    "in_loops": [0, 0, 1, 1, 2, 2],
    "value_unused": [1],
    "same_in_scan_under_grad": [1, 1, 1],
}


def row_of(answer, kind, last):
    """Return a row of the document's table: value, jit, vmap, grad, loops, guaranteed."""
    names = ("value_used", "under_jit", "under_vmap", "under_grad", "in_loops", last)
    return [cell_of(answer, kind, name) for name in names]


def cell_of(answer, kind, situation):
    """Return "yes" if the host saw what it should, in whatever order, and "no" otherwise."""
    seen, error = tried(answer, kind, situation)
    return "yes" if sorted(seen) == SEEN[situation] and not error else "no"


@visible(
    try_call, idea="A pure call gives a value; it is not guaranteed, and not differentiated.", reproduces=["S4-07"]
)
def the_row_of_pure_callback(answer):
    """pure_callback: value, jit, loops, no grad, not guaranteed; vmap only with `vmap_method`."""
    today = row_of(answer, "by_pure", "value_unused")
    message = "The row of pure_callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-07", today, part="today", message=message)
    before = [*today[:2], cell_of(answer, "by_pure_sequential", "under_vmap"), *today[3:]]
    expect_documented("S4-07", before, part="documented", message=message)


@visible(try_call, idea="An io call is guaranteed to run, and has no derivative.", reproduces=["S4-08"])
def the_row_of_io_callback(answer):
    """io_callback: value, jit, loops, guaranteed, no grad; vmap if it is not ordered."""
    row = row_of(answer, "by_io", "value_unused")
    row[2] += "/no"  # ordered: see S4-11
    message = "The row of io_callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-08", row, message=message)


@visible(
    try_call,
    idea="debug.callback works everywhere, gives nothing back, and is not guaranteed to run in each step.",
    reproduces=["S4-09"],
)
def the_row_of_debug_callback(answer):
    """debug.callback: no value, works everywhere, not guaranteed."""
    row = row_of(answer, "by_debug", "same_in_scan_under_grad")
    message = "The row of debug.callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-09", row, message=message)


@visible(try_call, idea="Rows have no order, so an ordered call cannot be mapped.", reproduces=["S4-11"])
def an_ordered_call_is_not_mapped(answer):
    """Under vmap an io call that is not ordered runs for each row; an ordered one is refused."""
    found = [sorted(tried(answer, "by_io", "under_vmap")[0]), *tried(answer, "by_io_ordered", "under_vmap")]
    message = "The host should see 0, 1 and 2; and the ordered call should be refused, before the host sees anything."
    expect_documented("S4-11", found, message=message)


@visible(
    try_call,
    idea="vmap of a loop goes step by step, with all rows in each; and all rows must stop together.",
    reproduces=["S4-12"],
)
def mapped_loops_are_complicated(answer):
    """vmap of a scan calls for all rows in each step; vmap of a while loop whose rows differ is refused."""
    steps, _ = tried(answer, "by_io", "vmap_of_scan")
    found = [sorted(steps[:2]), sorted(steps[2:]), tried(answer, "by_io", "vmap_of_while")[1]]
    message = "The host should see 0 and 10 in the first step, then 1 and 11; and the while loop should be refused."
    expect_documented("S4-12", found, message=message)


# %% documented S4-07 S4-08 S4-09 S4-11 S4-12
# One cell of the table has changed: without a `vmap_method`, `pure_callback` refuses
# `vmap` since JAX 0.6.0. What the page calls complicated is the order, and a refusal.
print(try_call(by_pure, under_vmap)[1].split(" when")[0])
print(try_call(by_pure_sequential, under_vmap))
print(try_call(by_io_ordered, under_vmap))
print(try_call(by_io, vmap_of_scan))
print(try_call(by_io, vmap_of_while)[1])

# documented
#                  value  jit  vmap        grad   scan/while  guaranteed
# pure_callback    yes    yes  yes         no(1)  yes         no
# io_callback      yes    yes  yes/no(2)   no     yes(3)      yes
# debug.callback   no     yes  yes         yes    yes         no
# 1: can be used with custom_jvp to be compatible with autodiff
# 2: compatible with vmap only when ordered=False
# 3: vmap of scan/while_loop of io_callback has complicated semantics, which may change

# today
# NotImplementedError: vmap is only supported for the pure_callback primitive
# ([0.0, 1.0, 2.0], '')
# ([], 'ValueError: Cannot `vmap` ordered IO callback.')
# ([0.0, 10.0, 1.0, 11.0], '')
# Exception: Unordered IO effects not supported in while_loop with batched predicate

# %% [markdown]
# Here is the whole table: how often each kind runs, beside how often plain Python would
# call the host. Numbers in **bold** differ from that, and `≠` marks where the
# documentation says something else. Look at the two rows under `grad` with a scan:
# there even the "guaranteed" `io_callback` does not run in each step.
#
# | situation | Python | `pure_callback` | `io_callback` | + `ordered=True` | `debug.callback` | + `ordered=True` |
# | --- | --- | --- | --- | --- | --- | --- |
# | gives a value back | yes | yes | yes | yes | no | no |
# | `jit` | 1 | 1 | 1 | 1 | 1 | 1 |
# | `vmap` over 3 rows | 3 | refused (a) ≠ | 3 | refused (b) | 3 | 3 |
# | the same, `vmap_method="sequential"` | 3 | 3 | - | - | - | - |
# | `grad` | 1 | refused (c) | refused (d) | refused (d) | 1 | 1 |
# | `scan` of 3 steps | 3 | 3 | 3 | 3 | 3 | 3 |
# | `while_loop` of 3 steps | 3 | 3 | 3 | 3 | 3 | 3 |
# | 2 calls in each of 3 steps of a `map` | 6, in order | 6 | 6 | 6, in order | 6 | 6, in order |
# | value not used | 1 | **0** | 1 | 1 | 1 | 1 |
# | constant argument, in a scan of 3 | 3 | **1** | 3 | 3 | 3 | 3 |
# | value not used, in a scan of 3 under `grad` | 3 | **0** | **0** ≠ | **0** ≠ | 3 | 3 |
# | the same, constant argument | 3 | **0** | **1** ≠ | **1** ≠ | **1** | **1** |
# | `vmap` of `cond`: 1 of 3 rows calls | 1 | **3** | refused (e) | refused (e) | **3** | **3** |
# | `vmap` of `while_loop`: rows of 0, 1 and 2 steps | 3 | **6** | refused (f) | refused (g) | **6** | **6** |
# | `checkpoint` under `grad` | 1 | **2** | refused (h) | refused (h) | **2** | **2** |
#
# Without `ordered=True`, the six calls of the `map` may come in any order.
# `pure_callback` has `vmap_method="sequential"` in all rows but the third. This is what
# JAX says when it refuses:
#
# - (a)
#   `NotImplementedError: vmap is only supported for the pure_callback primitive when vmap_method is one of`
#   ...
# - (b) ``ValueError: Cannot `vmap` ordered IO callback.``
# - (c) `ValueError: Pure callbacks do not support JVP.`
# - (d) `ValueError: IO callbacks do not support JVP.`
# - (e) `NotImplementedError: IO effect not supported in vmap-of-cond.`
# - (f)
#   `Exception: Unordered IO effects not supported in while_loop with batched predicate`
# - (g) `Exception: Ordered IO effects not supported in vmap.`
# - (h) `NotImplementedError: Effects not supported in` ..., which goes on in other
#   words since JAX 0.11.
#
# All this was measured on a CPU, and is the same with JAX 0.10.2, 0.11.2 and 0.12.0.1.

# %% [markdown]
# ### A stream on the host
#
# A host function may have a state: a file that is read on and on, a sensor, NumPy's
# generator. Each call takes what comes next, so each call counts, and their order, too.
# This is how you read data into a compiled loop. (For random numbers in JAX, use keys;
# here they stand for any data.)


# %%
def uniform_like(generator, x):
    """Draw the next numbers of a generator, in the shape of x, and print that shape."""
    print(f"generating {x.dtype}{list(x.shape)}")
    return generator.uniform(size=x.shape).astype(x.dtype)


def fresh_stream():
    """Open a stream of random numbers: return a host function of x that draws as many as x has."""
    return partial(uniform_like, np.random.default_rng(0))


def stream_after_five():
    """Open the stream after its first five numbers."""
    generator = np.random.default_rng(0)
    generator.uniform(size=5)
    return partial(uniform_like, generator)


def stream_after_ten():
    """Open the stream after its first ten numbers."""
    generator = np.random.default_rng(0)
    generator.uniform(size=10)
    return partial(uniform_like, generator)


# %% exercise
@exercise(
    title="A stream on the host",
    points=4,
    minutes=6,
    reproduces=["S4-21", "S4-22", "S4-23", "S4-24", "S4-25", "S4-26"],
    why_so_many="They are one stream of the document, read in five ways.",
    hints=[
        "When is the stream asked: while JAX traces, or at each run? For the whole vector, or for each number?",
        "`io_callback(function, promise, *args, ordered=True)` keeps the calls in order. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.experimental.io_callback.html",
        "draw = open_stream()\n\ndef like(row, ordered=False):\n"
        "    promise = jax.ShapeDtypeStruct(row.shape, row.dtype)\n"
        "    return io_callback(____, promise, row, ordered=ordered)\n\n"
        'if how == "whole":\n    return jax.jit(like)(x)\nif how == "mapped":\n    return ____(like)(x)\n'
        'if how == "mapped, ordered":\n    return ____(partial(like, ordered=True))(x)\n'
        'if how == "scan":\n    return jax.lax.scan(lambda carry, row: (carry, ____), None, x)[1]\n'
        "return jax.grad(lambda x: like(x).sum())(x)",
        """# Like it: a ticket machine on the host: each call gets the next number.
machine = iter(range(1, 100))

def next_ticket():
    return np.int32(next(machine))

def ticket(ordered=False):
    like = jax.ShapeDtypeStruct((), jnp.int32)
    return io_callback(next_ticket, like, ordered=ordered)

first = jax.block_until_ready(jax.jit(ticket)())
step = lambda carry, _: (carry, ticket(ordered=True))
print(first, jax.lax.scan(step, None, length=3)[1])  # 1 [2 3 4]""",
    ],
)
def host_stream(how, open_stream, x):
    """Open a stream on the host, and draw numbers for x from it by `io_callback`, in one of five ways.

    Two of the ways JAX refuses; let its errors pass.

    >>> host_stream("mapped", fresh_stream, jnp.zeros(2))
    generating float32[]
    generating float32[]
    Array([0.6369617 , 0.26978672], dtype=float32)

    Args:
        how: "whole": in one call for x as a whole, under `jax.jit`. "mapped": in one call for each number of x, by
            `jax.vmap`. "mapped, ordered": the same with an ordered callback. "scan": in an ordered call for each number
            of x, in a `jax.lax.scan`. "slope": the derivative of the sum of "whole" with respect to x, by `jax.grad`.
        open_stream: a function without arguments that returns a host function, such as `fresh_stream`. The host
            function gets a float32 array and returns one of that shape. Open one stream in each call.
        x: float32[n].

    Returns:
        float32[n].
    """
    ...


# %% check
def drawn(answer, how, stream, x):
    """Return the printed lines and the numbers, as the document shows them."""
    seen = answer.observe(how, given(stream), x)
    return [*seen.lines, shown(seen.value)]


def maps(answer, how):
    """Map a way of drawing over two rows, and return what was observed."""
    mapped = answer.vmap(in_axes=(None, None, 0))
    return mapped.observe_error(how, given(fresh_stream.__name__), np.zeros((2, 3), np.float32))


@visible(
    host_stream,
    idea="The host is asked when the program runs, once for the whole vector.",
    reproduces=["S4-21"],
)
def the_whole_vector_is_drawn_at_once(answer):
    """The whole vector comes from one call, in a jitted program, with the first five numbers."""
    stream, x = fresh_stream.__name__, jnp.zeros(5)
    seen = answer.program("whole", given(stream), x)
    jitted = "io_callback" in seen.primitives and "io_callback" not in seen.unjitted
    expect_that(jitted, "For the whole vector, there should be an `io_callback` in a jitted function.", seen)
    message = "There should be one call, for float32[5], and the first five numbers of the stream."
    expect_documented("S4-21", drawn(answer, "whole", stream, x), message=message)


@visible(host_stream, idea="A mapped call is made for each row.", reproduces=["S4-22"])
def mapped_numbers_are_drawn_singly(answer):
    """The mapped numbers come from five calls, for one number each."""
    message = "There should be five calls, for float32[] each, and the next five numbers of the stream."
    expect_documented("S4-22", drawn(answer, "mapped", stream_after_five.__name__, jnp.zeros(5)), message=message)


@visible(
    host_stream,
    stage="jit",
    kind="observed",
    idea="Mapped calls may be made in any order. On a CPU they come in turn, by chance; nothing promises it.",
    reproduces=["S4-23"],
)
def mapped_numbers_have_no_order(answer):
    """The mapped calls promise no order, so they can be mapped once more, and each number is drawn once."""
    seen = maps(answer, "mapped")
    promised = seen.error is not None
    found = {"order promised": promised, "each number drawn once": False}
    if not promised:
        wanted = np.random.default_rng(0).uniform(size=6).astype(np.float32)
        found["each number drawn once"] = bool(np.allclose(np.sort(np.ravel(seen.value)), np.sort(wanted), atol=1e-6))
    message = "The mapped calls should not be ordered, and each of them should draw one number."
    expect_documented("S4-23", found, message=message)


@visible(
    host_stream,
    stage="jit",
    kind="observed",
    idea="Rows have no order, so JAX refuses to map an ordered call.",
    reproduces=["S4-24"],
)
def ordered_calls_are_not_mapped(answer):
    """Mapped and ordered: JAX refuses."""
    seen = answer.observe_error("mapped, ordered", given(fresh_stream.__name__), jnp.zeros(5))
    message = "JAX should refuse to map an ordered callback."
    expect_jaxs_own(seen, message)
    expect_documented("S4-24", seen, message=message)


@visible(
    host_stream,
    stage="cost",
    idea="A scan has an order, and with `ordered=True` the calls keep it.",
    reproduces=["S4-25"],
    required=True,
)
def the_scan_draws_in_order(answer):
    """In the scan, five ordered calls draw the next five numbers."""
    stream = stream_after_ten.__name__
    seen = answer.program("scan", given(stream), jnp.arange(5.0)).primitives
    expect_that("scan" in seen, "There should be a `scan` in your program.", seen, "a scan")
    refused = maps(answer, "scan").error
    said = "no error" if refused is None else refused.message
    ordered = "ordered IO" in said.replace("Unordered", "") or "Ordered IO" in said
    expect_that(ordered, "The calls in the scan should be ordered: JAX then refuses to map it.", said, "refused")
    message = "There should be five calls in order, for float32[] each, and the next five numbers of the stream."
    expect_documented("S4-25", drawn(answer, "scan", stream, jnp.arange(5.0)), message=message)


@visible(
    host_stream,
    stage="gradient",
    kind="observed",
    idea="An io_callback has no derivative.",
    reproduces=["S4-26"],
)
def a_stream_has_no_slope(answer):
    """The slope is refused by JAX."""
    seen = answer.observe_error("slope", given(fresh_stream.__name__), jnp.zeros(5))
    message = "JAX should refuse to differentiate an io_callback."
    expect_jaxs_own(seen, message)
    expect_documented("S4-26", seen, message=message)


@visible(
    host_stream,
    stage="cost",
    idea="`vmap` and `scan` leave one loop in the program; a Python loop is written out.",
    required=True,
)
def no_python_loop_draws(answer):
    """The programs are as long for 30 numbers as for 3, and hold an `io_callback`."""
    for how in ("mapped", "scan"):
        small, large = ((how, given(fresh_stream.__name__), np.zeros(n, np.float32)) for n in (3, 30))
        seen = answer.program(*small).primitives
        expect_that("io_callback" in seen, f'For "{how}", there should be an `io_callback`.', seen, "an io_callback")
        expect_fixed_length(answer, small, large, f'For "{how}", the program should not grow with x.')


# %% documented S4-21 S4-22 S4-23
# Documented and today's output agree. That mapped calls may run in any order cannot be
# seen on a CPU, where they come in turn; what shows is that nothing promises an order.
global_rng = np.random.default_rng(0)


def host_side_random_like(x):
    print(f"generating {x.dtype}{list(x.shape)}")
    return global_rng.uniform(size=x.shape).astype(x.dtype)


@jax.jit
def numpy_random_like(x):
    return io_callback(host_side_random_like, x, x)


x = jnp.zeros(5)
print(repr(numpy_random_like(x)))
print(repr(jax.vmap(numpy_random_like)(x)))

# documented
# generating float32[5]
# Array([0.6369617 , 0.26978672, 0.04097353, 0.01652764, 0.8132702 ], dtype=float32)
# generating float32[]
# generating float32[]
# generating float32[]
# generating float32[]
# generating float32[]
# Array([0.91275555, 0.60663575, 0.72949654, 0.543625  , 0.9350724 ], dtype=float32)

# %% documented S4-24 S4-25 S4-26
# Documented and today's output agree. The scan goes on where the mapped calls above
# have stopped: the refused calls draw nothing.
draw = stream_after_ten()


def numpy_random_like_ordered(x):
    return io_callback(draw, x, x, ordered=True)


def body_fun(_, x):
    return _, numpy_random_like_ordered(x)


x = jnp.zeros(5)
try:
    jax.vmap(numpy_random_like_ordered)(x)
except ValueError as error:
    print(f"ValueError: {error}")
print(repr(jax.lax.scan(body_fun, None, jnp.arange(5.0))[1]))
try:
    jax.grad(lambda x: io_callback(draw, x, x))(x)
except ValueError as error:
    print(f"ValueError: {error}")

# documented
# ValueError: Cannot `vmap` ordered IO callback.
# generating float32[]
# generating float32[]
# generating float32[]
# generating float32[]
# generating float32[]
# Array([0.81585354, 0.0027385 , 0.8574043 , 0.03358557, 0.72965544], dtype=float32)
# ValueError: IO callbacks do not support JVP.

# %% [markdown]
# ### Log, and greet
#
# Under `vmap` and `grad`, the kinds differ most. A debug callback goes along with both.
# An `io_callback` refuses to be differentiated only if what it gets is differentiated.


# %%
def log_value(x):
    """Log a value: here, print it."""
    print("log:", x)


def say_hello():
    """Say hello."""
    print("hello")


# %% exercise
@exercise(
    title="Log and greet",
    points=3,
    minutes=3,
    reproduces=["S4-27", "S4-30", "S4-31", "S4-32"],
    follows={
        "S4-31": ("S4-30", "what does not log alone does not log for each row either"),
        "S4-32": ("S4-30", "what does not log alone does not log while it is differentiated either"),
    },
    hints=[
        "Which of the two host functions needs x?",
        "`jax.debug.callback(function, *args)`, and `io_callback(function, None)` for a function without arguments and "
        "result. https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "@jax.jit\ndef log_and_greet(x):\n    ____(log_value, ____)\n    ____(say_hello, None)\n    return x",
        """# Like it: collect both sides of a rectangle whenever its area is computed, and count.
sides, count = [], []

@jax.jit
def area(width, height):
    jax.debug.callback(lambda w, h: sides.append((float(w), float(h))), width, height)
    io_callback(lambda: count.append(1), None)
    return width * height

print(jax.grad(area)(2.0, 3.0))  # 3.0
jax.effects_barrier()
print(sides, len(count))  # [(2.0, 3.0)] 1""",
    ],
)
def log_and_greet(x):
    """Log x by `log_value`, greet by `say_hello`, and return x. Jit this function.

    The log works alone, under `vmap` and under `grad`. The greeting is an `io_callback`, and still allows `grad`.

    >>> print(jax.grad(log_and_greet)(1.0))
    hello
    log: 1.0
    1.0

    Args:
        x: float32[], or float.

    Returns:
        float32[]: x.
    """
    ...


# %% check
def log_lines(observation):
    """Return the lines of the log in order of their values: the order is not promised."""
    return sorted(line for line in observation.lines if line.startswith("log:"))


@visible(log_and_greet, idea="Neither callback changes the value.")
def x_is_passed_on(answer, draw):
    """The result is x."""
    for x in (draw.floats(), jnp.float32(-2.5), jnp.float32(np.nan)):
        expect_close(answer(x), x)


@visible(log_and_greet, kind="observed", idea="The program logs at each run.", reproduces=["S4-30"], required=True)
def it_logs_alone(answer):
    """A call logs the value."""
    logged = log_lines(answer.observe(1.0))
    expect_documented("S4-30", ["f(1.0);", *logged], message="The value 1.0 should be logged once.")


@visible(
    log_and_greet,
    stage="jit",
    kind="observed",
    idea="Under vmap it logs once for each row.",
    reproduces=["S4-31"],
)
def it_logs_each_row(answer):
    """Under vmap it logs once for each row."""
    logged = log_lines(answer.vmap().observe(jnp.arange(5.0)))
    expect_documented("S4-31", logged, message="Under vmap each of the five rows should be logged once.")


@visible(
    log_and_greet,
    stage="gradient",
    kind="observed",
    idea="A debug callback has no part in the derivative, and runs while it is computed.",
    reproduces=["S4-32"],
)
def it_logs_under_grad(answer):
    """Under grad it logs the value once."""
    logged = log_lines(answer.grad().observe(1.0))
    expect_documented("S4-32", ["jax.grad(f)(1.0);", *logged], message="Under grad 1.0 should be logged once.")


@visible(
    log_and_greet,
    stage="gradient",
    kind="observed",
    idea="An io_callback that gets nothing of x does not stand in the way.",
    reproduces=["S4-27"],
    required=True,
)
def it_greets_under_grad(answer):
    """Under grad an `io_callback` says hello, once, and the derivative is 1."""
    seen = answer.grad().observe(1.0)
    expect_close(seen.value, np.float32(1.0))
    greets = "io_callback" in answer.program(1.0).primitives
    expect_that(greets, "Your program should greet by an `io_callback`.", answer.program(1.0), "an io_callback")
    greetings = [line for line in seen.lines if not line.startswith("log:")]
    expect_documented("S4-27", ["jax.grad(f)(1.0);", *greetings], message="Under grad there should be one hello.")


@visible(log_and_greet, stage="cost", idea="Outside of the jitted function, nothing is compiled.", required=True)
def both_calls_are_jitted(answer):
    """Both callbacks are in a jitted function."""
    outside = [name for name in answer.program(1.0).unjitted if "callback" in name or "print" in name]
    expect_that(not outside, "Both callbacks should be in a jitted function.", ", ".join(outside), "none outside")


# %% documented S4-27 S4-30 S4-31 S4-32
# Documented and today's output agree. The order of the lines is not promised.
@jax.jit
def f(x):
    jax.debug.callback(log_value, x)
    return x


@jax.jit
def g(x):
    io_callback(say_hello, None)
    return x


for run in (lambda: f(1.0), lambda: jax.vmap(f)(jnp.arange(5.0)), lambda: jax.grad(f)(1.0), lambda: jax.grad(g)(1.0)):
    jax.block_until_ready(run())
    jax.effects_barrier()

# documented
# log: 1.0
# log: 0.0
# log: 1.0
# log: 2.0
# log: 3.0
# log: 4.0
# log: 1.0
# hello

# %% [markdown]
# ### What a debug callback sees
#
# A debug callback does what the code around it does. If JAX computes something twice,
# it is called twice. `jax.checkpoint` saves memory: it forgets what it computed, and
# computes it again for the gradient.


# %%
def plainly(f, x):
    """Run f."""
    return jax.jit(f)(x)


def gradient_of(f, x):
    """Differentiate f."""
    return jax.grad(f)(x)


def gradient_of_checkpoint(f, x):
    """Differentiate f, computing it again instead of keeping what it computed."""
    return jax.grad(jax.checkpoint(f))(x)


def shape_only(f, x):
    """Ask for the shape of the result alone."""
    return jax.eval_shape(f, x)


# %% exercise
@exercise(
    title="What a debug callback sees",
    points=2,
    minutes=3,
    reproduces=["S4-29"],
    hints=[
        "Where do the values go: back into the program, or into a list of Python's?",
        "`jax.debug.callback` returns None, whatever the host function returns; wait by `jax.effects_barrier()`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "seen, came_back = [], []\n\ndef host(value):\n    seen.append(float(value))\n    return 42\n\ndef f(x):\n"
        "    came_back.append(str(____))\n    return jnp.sin(x)\n\n"
        "jax.block_until_ready(transform(f, x))\njax.effects_barrier()\nreturn seen, came_back[0]",
        """# Like it: what Python sees of a row under vmap, and what the host sees.
shapes, rows = [], []

def note_row(row):
    rows.append(np.asarray(row).tolist())

def total(row):
    shapes.append(row.shape)  # runs while JAX traces
    jax.debug.callback(note_row, row)
    return row.sum()

jax.block_until_ready(jax.vmap(total)(jnp.array([[1, 2], [3, 4]])))
jax.effects_barrier()
print(shapes, sorted(rows))  # [(2,)] [[1, 2], [3, 4]]""",
    ],
)
def what_debug_sees(transform, x):
    """Run f(x) = sin(x) under a transformation, with a debug callback in f, and report what the callback saw.

    The debug callback gets x. Its host function returns 42.

    >>> what_debug_sees(gradient_of, 0.5)
    ([0.5], 'None')

    Args:
        transform: a function of f and x that runs f, such as `gradient_of`.
        x: float32[], or float.

    Returns:
        A tuple `(seen, came_back)`: a list of float, one for each host call; and, as a str, what
        `jax.debug.callback` itself returned in f.
    """
    ...


# %% check
def debug_saw(answer, transform, x):
    """Return how often x was seen, and what came back."""
    seen, came_back = parts(answer(transform, np.float32(x)), 2)
    expect_that(isinstance(seen, tuple | list), "The first value should be a list of numbers.", seen)
    values = [round(float(np.asarray(value)), 4) for value in seen]
    expect_that(all(value == x for value in values), "The callback should see x.", values, x)
    return len(values), came_back


@visible(
    what_debug_sees,
    idea="It mirrors what JAX really runs: once plainly, twice where f is computed again, never for a shape.",
    reproduces=["S4-29"],
)
def it_mirrors_what_runs(answer):
    """It returns None, and runs once plainly, twice under grad of checkpoint, never for a shape."""
    counts = [debug_saw(answer, given(one.__name__), 0.5)[0] for one in (plainly, gradient_of_checkpoint, shape_only)]
    found = {"came back": debug_saw(answer, given(plainly.__name__), 1.5)[1], "calls": counts}
    message = "There should be 1 call plainly, 2 under grad of checkpoint, 0 for a shape, and 'None' should come back."
    expect_documented("S4-29", found, message=message)


@visible(what_debug_sees, idea="Under grad, f runs once.")
def under_grad_it_runs_once(answer):
    """Under grad it runs once."""
    calls, _ = debug_saw(answer, given(gradient_of.__name__), 2.0)
    expect_that(calls == 1, "Under grad the callback should run once.", calls, 1)


# %% documented S4-29
# This is still so: the callback mirrors what JAX runs, and gives nothing back.
for transform in (plainly, gradient_of_checkpoint, shape_only):
    print(transform.__name__, what_debug_sees(transform, 1.0))

# documented
# debug.callback makes almost no assumptions about the function that it calls, so that
# what it does reflects exactly what JAX does while the program runs. It cannot return
# any value to the program.

# today
# plainly ([1.0], 'None')
# gradient_of_checkpoint ([1.0, 1.0], 'None')
# shape_only ([], 'None')

# %% [markdown]
# ### When the host function fails
#
# An exception on the host stops the whole program. It arrives as a `JaxRuntimeError`
# where Python waits for the result, perhaps far from your call. A `try` around the
# callback does not see it: Python passes there while tracing. So catch it **in the host
# function**, and return a value that says so.


# %% exercise
@exercise(
    title="Repair: an exception becomes a value",
    points=3,
    minutes=4,
    hints=[
        "When does Python run the lines around the callback, and when the host function?",
        "NumPy raises `np.linalg.LinAlgError`; catch it where it is raised. "
        "https://numpy.org/doc/stable/reference/generated/numpy.linalg.inv.html",
        "def host(a):\n    a = np.asarray(a)\n    try:\n        return np.linalg.inv(a)\n"
        "    except np.linalg.LinAlgError:\n        return ____",
        """# Like it: look up a price on the host, and -1 where there is none.
prices = {3: 250, 7: 99}

def price_of_item(item):
    def look_up(item):
        try:
            return np.int32(prices[int(item)])
        except KeyError:
            return np.int32(-1)

    like = jax.ShapeDtypeStruct((), jnp.int32)
    return jax.pure_callback(look_up, like, item, vmap_method="sequential")

print(jax.jit(jax.vmap(price_of_item))(jnp.array([7, 5, 3])))  # [ 99  -1 250]""",
    ],
)
def inverse_or_nan(a):
    """Repair this: the inverse that `np.linalg.inv` gives, or NaN everywhere where it raises an exception.

    It works under jit and vmap. In a batch, each matrix counts for itself.

    >>> inverse_or_nan(jnp.zeros((2, 2)))
    Array([[nan, nan],
           [nan, nan]], dtype=float32)

    Args:
        a: float32[n,n].

    Returns:
        float32[n,n].
    """
    try:
        return jax.pure_callback(np.linalg.inv, jax.ShapeDtypeStruct(a.shape, a.dtype), a)
    except np.linalg.LinAlgError:
        return jnp.full(a.shape, jnp.nan)


# %% check
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]], np.float32)
REGULAR = np.array([[2.0, 1.0], [0.0, 4.0]], np.float32)


@visible(inverse_or_nan, idea="A matrix that has an inverse gets it.")
def a_regular_matrix_gets_its_inverse(answer):
    """A regular matrix gets its inverse."""
    expect_close(answer(REGULAR), np.array([[0.5, -0.125], [0.0, 0.25]], np.float32))


@visible(inverse_or_nan, idea="The exception is raised on the host; catch it there.")
def a_singular_matrix_gets_nan(answer):
    """A singular matrix gives NaN, no exception."""
    expect_close(answer(SINGULAR), np.full((2, 2), np.nan, np.float32), "A singular matrix should give NaN everywhere.")


@visible(
    inverse_or_nan,
    stage="jit",
    idea="Under jit the lines around the callback have run long before the host.",
    required=True,
)
def under_jit_it_gives_nan_too(answer):
    """Under jit a singular matrix gives NaN too."""
    expect_close(answer.jit(SINGULAR), np.full((2, 2), np.nan, np.float32))


@visible(
    inverse_or_nan,
    stage="jit",
    idea="One singular matrix must not spoil the others: in one call for the batch, NumPy raises for all.",
)
def in_a_batch_each_counts_for_itself(answer):
    """In a batch only the singular matrix gives NaN."""
    got = answer.vmap()(np.stack([REGULAR, SINGULAR, 2 * REGULAR]))
    expect_shape(got, (3, 2, 2))
    got = np.asarray(got)
    nan = np.isnan(got).all(axis=(1, 2)).tolist()
    message = "Of the three matrices, only the second should give NaN."
    expect_that(nan == [False, True, False], message, nan, [False, True, False])
    expect_close(got[2], np.array([[0.25, -0.0625], [0.0, 0.125]], np.float32))


@visible(
    inverse_or_nan,
    stage="cost",
    idea="NumPy works on the host, through a callback; `jnp.linalg` is not NumPy.",
    required=True,
)
def numpy_inverts_it(answer):
    """The program calls the host."""
    seen = answer.program(REGULAR).primitives
    called = any("callback" in name for name in seen)
    expect_that(called, "Your program should hold a callback.", dict(seen), "a pure_callback")
    message = "NumPy alone should compute the inverse; your program solves equations itself."
    expect_that("lu" not in seen, message, "lu", "no such operation")


# %% [markdown]
# ### What a call costs
#
# A host call takes a time of its own, and more for each byte that goes there and back.
# Both can be measured without knowing anything else: time calls with few bytes, and
# with many. These make-believe machines have a clock of their own, and behave like JAX:
# the first run of a machine compiles, and a result must be waited for.


# %%
def slow_link(size):
    """Start a machine whose job is a host call with so many bytes: 50 µs, and 0.25 ns for each byte."""
    return simulated_machine(compile_s=0.03, dispatch_s=20e-6, work_s=30e-6 + 0.25e-9 * size)


def sine_call(size):
    """Start the real machine: NumPy's sine of so many bytes, on the host."""
    x = jnp.ones(size // 4)
    host = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    return real_machine(host, x)


def sine_native(size):
    """Start the real machine: JAX's sine of so many bytes, in the program."""
    return real_machine(jax.jit(jnp.sin), jnp.ones(size // 4))


# %% exercise
@exercise(
    title="The cost of a call",
    points=3,
    minutes=5,
    hints=[
        "If you know the times for two sizes, which part of them belongs to each call, and which to each byte?",
        "Run a machine once before you measure, and wait for the result with `block_until_ready()` before you look at "
        "the clock. https://docs.jax.dev/en/latest/async_dispatch.html",
        "def seconds(size):\n    machine = start_machine(size)\n    machine.run().block_until_ready()\n"
        "    before = machine.clock()\n    ____\n    return machine.clock() - before\n\n"
        "small, large = 4, 2**24\nper_byte = (____) / (large - small)\nreturn seconds(small) - ____, per_byte",
        """# Like it: the fee of a bank, and what it takes of each franc, from two transfers.
def fee_and_share(cost):
    share = (cost(1000.0) - cost(100.0)) / 900.0
    return cost(100.0) - share * 100.0, share

print(fee_and_share(lambda francs: 5.0 + 0.01 * francs))  # (5.0, 0.01)""",
    ],
)
def callback_cost(start_machine):
    """Measure what a host call costs: the seconds for each call, and for each byte.

    The time of a call is the first, plus the second times the number of bytes. It lasts until the result is there;
    compiling does not count.

    >>> per_call, per_byte = callback_cost(slow_link)
    >>> f"{per_call * 1e6:.2f} µs, {per_byte * 1e9:.2f} ns"
    '50.00 µs, 0.25 ns'

    Args:
        start_machine: a function of the number of bytes, a multiple of 4 from 4 to 2**25, that starts a new machine,
            such as `slow_link`. A machine has `run()`, which makes the call and returns its result, and `clock()`, the
            time in seconds; of a result, only `block_until_ready()` waits.

    Returns:
        A tuple `(per_call, per_byte)` of floats, in seconds.
    """
    ...


# %% check
def expect_costs(got, per_call, per_byte):
    """Expect these costs, each within a thousandth."""
    seen = [number(one) for one in parts(got, 2)]
    right = np.allclose(seen, [per_call, per_byte], rtol=1e-3, atol=0)
    message = f"A call should take {per_call:.3g} s, and {per_byte:.3g} s more for each byte."
    expect_that(right, message, seen, [per_call, per_byte])


@visible(
    callback_cost,
    idea="The first call compiles, and a call comes back before its result is there.",
    required=True,
)
def the_costs_of_the_slow_link(answer):
    """On `slow_link` a call takes 50 µs, and 0.25 ns for each byte."""
    expect_costs(answer(given(slow_link.__name__)), 50e-6, 0.25e-9)


# %% [markdown]
# Now the real thing: a host call against the same work in the program, by size. The
# lines are what your two numbers predict.


# %%
def draw_costs():
    """Draw the times of host calls and of JAX's own sine, and what `callback_cost` predicts."""
    if callback_cost(slow_link) is None:
        print("Write `callback_cost` first: then this cell measures on your computer.")
        return
    sizes = [4**exponent for exponent in range(2, 12)]
    _, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    for name, start in {"host call": sine_call, "in the program": sine_native}.items():
        times = []
        for size in sizes:
            machine = start(size)
            machine.run().block_until_ready()
            before = machine.clock()
            for _ in range(5):
                machine.run().block_until_ready()
            times.append((machine.clock() - before) / 5)
        per_call, per_byte = callback_cost(start)
        (points,) = axes.loglog(sizes, times, "o", label=name)
        axes.loglog(sizes, [abs(per_call + per_byte * size) for size in sizes], color=points.get_color())
    axes.set(xlabel="bytes", ylabel="seconds")
    axes.legend()
    plt.show()


draw_costs()

# %% [markdown]
# ### Does the host get a copy?
#
# Two arrays share their memory if they begin at the same address. The address of a JAX
# array is `x.unsafe_buffer_pointer()`.


# %%
def say_address(value):
    """Print the address of an array on the host, and return it."""
    address = np.asarray(value).ctypes.data
    print("the host sees", address)
    return address


# %% exercise
@exercise(
    title="Is it a copy?",
    points=2,
    minutes=4,
    reproduces=["S4-42"],
    hints=[
        "Where do you learn the address that the host sees: inside or outside of the host function?",
        "An address does not fit into an int32, so it cannot be the callback's value; a Python list can take it. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.Array.unsafe_buffer_pointer.html",
        "seen = []\n\ndef host(value):\n    seen.append(____)\n    return np.int32(0)\n\n"
        "promise = jax.ShapeDtypeStruct((), jnp.int32)\n"
        "jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()\n"
        "return x.unsafe_buffer_pointer(), seen[0], ____",
        """# Like it: who may write into x: a view, a copy, and the host function?
numbers = jnp.ones(3)
writeable = {"view": np.asarray(numbers).flags.writeable}
writeable["copy"] = np.array(numbers).flags.writeable

def look(value):
    writeable["host"] = np.asarray(value).flags.writeable
    return np.float32(0)

program = jax.jit(lambda x: jax.pure_callback(look, np.float32(0), x))
jax.block_until_ready(program(numbers))
print(writeable)  # only the copy""",
    ],
)
def is_copied(look, x):
    """Find out whether the host function of a `jax.pure_callback` under `jax.jit` gets x itself, or a copy.

    The host function hands what it gets to `look`, once, and notes the address that `look` returns.

    >>> own, hosts, copied = is_copied(say_address, jnp.ones(4))
    the host sees ...
    >>> copied == (own != hosts)
    True

    Args:
        look: a function of an array that returns its address, such as `say_address`.
        x: float32[n], a JAX array on the CPU.

    Returns:
        A tuple `(own, hosts, copied)`: two ints, the address of x and the address that `look` returned; and a bool,
        whether they differ.
    """
    ...


# %% check
def addresses_of(answer, size):
    """Return what the answer says of an array of this size, which must be what the host saw."""
    seen = answer.observe(given(say_address.__name__), jnp.ones(size))
    own, hosts, copied = parts(seen.value, 3)
    message = "`hosts` should be what `look` returned on the host, in one call."
    expect_that(seen.lines == [f"the host sees {number(hosts)}"], message, seen.lines, f"the host sees {hosts}")
    message = "`own` should be the address of x, and `copied` say whether the two addresses differ."
    expect_that(number(own) != 0 and bool(copied) == (number(own) != number(hosts)), message, seen.value)
    return bool(copied)


@visible(
    is_copied,
    kind="relation",
    required=True,
    idea="Measured on a CPU, the host function gets a copy: another address.",
    reproduces=["S4-42"],
)
def the_host_gets_a_copy(answer):
    """The host function gets a copy, of few numbers and of many."""
    found = {"copied": [addresses_of(answer, size) for size in (4, 1024, 2**18)]}
    expect_documented("S4-42", found, message="The host function should get a copy: another address than that of x.")


@visible(is_copied, stage="cost", idea="What the host gets is seen in a callback.", required=True)
def it_asks_by_a_callback(answer):
    """There is a `pure_callback` in a jitted function."""
    try:
        seen = answer.program(given(say_address.__name__), jnp.ones(4))
    except StudentError:
        return  # an address is no number of a program, so this cannot be traced
    name = "pure_callback"
    expect_that(name in seen.primitives and name not in seen.unjitted, "There should be a jitted pure_callback.", seen)


# %% documented S4-42
# The page gives no numbers. Fast it is, but not zero-copy: on jax 0.4.35 and today the
# host sees another address.
print("copied:", is_copied(say_address, jnp.ones(4))[2])

# documented
# Each call of jv passes the input from the device to the host, and the output back,
# which can be costly on accelerators; on a single CPU JAX usually does this in a fast,
# zero-copy way.

# today
# the host sees ...
# copied: True

# %% [markdown]
# ### A solver from SciPy
#
# A host function may return several values: the promise is then a *pytree*, such as a
# dict, with a shape and dtype for each. So a whole solver of SciPy fits into a JAX
# program, and says whether it got there.


# %%
def loss_on_host(width, radii, light):
    """Compute how far a ring of this width is from measured light, with NumPy and SciPy."""
    x = radii / width
    return float(np.mean(((2 * scipy.special.j1(x) / x) ** 2 - light) ** 2))


found = scipy.optimize.minimize(
    loss_on_host, 2.5, args=(np.asarray(radii), np.asarray(light)), method="Nelder-Mead", options={"maxiter": 50}
)
print(found.x, found.nit, found.success)


# %% exercise
@exercise(
    title="Fit with SciPy",
    points=3,
    minutes=5,
    hints=[
        "Which shapes and dtypes does SciPy return, and which have you promised?",
        "Result and promise are dicts with the same keys; the host function converts each value. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        'promise = {\n    "width": jax.ShapeDtypeStruct((), jnp.float32),\n    "steps": ____,\n    "ok": ____,\n}\n\n'
        "def host(start, radii, light):\n    found = scipy.optimize.minimize(____)\n"
        '    return {"width": np.float32(found.x[0]), "steps": ____, "ok": ____}\n\n'
        "return jax.pure_callback(host, promise, start, radii, light, vmap_method=____)",
        """# Like it: the largest number of a vector and its place, as a dict from the host.
def largest(v):
    promise = {"value": jax.ShapeDtypeStruct((), jnp.float32), "place": jax.ShapeDtypeStruct((), jnp.int32)}

    def host(v):
        v = np.asarray(v)
        return {"value": np.float32(v.max()), "place": np.int32(v.argmax())}

    return jax.pure_callback(host, promise, v, vmap_method="sequential")

print(jax.jit(largest)(jnp.array([3.0, 9.0, 4.0])))""",
    ],
)
def solve_with_scipy(start, radii, light, most):
    """Fit the width of a ring with `scipy.optimize.minimize`, on the host: alone, under `jax.jit` and under `jax.vmap`.

    Minimise `loss_on_host` by the method "Nelder-Mead" with the option "maxiter" set to `most`; all else stays as it
    is. Under `jax.vmap`, each row is a fit of its own.

    >>> solve_with_scipy(2.5, radii, light, 50)["ok"]
    Array(True, dtype=bool)

    Args:
        start: float32[], or float: the width to start from.
        radii: float32[n], above 0.
        light: float32[n].
        most: int, 1 or more, also under `jax.jit`: no tracer.

    Returns:
        A dict: "width", float32[], SciPy's `x`; "steps", int32[], its `nit`; and "ok", bool[], its `success`.
    """
    ...


# %% check
def solved(start, radii, light, most):
    """Return what SciPy gives."""
    args, options = (np.asarray(radii), np.asarray(light)), {"maxiter": most}
    # As on the host, where the start is a float32.
    found = scipy.optimize.minimize(loss_on_host, np.float32(start), args=args, method="Nelder-Mead", options=options)
    return {"width": np.float32(found.x[0]), "steps": np.int32(found.nit), "ok": np.bool_(found.success)}


def expect_solution(got, wanted, **remarks):
    """Expect a fit: the same dict with the same dtypes; the last digits of a width are chance."""
    entries(got, ("width", "steps", "ok"))
    for name, right in wanted.items():
        expect_close(got[name], np.asarray(right), f"`{name}` should be that of SciPy.", rtol=2e-3, **remarks)


@visible(solve_with_scipy, idea="The promise is a pytree, and the host function returns one like it.")
def the_rings_are_fitted(answer):
    """From two starts the rings are fitted."""
    for start in (2.5, 0.7):
        expect_solution(answer(start, radii, light, 50), solved(start, radii, light, 50))


@visible(solve_with_scipy, idea="A solver may fail, and its result should say so.")
def a_fit_that_ends_too_early_says_so(answer):
    """With too few steps, `ok` is False."""
    expect_solution(answer(2.5, radii, light, 5), solved(2.5, radii, light, 5))


@visible(
    solve_with_scipy,
    stage="jit",
    idea="SciPy solves one problem at a time, so the host is called for each row.",
    required=True,
)
def each_row_is_a_fit(answer):
    """Under jit of vmap over starts and data, each row is a fit of its own."""
    starts, other = np.float32([2.5, 0.7, 2.0]), np.asarray(light) * np.float32(0.9)
    lights = np.stack([np.asarray(light), other, other])
    run = answer.vmap(in_axes=(0, None, 0, None))
    got = entries(run(starts, radii, lights, 30), ("width", "steps", "ok"))
    rows = [solved(*row, 30) for row in zip(starts, [radii] * 3, lights, strict=True)]
    expect_solution(got, {name: np.stack([row[name] for row in rows]) for name in rows[0]})


@visible(solve_with_scipy, stage="cost", idea="Only the host has SciPy.", required=True)
def the_host_solves(answer):
    """The program holds a `pure_callback`."""
    seen = answer.program(2.5, radii, light, 50)
    right = seen.primitives.get("pure_callback", 0) > seen.unused.get("pure_callback", 0) and not seen.needs_values
    expect_that(right, "Your program should hold a `pure_callback`, and use its value.", seen, "a pure_callback")


# %% [markdown]
# ## What to read next
#
# - [External callbacks](https://docs.jax.dev/en/latest/external-callbacks.html), the
#   page behind this lesson
# - [`jax.pure_callback`](https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html)
#   and its `vmap_method`
# - [Custom derivative
#   rules](https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html)
# - [Debugging](https://docs.jax.dev/en/latest/debugging/index.html): `jax.debug.print`
#   and more
