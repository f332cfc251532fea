# %% check
import re

from jaxguide.course.author import (
    exercise,
    expect_close,
    expect_documented,
    expect_dtype,
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
    expect_that(isinstance(got, tuple | list) and len(got) == count, message, got)
    return list(got)


def entries(got, names):
    """Return a result that should be a dict with these keys."""
    right = isinstance(got, dict) and set(got) == set(names)
    expect_that(right, f"Return a dict with the keys {', '.join(map(repr, names))}.", got)
    return got


def plain(value):
    """Return a scalar of any kind as a Python number, and what is a number already as it is."""
    return np.asarray(value).item()


def texts(got):
    """Return a list or tuple of strings as a list."""
    right = isinstance(got, tuple | list) and all(isinstance(text, str) for text in got)
    expect_that(right, "Return a list of strings.", got)
    return list(got)


def as_before_0_6_1(line):
    """Write the tracer in a printed line as JAX did before 0.6.1."""
    found = re.search(r"\w+\((~?)(\w+\[[\d,]*\])\)", line)
    if not found:
        return line
    weak = ", weak_type=True" if found[1] else ""
    return f"{line[: found.start()]}Traced<ShapedArray({found[2]}{weak})>with<DynamicJaxprTrace>"


# %% [markdown]
# # Callbacks: Python in the middle of a JAX program
#
# A compiled JAX program is not Python any more. A **callback** goes back to Python in the middle of it: to print, to save
# something, or to call SciPy.
#
# After this lesson you can
#
# - choose between the three kinds of callback, and say which calls are dropped, repeated or reordered,
# - put a NumPy or SciPy function inside `jit`, `vmap` and `scan`, with one host call for a whole batch,
# - keep side effects in order,
# - give a host function a derivative, to any order, and handle its exceptions.
#
# You need NumPy, and should have met `jit`, `vmap` and `grad`. The lesson takes about two hours. It has four parts.

# %% [markdown]
# Run the cells from top to bottom. `check(...)` tells you what is right. `hint(name_of_the_function)` helps a little, and
# a second time a little more. In a **prediction** you guess first; then the real answer is computed.

# %%
import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import io_callback

# %% [markdown]
# ## Part 1. Why callbacks?
#
# Under `jax.jit`, Python runs your function once, with placeholders called **tracers**, and writes down a program. After
# that only the program runs. A plain `print` belongs to Python: it prints the placeholder, and only once.


# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("x is", x)
    return x / 2


half(8.0)
half(6.0)  # prints nothing: Python does not run again

# %% [markdown]
# `jax.debug.print` writes the print *into the program*. It shows the number, at every call.


# %%
@jax.jit
def half_again(x):
    """Halve x, and print it when the program runs."""
    jax.debug.print("x is {}", x)
    return x / 2


half_again(8.0)
_ = half_again(6.0)


# %% exercise
@exercise(
    title="Two prints",
    points=1,
    reproduces=["S4-01", "S4-02"],
    hints=[
        "Which of the two prints runs while JAX traces, and which when the program runs?",
        "`jax.debug.print` takes a format string and the values, apart from each other. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        'y = x + 1\nprint("intermediate value: {}".format(y))\njax.debug.print(____, y)\nreturn y * 2',
    ],
)
def print_both_ways(x):
    """Compute y = x + 1, print it in two ways, and return 2 * y.

    Both lines read `intermediate value: ` and y. The first is Python's `print`. The second is `jax.debug.print`.

    Args:
        x: int, or int32[]; traced under `jax.jit`.

    Returns:
        int, or int32[].
    """
    ...


# %% check
@visible(print_both_ways, idea="The prints do not change the result.")
def returns_twice_the_sum(answer):
    """The result is 2 * (x + 1)."""
    for x in (2, 5):
        expect_that(plain(answer(x)) == 2 * (x + 1), "The result is not 2 * (x + 1).", answer(x), f"{2 * (x + 1)}")


@visible(
    print_both_ways,
    stage="jit",
    idea="While it traces, Python sees a tracer: it has a dtype and a shape, and no value.",
    reproduces=["S4-01"],
)
def pythons_print_shows_a_tracer(answer):
    """Under jit, Python's print shows a tracer, at the first call only."""
    first, second = answer.jit.observe_calls([(2,), (3,)])
    message = "The first call should print two lines: one from Python's `print`, one from `jax.debug.print`."
    expect_that(len(first.lines) == 2, message, first.lines)
    message = "Python's print should show the tracer of y, after `intermediate value: `."
    expect_documented("S4-01", first.lines[0], part="today", message=message)
    expect_documented("S4-01", as_before_0_6_1(first.lines[0]), part="documented", message=message)
    expect_that(len(second.lines) == 1, "The second call should print one line: nothing is traced.", second.lines)


@visible(
    print_both_ways,
    stage="jit",
    idea="`jax.debug.print` is a part of the program, so it sees the numbers of each call.",
    reproduces=["S4-02"],
)
def debug_print_shows_the_number(answer):
    """Under jit, debug.print shows the number of each call."""
    first, second = answer.jit.observe_calls([(2,), (3,)])
    message = "The last line of the first call should show the number y."
    expect_documented("S4-02", first.lines[-1] if first.lines else "", message=message)
    message = "The second call should show its own number."
    expect_that(second.lines == ["intermediate value: 4"], message, second.lines, "intermediate value: 4")


# %% [markdown]
# The tracer's text is not a promise. Up to JAX 0.6.0 it read
# `Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace>`; since 0.8.2 it is `JitTracer(~int32[])`. The
# tilde means *weak type*: the dtype came from a Python number.

# %% [markdown]
# ### Three kinds
#
# | kind | the host function | JAX may |
# | --- | --- | --- |
# | `jax.pure_callback` | only computes a value | drop it, repeat it, move it |
# | `jax.experimental.io_callback` | does something: saves, counts, reads | never drop it |
# | `jax.debug.callback` | watches; gives nothing back | do with it what it does with the code around it |
#
# "Host" is the Python process; "device" is where the arrays are computed. A callback that returns a value must
# *promise* its shape and dtype first, because the program is compiled before the value is there.

# %%
promise = jax.ShapeDtypeStruct((), jnp.float32)


@jax.jit
def add_host_root(x):
    """Add x and its square root, computed by NumPy."""
    return x + jax.pure_callback(lambda value: np.sqrt(value, dtype=np.float32), promise, x)


add_host_root(9.0)


# %% exercise
def describe(value):
    """Say what kind of array this is, and where it is."""
    kind = "jax.Array" if isinstance(value, jax.Array) else type(value).__name__
    if isinstance(value, jax.core.Tracer):
        return f"tracer {value.dtype}{list(value.shape)}"
    place = f" on {next(iter(value.devices())).platform}" if isinstance(value, jax.Array) else ""
    return f"{kind} {value.dtype}{list(value.shape)}{place}"


@exercise(
    title="What the host gets",
    points=2,
    reproduces=["S4-03"],
    hints=[
        "Which function runs on the host: the one that you write, or the one that you hand to the callback?",
        "The host function can put what it sees into a Python list. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "seen = {}\n\ndef note(kind, value):\n    seen[kind] = ____\n    return np.asarray(value)\n\n"
        'jax.pure_callback(partial(note, "pure_callback"), jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n'
        "# ... io_callback, jax.debug.callback ...\njax.effects_barrier()  # wait for all callbacks\nreturn seen",
    ],
)
def what_arrives(x):
    """Hand x to all three kinds of callback, and note what each host function gets.

    Args:
        x: float32 or int32 array of any shape.

    Returns:
        A dict: "pure_callback", "io_callback" and "debug.callback", each with the text that `describe` gives for the
        argument of the host function.
    """
    ...


# %% check
@visible(
    what_arrives,
    idea="The program hands the values of x to the host, as a JAX array on the CPU: no tracer, no NumPy array.",
    reproduces=["S4-03"],
)
def the_host_gets_an_array_on_the_cpu(answer):
    """Each host function gets a jax.Array on the CPU."""
    got = entries(answer(np.ones(3, np.float32)), ("pure_callback", "io_callback", "debug.callback"))
    expect_documented("S4-03", got, message="The host functions get something else.")


# %% [markdown]
# ### Old pages
#
# Pages from before 2024 use `jax.experimental.host_callback`. The guide calls it deprecated. Is it still there? Before
# you copy from an old page, ask your own JAX.


# %% exercise
@exercise(
    title="Is it still there?",
    points=1,
    reproduces=["S4-04", "S4-05"],
    hints=[
        "A dotted name can be a module, or something in a module. Which of the two does `import_module` find?",
        "`importlib.import_module` raises ImportError where there is no such module. The three kinds that are there: "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        'home, _, name = path.rpartition(".")\ntry:\n    module = importlib.import_module(home)\n'
        "    return hasattr(module, name) or ____\nexcept ImportError:\n    return False",
    ],
)
def is_there(path):
    """Say whether the installed packages have this module, or this name in a module.

    Args:
        path: str, such as "jax.pure_callback" (a name in a module) or "jax.experimental.pjit" (a module).

    Returns:
        True or False; never an exception.
    """
    ...


# %% check
def truth(value):
    """Return a result that should be True or False."""
    value = plain(value)
    expect_that(isinstance(value, bool), "Return True or False.", value)
    return value


@visible(is_there, idea="Three kinds of callback are there, each for another job.", reproduces=["S4-05"])
def the_three_kinds_are_there(answer):
    """The three kinds of callback are there."""
    paths = ("jax.pure_callback", "jax.experimental.io_callback", "jax.debug.callback")
    message = "All three are there: names in the modules `jax`, `jax.experimental` and `jax.debug`."
    expect_documented("S4-05", [truth(answer(path)) for path in paths], message=message)


@visible(
    is_there,
    idea="What is deprecated goes one day: `host_callback` stopped working in 0.4.35, and its module went in 0.8.0.",
    reproduces=["S4-04"],
)
def host_callback_is_gone(answer):
    """The old module is not there any more."""
    got = truth(answer("jax.experimental.host_callback"))
    expect_documented("S4-04", got, message="`jax.experimental.host_callback` went in JAX 0.8.0.")


@visible(is_there, idea="A dotted name can be a module too.")
def modules_are_found(answer):
    """Modules are found too, and what never was is not."""
    for path, wanted in (("importlib.resources.abc", True), ("jax.experimental.no_callback", False)):
        message = f"`{path}` is {'a module' if wanted else 'not there'}."
        expect_that(truth(answer(path)) is wanted, message, not wanted, wanted)


# %% [markdown]
# ### What stands in the program
#
# `jax.make_jaxpr(f)(x)` shows the program that f traces to, its **jaxpr**. Each line is an *equation*; it names a
# *primitive*.

# %%
jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)


# %% exercise
def calls_pure(x):
    """Double x, on the host."""
    return jax.pure_callback(lambda value: np.asarray(value) * 2, jax.ShapeDtypeStruct((), jnp.float32), x)


def calls_io(x):
    """Note x, on the host."""
    io_callback(lambda value: None, None, x)
    return x + 1


def calls_debug(x):
    """Watch x."""
    jax.debug.callback(lambda value: None, x)
    return x


def prints_debug(x):
    """Print x."""
    jax.debug.print("{}", x)
    return x


def wave_twice(x):
    """Take the sine twice."""
    return jnp.sin(jnp.sin(x) * 2)


@exercise(
    title="Look into the program",
    points=2,
    reproduces=["S4-06"],
    hints=[
        "What does `jax.make_jaxpr(f)(x)` return, and where in it are the equations?",
        "A closed jaxpr has `.eqns`, and an equation has `.primitive.name`. https://docs.jax.dev/en/latest/jaxpr.html",
        "jaxpr = jax.make_jaxpr(f)(x)\nreturn [____ for equation in jaxpr.eqns]",
    ],
)
def primitive_names(f, x):
    """List the primitives in the program that f traces to.

    Args:
        f: a function of one array, without inner `jax.jit`.
        x: its argument.

    Returns:
        A list of str: the name of the primitive of each equation, in order.
    """
    ...


# %% check
@visible(primitive_names, idea="Each equation of the program has a primitive; a callback is one too.")
def each_equation_is_named(answer):
    """The names come in order, one for each equation."""
    for name, wanted in (("calls_pure", ["pure_callback"]), ("calls_io", ["io_callback", "add"])):
        got = texts(answer(given(name), 1.0))
        expect_that(got == wanted, f"These are not the primitives of `{name}`, in order.", got, wanted)


@visible(
    primitive_names,
    idea="The guide calls debug.print a wrapper around debug.callback. Since 0.7.2 it has a primitive of its own.",
    reproduces=["S4-06"],
)
def debug_print_has_its_own_primitive(answer):
    """debug.callback and debug.print are two primitives today."""
    wrapped, printed = (texts(answer(given(name), 1.0)) for name in ("calls_debug", "prints_debug"))
    expect_documented("S4-06", wrapped, part="documented", message="These are not the primitives of `calls_debug`.")
    expect_documented("S4-06", printed, part="today", message="These are not the primitives of `prints_debug`.")


# %% [markdown]
# ## Part 2. `pure_callback`: a value from the host
#
# Here is NumPy's sine inside a JAX program. The guide's code, as it was written, works alone and under `jit`.


# %%
def guides_sin(x):
    """Compute the sine with NumPy, as the guide does."""
    return jax.pure_callback(lambda v: np.sin(v).astype(v.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


guides_sin(jnp.arange(5.0)), jax.jit(guides_sin)(jnp.arange(5.0))

# %% [markdown]
# Under `vmap` it warned until JAX 0.5, and then called the host for each row. Since 0.6.0 it refuses:

# %%
try:
    jax.vmap(guides_sin)(jnp.arange(5.0))
except NotImplementedError as error:
    print(error)

# %% [markdown]
# You must say what to do with a batch: `vmap_method=`
#
# - `"sequential"`: call the host once for each row,
# - `"expand_dims"`: one call; arguments without a batch get a batch axis of length 1,
# - `"broadcast_all"`: one call; all arguments are repeated to the full batch.
#
# The last two need a host function that understands an extra axis in front.


# %% exercise
@exercise(
    title="A sine from NumPy",
    points=2,
    reproduces=["S4-13", "S4-14", "S4-15"],
    hints=[
        "Which of the transformations refuses this code, and what does the error ask for?",
        "`vmap_method` says what to do with a batch. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "promise = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        "return jax.pure_callback(host, promise, x, vmap_method=____)",
    ],
)
def host_sine(x):
    """Repair this, so that it works alone, under jit, and under vmap.

    NumPy computes the sine, on the host.

    Args:
        x: a float32 array of any shape.

    Returns:
        float32, of the shape of x.
    """

    def host(value):
        return np.sin(value).astype(value.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


# %% check
@visible(host_sine, idea="The host function gets the values, and its result comes back.", reproduces=["S4-13"])
def alone_it_gives_the_documented_sines(answer):
    """Alone it gives the sines of 0, 1, 2, 3, 4."""
    expect_documented("S4-13", answer(jnp.arange(5.0)))


@visible(host_sine, idea="The sine of each element, for any shape.")
def any_shape_will_do(answer, draw):
    """It keeps shape and dtype."""
    x = draw.floats(2, 3)
    expect_close(answer(x), np.sin(np.asarray(x)))


@visible(
    host_sine,
    stage="jit",
    idea="Under jit x has no value while Python runs; only the callback sees one.",
    reproduces=["S4-14"],
)
def under_jit_it_gives_the_same(answer):
    """Under jit it gives the same."""
    expect_documented("S4-14", answer.jit(jnp.arange(5.0)))


@visible(
    host_sine,
    stage="jit",
    idea="Since JAX 0.6.0 a pure_callback under vmap needs `vmap_method`.",
    reproduces=["S4-15"],
)
def under_vmap_it_gives_the_same(answer, draw):
    """Under vmap it gives the same, for numbers and for rows."""
    expect_documented("S4-15", answer.vmap()(jnp.arange(5.0)))
    x = draw.floats(4, 3)
    expect_close(answer.vmap()(x), np.sin(np.asarray(x)))


@visible(
    host_sine,
    stage="cost",
    idea="NumPy is asked at run time, through a callback; `jnp.sin` is not NumPy.",
)
def the_host_computes_it(answer):
    """The program calls the host."""
    seen = answer.program(np.ones(3, np.float32)).primitives
    called = any("callback" in name for name in seen)
    expect_that(called, "There is no callback in your program.", dict(seen), "a pure_callback")


# %% [markdown]
# ### How often does the host work?
#
# Every call leaves the compiled program, waits for Python, and comes back. So count the calls. Here `noisy_sine` prints
# the shape of what it gets.


# %% exercise
def noisy_sine(value):
    """Compute the sine with NumPy, on the host, and print the shape of the argument."""
    print("host got", np.shape(value))
    return np.sin(value).astype(np.float32)


@exercise(
    title="In a loop, and all at once",
    points=3,
    reproduces=["S4-16"],
    hints=[
        "How many host calls does a loop of 5 steps make? Which `vmap_method` makes one call for all rows?",
        "`jax.lax.scan(step, carry, xs)` calls step with each x; `vmap_method` decides for a batch. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html",
        "def one(x):\n    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        "    return jax.pure_callback(noisy_sine, promise, x, vmap_method=____)\n\n"
        "_, looped = jax.lax.scan(lambda carry, x: (carry, one(x)), None, xs)\nreturn looped, jax.vmap(one)(xs)",
    ],
)
def sines_two_ways(xs):
    """Compute the sines of all numbers in two ways, with `noisy_sine` on the host.

    First with `jax.lax.scan`: one host call for each number. Then with one host call for all numbers.

    Args:
        xs: float32[n].

    Returns:
        A tuple of two float32[n].
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
    expect_documented("S4-16", parts(answer(jnp.arange(5.0)), 2)[0])


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
)
def one_host_call_for_the_batch(answer, draw):
    """The host is called n times for the scan, and once for the batch."""
    seen = sorted(answer.observe(draw.floats(5)).lines)
    wanted = sorted(["host got (5,)", *["host got ()"] * 5])
    message = "For 5 numbers the host should get 5 single numbers, and one batch of shape (5,)."
    expect_that(seen == wanted, message, seen, wanted)


@visible(sines_two_ways, stage="cost", idea="A scan stays one loop in the program; a Python loop is written out.")
def the_scan_stays_a_loop(answer):
    """The program holds a scan, and does not grow with n."""
    small, large = (answer.program(np.ones(n, np.float32)) for n in (3, 7))
    expect_that("scan" in small.primitives, "There is no `scan` in your program.", dict(small.primitives), "a scan")
    grows = large.equations > small.equations
    expect_that(not grows, "The program grows with n.", f"{small.equations} and {large.equations} equations")
