# %%
import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import io_callback

from jaxguide.course.author import (
    alternative,
    alternative_value,
    answer,
    expect_close,
    expect_that,
    given,
    hidden,
    wrong,
)


# %% print_both_ways
@answer
def print_both_ways(x):
    y = x + 1
    print("intermediate value: {}".format(y))
    jax.debug.print("intermediate value: {}", y)
    return y * 2


@alternative
def f_string_and_keyword(x):
    y = 1 + x
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {y}", y=y)
    return 2 * y


@alternative
@jax.jit
def jitted_with_ordered_print(x):
    y = x + 1
    print("intermediate value:", y)
    jax.debug.print("intermediate value: {}", y, ordered=True)
    return y + y


@wrong(rejected_by="debug_print_shows_the_number", says="An f-string writes the tracer into the text while tracing.")
def f_string_in_debug_print(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print(f"intermediate value: {y}")
    return y * 2


@wrong(rejected_by="pythons_print_shows_a_tracer", says="Both prints are Python's.")
def python_prints_twice(x):
    y = x + 1
    print(f"intermediate value: {y}")
    print(f"intermediate value: {y}")
    return y * 2


@wrong(rejected_by="pythons_print_shows_a_tracer", says="Both prints are callbacks.")
def debug_prints_twice(x):
    y = x + 1
    jax.debug.print("intermediate value: {}", y)
    jax.debug.print("intermediate value: {}", y)
    return y * 2


@wrong(rejected_by="any_number_is_printed", says="The documented number is written down.")
def prints_a_fixed_number(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {}", jnp.where(x > 3, 3, y))
    return y * 2


@hidden(stage="jit", idea="Each call prints its own number.")
def any_number_is_printed(answer, draw):
    """Any number is printed at run time."""
    x = draw.integer(10, 1000)
    seen = answer.jit.observe(x)
    expect_that(seen.lines[-1:] == [f"intermediate value: {x + 1}"], "Another number is printed.", seen.lines)
    expect_close(plain(seen.value), 2 * (x + 1))


# %% what_arrives
@answer
def what_arrives(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(value)
        return np.asarray(value)

    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    jax.block_until_ready(jax.pure_callback(partial(note, "pure_callback"), promise, x))
    jax.block_until_ready(io_callback(partial(note, "io_callback"), promise, x))
    jax.debug.callback(lambda value: seen.update({"debug.callback": describe(value)}), x)
    jax.effects_barrier()
    return seen


@alternative
def under_jit_with_small_promises(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(value)
        return np.int32(0)

    @jax.jit
    def run(x):
        jax.debug.callback(lambda value: (note("debug.callback", value), None)[1], x)
        io_callback(lambda value: (note("io_callback", value), None)[1], None, x)
        return jax.pure_callback(partial(note, "pure_callback"), jax.ShapeDtypeStruct((), jnp.int32), x)

    run(x).block_until_ready()
    jax.effects_barrier()
    return seen


@wrong(rejected_by="the_host_gets_an_array_on_the_cpu", says="The argument is described while tracing.")
def describes_the_tracer(x):
    seen = {}

    @jax.jit
    def run(x):
        for kind in ("pure_callback", "io_callback", "debug.callback"):
            seen[kind] = describe(x)
        return x

    run(x)
    return seen


@wrong(rejected_by="the_host_gets_an_array_on_the_cpu", says="The argument is turned into a NumPy array first.")
def converts_first(x):
    seen = {}

    def note(kind, value):
        seen[kind] = describe(np.asarray(value))
        return np.asarray(value)

    promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
    jax.block_until_ready(jax.pure_callback(partial(note, "pure_callback"), promise, x))
    jax.block_until_ready(io_callback(partial(note, "io_callback"), promise, x))
    jax.debug.callback(lambda value: seen.update({"debug.callback": describe(np.asarray(value))}), x)
    jax.effects_barrier()
    return seen


@wrong(rejected_by="the_host_gets_an_array_on_the_cpu", says="Under jit an unused pure callback never runs.")
def loses_the_pure_callback(x):
    seen = {"pure_callback": "nothing"}

    def note(kind, value):
        seen[kind] = describe(value)

    @jax.jit
    def run(x):
        jax.pure_callback(lambda v: (note("pure_callback", v), np.asarray(v))[1], jax.typeof(x), x)
        io_callback(partial(note, "io_callback"), None, x)
        jax.debug.callback(partial(note, "debug.callback"), x)
        return x

    run(x).block_until_ready()
    jax.effects_barrier()
    return seen


@hidden(idea="The host gets the array that was handed over.")
def any_array_arrives(answer):
    """Any shape and dtype arrives."""
    got = entries(answer(np.ones((2, 4), np.int32)), ("pure_callback", "io_callback", "debug.callback"))
    right = all(text == "jax.Array int32[2, 4] on cpu" for text in got.values())
    expect_that(right, "The host functions get something else.", got)


# %% is_there
@answer
def is_there(path):
    home, _, name = path.rpartition(".")
    try:
        if hasattr(importlib.import_module(home), name):
            return True
        importlib.import_module(path)
        return True
    except ImportError:
        return False


@alternative
def tries_both(path):
    try:
        importlib.import_module(path)
        return True
    except ModuleNotFoundError:
        pass
    home, _, name = path.rpartition(".")
    try:
        exec(f"from {home} import {name}")
        return True
    except ImportError:
        return False


@wrong(rejected_by="the_three_kinds_are_there", says="Only modules are found, no names in modules.")
def modules_only(path):
    try:
        importlib.import_module(path)
        return True
    except ImportError:
        return False


@wrong(rejected_by="the_three_kinds_are_there", says="Every name is looked for in `jax` itself.")
def looks_into_jax_only(path):
    return hasattr(jax, path.rpartition(".")[2])


@wrong(rejected_by="host_callback_is_gone", says="What is deprecated is believed to be there.")
def trusts_the_guide(path):
    return path != "jax.experimental.no_callback"


@hidden(idea="Any dotted name will do.")
def any_path_is_answered(answer, draw):
    """Any name is answered with True or False."""
    number = draw.integer(1, 1000)
    for path, wanted in ((f"jax.lax.scan{number}", False), ("jax.lax.scan", True), ("no_such_package.name", False)):
        expect_that(truth(answer(path)) is wanted, "The answer is wrong.", not wanted, wanted)


# %% primitive_names
@answer
def primitive_names(f, x):
    return [equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns]


@alternative
def through_the_inner_jaxpr(f, x):
    names = []
    for equation in jax.make_jaxpr(lambda value: f(value))(x).jaxpr.eqns:
        names.append(str(equation.primitive))
    return tuple(names)


@wrong(rejected_by="each_equation_is_named", says="Only the first equation is read.")
def first_equation_only(f, x):
    return [jax.make_jaxpr(f)(x).eqns[0].primitive.name]


@wrong(rejected_by="each_equation_is_named", says="The names are sorted.")
def sorted_names(f, x):
    return sorted({equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns})


@wrong(rejected_by="debug_print_has_its_own_primitive", says="The old name is written for the new one.")
def old_name_for_debug_print(f, x):
    names = [equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns]
    return [name.replace("debug_print", "debug_callback") for name in names]


@hidden(idea="Repeated primitives are listed as often as they occur.")
def any_function_is_read(answer, reference):
    """Any function of the book is read."""
    got, wanted = (texts(one(given("wave_twice"), 1.0)) for one in (answer, reference))
    expect_that(got == wanted, "These are not the primitives, in order.", got, wanted)


# %% host_sine
@answer
def host_sine(x):
    def host(value):
        return np.sin(value).astype(value.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")


@alternative
def one_call_for_a_batch(x):
    return jax.pure_callback(lambda v: np.sin(np.asarray(v)), x, x, vmap_method="expand_dims")


@alternative
@jax.jit
def jitted(x):
    promise = jax.typeof(x)
    return jax.pure_callback(lambda v: np.sin(v).astype(np.float32), promise, x, vmap_method="broadcast_all")


@alternative
def made_by_the_helper(x):
    from jaxguide.callbacks import host_function

    return host_function(np.sin, elementwise=True)(x)


@wrong(rejected_by="under_jit_it_gives_the_same", says="NumPy is called directly, on a tracer.")
def numpy_on_a_tracer(x):
    return jnp.asarray(np.sin(x))


@wrong(rejected_by="the_host_computes_it", says="JAX's own sine is taken.")
def jnp_instead(x):
    return jnp.sin(x)


@wrong(rejected_by="any_shape_will_do", says="The shape is promised for the example only.")
def promises_five_numbers(x):
    shape = (5,) if x.ndim == 1 else ()
    promise = jax.ShapeDtypeStruct(shape, x.dtype)
    return jax.pure_callback(lambda v: np.sin(np.asarray(v)), promise, x, vmap_method="sequential")


@wrong(rejected_by="under_vmap_it_gives_the_same", says="The removed argument `vectorized` is used.")
def vectorized_argument(x):
    def host(value, vectorized=True):
        return np.sin(value).astype(value.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vectorized=True)


@hidden(stage="jit", idea="Transformations can be combined.")
def jit_of_vmap_of_vmap(answer, draw):
    """It works under vmap twice, and jit."""
    x = draw.floats(2, 3, 4)
    expect_close(answer.vmap().vmap().jit(x), np.sin(np.asarray(x)))


# %% sines_two_ways
@answer
def sines_two_ways(xs):
    def one(x):
        promise = jax.ShapeDtypeStruct(x.shape, jnp.float32)
        return jax.pure_callback(noisy_sine, promise, x, vmap_method="expand_dims")

    _, looped = jax.lax.scan(lambda carry, x: (carry, one(x)), None, xs)
    return looped, jax.vmap(one)(xs)


@alternative
@jax.jit
def map_and_a_whole_vector(xs):
    looped = jax.lax.map(lambda x: jax.pure_callback(noisy_sine, jax.ShapeDtypeStruct((), xs.dtype), x), xs)
    return looped, jax.pure_callback(noisy_sine, jax.ShapeDtypeStruct(xs.shape, xs.dtype), xs)


@alternative
def broadcast_all_of_them(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="broadcast_all")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jax.vmap(call)(xs)


@wrong(rejected_by="one_host_call_for_the_batch", says="`sequential` calls the host for each row.")
def sequential_batch(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="sequential")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jax.vmap(call)(xs)


@wrong(rejected_by="the_scan_stays_a_loop", says="A Python loop is written out in the program.")
def python_loop(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    return jnp.stack([call(x) for x in xs]), jax.vmap(call)(xs)


@wrong(rejected_by="one_host_call_for_the_batch", says="The result of the batch is used for both.")
def one_call_for_both(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    sines = jax.vmap(call)(xs)
    return jax.lax.scan(lambda carry, x: (carry, x), 0, sines)[1], sines


@wrong(rejected_by="both_ways_give_sines", says="The carry is returned for the outputs.")
def adds_them_up(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    _, looped = jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)
    return looped, jnp.cumsum(jax.vmap(call)(xs))


@hidden(idea="Any number of numbers.")
def any_length(answer, draw):
    """For any length both ways give sines."""
    xs = draw.floats(3)
    for part in parts(answer(xs), 2):
        expect_close(part, np.sin(np.asarray(xs)))
