# %% check
import re

from jaxguide.course.author import (
    StudentError,
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
    expect_that(np.shape(value) == (), "This should be a single number.", value)
    return np.asarray(value).item()


def texts(got):
    """Return a list or tuple of strings as a list."""
    right = isinstance(got, tuple | list) and all(isinstance(text, str) for text in got)
    expect_that(right, "Return a list of strings.", got)
    return list(got)


def with_a_weak_type(line):
    """Write the tracer in a printed line as if y had a weak type: no text of a tracer is a promise."""
    return re.sub(r"\((~?)int32\[\]\)", "(~int32[])", line)


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
# A compiled JAX program is not Python any more. A **callback** goes back to Python in
# the middle of it: to print, to save something, or to call SciPy.
#
# After this lesson you can
#
# - choose between the three kinds of callback, and say which calls are dropped,
#   repeated or reordered,
# - put a NumPy or SciPy function inside `jit`, `vmap` and `scan`, with one host call
#   for a whole batch,
# - keep side effects in order,
# - give a host function a derivative, to any order, and handle its exceptions.
#
# You need NumPy, and should have met `jit`, `vmap` and `grad`. The lesson takes about
# two hours. It has four parts.

# %% [markdown]
# Run the cells from top to bottom. `check(...)` tells you what is right.
# `hint(name_of_the_function)` helps a little, and tells how to get more. In a
# **prediction** you guess first; then the real answer is computed.
#
# Types such as `float32[n,m]` are explained in [How to read a
# contract](arrays_and_layers.ipynb#How-to-read-a-contract), in the lesson
# `arrays_and_layers`.

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
# Under `jax.jit`, Python runs your function once, with placeholders called **tracers**,
# and writes down a program. After that only the program runs. A plain `print` belongs
# to Python: it prints the placeholder, and only once.


# %%
@jax.jit
def half(x):
    """Halve x, and print it the Python way."""
    print("x is", x)
    return x / 2


half(8.0)
_ = half(6.0)  # prints nothing: Python does not run again

# %% [markdown]
# `jax.debug.print` writes the print *into the program*. It shows the number, at every
# call.


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
        "# Like it: two values in one line, seen by Python and by the program.\n"
        "@jax.jit\n"
        "def speed(way, hours):\n"
        '    print(f"Python: {way} km in {hours} h")  # at the first call only\n'
        '    jax.debug.print("program: {w} km in {h} h", w=way, h=hours)\n'
        "    return way / hours\n\n"
        "speed(100.0, 4.0)\n"
        "print(speed(90.0, 2.0))  # 45.0",
    ],
)
def print_both_ways(x):
    """Compute y = x + 1, print it in two ways, and return 2 * y.

    Both lines read `intermediate value: ` and y. One comes from Python's `print`, the other from `jax.debug.print`.

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
        expect_that(plain(answer(x)) == 2 * (x + 1), "The result should be 2 * (x + 1).", answer(x), f"{2 * (x + 1)}")


@visible(
    print_both_ways,
    stage="jit",
    idea="While it traces, Python sees a tracer: it has a dtype and a shape, and no value.",
    reproduces=["S4-01"],
    required=True,
)
def pythons_print_shows_a_tracer(answer):
    """Under jit, Python's print shows a tracer, at the first call only."""
    first, second = answer.jit.observe_calls([(2,), (3,)])
    message = "The first call should print two lines: one from Python's `print`, one from `jax.debug.print`."
    expect_that(len(first.lines) == 2, message, first.lines)
    line, wanted = first.lines[0], "intermediate value: and a tracer"
    message = "The first line should show the tracer of y, after `intermediate value: `."
    expect_that(line.startswith("intermediate value: ") and "Trace" in line, message, line, wanted)
    line = with_a_weak_type(line)
    message = "The tracer in the first line should be that of an int32[]."
    expect_documented("S4-01", line, part="today", message=message)
    expect_documented("S4-01", as_before_0_6_1(line), part="documented", message=message)
    expect_that(len(second.lines) == 1, "The second call should print one line: nothing is traced.", second.lines)


@visible(
    print_both_ways,
    stage="jit",
    idea="`jax.debug.print` is a part of the program, so it sees the numbers of each call.",
    reproduces=["S4-02"],
    required=True,
)
def debug_print_shows_the_number(answer):
    """Under jit, debug.print shows the number of each call."""
    first, second = answer.jit.observe_calls([(2,), (3,)])
    message = "The last line of the first call should show the number y."
    expect_documented("S4-02", first.lines[-1] if first.lines else "", message=message)
    message = "The second call should show its own number."
    expect_that(second.lines == ["intermediate value: 4"], message, second.lines, "intermediate value: 4")
    seen = answer.program(2).primitives
    expect_that("debug_print" in seen, "Your program should hold a `jax.debug.print`.", dict(seen), "a debug_print")


# %% [markdown]
# The tracer's text is not a promise. Up to JAX 0.6.0 it read
# `Traced<ShapedArray(int32[], weak_type=True)>with<DynamicJaxprTrace>`; since 0.8.2 it
# is `JitTracer(~int32[])`. The tilde means *weak type*: the dtype came from a Python
# number.

# %% [markdown]
# ### Three kinds
#
# | kind | the host function | JAX may |
# | --- | --- | --- |
# | `jax.pure_callback` | only computes a value | drop it, repeat it, move it |
# | `jax.experimental.io_callback` | does something: saves, counts, reads | not drop it because nobody uses its result |
# | `jax.debug.callback` | watches; gives nothing back | do with it what it does with the code around it |
#
# "Host" is the Python process; "device" is where the arrays are computed. A callback
# that returns a value must *promise* its shape and dtype first, because the program is
# compiled before the value is there.

# %%
promise = jax.ShapeDtypeStruct((), jnp.float32)


@jax.jit
def add_host_root(x):
    """Add x and its square root, computed by NumPy."""
    return x + jax.pure_callback(lambda value: np.sqrt(value, dtype=np.float32), promise, x)


add_host_root(9.0)


# %%
def describe(value):
    """Say what kind of array this is, and where it is."""
    kind = "jax.Array" if isinstance(value, jax.Array) else type(value).__name__
    if isinstance(value, jax.core.Tracer):
        return f"tracer {value.dtype}{list(value.shape)}"
    place = f" on {next(iter(value.devices())).platform}" if isinstance(value, jax.Array) else ""
    return f"{kind} {value.dtype}{list(value.shape)}{place}"


# %% exercise
@exercise(
    title="What the host gets",
    points=2,
    reproduces=["S4-03"],
    hints=[
        "Which function runs on the host: the one that you write, or the one that you hand to the callback?",
        "The host function can put what it sees into a Python list. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "seen = {}\n\ndef note(kind, value):\n    seen[kind] = ____\n    return np.asarray(value)\n\n"
        'y = jax.pure_callback(partial(note, "pure_callback"), jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n'
        "# ... io_callback, jax.debug.callback ...\n"
        "jax.block_until_ready(y)\njax.effects_barrier()  # and wait for the other callbacks\nreturn seen",
        "# Like it: two host functions note a fact each about what they get.\n"
        "facts = {}\n\n"
        "def note_fact(name, measure, value):\n"
        "    facts[name] = float(measure(np.asarray(value)))\n\n"
        "numbers = jnp.arange(6.0)\n"
        'jax.debug.callback(partial(note_fact, "mean", np.mean), numbers)\n'
        'io_callback(partial(note_fact, "length", len), None, numbers)\n'
        "jax.effects_barrier()\n"
        "print(sorted(facts.items()))  # [('length', 6.0), ('mean', 2.5)]",
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
    expect_documented("S4-03", got, message="Each host function should get a jax.Array float32[3] on the CPU.")


# %% [markdown]
# ### Old pages
#
# Pages from before 2024 use `jax.experimental.host_callback`. The guide calls it
# deprecated. Is it still there? Before you copy from an old page, ask your own JAX.
# `importlib` imports a module by its name:

# %%
print(importlib.import_module("jax.experimental").__name__)


# %% exercise
@exercise(
    title="Is it still there?",
    points=1,
    reproduces=["S4-04", "S4-05"],
    hints=[
        "A dotted name can be a module, or something in a module. Which of the two does `import_module` find?",
        "`importlib.import_module` raises ImportError where there is no such module. The three kinds that are there: "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "try:\n    importlib.import_module(path)\n    return True\nexcept ImportError:\n    pass  # no module\n"
        'home, _, name = path.rpartition(".")\ntry:\n    return ____\n'
        "except (ImportError, ValueError):  # ValueError: there is no dot in path\n    return False",
        "# Like it: does a module have a version, and is there such a module?\n"
        "def version_of(name):\n"
        "    try:\n"
        "        module = importlib.import_module(name)\n"
        "    except ImportError:\n"
        '        return "no module"\n'
        '    if hasattr(module, "__version__"):\n'
        "        return module.__version__\n"
        '    return "no version"\n\n'
        'print(version_of("numpy"))\n'
        'print(version_of("builtins"), version_of("numpie"))  # no version no module',
    ],
)
def is_there(path):
    """Say whether the installed packages have this module, or this name in a module.

    Args:
        path: str, such as "jax.pure_callback" (a name in a module), "jax.experimental.pjit" or "json" (modules).

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
    message = "All three should be found: names in the modules `jax`, `jax.experimental` and `jax.debug`."
    expect_documented("S4-05", [truth(answer(path)) for path in paths], message=message)


@visible(
    is_there,
    idea="What is deprecated goes one day: `host_callback` stopped working in 0.4.35, and was removed in 0.8.0.",
    reproduces=["S4-04"],
)
def host_callback_is_gone(answer):
    """The old module is not there any more."""
    got = truth(answer("jax.experimental.host_callback"))
    expect_documented(
        "S4-04", got, message="`jax.experimental.host_callback` should not be found: it was removed in JAX 0.8.0."
    )


@visible(is_there, idea="A dotted name can be a module too.")
def modules_are_found(answer):
    """Modules are found too, and what never was is not."""
    paths = {"importlib.resources.abc": True, "json": True, "jax.experimental.no_callback": False}
    for path, wanted in paths.items():
        message = f"`{path}` should{'' if wanted else ' not'} be found."
        expect_that(truth(answer(path)) is wanted, message, not wanted, wanted)


# %% [markdown]
# ### What stands in the program
#
# `jax.make_jaxpr(f)(x)` shows the program that f traces to, its **jaxpr**. Each line is
# an *equation*; it names a *primitive*.

# %%
jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)


# %%
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


# %% exercise
@exercise(
    title="Look into the program",
    points=2,
    reproduces=["S4-06"],
    hints=[
        "What does `jax.make_jaxpr(f)(x)` return, and where in it are the equations?",
        "A closed jaxpr has `.eqns`, and an equation has `.primitive.name`. https://docs.jax.dev/en/latest/jaxpr.html",
        "jaxpr = jax.make_jaxpr(f)(x)\nreturn [____ for equation in jaxpr.eqns]",
        "# Like it: the shape of what each line of a program computes.\n"
        "def result_shapes(f, x):\n"
        "    program = jax.make_jaxpr(f)(x)\n"
        "    return [line.outvars[0].aval.shape for line in program.eqns]\n\n"
        "def turned(x):\n"
        "    return jnp.exp(x).T\n\n"
        "print(result_shapes(turned, jnp.ones((2, 3))))  # [(2, 3), (3, 2)]",
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
SENT_BY_THE_KEY = ("wave_twice", "look_at", "guides_sin")


@visible(primitive_names, idea="Each equation of the program has a primitive; a callback is one too.")
def each_equation_is_named(answer):
    """The names come in order, one for each equation."""
    for name, wanted in (("calls_pure", ["pure_callback"]), ("calls_io", ["io_callback", "add"])):
        got = texts(answer(given(name), 1.0))
        expect_that(got == wanted, f"These should be the primitives of `{name}`, in order.", got, wanted)


@visible(
    primitive_names,
    idea="The guide calls debug.print a wrapper around debug.callback. Since 0.7.2 it has a primitive of its own.",
    reproduces=["S4-06"],
)
def debug_print_has_its_own_primitive(answer):
    """debug.callback and debug.print are two primitives today."""
    wrapped, printed = (texts(answer(given(name), 1.0)) for name in ("calls_debug", "prints_debug"))
    expect_documented("S4-06", wrapped, part="documented", message="These should be the primitives of `calls_debug`.")
    expect_documented("S4-06", printed, part="today", message="These should be the primitives of `prints_debug`.")


# %% [markdown]
# ## Part 2. `pure_callback`: a value from the host
#
# Here is NumPy's sine inside a JAX program. The guide's code, as it was written, works
# alone and under `jit`.


# %%
def guides_sin(x):
    """Compute the sine with NumPy, as the guide does."""
    return jax.pure_callback(lambda v: np.sin(v).astype(v.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


guides_sin(jnp.arange(5.0)), jax.jit(guides_sin)(jnp.arange(5.0))

# %% [markdown]
# Under `vmap` it warned until JAX 0.5, and then called the host for each row. Since
# 0.6.0 it refuses:

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
# The last two need a host function that understands an extra axis in front of each
# argument.


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
        "# Like it: NumPy sorts each row of a batch, in one host call.\n"
        "def host_sort(x):\n"
        "    def by_numpy(rows):\n"
        "        return np.sort(rows, axis=-1)\n\n"
        "    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        '    return jax.pure_callback(by_numpy, like_x, x, vmap_method="expand_dims")\n\n'
        "table = jnp.array([[3, 1, 2], [9, 8, 7]])\n"
        "print(jax.jit(jax.vmap(host_sort))(table).tolist())  # [[1, 2, 3], [7, 8, 9]]",
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
    expect_documented("S4-13", answer(jnp.arange(5.0)), message="These should be the sines of 0, 1, 2, 3, 4.")


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
    message = "Under jit, these should be the sines of 0, 1, 2, 3, 4."
    expect_documented("S4-14", answer.jit(jnp.arange(5.0)), message=message)


@visible(
    host_sine,
    stage="jit",
    idea="Since JAX 0.6.0 a pure_callback under vmap needs `vmap_method`.",
    reproduces=["S4-15"],
    required=True,
)
def under_vmap_it_gives_the_same(answer, draw):
    """Under vmap it gives the same, for numbers and for rows."""
    message = "Under vmap, these should be the sines of 0, 1, 2, 3, 4."
    expect_documented("S4-15", answer.vmap()(jnp.arange(5.0)), message=message)
    x = draw.floats(4, 3)
    expect_close(answer.vmap()(x), np.sin(np.asarray(x)))


@visible(
    host_sine,
    stage="cost",
    idea="NumPy is asked at run time, through a callback; `jnp.sin` is not NumPy.",
    required=True,
)
def the_host_computes_it(answer):
    """The program calls the host."""
    seen = answer.program(np.ones(3, np.float32)).primitives
    called = any("callback" in name for name in seen)
    expect_that(called, "Your program should hold a callback.", dict(seen), "a pure_callback")
    own = [name for name in ("sin", "cos", "tan", "exp") if name in seen]
    message = "The host alone should compute the sine; your program computes itself."
    expect_that(not own, message, ", ".join(own), "no such operation")


# %% [markdown]
# ### How often does the host work?
#
# Every call leaves the compiled program, waits for Python, and comes back. So count the
# calls. Here `noisy_sine` prints the shape of what it gets.
#
# If you must wait for a result y, write `jax.block_until_ready(y)`. The method
# `y.block_until_ready()` does the same, but a tracer does not have it. `check` traces
# some answers, to look into their program.


# %%
def noisy_sine(value):
    """Compute the sine with NumPy, on the host, and print the shape of the argument."""
    print("host got", np.shape(value))
    return np.sin(value).astype(np.float32)


# %% exercise
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
        "# Like it: round on the host, one by one in jax.lax.map, then all in one call.\n"
        "def noisy_round(value):\n"
        '    print("host rounds", np.size(value))\n'
        "    return np.round(np.asarray(value))\n\n"
        "def rounded(x):\n"
        "    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        '    method = "broadcast_all"\n'
        "    return jax.pure_callback(noisy_round, like_x, x, vmap_method=method)\n\n"
        "numbers = jnp.array([0.9, 2.2])\n"
        "print(jax.lax.map(rounded, numbers), jax.vmap(rounded)(numbers))",
    ],
)
def sines_two_ways(xs):
    """Compute the sines of all numbers in two ways, with `noisy_sine` on the host.

    One way is `jax.lax.scan`, with one host call for each number. The other makes one host call for all numbers.

    Args:
        xs: float32[n]; may be traced.

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
    message = "The first vector should hold the sines of 0, 1, 2, 3, 4."
    expect_documented("S4-16", parts(answer(jnp.arange(5.0)), 2)[0], message=message)


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
    small, large = (answer.program(np.ones(n, np.float32)) for n in (3, 7))
    expect_that("scan" in small.primitives, "Your program should hold a `scan`.", dict(small.primitives), "a scan")
    message = "The program should be as long for 7 numbers as for 3."
    grows = large.equations > small.equations
    expect_that(not grows, message, f"{large.equations} equations", f"{small.equations}")


# %% [markdown]
# ### JAX takes you at your word
#
# "Pure" is a promise of yours: only the result counts. So when nobody uses the result,
# the compiler drops the call.


# %%
def print_something():
    """Print, and return 0: not pure at all."""
    print("printing something")
    return np.int32(0)


# %% exercise
@exercise(
    title="Used or not",
    points=2,
    reproduces=["S4-18", "S4-19"],
    hints=[
        "What does the compiler see of a host function whose result goes nowhere?",
        "A pure callback can be dropped, but only by the compiler: so use `jax.jit`. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "@jax.jit\ndef program():\n    value = jax.pure_callback(print_something, ____)\n"
        "    return value if used else 1.0\n\nreturn program()",
        "# Like it: of two host functions, only the one that is needed is asked.\n"
        "def ask(name):\n"
        '    print("asked:", name)\n'
        "    return np.float32(2.0)\n\n"
        "@jax.jit\n"
        "def double(x):\n"
        '    left = jax.pure_callback(partial(ask, "left"), np.float32(0))\n'
        '    right = jax.pure_callback(partial(ask, "right"), np.float32(0))\n'
        "    return x * left\n\n"
        'print(double(3.0))  # 6.0, and before it only "asked: left"',
    ],
)
def used_or_dropped(used):
    """Call `print_something` through `jax.pure_callback`, in a function under `jax.jit`.

    JAX can trace it: if you wait for the result, use `jax.block_until_ready`.

    Args:
        used: bool. If True, that function returns the callback's value. If False, it makes the call and returns 1.0.

    Returns:
        What the function returned: int32[] 0, or float32[] 1.0.
    """
    ...


# %% check
@visible(used_or_dropped, idea="The compiled function returns the callback's value, or 1.0.")
def the_value_or_one(answer):
    """The result is 0 if the value is used, else 1.0."""
    expect_that(plain(answer(True)) == 0, "The result should be the callback's 0.", answer(True), "0")
    expect_that(plain(answer(False)) == 1, "The result should be 1.0.", answer(False), "1.0")


@visible(
    used_or_dropped,
    stage="jit",
    kind="observed",
    idea="A result that is used must be computed, at each call.",
    reproduces=["S4-18"],
    required=True,
)
def used_it_prints(answer):
    """If the value is used, each call prints once."""
    for seen in answer.observe_calls([(True,), (True,)]):
        message = "The host function should run once in each call: its value is returned."
        expect_documented("S4-18", "\n".join(seen.lines), message=message)


@visible(
    used_or_dropped,
    stage="jit",
    kind="observed",
    idea="The compiler drops a pure call whose result is not used. Without jit there is no compiler to drop it.",
    reproduces=["S4-19"],
    required=True,
)
def unused_it_prints_nothing(answer):
    """If the value is not used, nothing is printed."""
    message = "The host function should not run: nobody uses its value."
    expect_documented("S4-19", answer.observe(False).lines, message=message)


@visible(used_or_dropped, stage="cost", idea="The call stands in the traced program; the compiler drops it later.")
def the_program_has_a_callback(answer):
    """The traced program has a pure callback, whether its value is used or not."""
    for used in (True, False):
        seen = answer.program(used).primitives
        message = f"With used={used}, your program should hold a pure_callback."
        expect_that("pure_callback" in seen, message, dict(seen), "a pure_callback")


# %% [markdown]
# ### Count for yourself
#
# A list in Python counts host calls. Wait for all callbacks before you read it:
# `jax.effects_barrier()`.


# %%
def scalar_like(x):
    """Promise a number with the dtype of x."""
    return jax.ShapeDtypeStruct((), x.dtype)


def never_used(host, x):
    """Call the host, and forget what it says."""
    jax.pure_callback(host, scalar_like(x), x)
    return x


def never_used_io(host, x):
    """The same with io_callback."""
    io_callback(host, scalar_like(x), x)
    return x


def twice_alike(host, x):
    """Ask the same thing twice."""
    return jax.pure_callback(host, scalar_like(x), x) + jax.pure_callback(host, scalar_like(x), x)


def for_four_rows(host, x):
    """Ask for each of four rows."""
    call = partial(jax.pure_callback, host, scalar_like(x), vmap_method="sequential")
    return jax.vmap(call)(x + jnp.arange(4.0))


def same_in_each_step(host, x):
    """Ask the same thing in each of three steps."""
    return jax.lax.scan(lambda total, _: (total + jax.pure_callback(host, scalar_like(x), x), None), x, length=3)[0]


# %% exercise
@exercise(
    title="Count the host calls",
    points=3,
    reproduces=["S4-20", "S4-28"],
    hints=[
        "Which function should count: the program, which is traced, or the host function?",
        "`jax.jit` hides the host function in the program, so close over it; then wait for the callbacks. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.effects_barrier.html",
        "calls = []\n\ndef host(value):\n    ____\n    return np.asarray(value)\n\n"
        "jax.block_until_ready(jax.jit(lambda x: program(host, x))(x))\njax.effects_barrier()\nreturn len(calls)",
        "# Like it: how many numbers does a program send to the host in all?\n"
        "sent = []\n"
        "def note_size(value):\n"
        "    sent.append(np.size(value))\n\n"
        "@jax.jit\n"
        "def send_twice(x):\n"
        "    jax.debug.callback(note_size, x)\n"
        "    jax.debug.callback(note_size, x[:2])\n"
        "    return x.sum()\n\n"
        "jax.block_until_ready(send_twice(jnp.ones(5)))\n"
        "jax.effects_barrier()\n"
        "print(sum(sent))  # 7",
    ],
)
def host_calls(program, x):
    """Run a program under `jax.jit` once, and count how often it calls the host.

    Args:
        program: a function of a host function and x. The host function takes a number and returns it as it is.
        x: float32[].

    Returns:
        int, the number of host calls.
    """
    ...


# %% check
def calls_of(answer, *names):
    """Return the counts for programs of the book."""
    return [plain(answer(given(name), np.float32(2.0))) for name in names]


@visible(
    host_calls,
    idea="A pure call may be dropped or repeated: unused 0 times, twice alike 2 times, four rows 4 times.",
    reproduces=["S4-20"],
)
def pure_calls_are_dropped_or_repeated(answer):
    """Calls of a pure callback: unused, asked twice, mapped over four rows."""
    got = calls_of(answer, "never_used", "twice_alike", "for_four_rows")
    expect_documented("S4-20", got, message="Under jit there should be 0 calls unused, 2 asked twice, 4 for four rows.")


@visible(host_calls, idea="An io_callback runs, whether its result is used or not.", reproduces=["S4-28"])
def an_unused_io_callback_runs(answer):
    """An unused io_callback runs once, an unused pure_callback never."""
    got = calls_of(answer, "never_used_io", "never_used")
    expect_documented(
        "S4-28", got, message="Under jit there should be 1 call of the io_callback, none of the pure_callback."
    )


# %% exercise
@prediction(
    title="Predict: the same question in each step",
    points=1,
    hints=[
        "Does the argument of the callback change from step to step?",
        "The compiler may compute once, before the loop, what is the same in each step. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "# A smaller case: not used at all, the host is asked 0 times.\nreturn ____  # a number",
    ],
)
def predict_same_question():
    """`same_in_each_step` asks the host the same thing in each of three steps. How many host calls are there under jit?

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_same_question)
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
# ### When the host function fails
#
# An exception on the host stops the whole program. It arrives as a `JaxRuntimeError`
# where Python waits for the result, perhaps far from your call. A `try` around the
# callback does not see it: Python passes there while tracing. So catch it **in the host
# function**, and return a value that says so.


# %% exercise
@exercise(
    title="An exception becomes a value",
    points=3,
    hints=[
        "When does Python run the lines around the callback, and when the host function?",
        "NumPy raises `np.linalg.LinAlgError`; catch it where it is raised. "
        "https://numpy.org/doc/stable/reference/generated/numpy.linalg.inv.html",
        "def host(a):\n    a = np.asarray(a)\n    try:\n        return np.linalg.inv(a)\n"
        "    except np.linalg.LinAlgError:\n        return ____",
        "# Like it: look up a price on the host, and -1 where there is none.\n"
        "prices = {3: 250, 7: 99}\n\n"
        "def price_of(item):\n"
        "    def look_up(item):\n"
        "        try:\n"
        "            return np.int32(prices[int(item)])\n"
        "        except KeyError:\n"
        "            return np.int32(-1)\n\n"
        "    like = jax.ShapeDtypeStruct((), jnp.int32)\n"
        '    return jax.pure_callback(look_up, like, item, vmap_method="sequential")\n\n'
        "print(jax.jit(jax.vmap(price_of))(jnp.array([7, 5, 3])))  # [ 99  -1 250]",
    ],
)
def inverse_or_nan(a):
    """Repair this: the inverse that `np.linalg.inv` gives, or NaN everywhere where it raises an exception.

    It works under jit and vmap. In a batch, each matrix counts for itself.

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
# ## Part 3. Side effects: `io_callback` and `debug.callback`
#
# Here the host keeps a state: NumPy's generator. Each call takes the next numbers of
# one stream. (For real random numbers in JAX, use keys; this is a toy.)


# %%
def uniform_like(generator, x):
    """Draw the next numbers of a generator, in the shape of x, and print that shape."""
    print(f"generating {x.dtype}{list(x.shape)}")
    return generator.uniform(size=x.shape).astype(x.dtype)


# %% exercise
@exercise(
    title="A stream on the host",
    points=3,
    reproduces=["S4-21", "S4-22", "S4-23", "S4-25"],
    hints=[
        "When is the generator asked: while JAX traces, or at each run? For the whole vector, or for each number?",
        "`io_callback(function, promise, *args, ordered=True)` keeps the calls in order. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.experimental.io_callback.html",
        "generator = np.random.default_rng(seed)\n\ndef like(x, ordered=False):\n"
        "    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        "    return io_callback(partial(uniform_like, generator), promise, x, ordered=ordered)\n\n"
        "alone = jax.block_until_ready(jax.jit(like)(x))\nmapped = ____\n"
        "_, looped = jax.lax.scan(lambda carry, row: (carry, like(row, True)), None, x)\nreturn alone, mapped, looped",
        "# Like it: a ticket machine on the host: each call gets the next number.\n"
        "machine = iter(range(1, 100))\n\n"
        "def next_ticket():\n"
        "    return np.int32(next(machine))\n\n"
        "def ticket(ordered=False):\n"
        "    like = jax.ShapeDtypeStruct((), jnp.int32)\n"
        "    return io_callback(next_ticket, like, ordered=ordered)\n\n"
        "first = jax.block_until_ready(jax.jit(ticket)())\n"
        "step = lambda carry, _: (carry, ticket(ordered=True))\n"
        "print(first, jax.lax.scan(step, None, length=3)[1])  # 1 [2 3 4]",
    ],
)
def draws_from_the_host(seed, x):
    """Draw three vectors from one stream on the host, with `uniform_like` in an `io_callback`.

    The stream is `np.random.default_rng(seed)`. Draw in this order: for x as a whole, under jit; for each number of x,
    by vmap; for each number of x, in a scan, with an ordered callback. Wait for each result before the next.

    Args:
        seed: int.
        x: float32[n].

    Returns:
        A tuple of three float32[n].
    """
    ...


# %% check
@visible(
    draws_from_the_host,
    idea="The host is asked when the program runs: once for a whole vector, once for each row, once in each step. "
    "Mapped calls may come in any order (on a CPU they come in turn), and each number is still drawn once.",
    reproduces=["S4-21", "S4-22", "S4-23", "S4-25"],
)
def the_stream_is_drawn_as_documented(answer):
    """One call for the whole vector, then five mapped calls, then five in the scan, all from one stream."""
    seen = answer.observe(0, jnp.zeros(5))
    vectors = parts(seen.value, 3)
    for vector in vectors:
        expect_shape(vector, (5,))
        expect_dtype(vector, "float32")
    alone, mapped, looped = ([round(float(number), 6) for number in np.asarray(vector)] for vector in vectors)
    message = "The first vector should come from one call, for float32[5], when the program runs."
    expect_documented("S4-21", {"lines": seen.lines[:1], "numbers": alone}, message=message)
    message = "The second vector should come from the next five calls, for float32[] each."
    expect_documented("S4-22", {"lines": seen.lines[1:6], "numbers": mapped}, message=message)
    stream = np.random.default_rng(0).uniform(size=15).astype(np.float32)
    message = "The mapped numbers should be numbers 6 to 10 of the stream, each once, in whatever order."
    expect_documented("S4-23", bool(np.allclose(sorted(mapped), sorted(stream[5:10]), atol=2e-6)), message=message)
    message = "The third vector should come from the last five calls, for float32[] each, in order."
    expect_documented("S4-25", {"lines": seen.lines[6:], "numbers": looped}, message=message)


@visible(
    draws_from_the_host,
    stage="cost",
    idea="A stream is a side effect: `io_callback` keeps each draw, and `ordered=True` promises their order.",
    required=True,
)
def the_draws_are_effects_in_order(answer):
    """The draws are calls of io_callback, and those of the scan are ordered."""
    try:
        seen = answer.program(0, np.zeros(2, np.float32)).primitives
    except StudentError:
        return  # waiting by `x.block_until_ready()` cannot be traced, and is as good
    expect_that("io_callback" in seen, "Your program should hold an io_callback.", dict(seen), "an io_callback")
    refused = answer.vmap(in_axes=(None, 0)).observe_error(0, np.zeros((2, 2), np.float32)).error
    message = "JAX should refuse to map your program, because an order is promised in the scan; it maps it."
    expect_that(refused is not None, message, "no error", "refused because of the order")


# %% [markdown]
# ### What each kind can do
#
# The guide has a table of what each kind supports. Let us not believe it, but measure.
# These functions make one call of each kind.


# %%
def by_pure(host, x):
    """Call the host by pure_callback."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x)


def by_pure_sequential(host, x):
    """The same, with what was the default before 0.6.0."""
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, vmap_method="sequential")


def by_io(host, x):
    """Call the host by io_callback."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x)


def by_io_ordered(host, x):
    """Call the host by io_callback, in order."""
    return io_callback(host, jax.ShapeDtypeStruct((), x.dtype), x, ordered=True)


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
    """Map a scan of three steps over two rows: 6 calls."""
    return jax.vmap(lambda row: jax.lax.scan(lambda carry, x: (carry, f(x)), None, row)[1])(jnp.ones((2, 3)))


def vmap_of_while(f):
    """Map a while loop over rows that need 0, 1 and 2 steps: 3 calls."""
    return jax.vmap(lambda n: jax.lax.while_loop(lambda x: x < n, lambda x: x + 1 + 0 * f(x), 0.0))(jnp.arange(3.0))


# %% exercise
@exercise(
    title="Measure the table",
    points=4,
    reproduces=["S4-07", "S4-08", "S4-09", "S4-11", "S4-12"],
    why_so_many="They are the rows and the footnotes of one table, and one function measures them all.",
    hints=[
        "Which classes can the exceptions have? Where are the calls counted, and when may you read the count?",
        "`type(error).__name__` and `str(error)` tell what was refused. "
        "https://docs.jax.dev/en/latest/external-callbacks.html",
        "calls = []\n\ndef host(value):\n    calls.append(1)\n    return np.asarray(value)\n\ntry:\n"
        "    jax.block_until_ready(situation(lambda x: kind(host, x)))\n    jax.effects_barrier()\n"
        "except Exception as error:\n    return ____\nreturn len(calls), ''",
        "# Like it: how often does Python run a function, and what does JAX say?\n"
        "def runs_and_class(function, transform):\n"
        "    runs = []\n"
        "    def noted(x):\n"
        "        runs.append(1)\n"
        "        return function(x)\n"
        "    try:\n"
        "        jax.block_until_ready(transform(noted)(jnp.arange(3.0)))\n"
        "    except Exception as error:\n"
        "        return len(runs), type(error).__name__\n"
        '    return len(runs), "no error"\n\n'
        "print(runs_and_class(jnp.sin, jax.jit))  # (1, 'no error')\n"
        "print(runs_and_class(jnp.sin, jax.grad))  # (1, 'TypeError')",
    ],
)
def try_out(kind, situation):
    """Make one kind of call in one situation, and report what happened.

    Args:
        kind: a function of a host function and x that calls it on x: `by_pure`, `by_io`, `by_debug`...
        situation: a function of f, a function of x that makes the call: `under_jit`, `in_loops`...

    Returns:
        A tuple `(calls, error)`: how often the host was called, and "", or "Class: message" of the exception that JAX
        raised, of whatever class.
    """
    ...


# %% check
def tried(answer, kind, situation):
    """Return the calls, and the first line of the error."""
    calls, error = parts(answer(given(kind), given(situation)), 2)
    message = 'The second value should be a str: "" or "Class: message".'
    expect_that(isinstance(error, str), message, error)
    return plain(calls), (error.splitlines() or [""])[0].strip()


def row_of(answer, kind, last):
    """Return a row of the guide's table: value, jit, vmap, grad, loops, guaranteed."""
    wanted = {"value_used": 1, "under_jit": 1, "under_vmap": 3, "under_grad": 1, "in_loops": 6, **last}
    return [cell_of(answer, kind, name, calls) for name, calls in wanted.items()]


def cell_of(answer, kind, situation, calls):
    """Return "yes" if the host was called as often as it should, and "no" otherwise."""
    return "yes" if tried(answer, kind, situation) == (calls, "") else "no"


@visible(try_out, idea="Row by row, from the guide.", reproduces=["S4-07"])
def the_row_of_pure_callback(answer):
    """pure_callback: value, jit, loops, no grad, not guaranteed; vmap only with vmap_method since 0.6.0."""
    today = row_of(answer, "by_pure", {"value_unused": 1})
    message = "The row of pure_callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-07", today, part="today", message=message)
    before = [*today[:2], cell_of(answer, "by_pure_sequential", "under_vmap", 3), *today[3:]]
    expect_documented("S4-07", before, part="documented", message=message)


@visible(
    try_out,
    idea="An io_callback is guaranteed to run, and has no derivative; under vmap it must not be ordered.",
    reproduces=["S4-08", "S4-11"],
)
def the_row_of_io_callback(answer):
    """io_callback: all but grad and ordered vmap, and guaranteed."""
    calls, refused = tried(answer, "by_io_ordered", "under_vmap")
    row = row_of(answer, "by_io", {"value_unused": 1})
    message = "Under vmap, the unordered calls should be counted, and the refusal of the ordered one reported."
    expect_documented("S4-11", [row[2], calls, refused], message=message)
    row[2] += "/no" if refused else "/yes"
    message = "The row of io_callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-08", row, message=message)


@visible(
    try_out,
    stage="jit",
    idea="debug.callback works everywhere, gives nothing back, and is not guaranteed to run in each step.",
    reproduces=["S4-09"],
)
def the_row_of_debug_callback(answer):
    """debug.callback: no value, works everywhere, not guaranteed."""
    row = row_of(answer, "by_debug", {"same_in_scan_under_grad": 3})
    message = "The row of debug.callback should come out: value, jit, vmap, grad, loops, guaranteed."
    expect_documented("S4-09", row, message=message)


@visible(
    try_out,
    stage="jit",
    idea="vmap of a loop works only where the order of calls does not matter and all rows stop together.",
    reproduces=["S4-12"],
)
def mapped_loops_are_complicated(answer):
    """vmap of scan and of while, unordered and ordered."""
    pairs = [
        (kind, situation) for kind in ("by_io", "by_io_ordered") for situation in ("vmap_of_scan", "vmap_of_while")
    ]
    got = [tried(answer, *pair)[1] for pair in pairs]
    expect_documented("S4-12", got, message="vmap of scan and while should be reported, unordered and ordered.")


# %% [markdown]
# Here is the whole table: how often each kind runs, beside how often plain Python would
# call the host. Numbers in **bold** differ from that, and `≠` marks where the guide
# says something else. Look at the two rows under `grad` with a scan: there even the
# "guaranteed" `io_callback` does not run in each step.
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
# ### Order by effect, not by luck
#
# On a CPU, calls often come in order by chance. `ordered=True` makes the order a part
# of the program: each call waits for the one before.


# %%
def note_total(total):
    """Print a running total."""
    print(f"total {float(total):.1f}")


# %% exercise
@exercise(
    title="Notes in order",
    points=3,
    reproduces=["S4-24"],
    hints=[
        "Who uses the result of this callback? And what may JAX do with a pure callback that nobody needs?",
        "A side effect belongs into `io_callback`; `ordered=True` promises the order. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.experimental.io_callback.html",
        "def step(total, x):\n    total = total + x\n    io_callback(note_total, ____, total, ordered=____)\n"
        "    return total, total\n\nreturn jax.lax.scan(step, jnp.float32(0.0), xs)[1]",
        "# Like it: a loop saves each of its states on the host, surely in order.\n"
        "saved = []\n\n"
        "def save(i, number):\n"
        "    saved.append((int(i), float(number)))\n\n"
        "def halve_and_save(i, number):\n"
        "    io_callback(save, None, i, number, ordered=True)\n"
        "    return number / 2\n\n"
        "print(jax.lax.fori_loop(0, 3, halve_and_save, 8.0))  # 1.0\n"
        "jax.effects_barrier()\n"
        "print(saved)  # [(0, 8.0), (1, 4.0), (2, 2.0)]",
    ],
)
def noted_totals(xs):
    """Repair this: running totals in a scan, and each total noted by `note_total`, surely and in order.

    Use an `io_callback` that promises the order.

    Args:
        xs: float32[n].

    Returns:
        float32[n], the running totals.
    """

    def note(total):
        note_total(total)
        return total

    def step(total, x):
        total = total + x
        jax.pure_callback(note, total, total)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


# %% check
@visible(noted_totals, idea="A running total adds each number to what came before.")
def totals_are_running(answer, draw):
    """The result is the running totals."""
    xs = draw.floats(5)
    expect_close(answer(xs), np.cumsum(np.asarray(xs)))


@visible(
    noted_totals,
    stage="jit",
    kind="observed",
    idea="A pure callback whose result is not used is dropped; an io_callback is not.",
    required=True,
)
def each_total_is_noted(answer):
    """Each total is noted once, in order, at each call, also under jit."""
    xs = np.array([1, 2, 3, 4, 5], np.float32)
    wanted = [f"total {total}" for total in (1.0, 3.0, 6.0, 10.0, 15.0)]
    for seen in answer.jit.observe_calls([(xs,), (xs,)]):
        expect_that(seen.lines == wanted, "The notes should be the five totals in order.", seen.lines, wanted)


@visible(
    noted_totals,
    stage="jit",
    kind="observed",
    idea="`ordered=True` puts the order into the program. So JAX refuses to map it: rows have no order.",
    reproduces=["S4-24"],
    required=True,
)
def the_order_is_promised(answer):
    """The order is promised: under vmap JAX refuses."""
    seen = answer.vmap().observe_error(np.ones((2, 5), np.float32))
    message = "Under vmap JAX should refuse, because of the promised order."
    refused = seen.error is not None and "order" in seen.error.message.lower()
    expect_that(refused, message, seen.error.message if seen.error else "no error", "refused because of the order")
    if "IO callback" in seen.error.message:  # a helper may say it in other words
        expect_documented("S4-24", seen)


@visible(noted_totals, stage="cost", idea="A scan stays one loop in the program; a Python loop is written out.")
def the_loop_is_in_the_program(answer):
    """The program does not grow with n."""
    small, large = (answer.program(np.ones(n, np.float32)).equations for n in (3, 7))
    expect_that(
        small == large, "The program should be as long for 7 numbers as for 3.", f"{large} equations", f"{small}"
    )


# %% [markdown]
# When does the host work? `callback_timeline` runs a program once and draws each call
# on the host, numbered as they began. Of the three callbacks below one is ordered, one
# is not, and one has a result that nobody uses.

# %%
from jaxguide.callbacks import callback_timeline


def look_at(value):
    """Take a value, and do nothing with it."""


def square_on_host(value):
    """Square with NumPy, on the host."""
    return np.square(value)


def three_in_each_step(xs):
    """Add up xs in a scan, with three callbacks in each step."""

    def step(total, x):
        jax.pure_callback(square_on_host, x, x)
        io_callback(look_at, None, total, ordered=True)
        jax.debug.callback(look_at, x)
        return total + x, None

    return jax.lax.scan(step, 0.0, xs)[0]


callback_timeline(three_in_each_step, jnp.arange(4.0))

# %% [markdown]
# Run the cell again: the times are new, and the numbers may be. All that the program
# promises is the order along the lane that says "ordered". `square_on_host` has no box:
# JAX dropped the call, because nobody uses the squares.

# %% [markdown]
# ### A derivative, or a reason
#
# JAX cannot look into a host function, so it has no derivative for it. It says so, in
# its own words.


# %%
def host_sine_of(x):
    """Compute the sine on the host."""
    return jax.pure_callback(lambda v: np.sin(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def host_noise_like(x):
    """Draw numbers on the host, in the shape of x."""
    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return io_callback(lambda v: np.full(v.shape, 0.5, v.dtype), promise, x)


def says_hello(x):
    """Say hello on the host, and return x: the host gets nothing of x."""
    io_callback(lambda: print("hello"), None)
    return x


def cube(x):
    """Compute x * x * x."""
    return x * x * x


# %% exercise
@exercise(
    title="A derivative, or a reason",
    points=2,
    reproduces=["S4-17", "S4-26", "S4-27"],
    hints=[
        "Where is the exception raised: when `jax.grad(f)` is made, or when it is called?",
        "`jax.grad` needs a single number, so add up the results. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.grad.html",
        "try:\n    return jax.grad(lambda value: ____)(x)\nexcept ValueError as error:\n    return str(error)",
        "# Like it: the gradient of the largest of f(a), or the exception's class.\n"
        "def slope_of_largest(f, a):\n"
        "    try:\n"
        "        return jax.grad(lambda b: jnp.max(f(b)))(a)\n"
        "    except TypeError as error:\n"
        "        return type(error).__name__\n\n"
        "numbers = jnp.array([1.0, 3.0, 2.0])\n"
        "print(slope_of_largest(jnp.square, numbers))  # [0. 6. 0.]\n"
        "print(slope_of_largest(lambda a: a.astype(int), numbers))  # TypeError",
    ],
)
def gradient_or_reason(f, x):
    """Differentiate the sum of f(x), or say why that cannot be done.

    Args:
        f: a function of one array that returns an array.
        x: a float32 array.

    Returns:
        The gradient, a float32 array in the shape of x; or, if JAX raises a ValueError, its message, a str.
    """
    ...


# %% check
def reason(answer, name):
    """Return the reason for a function of the book, as a str."""
    got = answer(given(name), np.arange(5, dtype=np.float32))
    expect_that(isinstance(got, str), f"For `{name}`, the message of JAX's error should be returned.", got)
    return got


@visible(gradient_or_reason, idea="The gradient of a sum has the shape of x.")
def a_gradient_where_there_is_one(answer, draw):
    """Where there is a gradient, it is returned."""
    x = draw.floats(5)
    expect_close(answer(given("cube"), x), 3 * np.asarray(x) ** 2)


@visible(gradient_or_reason, idea="A pure callback has no derivative of its own.", reproduces=["S4-17"])
def a_pure_callback_has_no_derivative(answer):
    """For a pure callback the reason is JAX's own."""
    message = "For `host_sine_of`, the whole message of JAX's error should be returned."
    expect_documented("S4-17", reason(answer, "host_sine_of"), message=message)


@visible(gradient_or_reason, idea="Neither has an io_callback.", reproduces=["S4-26"])
def an_io_callback_has_no_derivative(answer):
    """For an io_callback the reason is JAX's own."""
    message = "For `host_noise_like`, the whole message of JAX's error should be returned."
    expect_documented("S4-26", reason(answer, "host_noise_like"), message=message)


@visible(
    gradient_or_reason,
    idea="An io_callback that gets nothing of x does not stand in the way, and still runs.",
    reproduces=["S4-27"],
)
def a_callback_beside_the_derivative_runs(answer):
    """A callback that does not depend on x runs once, and the gradient is 1."""
    seen = answer.observe(given("says_hello"), np.float32(1.0))
    expect_close(seen.value, np.float32(1.0))
    expect_documented("S4-27", "\n".join(seen.lines), message="`says_hello` should run once, and say hello.")


# %% [markdown]
# ### `debug.callback`: watch what really happens
#
# A debug callback gives nothing back, so it never stands in the way of a
# transformation.


# %%
def log_value(x):
    """Log a value: here, print it."""
    print("log:", x)


# %% exercise
@exercise(
    title="Log and pass on",
    points=2,
    reproduces=["S4-30", "S4-31", "S4-32"],
    hints=[
        "Which kind of callback works under jit, vmap and grad alike?",
        "`jax.debug.callback(function, *args)` calls `function` with the values. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "____(log_value, x)\nreturn x",
        "# Like it: collect both sides of a rectangle whenever its area is computed.\n"
        "sides = []\n\n"
        "def collect(width, height):\n"
        "    sides.append((float(width), float(height)))\n\n"
        "def area(width, height):\n"
        "    jax.debug.callback(collect, width, height)\n"
        "    return width * height\n\n"
        "print(jax.grad(area)(2.0, 3.0))  # 3.0\n"
        "jax.effects_barrier()\n"
        "print(sides)  # [(2.0, 3.0)]",
    ],
)
def log_and_pass(x):
    """Log the value of x as `log_value` does, whenever the program runs, and return x.

    It works under jit, vmap and grad.

    Args:
        x: float32[], traced under the transformations.

    Returns:
        x.
    """
    ...


# %% check
@visible(log_and_pass, idea="Logging does not change the value.")
def x_is_passed_on(answer, draw):
    """The result is x."""
    x = draw.floats()
    expect_close(answer(x), x)


@visible(
    log_and_pass,
    stage="jit",
    kind="observed",
    idea="The program logs at each run.",
    reproduces=["S4-30"],
    required=True,
)
def it_logs_under_jit(answer):
    """Under jit it logs the value, at each call."""
    first, second = answer.jit.observe_calls([(1.0,), (2.5,)])
    expect_documented("S4-30", "\n".join(first.lines), message="Under jit the value 1.0 should be logged once.")
    expect_that(second.lines == ["log: 2.5"], "The second call should log its own value.", second.lines)


@visible(
    log_and_pass,
    stage="jit",
    kind="observed",
    idea="Under vmap it logs once for each row; the order is not promised.",
    reproduces=["S4-31"],
)
def it_logs_each_row(answer):
    """Under vmap it logs once for each row."""
    seen = answer.vmap().observe(jnp.arange(5.0))
    expect_documented("S4-31", sorted(seen.lines), message="Under vmap each of the five rows should be logged once.")


@visible(
    log_and_pass,
    stage="gradient",
    kind="observed",
    idea="A debug callback has no part in the derivative, and runs while it is computed.",
    reproduces=["S4-32"],
)
def it_logs_under_grad(answer):
    """Under grad it logs the value, and the gradient is 1."""
    seen = answer.grad().observe(1.0)
    expect_close(seen.value, np.float32(1.0))
    expect_documented("S4-32", "\n".join(seen.lines), message="Under grad the value 1.0 should be logged once.")


# %% [markdown]
# A debug callback does what the code around it does. If JAX computes something twice,
# it is logged twice. `jax.checkpoint` saves memory: it forgets what it computed, and
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
    reproduces=["S4-29"],
    hints=[
        "Where do the values go: back into the program, or into a list of Python's?",
        "`jax.debug.callback` returns None, whatever the host function returns; wait by `jax.effects_barrier()`. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html",
        "seen, came_back = [], []\n\ndef host(value):\n    seen.append(float(value))\n    return 42\n\ndef f(x):\n"
        "    came_back.append(str(____))\n    return jnp.sin(x)\n\n"
        "jax.block_until_ready(transform(f, x))\njax.effects_barrier()\nreturn seen, came_back[0]",
        "# Like it: what Python sees of a row under vmap, and what the host sees.\n"
        "shapes, rows = [], []\n\n"
        "def note_row(row):\n"
        "    rows.append(np.asarray(row).tolist())\n\n"
        "def total(row):\n"
        "    shapes.append(row.shape)  # runs while JAX traces\n"
        "    jax.debug.callback(note_row, row)\n"
        "    return row.sum()\n\n"
        "jax.block_until_ready(jax.vmap(total)(jnp.array([[1, 2], [3, 4]])))\n"
        "jax.effects_barrier()\n"
        "print(shapes, sorted(rows))  # [(2,)] [[1, 2], [3, 4]]",
    ],
)
def what_debug_sees(transform, x):
    """Run f(x) = sin(x) under a transformation, with a debug callback in f, and report what the callback saw.

    The debug callback gets x. Its host function returns 42.

    Args:
        transform: a function of f and x that runs f: `plainly`, `gradient_of`...
        x: float32[].

    Returns:
        A tuple `(seen, came_back)`: a list of float, one for each host call; and, as a str, what
        `jax.debug.callback` itself returned in f.
    """
    ...


# %% check
def debug_saw(answer, name, x):
    """Return the values seen and what came back."""
    seen, came_back = parts(answer(given(name), np.float32(x)), 2)
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
    counts = [debug_saw(answer, name, 0.5)[0] for name in ("plainly", "gradient_of_checkpoint", "shape_only")]
    got = {"came back": debug_saw(answer, "plainly", 1.5)[1], "calls": counts}
    message = "There should be 1 call plainly, 2 under grad of checkpoint, 0 for a shape, and 'None' should come back."
    expect_documented("S4-29", got, message=message)


@visible(what_debug_sees, idea="Under grad, f runs once.")
def under_grad_it_runs_once(answer):
    """Under grad it runs once."""
    calls, _ = debug_saw(answer, "gradient_of", 2.0)
    expect_that(calls == 1, "Under grad the callback should run once.", calls, 1)


# %%
def watch_positive(x):
    """Watch x, if it is positive."""
    jax.lax.cond(x > 0, lambda: jax.debug.callback(lambda value: None, x), lambda: None)
    return x


# %% exercise
@prediction(
    title="Predict: watching one of three",
    points=1,
    hints=[
        "Under vmap, can each row take its own branch of a `cond`?",
        "A `cond` on a batch becomes a select: both branches run for all rows. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html",
        "# A smaller case: a batch of one row that is not positive makes 1 host call.\nreturn ____  # a number",
    ],
)
def predict_watched_rows():
    """`jax.vmap(watch_positive)` gets the rows -1, 0 and 1. How many host calls are there?

    Returns:
        An int.
    """
    ...


# %% check
@reveal(predict_watched_rows)
def count_watched_rows():
    """We ran it over the three rows, with a host function that counts."""
    calls = []

    def watch(x):
        jax.lax.cond(x > 0, lambda: jax.debug.callback(lambda value: calls.append(1), x), lambda: None)
        return x

    jax.block_until_ready(jax.vmap(watch)(jnp.array([-1.0, 0.0, 1.0])))
    jax.effects_barrier()
    return len(calls)


# %% [markdown]
# ## Part 4. SciPy in JAX: the Bessel function
#
# JAX has no `scipy.special.jv`, the Bessel function J_v(z). SciPy has. The picture
# shows J_0, J_1 and J_2.

# %%
import matplotlib.pyplot as plt

z = np.linspace(0, 12, 200)
_, axes = plt.subplots(figsize=(6, 2.5))
for order in range(3):
    axes.plot(z, scipy.special.jv(order, z), label=f"J_{order}")
axes.set_xlabel("z")
_ = axes.legend()

# %% [markdown]
# The guide wraps it with `vectorized=True`. That argument was removed in 0.6.0. Up to
# 0.9.2 an error said so; since 0.10 it is handed on **to the host function**, which
# fails when the program runs:

# %%
try:
    jax.pure_callback(lambda value: value, promise, 1.0, vectorized=True).block_until_ready()
except Exception as error:
    print(type(error).__name__, "...", str(error).strip().splitlines()[-1])


# %% exercise
@exercise(
    title="SciPy's Bessel function",
    points=3,
    reproduces=["S4-33", "S4-34", "S4-35", "S4-36", "S4-37"],
    why_so_many="They are one function of the guide, called alone, under jit, under vmap and under grad.",
    hints=[
        "Which argument does JAX not know any more, and what took its place?",
        "The batch axis comes in front of each argument; they still fit together if v and z have one shape before. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html",
        "v, z = jnp.broadcast_arrays(v, z)  # one shape\n# ...\n"
        "return jax.pure_callback(host, promise, v, z, vmap_method=____)",
        "# Like it: NumPy's quotient and rest of arrays whose shapes may differ.\n"
        "def host_divmod(a, b):\n"
        "    a, b = jnp.broadcast_arrays(a, b)\n"
        "    like_a = jax.ShapeDtypeStruct(a.shape, a.dtype)\n"
        "    by_numpy = lambda a, b: np.divmod(np.asarray(a), np.asarray(b))\n"
        '    two, method = (like_a, like_a), "expand_dims"\n'
        "    return jax.pure_callback(by_numpy, two, a, b, vmap_method=method)\n\n"
        "mapped = jax.vmap(host_divmod, in_axes=(0, None))\n"
        "quotients, rests = mapped(jnp.array([17, 23]), jnp.array([5, 10, 4]))\n"
        "print(quotients.tolist())  # [[3, 1, 4], [4, 2, 5]]\n"
        "print(rests.tolist())  # [[2, 7, 1], [3, 3, 3]]",
    ],
)
def host_bessel(v, z):
    """Repair this: SciPy's Bessel function J_v(z), alone, under jit and under vmap.

    v must have an integer dtype; otherwise it raises an AssertionError, TypeError or ValueError. z may be int or
    float32; the result is float32, and its shape is that of v and z, broadcast: under vmap too, where v and z may have
    different shapes. No derivative is asked for yet.

    Args:
        v: int32 array, the order.
        z: int32 or float32 array.

    Returns:
        float32, of the broadcast shape.
    """
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))

    def host(v, z):
        return scipy.special.jv(v, z).astype(z.dtype)

    promise = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(host, promise, v, z, vectorized=True)


# %% check
def bessel_values(v, z):
    """Return SciPy's values as float32."""
    return scipy.special.jv(np.asarray(v), np.asarray(z, np.float64)).astype(np.float32)


@visible(host_bessel, idea="The host computes with the values, and keeps the promise.", reproduces=["S4-34"])
def j1_is_as_documented(answer):
    """Alone it gives J_1 at 0, 1, 2, 3, 4."""
    expect_documented("S4-34", answer(1, jnp.arange(5.0)), message="These should be J_1 at 0, 1, 2, 3, 4.")


@visible(
    host_bessel,
    idea="The promise: the shape by broadcasting, the dtype of z made floating; and integer orders only.",
    reproduces=["S4-33"],
)
def shapes_and_dtypes_are_kept(answer):
    """A float order is refused, an int z gives float32, and shapes broadcast."""
    whole = answer(np.array([[0], [3]], np.int32), np.arange(5, dtype=np.int32))
    expect_close(whole, bessel_values([[0], [3]], np.arange(5)))
    seen = answer.observe_error(1.5, jnp.arange(5.0))
    named = ("AssertionError", "TypeError", "ValueError")
    refused = seen.error is not None and seen.error.type_name in named
    got = {"float order": "refused" if refused else "computed", "int z": whole.dtype.name, "shape": list(whole.shape)}
    expect_documented("S4-33", got, message="An order that is not of an integer dtype should raise an AssertionError.")


@visible(
    host_bessel, stage="jit", idea="Under jit only shapes and dtypes are known.", reproduces=["S4-35"], required=True
)
def the_same_under_jit(answer):
    """Under jit it gives the same."""
    message = "Under jit, these should be J_1 at 0, 1, 2, 3, 4."
    expect_documented("S4-35", answer.jit(1, jnp.arange(5.0)), message=message)


@visible(host_bessel, stage="jit", idea="`vmap_method` says what to do with a batch.", reproduces=["S4-36"])
def the_same_under_vmap(answer):
    """Under vmap it gives the same."""
    message = "Under vmap, these should be J_1 at 0, 1, 2, 3, 4."
    expect_documented("S4-36", answer.vmap(in_axes=(None, 0))(1, jnp.arange(5.0)), message=message)


@visible(
    host_bessel, stage="jit", idea="A batch axis comes in front: v int32[3] and z float32[] then pair off wrongly."
)
def orders_and_points_of_different_shapes(answer):
    """Under vmap over z alone, each row has all orders."""
    v, z = np.array([0, 1, 2], np.int32), np.array([0.5, 1.5, 2.5], np.float32)
    message = "Row i should have the three orders at z[i]."
    expect_close(answer.vmap(in_axes=(None, 0))(v, z), bessel_values(v, z[:, None]), message, atol=1e-5)


@visible(
    host_bessel,
    stage="gradient",
    idea="A pure callback has no derivative. A rule comes in the next exercise.",
    reproduces=["S4-37"],
)
def grad_is_refused_or_right(answer):
    """Without a rule, grad is refused; with one, it is right."""
    seen = answer.grad(argnums=1).observe_error(1, 2.0)
    if seen.error is None:
        expect_close(seen.value, np.float32(scipy.special.jvp(1, 2.0)))
    elif "JVP" in seen.error.message or seen.error.type_name != "ValueError":
        expect_documented("S4-37", seen)


# %% [markdown]
# ### A derivative for it
#
# JAX cannot look into SciPy, but mathematics can:
#
# - the slope of `J_0(z)` is `-J_1(z)`,
# - the slope of `J_v(z)` is `(J_{v-1}(z) - J_{v+1}(z)) / 2` for the other orders.
#
# `jax.custom_jvp` takes the rule from you. It gets the point and the step, `primals`
# and `tangents`, and returns the value, and the slope **times the step**. Here is one
# for `np.exp`:


# %%
@jax.custom_jvp
def host_exp(x):
    """Compute exp(x) on the host."""
    return jax.pure_callback(lambda v: np.exp(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@host_exp.defjvp
def host_exp_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return host_exp(x), host_exp(x) * dx


print("slope at 1:", jax.grad(host_exp)(jnp.float32(1.0)))
print("second derivative at 1:", jax.grad(jax.grad(host_exp))(jnp.float32(1.0)))

# %% [markdown]
# The rule calls `host_exp` again, and not NumPy. That is why it can be differentiated
# again.


# %%
from jaxguide.callbacks import host_function

scipy_jv = host_function(scipy.special.jv, elementwise=True)


# %% exercise
@exercise(
    title="Differentiable to any order",
    points=4,
    reproduces=["S4-10", "S4-38", "S4-39", "S4-40", "S4-41"],
    why_so_many="They are one derivative rule of the guide and what follows from it.",
    hints=[
        "What must the rule call, so that its result can be differentiated once more?",
        "The rule is written in terms of the function itself. "
        "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html",
        "@jax.custom_jvp\ndef bessel(v, z):\n    return scipy_jv(v, z)\n\n\n@bessel.defjvp\n"
        "def bessel_rule(primals, tangents):\n    (v, z), (_, dz) = primals, tangents\n"
        "    slope = jnp.where(v == 0, -bessel(v + 1, z), ____)\n    return bessel(v, z), slope * dz",
        "# Like it: NumPy's x**n, with a slope in x: n * x**(n - 1).\n"
        "numpy_power = host_function(np.power, elementwise=True)\n\n"
        "@jax.custom_jvp\n"
        "def power(x, n):\n"
        "    return numpy_power(x, n)\n\n"
        "@power.defjvp\n"
        "def power_rule(primals, tangents):\n"
        "    (x, n), (dx, _) = primals, tangents\n"
        "    return power(x, n), n * power(x, n - 1) * dx\n\n"
        "print(jax.jit(jax.grad(power))(5.0, 3))  # 75.0 = 3 * 5**2\n"
        "print(jax.jit(jax.grad(jax.grad(power)))(5.0, 3))  # 30.0 = 3 * 2 * 5",
    ],
)
def bessel(v, z):
    """Repair this: J_v(z), differentiable in z to any order, under jit and vmap.

    `scipy_jv` calls SciPy on the host; it works under jit and vmap, and has no derivative.

    Args:
        v: int32 array, the order, 0 or more.
        z: float32 array.

    Returns:
        float32, of the broadcast shape.
    """
    return scipy_jv(v, z)


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
    idea="With a rule from `custom_jvp`, a pure callback can be differentiated.",
    reproduces=["S4-10", "S4-40"],
    required=True,
)
def the_slope_of_j1_is_as_documented(answer):
    """The slope of J_1 at 2 is -0.06447162."""
    slope = answer.grad(argnums=1)(1, 2.0)
    expect_documented("S4-40", slope, message="The slope of J_1 at 2 should be -0.06447162.")
    expect_documented("S4-10", bool(np.isfinite(np.asarray(slope))), message="The slope should be finite.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="J_0' is -J_1; otherwise J_v' is half of J_(v-1) - J_(v+1).",
    reproduces=["S4-38"],
)
def slopes_follow_the_recurrence(answer):
    """The slopes of J_0, J_1 and J_2 at 0.5 and 2 are right, under vmap."""
    z = np.array([0.5, 2.0], np.float32)
    slopes = [np.asarray(answer.grad(argnums=1).vmap(in_axes=(None, 0))(v, z)).tolist() for v in (0, 1, 2)]
    expect_documented("S4-38", slopes, message="These should be the slopes of J_0, J_1 and J_2 at 0.5 and 2.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="A rule that calls the function itself can be differentiated again and again.",
    reproduces=["S4-39", "S4-41"],
    required=True,
)
def higher_derivatives_come_for_free(answer):
    """The second and third derivatives of J_1 at 2 are right."""
    second = answer.grad(argnums=1).grad(argnums=1)
    expect_documented("S4-41", second(1, 2.0), message="The second derivative of J_1 at 2 should be the expected one.")
    third = second.grad(argnums=1)(1, 2.0)
    expect_documented("S4-39", third, message="The third derivative of J_1 at 2 should be the expected one.")


@visible(
    bessel,
    stage="gradient",
    kind="value",
    idea="The order may be an array too: the rule must choose for each order.",
)
def many_orders_at_once(answer):
    """Under jit of vmap over orders the slopes are right."""
    v, z = np.array([0, 1, 2, 3], np.int32), np.float32(1.5)
    got = answer.grad(argnums=1).vmap(in_axes=(0, None)).jit(v, z)
    expect_close(got, scipy.special.jvp(v, 1.5).astype(np.float32), atol=1e-5)


# %% [markdown]
# The helper `host_function` takes a NumPy or SciPy function and a derivative, and does
# all of this for you. `verify` compares the derivative with finite differences.

# %%
j1 = host_function(scipy.special.j1, elementwise=True)
j0 = host_function(scipy.special.j0, elementwise=True, derivative=lambda z: -j1(z))
print(jax.grad(j0)(2.0))
j0.verify(jnp.float32(2.0))

# %% [markdown]
# ### What it costs
#
# Each host call takes the data from the device to the host and back. The guide says
# that on one CPU this is "fast" and often "zero-copy". Look at the ratio of times, not
# at the times.

# %%
import time

sizes = [10**exponent for exponent in range(2, 7)]
on_host = jax.jit(host_sine_of)
ratios = []
for size in sizes:
    x = jnp.ones(size)
    seconds = []
    for function in (on_host, jax.jit(jnp.sin)):
        function(x).block_until_ready()  # compile first
        start = time.perf_counter()
        for _ in range(10):
            function(x).block_until_ready()
        seconds.append(time.perf_counter() - start)
    ratios.append(seconds[0] / seconds[1])
_, axes = plt.subplots(figsize=(6, 2.5))
axes.loglog(sizes, ratios, "o-")
axes.set_xlabel("numbers in x")
_ = axes.set_ylabel("time by callback / by jnp.sin")

# %% [markdown]
# "Zero-copy" can be looked up: is the array that the host gets in the same place in
# memory? `x.unsafe_buffer_pointer()` is the address of a JAX array, and
# `array.ctypes.data` that of a NumPy array.


# %% exercise
@exercise(
    title="Is it zero-copy?",
    points=2,
    reproduces=["S4-42"],
    hints=[
        "Where do you learn the address that the host sees: inside or outside of the host function?",
        "`np.asarray(x)` of a JAX array on the CPU is a view: no copy. "
        "https://docs.jax.dev/en/latest/_autosummary/jax.Array.unsafe_buffer_pointer.html",
        'seen = {"device": x.unsafe_buffer_pointer(), "view": np.asarray(x).ctypes.data}\n\ndef host(value):\n'
        '    seen["host"] = ____\n    return np.int32(0)\n\n'
        "promise = jax.ShapeDtypeStruct((), jnp.int32)\n"
        "jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()\nreturn seen",
        "# Like it: who may write into x: a view, a copy, and the host function?\n"
        "numbers = jnp.ones(3)\n"
        'writeable = {"view": np.asarray(numbers).flags.writeable}\n'
        'writeable["copy"] = np.array(numbers).flags.writeable\n\n'
        "def look(value):\n"
        '    writeable["host"] = np.asarray(value).flags.writeable\n'
        "    return np.float32(0)\n\n"
        "program = jax.jit(lambda x: jax.pure_callback(look, np.float32(0), x))\n"
        "jax.block_until_ready(program(numbers))\n"
        "print(writeable)  # only the copy",
    ],
)
def addresses(x):
    """Look up where the numbers of x are in memory: for JAX, for NumPy, and for the host function of a callback.

    Args:
        x: float32[n], a JAX array on the CPU.

    Returns:
        A dict of three int: "device", the address of x; "view", that of `np.asarray(x)`; "host", that of the array
        which a host function gets for x, in a `jax.pure_callback` under jit.
    """
    ...


# %% check
def places(answer, size):
    """Return whether the view and the host's array lie where x lies."""
    got = entries(answer(jnp.ones(size)), ("device", "view", "host"))
    device, view, host = (plain(got[name]) for name in ("device", "view", "host"))
    expect_that(all(isinstance(one, int) for one in (device, view, host)), "The addresses should be int.", got)
    message = "`host` should be an address. (A pure callback is dropped if nobody uses its result.)"
    expect_that(host > 0, message, host)
    return view == device, host == device


@visible(
    addresses,
    kind="relation",
    idea="`np.asarray` of a CPU array is a view of the same memory.",
)
def the_view_lies_where_x_lies(answer):
    """NumPy's view lies where x lies."""
    for size in (4, 1024):
        expect_that(places(answer, size)[0], "The view should have the address of x; yours has another one.")


@visible(
    addresses,
    kind="relation",
    required=True,
    idea="As measured on CPU, JAX hands a copy to the host: the guide's zero-copy does not hold.",
    reproduces=["S4-42"],
)
def the_host_gets_a_copy(answer):
    """The host function gets a copy, for few numbers and many."""
    same = [places(answer, size)[1] for size in (4, 1024, 2**18)]
    expect_documented("S4-42", same, message="The array that the host function gets should lie elsewhere than x.")


# %% [markdown]
# ## What to remember
#
# - `pure_callback` for values, `io_callback` for effects, `debug.callback` for
#   watching.
# - A pure call may be dropped, moved out of a loop, or repeated. An io call runs even
#   if its result is not used; but measure before you trust it in a loop that is
#   differentiated.
# - `vmap_method` decides how often the host works for a batch. Since 0.6.0 you must
#   give it.
# - Only `ordered=True` promises an order, and so JAX refuses to map an ordered
#   `io_callback`.
# - Promise the right shape and dtype. Catch exceptions in the host function.
# - A host function has no derivative until you give it one, in terms of itself, with
#   `jax.custom_jvp`.
# - Each call leaves the compiled program: make few of them.

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
