# %%
import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import io_callback

from jaxguide.course.author import (
    StudentError,
    alternative,
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
    print(f"intermediate value: {y}")
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


@alternative
def adds_a_jax_number(x):
    y = jnp.add(x, jnp.int32(1))  # no weak type
    print(f"intermediate value: {y}")
    jax.debug.print("intermediate value: {}", y)
    return y * 2


@alternative
def prints_the_repr(x):
    y = jnp.asarray(x) + 1
    print("intermediate value: " + repr(y))
    jax.debug.print("intermediate value: {}", y)
    return y * 2


@wrong(rejected_by="debug_print_shows_the_number", says="An f-string writes the tracer into the text while tracing.")
def f_string_in_debug_print(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.print(f"intermediate value: {y}")
    return y * 2


@wrong(rejected_by="pythons_print_shows_a_tracer", says="Both prints are Python's.", misses_the_point=True)
def python_prints_twice(x):
    y = x + 1
    print(f"intermediate value: {y}")
    print(f"intermediate value: {y}")
    return y * 2


@alternative
def debug_print_first(x):
    y = x + 1
    jax.debug.print("intermediate value: {}", y)
    print("intermediate value", y, sep=": ")
    return 2 * y


@wrong(rejected_by="debug_print_shows_the_number", says="A callback of its own stands for `jax.debug.print`.")
def callback_for_debug_print(x):
    y = x + 1
    print(f"intermediate value: {y}")
    jax.debug.callback(lambda value: print(f"intermediate value: {value}"), y)
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


@hidden(
    stage="jit",
    idea="Numbers of more than 10, 0 and -1, and an int32 array.",
    on="a large number, 0, -1, and an int32 array",
)
def any_number_is_printed(answer, draw):
    """Large numbers, 0 and -1, and an int32 array are printed at run time."""
    for x in (draw.integer(10, 1000), 0, -1, jnp.int32(41)):
        seen, y = answer.jit.observe(x), int(x) + 1
        wanted = f"intermediate value: {y}"
        expect_that(seen.lines[-1:] == [wanted], "The program should print its own number.", seen.lines, wanted)
        expect_close(plain(seen.value), 2 * y)


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


@wrong(
    rejected_by="the_host_gets_an_array_on_the_cpu",
    says="The argument is described while tracing.",
    misses_the_point=True,
)
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


@wrong(rejected_by="all_three_kinds_are_called", says="The documented text is written down, and no host is called.")
def writes_down_the_text(x):
    text = f"jax.Array {x.dtype}{list(x.shape)} on cpu"
    return dict.fromkeys(("pure_callback", "io_callback", "debug.callback"), text)


@hidden(idea="A matrix of whole numbers, and a single number.", on="a matrix of integers, and a single integer")
def any_array_arrives(answer):
    """A matrix and a single number arrive as they are."""
    for shape in ((2, 4), ()):
        got = entries(answer(np.ones(shape, np.int32)), ("pure_callback", "io_callback", "debug.callback"))
        text = f"jax.Array int32{list(shape)} on cpu"
        message = f"Each host function should get a {text}."
        expect_that(all(one == text for one in got.values()), message, got, text)


@hidden(
    stage="cost",
    required=True,
    idea="All three kinds are called: what the host gets is seen on the host.",
    on="a vector of three floats",
)
def all_three_kinds_are_called(answer):
    """The program holds a call of each kind."""
    try:
        seen = answer.program(np.ones(3, np.float32)).primitives
    except StudentError as raised:
        if "block_until_ready" in str(raised):
            return  # waiting by this method cannot be traced, and is as good
        raise
    missing = [name for name in ("pure_callback", "io_callback", "debug_callback") if name not in seen]
    expect_that(not missing, "There should be a call of each kind.", f"no {', '.join(missing)}", "all three")


# %% is_there
@answer
def is_there(path):
    try:
        importlib.import_module(path)
        return True
    except ImportError:
        pass
    home, _, name = path.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), name)
    except (ImportError, ValueError):  # ValueError: there is no dot in path
        return False


@alternative
def by_pkgutil(path):
    import pkgutil

    try:
        pkgutil.resolve_name(path)
    except (ImportError, AttributeError):
        return False
    return True


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
    except (ImportError, SyntaxError):  # SyntaxError: there is no dot in path
        return False


@wrong(rejected_by="the_three_kinds_are_there", says="Only modules are found, no names in modules.")
def modules_only(path):
    try:
        importlib.import_module(path)
        return True
    except ImportError:
        return False


@wrong(rejected_by="modules_are_found", says="Only names in a module are found, no modules.")
def names_only(path):
    home, _, name = path.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), name)
    except (ImportError, ValueError):
        return False


@wrong(rejected_by="the_three_kinds_are_there", says="Every name is looked for in `jax` itself.")
def looks_into_jax_only(path):
    return hasattr(jax, path.rpartition(".")[2])


@wrong(rejected_by="host_callback_is_gone", says="What is deprecated is believed to be there.", misses_the_point=True)
def trusts_the_guide(path):
    return path != "jax.experimental.no_callback"


@wrong(rejected_by="names_in_other_modules", says="A name is looked for in every module that JAX has.")
def looks_into_many_modules(path):
    try:
        importlib.import_module(path)
        return True
    except ImportError:
        name = path.rpartition(".")[2]
        return any(hasattr(module, name) for module in (jax, jax.lax, jax.experimental, jax.debug))


@hidden(
    idea="A name that is in another module than the one before its dot, and names without JAX.",
    on="a name in the wrong module, and names outside JAX",
)
def names_in_other_modules(answer):
    """A name counts only in its own module."""
    for path, wanted in (
        ("jax.debug.scan", False),
        ("jax.io_callback", False),
        ("math.tau", True),
        ("math.scan", False),
    ):
        message = f"`{path}` should{'' if wanted else ' not'} be found."
        expect_that(truth(answer(path)) is wanted, message, not wanted, wanted)


@hidden(
    idea="Names that never were, with and without a dot, and a package that is not installed.",
    on="unknown names with and without dots, and a known one",
)
def any_path_is_answered(answer, draw):
    """Any name is answered with True or False."""
    name = f"scan{draw.integer(1, 1000)}"
    paths = {f"jax.lax.{name}": False, "jax.lax.scan": True, "no_such_package.name": False, f"no_{name}": False}
    for path, wanted in paths.items():
        message = f"`{path}` should{'' if wanted else ' not'} be found."
        expect_that(truth(answer(path)) is wanted, message, not wanted, wanted)


# %% primitive_names
@answer
def primitive_names(f, x):
    return [equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns]


@alternative
def through_the_inner_jaxpr(f, x):
    return tuple(str(equation.primitive) for equation in jax.make_jaxpr(lambda value: f(value))(x).jaxpr.eqns)


@wrong(rejected_by="each_equation_is_named", says="Only the first equation is read.", misses_the_point=True)
def first_equation_only(f, x):
    return [jax.make_jaxpr(f)(x).eqns[0].primitive.name]


@wrong(rejected_by="each_equation_is_named", says="The names are sorted.")
def sorted_names(f, x):
    return sorted({equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns})


@wrong(rejected_by="debug_print_has_its_own_primitive", says="The old name is written for the new one.")
def old_name_for_debug_print(f, x):
    names = [equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns]
    return [name.replace("debug_print", "debug_callback") for name in names]


@wrong(rejected_by="any_function_is_read", says="Each primitive is listed once.")
def each_name_once(f, x):
    return list(dict.fromkeys(equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns))


@wrong(rejected_by="no_equations_and_matrices", says="A program is believed to have an equation always.")
def at_least_one_equation(f, x):
    first, *others = jax.make_jaxpr(f)(x).eqns
    return [first.primitive.name, *(equation.primitive.name for equation in others)]


@hidden(idea="A function without any equation, and a matrix as argument.")
def no_equations_and_matrices(answer, reference):
    """A function that computes nothing has no primitives, and a matrix changes nothing."""
    got = texts(answer(given("look_at"), 1.0))
    expect_that(
        got == [],
        "A function that computes nothing should have no primitives.",
        got,
        [],
        on="a function that computes nothing",
    )
    for name in ("calls_io", "guides_sin"):
        got, wanted = (texts(one(given(name), np.ones((2, 3), np.float32))) for one in (answer, reference))
        expect_that(
            got == wanted,
            f"These should be the primitives of `{name}`, in order.",
            got,
            wanted,
            on="a matrix as the argument",
        )


@hidden(idea="A function in which a primitive comes twice.", on="a function with a primitive that comes twice")
def any_function_is_read(answer, reference):
    """A primitive that comes twice is named twice."""
    got, wanted = (texts(one(given("wave_twice"), 1.0)) for one in (answer, reference))
    expect_that(got == wanted, "These should be the primitives, in order.", got, wanted)


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


@wrong(rejected_by="the_host_computes_it", says="JAX's own sine is taken.", misses_the_point=True)
def jnp_instead(x):
    return jnp.sin(x)


@wrong(rejected_by="the_host_computes_it", says="The host is asked, and what it gives is forgotten.")
def forgets_what_the_host_gives(x):
    jax.pure_callback(lambda v: np.sin(np.asarray(v)), x, x, vmap_method="expand_dims")
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


@wrong(rejected_by="the_host_computes_it", says="The host is asked for nothing, and a cosine is shifted.")
def shifts_a_cosine(x):
    jax.pure_callback(lambda v: np.sin(np.asarray(v)), x, x, vmap_method="expand_dims")
    return jnp.cos(x - np.float32(np.pi / 2))


@wrong(rejected_by="one_number_none_and_infinity", says="Numbers are believed to be finite.")
def replaces_nan(x):
    host = lambda v: np.nan_to_num(np.sin(np.asarray(v)))
    return jax.pure_callback(host, x, x, vmap_method="expand_dims")


@hidden(stage="jit", required=True, idea="One number, no numbers, NaN and infinity, and a batch of one row.")
def one_number_none_and_infinity(answer, draw):
    """One number, no numbers, NaN and infinity, and a batch of one row come out as NumPy gives them."""
    with np.errstate(invalid="ignore"):
        for x in (draw.numpy(), np.zeros((0, 3), np.float32), np.float32([np.nan, np.inf, 3.0])):
            expect_close(
                answer.jit(x),
                np.float32(np.sin(x)),
                "This should be what NumPy gives.",
                on="one number, an empty array, NaN and infinity",
            )
        x = draw.numpy(1, 3)
        expect_close(answer.vmap()(x), np.sin(x), "A batch of one row should give one row.", on="a batch of one row")


@hidden(stage="jit", idea="A batch of batches, compiled.", on="a batch of batches, under `jax.jit`")
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


@wrong(
    rejected_by="one_host_call_for_the_batch", says="`sequential` calls the host for each row.", misses_the_point=True
)
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


@wrong(rejected_by="any_length", says="A batch of one is taken for no batch.")
def squeezes_one_number(xs):
    call = partial(jax.pure_callback, noisy_sine, jax.ShapeDtypeStruct((), jnp.float32), vmap_method="expand_dims")
    return jax.lax.scan(lambda carry, x: (carry, call(x)), 0, xs)[1], jnp.squeeze(jax.vmap(call)(xs))


@hidden(idea="Three numbers, and one number.", on="a vector of three numbers, and of one")
def any_length(answer, draw):
    """For three numbers and for one both ways give sines."""
    for n in (3, 1):
        xs = draw.floats(n)
        for part in parts(answer(xs), 2):
            expect_close(part, np.sin(np.asarray(xs)), "Both vectors should hold the sines.")


# %% used_or_dropped
@answer
def used_or_dropped(used):
    @jax.jit
    def program():
        value = jax.pure_callback(print_something, np.int32(0))
        return value if used else 1.0

    return program()


@alternative
def two_programs(used):
    promise = jax.ShapeDtypeStruct((), jnp.int32)

    @jax.jit
    def returns_it():
        return jax.pure_callback(print_something, promise)

    @jax.jit
    def forgets_it():
        jax.pure_callback(print_something, promise)
        return jnp.float32(1)

    return (returns_it if used else forgets_it)()


@alternative
@partial(jax.jit, static_argnames="used")
def static_argument(used):
    value = jax.pure_callback(print_something, jax.ShapeDtypeStruct((), jnp.int32))
    return value if used else jnp.ones(())


@wrong(rejected_by="unused_it_prints_nothing", says="Without jit nothing is compiled, and nothing dropped.")
def no_jit(used):
    value = jax.pure_callback(print_something, np.int32(0))
    return value if used else 1.0


@wrong(rejected_by="unused_it_prints_nothing", says="An io_callback runs though its result is not used.")
def io_callback_instead(used):
    @jax.jit
    def program():
        value = io_callback(print_something, np.int32(0))
        return value if used else 1.0

    return program()


@wrong(rejected_by="the_program_has_a_callback", says="The call is left out if its value is not used.")
def no_call_if_not_used(used):
    if not used:
        return jnp.float32(1)
    return jax.jit(lambda: jax.pure_callback(print_something, np.int32(0)))()


@wrong(rejected_by="unused_it_prints_nothing", says="Python prints while it traces.")
def prints_while_tracing(used):
    @jax.jit
    def program():
        value = print_something()
        return value if used else 1.0

    return program()


@wrong(rejected_by="used_it_prints", says="The value is written down, and the call forgotten.", misses_the_point=True)
def value_without_a_call(used):
    @jax.jit
    def program():
        jax.pure_callback(print_something, np.int32(0))
        return np.int32(0) if used else 1.0

    return program()


@hidden(stage="jit", kind="observed", idea="Calls with True and False in turn.", on="calls with True and False in turn")
def calls_in_turn(answer):
    """Used and unused in turn, it prints when used."""
    order = (False, True, False, True, True, True)
    lines = [seen.lines for seen in answer.observe_calls([(used,) for used in order])]
    wanted = [["printing something"] if used else [] for used in order]
    expect_that(lines == wanted, "It should print in the calls with True, and in no others.", lines, wanted)


# %% host_calls
@answer
def host_calls(program, x):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    jax.block_until_ready(jax.jit(lambda x: program(host, x))(x))
    jax.effects_barrier()
    return len(calls)


@alternative
def nonlocal_counter_and_partial(program, x):
    count = 0

    def host(value):
        nonlocal count
        count += 1
        return value

    jax.jit(partial(program, host))(x).block_until_ready()
    jax.effects_barrier()
    return count


@alternative
def static_host_function(program, x):
    seen = []

    def host(value):
        seen.append(float(value))
        return np.float32(value)

    jax.block_until_ready(jax.jit(program, static_argnums=0)(host, jnp.asarray(x)))
    jax.effects_barrier()
    return np.int64(len(seen))


@wrong(rejected_by="pure_calls_are_dropped_or_repeated", says="Without jit nothing is dropped.")
def counts_without_jit(program, x):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    jax.block_until_ready(program(host, jnp.asarray(x)))
    jax.effects_barrier()
    return len(calls)


@wrong(
    rejected_by="pure_calls_are_dropped_or_repeated",
    says="The traces are counted instead of the host calls.",
    misses_the_point=True,
)
def counts_traces(program, x):
    calls = []

    @jax.jit
    def run(x):
        calls.append(1)
        return program(lambda value: np.asarray(value), x)

    jax.block_until_ready(run(x))
    return len(calls)


@wrong(rejected_by="pure_calls_are_dropped_or_repeated", says="A first call to compile is counted too.")
def counts_the_warm_up(program, x):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    run = jax.jit(lambda x: program(host, x))
    jax.block_until_ready((run(x), run(x)))
    jax.effects_barrier()
    return len(calls)


@wrong(rejected_by="an_unused_io_callback_runs", says="The pure calls in the program are counted.")
def counts_equations(program, x):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    seen = []
    jax.block_until_ready(jax.jit(lambda x: program(host, x))(x))
    jax.effects_barrier()
    seen.extend(calls)
    return len(seen) if str(jax.make_jaxpr(lambda x: program(host, x))(x)).count("pure_callback") else 0


@wrong(rejected_by="other_programs_are_counted", says="The programs of the lesson are known by name.")
def knows_them_by_name(program, x):
    counts = {"never_used": 0, "twice_alike": 2, "for_four_rows": 4, "never_used_io": 1, "same_in_each_step": 1}
    return counts.get(program.__name__, 0)


@hidden(
    idea="Programs that the checks you see do not run.",
    on="programs with pure and io callbacks, ordered or not",
)
def other_programs_are_counted(answer):
    """Other programs are counted too."""
    got = calls_of(answer, "by_pure", "by_io", "by_io_ordered")
    expect_that(got == [1, 1, 1], "Each of these programs should call the host once.", got, [1, 1, 1])


@hidden(idea="The same program again, with another x.", on="the same program, run several times")
def a_second_run_counts_anew(answer):
    """A second run of the same program is counted from 0."""
    calls = [(given("by_pure"), np.float32(x)) for x in (2.0, 2.0, -3.0)]
    got = [plain(seen.value) for seen in answer.observe_calls(calls)]
    expect_that(got == [1, 1, 1], "Each run should count one call.", got, [1, 1, 1])


@hidden(
    idea="A program that asks the same thing in each step: the compiler asks once.",
    on="a loop that asks the same in each step",
)
def counts_in_a_loop(answer):
    """The same question in three steps is asked once."""
    got = calls_of(answer, "same_in_each_step")
    expect_that(got == [1], "For the same question in three steps there should be 1 call.", got, [1])


# %% predict_same_question
@answer
def predict_same_question():
    return 1


# %% inverse_or_nan
@answer
def inverse_or_nan(a):
    def host(a):
        a = np.asarray(a)
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.full(a.shape, np.nan, a.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(a.shape, a.dtype), a, vmap_method="sequential")


@alternative
def loops_over_the_batch_on_the_host(a):
    def host(batch):
        batch = np.asarray(batch)
        result = np.full_like(batch, np.nan)
        for index in np.ndindex(batch.shape[:-2]):
            try:
                result[index] = np.linalg.inv(batch[index])
            except np.linalg.LinAlgError:
                continue  # it is NaN already
        return result

    return jax.pure_callback(host, jax.typeof(jnp.asarray(a)), a, vmap_method="broadcast_all")


@wrong(
    rejected_by="tiny_and_stretched_matrices", says="The determinant of a matrix of small numbers may come out as 0."
)
def asks_for_the_determinant(a):
    def host(a):
        a = np.asarray(a)
        return np.linalg.inv(a) if np.linalg.det(a) != 0 else np.full(a.shape, np.nan, np.float32)

    promise = jax.ShapeDtypeStruct(a.shape, jnp.float32)
    return jax.pure_callback(host, promise, a, vmap_method="sequential")


@wrong(rejected_by="numpy_inverts_it", says="The host is asked for nothing, and JAX inverts.")
def asks_and_forgets(a):
    jax.pure_callback(lambda a: np.asarray(a), a, a, vmap_method="sequential")
    inverse = jnp.linalg.inv(a)
    return jnp.where(jnp.isfinite(inverse).all(), inverse, jnp.nan)


@wrong(rejected_by="tiny_and_stretched_matrices", says="The rank is counted up to a tolerance, and NumPy inverts more.")
def asks_for_the_rank_first(a):
    def host(a):
        a = np.asarray(a)
        if np.linalg.matrix_rank(a) < len(a):
            return np.full(a.shape, np.nan, np.float32)
        return np.linalg.inv(a)

    promise = jax.ShapeDtypeStruct(a.shape, jnp.float32)
    return jax.pure_callback(host, promise, a, vmap_method="sequential")


@wrong(rejected_by="a_singular_matrix_gets_nan", says="The exception is caught around the callback.")
def catches_outside(a):
    call = partial(jax.pure_callback, np.linalg.inv, vmap_method="sequential")
    try:
        return call(jax.ShapeDtypeStruct(a.shape, a.dtype), a)
    except np.linalg.LinAlgError:
        return jnp.full(a.shape, jnp.nan)


@wrong(rejected_by="under_jit_it_gives_nan_too", says="Without jit the exception can be caught; under jit not.")
def catches_every_exception_outside(a):
    call = partial(jax.pure_callback, np.linalg.inv, vmap_method="sequential")
    try:
        return jax.block_until_ready(call(jax.ShapeDtypeStruct(a.shape, a.dtype), a))
    except Exception:
        return jnp.full(a.shape, jnp.nan)


@wrong(rejected_by="in_a_batch_each_counts_for_itself", says="One call for the batch: NumPy raises for all matrices.")
def one_call_spoils_all(a):
    def host(a):
        a = np.asarray(a)
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.full(a.shape, np.nan, a.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(a.shape, a.dtype), a, vmap_method="broadcast_all")


@wrong(rejected_by="numpy_inverts_it", says="JAX's own inverse is taken, and no host is asked.", misses_the_point=True)
def jnp_instead(a):
    inverse = jnp.linalg.inv(a)
    return jnp.where(jnp.isfinite(inverse).all(), inverse, jnp.nan)


@wrong(rejected_by="a_singular_matrix_gets_nan", says="A pseudo-inverse is always there.")
def pseudo_inverse(a):
    promise = jax.ShapeDtypeStruct(a.shape, a.dtype)
    return jax.pure_callback(lambda a: np.linalg.pinv(np.asarray(a)), promise, a, vmap_method="sequential")


@hidden(
    stage="jit",
    required=True,
    idea="Matrices of tiny numbers, or with a large and a tiny one: NumPy inverts them.",
    on="a diagonal matrix with very small entries",
)
def tiny_and_stretched_matrices(answer):
    """Tiny and stretched matrices get the inverse that NumPy gives."""
    for numbers in ((1e-25, 1e-25), (1.0, 1e-9)):
        matrix = np.diag(np.float32(numbers))
        expect_close(answer.jit(matrix), np.linalg.inv(matrix), "This matrix should get its inverse.", rtol=1e-4)


@hidden(stage="jit", required=True, idea="Matrices of one number, a batch of one, and a batch of batches.")
def one_number_and_one_matrix(answer):
    """A matrix of one number and a batch of one matrix are inverted, and a batch of batches is."""
    expect_close(answer.jit(np.float32([[4.0]])), np.float32([[0.25]]), on="a matrix of one number")
    expect_close(
        answer.jit(np.float32([[0.0]])),
        np.float32([[np.nan]]),
        "The matrix [[0]] should give NaN.",
        on="a singular matrix of one number",
    )
    expect_close(
        answer.vmap()(REGULAR[None]),
        np.linalg.inv(REGULAR)[None],
        "A batch of one should give one inverse.",
        on="a batch of one matrix",
    )
    got = np.asarray(answer.vmap().vmap()(np.stack([REGULAR, SINGULAR])[None]))
    nan = np.isnan(got).all(axis=(2, 3)).tolist()
    expect_that(
        nan == [[False, True]],
        "Only the singular matrix should give NaN.",
        nan,
        [[False, True]],
        on="a batch of batches of matrices",
    )


@hidden(idea="Matrices of three by three, regular and singular.")
def any_size(answer):
    """It works for 3 by 3 matrices, regular and singular."""
    regular = np.array([[2, 0, 1], [0, 4, 0], [0, 0, 1]], np.float32)
    expect_close(answer(regular), np.linalg.inv(regular), on="a regular matrix of 3 rows and 3 columns")
    expect_close(
        answer(np.ones((3, 3), np.float32)),
        np.full((3, 3), np.nan, np.float32),
        on="a singular matrix of 3 rows and 3 columns",
    )


# %% draws_from_the_host
@answer
def draws_from_the_host(seed, x):
    generator = np.random.default_rng(seed)

    def like(x, ordered=False):
        promise = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return io_callback(partial(uniform_like, generator), promise, x, ordered=ordered)

    alone = jax.jit(like)(x).block_until_ready()
    mapped = jax.vmap(like)(x).block_until_ready()
    _, looped = jax.lax.scan(lambda carry, row: (carry, like(row, True)), None, x)
    return alone, mapped, looped


@alternative
def lambdas_and_map(seed, x):
    stream = np.random.default_rng(seed)
    like = lambda x: io_callback(lambda v: uniform_like(stream, v), x, x)
    alone = jax.block_until_ready(jax.jit(like)(x))
    mapped = jax.block_until_ready(jax.jit(jax.vmap(like))(x))
    step = lambda row: io_callback(lambda v: uniform_like(stream, v), row, row, ordered=True)
    return alone, mapped, jax.lax.map(step, x)


@wrong(rejected_by="the_draws_are_effects_in_order", says="The order in the scan is left to luck.")
def scan_without_order(seed, x):
    stream = np.random.default_rng(seed)
    like = lambda x: io_callback(lambda v: uniform_like(stream, v), x, x)
    alone = jax.block_until_ready(jax.jit(like)(x))
    mapped = jax.block_until_ready(jax.vmap(like)(x))
    return alone, mapped, jax.lax.scan(lambda carry, row: (carry, like(row)), None, x)[1]


@wrong(rejected_by="the_draws_are_effects_in_order", says="A pure callback draws, though each draw is a side effect.")
def pure_callback_for_a_stream(seed, x):
    stream = np.random.default_rng(seed)
    like = lambda x: jax.pure_callback(lambda v: uniform_like(stream, v), x, x, vmap_method="sequential")
    alone = jax.block_until_ready(jax.jit(like)(x))
    mapped = jax.block_until_ready(jax.vmap(like)(x))
    return alone, mapped, jax.lax.scan(lambda carry, row: (carry, like(row)), None, x)[1]


@wrong(rejected_by="the_draws_are_effects_in_order", says="NumPy draws alone, without JAX.", misses_the_point=True)
def no_callback_at_all(seed, x):
    stream, x = np.random.default_rng(seed), np.asarray(x)
    each = lambda: jnp.asarray(np.stack([uniform_like(stream, value) for value in x]))
    return jnp.asarray(uniform_like(stream, x)), each(), each()


@wrong(rejected_by="the_stream_is_drawn_as_documented", says="The generator starts again for each vector.")
def starts_again_each_time(seed, x):
    def like(x):
        stream = np.random.default_rng(seed)
        return io_callback(partial(uniform_like, stream), x, x)

    alone = jax.jit(like)(x).block_until_ready()
    mapped = jax.vmap(like)(x).block_until_ready()
    return alone, mapped, jax.lax.map(like, x)


@wrong(rejected_by="the_stream_is_drawn_as_documented", says="Python draws while it traces, before anything runs.")
def draws_while_tracing(seed, x):
    stream = np.random.default_rng(seed)
    like = lambda x: jnp.asarray(uniform_like(stream, x)) + 0 * x
    mapped = jax.vmap(like)(x).block_until_ready()
    return jax.jit(like)(x), mapped, jax.lax.map(like, x)


@wrong(rejected_by="the_stream_is_drawn_as_documented", says="The loop comes before the vmap.")
def scan_before_vmap(seed, x):
    stream = np.random.default_rng(seed)
    like = jax.jit(lambda x: io_callback(partial(uniform_like, stream), x, x))
    alone = like(x).block_until_ready()
    looped = jax.lax.map(like, x).block_until_ready()
    return alone, jax.vmap(like)(x), looped


@wrong(rejected_by="any_stream", says="A vector of one number is taken for a number.")
def squeezes_one_number(seed, x):
    stream = np.random.default_rng(seed)
    like = lambda x: io_callback(lambda v: uniform_like(stream, v), x, x)
    alone = jax.block_until_ready(jax.jit(like)(x))
    mapped = jax.block_until_ready(jax.vmap(like)(x))
    step = lambda row: io_callback(lambda v: uniform_like(stream, v), row, row, ordered=True)
    return jnp.squeeze(alone), jnp.squeeze(mapped), jnp.squeeze(jax.lax.map(step, x))


@hidden(idea="Other seeds, and five numbers or one.", on="a random seed, and five numbers or one")
def any_stream(answer, draw):
    """For other seeds, and for one number, the vectors are those of the stream."""
    for n in (5, 1):
        seed = draw.integer(1, 10_000)
        stream = np.random.default_rng(seed).uniform(size=3 * n).astype(np.float32)
        got = [np.asarray(vector) for vector in parts(answer(seed, np.ones(n, np.float32)), 3)]
        expect_close(got[0], stream[:n], "The first vector should be the first numbers of the stream.")
        expect_that(got[1].shape == (n,), "The mapped numbers should be a vector.", str(got[1].shape), f"({n},)")
        expect_close(
            np.sort(got[1]), np.sort(stream[n : 2 * n]), "The mapped numbers should be the next of the stream."
        )
        expect_close(got[2], stream[2 * n :], "The third vector should be the last numbers of the stream.")


# %% try_out
@answer
def try_out(kind, situation):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        return len(calls), f"{type(error).__name__}: {error}"
    return len(calls), ""


@alternative
def error_in_a_variable(kind, situation):
    seen, text = [], ""

    def host(value):
        seen.append(value)
        return value

    try:
        jax.tree.map(lambda leaf: leaf.block_until_ready(), situation(partial(kind, host)))
    except BaseException as error:
        text = type(error).__name__ + ": " + str(error)
    jax.effects_barrier()
    return [len(seen), text]


@wrong(rejected_by="the_row_of_io_callback", says="The class of the exception is left out.", misses_the_point=True)
def message_only(kind, situation):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except Exception as error:
        return len(calls), str(error)
    return len(calls), ""


@wrong(rejected_by="mapped_loops_are_complicated", says="Only two classes of exceptions are caught.")
def catches_two_classes(kind, situation):
    calls = []

    def host(value):
        calls.append(1)
        return np.asarray(value)

    try:
        jax.block_until_ready(situation(lambda x: kind(host, x)))
        jax.effects_barrier()
    except (ValueError, NotImplementedError, TypeError) as error:
        return len(calls), f"{type(error).__name__}: {error}"
    return len(calls), ""


@hidden(
    idea="Kinds that make two calls, or one whose value nobody uses.",
    on="two equal calls, and calls whose value is unused",
)
def other_kinds_of_calls(answer):
    """Two calls are counted as two, and a dropped call as none."""
    for kind, wanted in (("twice_alike", (2, "")), ("never_used", (0, "")), ("never_used_io", (1, ""))):
        got = tried(answer, kind, "under_jit")
        expect_that(got == wanted, f"`{kind}` under jit should make {wanted[0]} calls.", got, wanted)


@hidden(idea="`by_debug` in `vmap_of_scan`.", on="a debug callback in vmap of scan")
def any_pair(answer):
    """Another pair is reported as well."""
    got = tried(answer, "by_debug", "vmap_of_scan")
    expect_that(got == (6, ""), "debug.callback in vmap of scan: 6 calls, no error.", got)


# %% noted_totals
@answer
def noted_totals(xs):
    def step(total, x):
        total = total + x
        io_callback(note_total, None, total, ordered=True)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


@alternative
def notes_in_a_second_loop(xs):
    totals = jnp.cumsum(jnp.asarray(xs))
    jax.lax.map(lambda total: io_callback(note_total, None, total, ordered=True), totals)
    return totals


@alternative
@jax.jit
def by_a_fori_loop(xs):
    def body(i, state):
        total, totals = state
        total = total + xs[i]
        io_callback(lambda t: (note_total(t), np.int32(0))[1], jax.ShapeDtypeStruct((), jnp.int32), total, ordered=True)
        return total, totals.at[i].set(total)

    return jax.lax.fori_loop(0, len(xs), body, (jnp.float32(0), jnp.zeros(len(xs))))[1]


@alternative
def by_the_helper(xs):
    from jaxguide.callbacks import io_function

    note = io_function(note_total, out=None)

    def step(total, x):
        total = total + x
        note(total)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


@wrong(rejected_by="the_order_is_promised", says="The order is left to luck.", misses_the_point=True)
def unordered(xs):
    def step(total, x):
        total = total + x
        io_callback(note_total, None, total)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


@wrong(rejected_by="the_loop_is_in_the_program", says="A Python loop is written out in the program.")
def python_loop(xs):
    total, totals = jnp.float32(0), []
    for x in xs:
        total = total + x
        io_callback(note_total, None, total, ordered=True)
        totals.append(total)
    return jnp.stack(totals)


@wrong(rejected_by="each_total_is_noted", says="Python notes the tracer while it traces.", misses_the_point=True)
def notes_while_tracing(xs):
    def step(total, x):
        total = total + x
        print("total", total)
        return total, total

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


@wrong(rejected_by="each_total_is_noted", says="The number is noted instead of the total.")
def notes_the_numbers(xs):
    def step(total, x):
        io_callback(note_total, None, x, ordered=True)
        return total + x, total + x

    return jax.lax.scan(step, jnp.float32(0.0), xs)[1]


@wrong(rejected_by="any_totals", says="A vector of one number is taken for a number.")
def squeezes_one_number(xs):
    def step(total, x):
        total = total + x
        io_callback(note_total, None, total, ordered=True)
        return total, total

    return jnp.squeeze(jax.lax.scan(step, jnp.float32(0.0), xs)[1])


@hidden(
    stage="jit",
    kind="observed",
    idea="Numbers of both signs, with a 0 among them, and one number alone.",
    on="whole numbers with a 0 among them, or one alone",
)
def any_totals(answer, draw):
    """For numbers of both signs, and for one number, the totals are noted in order."""
    for xs in ([draw.integer(-9, 9), 0, *(draw.integer(-9, 9) for _ in range(3))], [draw.integer(1, 9)]):
        xs = np.array(xs, np.float32)
        seen, totals = answer.jit.observe(xs), np.cumsum(xs)
        expect_close(seen.value, totals, "The result should be the running totals.")
        wanted = [f"total {total:.1f}" for total in totals]
        expect_that(seen.lines == wanted, "The totals should be noted in order.", seen.lines, wanted)


# %% gradient_or_reason
@answer
def gradient_or_reason(f, x):
    try:
        return jax.grad(lambda value: f(value).sum())(x)
    except ValueError as error:
        return str(error)


@alternative
def by_vjp(f, x):
    try:
        y, pull = jax.vjp(f, jnp.asarray(x))
    except ValueError as error:
        return error.args[0]
    return pull(jnp.ones_like(y))[0]


@alternative
def by_value_and_grad(f, x):
    total = lambda value: jnp.sum(f(value))
    try:
        return jax.value_and_grad(total)(x)[1]
    except Exception as error:
        return f"{error}"


@wrong(
    rejected_by="a_pure_callback_has_no_derivative",
    says="Only making the gradient function is tried.",
    misses_the_point=True,
)
def tries_too_early(f, x):
    try:
        gradient = jax.grad(lambda value: f(value).sum())
    except ValueError as error:
        return str(error)
    return gradient(x)


@wrong(rejected_by="a_gradient_where_there_is_one", says="A vector is differentiated, and that error told.")
def differentiates_a_vector(f, x):
    try:
        return jax.grad(f)(x)
    except (ValueError, TypeError) as error:
        return str(error)


@wrong(rejected_by="a_pure_callback_has_no_derivative", says="The class of the error is given for its message.")
def class_for_message(f, x):
    try:
        return jax.grad(lambda value: f(value).sum())(x)
    except ValueError as error:
        return repr(error)


@wrong(rejected_by="a_callback_beside_the_derivative_runs", says="f is run once more to see whether it works.")
def runs_f_first(f, x):
    jax.block_until_ready(f(x))
    try:
        return jax.grad(lambda value: f(value).sum())(x)
    except ValueError as error:
        return str(error)


@wrong(rejected_by="functions_not_seen_before", says="The functions of the lesson are known by name.")
def knows_them_by_name(f, x):
    reasons = {
        "host_sine_of": "Pure callbacks do not support JVP. "
        "Please use `jax.custom_jvp` to use callbacks while taking gradients.",
        "host_noise_like": "IO callbacks do not support JVP.",
    }
    if f.__name__ in reasons:
        return reasons[f.__name__]
    jax.block_until_ready(f(x))
    return 3 * x**2 if f.__name__ == "cube" else jnp.ones_like(x)


@hidden(idea="Functions that the checks you see do not use: one has a gradient, one has none.")
def functions_not_seen_before(answer, draw):
    """Other functions are differentiated, or their reason is given."""
    x = draw.floats(3)
    wanted = 2 * np.cos(2 * np.sin(np.asarray(x, np.float64))) * np.cos(np.asarray(x, np.float64))
    got = answer(given("wave_twice"), x)
    expect_close(
        got,
        wanted.astype(np.float32),
        "For `wave_twice` the gradient should be returned.",
        rtol=1e-4,
        on="a function without any callback",
    )
    got = answer(given("guides_sin"), x)
    expect_that(
        isinstance(got, str),
        "For `guides_sin` the reason should be returned.",
        got,
        on="another function with a pure callback",
    )


@hidden(idea="A matrix, with functions that have a gradient.")
def any_shape_has_a_gradient(answer, draw):
    """Arrays of any shape have a gradient."""
    x = draw.floats(2, 3)
    expect_close(answer(given("cube"), x), 3 * np.asarray(x) ** 2, on="a matrix, for a function without callbacks")
    expect_close(
        answer(given("says_hello"), x), np.ones((2, 3), np.float32), on="a matrix, for a function with a callback"
    )


# %% log_and_pass
@answer
def log_and_pass(x):
    jax.debug.callback(log_value, x)
    return x


@alternative
@jax.jit
def by_debug_print(x):
    jax.debug.print("log: {}", x)
    return x


@alternative
def ordered_and_jitted_inside(x):
    @jax.jit
    def run(x):
        jax.debug.callback(lambda value: print(f"log: {value}"), x)
        return x

    return run(x)


@wrong(rejected_by="it_logs_under_jit", says="Python logs the tracer.", misses_the_point=True)
def logs_the_tracer(x):
    log_value(x)
    return x


@wrong(rejected_by="it_logs_under_jit", says="A pure callback that nobody needs is dropped.")
def pure_callback_for_a_log(x):
    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.pure_callback(lambda v: (log_value(v), np.int32(0))[1], promise, x, vmap_method="sequential")
    return x


@wrong(rejected_by="it_logs_under_grad", says="An io_callback has no derivative.")
def io_callback_for_a_log(x):
    io_callback(log_value, None, x)
    return x


@hidden(
    stage="gradient",
    kind="observed",
    idea="`jit` of `vmap` of `grad`, for three rows.",
    on="three numbers, under jit of vmap of grad",
)
def it_logs_under_jit_of_vmap_of_grad(answer, draw):
    """Under jit of vmap of grad each row is logged."""
    xs = np.array([draw.integer(1, 99) for _ in range(3)], np.float32)
    seen = answer.grad().vmap().jit.observe(xs)
    expect_close(seen.value, np.ones(3, np.float32))
    expect_that(sorted(seen.lines) == sorted(f"log: {x}" for x in xs), "Other lines are logged.", seen.lines)


# %% what_debug_sees
@answer
def what_debug_sees(transform, x):
    seen, came_back = [], []

    def host(value):
        seen.append(float(value))
        return 42

    def f(x):
        came_back.append(str(jax.debug.callback(host, x)))
        return jnp.sin(x)

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, came_back[0]


@alternative
def notes_numpy_numbers(transform, x):
    seen, text = [], ""

    def f(x):
        nonlocal text
        text = repr(jax.debug.callback(lambda value: (seen.append(value), 42)[1], x))
        return jnp.sin(x)

    transform(f, x)
    jax.effects_barrier()
    return [np.float32(value) for value in seen], text


@wrong(rejected_by="it_mirrors_what_runs", says="Python counts while it traces.", misses_the_point=True)
def counts_traces(transform, x):
    seen = []

    def f(value):
        seen.append(float(x))
        return jnp.sin(value)

    transform(f, x)
    return seen, "None"


@wrong(rejected_by="it_mirrors_what_runs", says="The host's 42 is expected to come back.")
def expects_42(transform, x):
    seen = []

    def f(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x)
        return jnp.sin(x)

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, "42"


@wrong(rejected_by="it_mirrors_what_runs", says="The result is watched instead of x.")
def watches_the_sine(transform, x):
    seen = []

    def f(x):
        y = jnp.sin(x)
        jax.debug.callback(lambda value: seen.append(float(value)), y)
        return y

    jax.block_until_ready(transform(f, x))
    jax.effects_barrier()
    return seen, "None"


@hidden(idea="Positive and negative x, 0, and a shape alone.")
def any_x_is_seen(answer, draw):
    """Positive x, negative x and 0 are seen, and None comes back."""
    for x in (draw.integer(2, 99) / 4, -0.5, 0.0):
        calls, came_back = debug_saw(answer, "gradient_of_checkpoint", x)
        expect_that(
            calls == 2,
            "Under grad of checkpoint there should be 2 calls.",
            calls,
            2,
            on="a positive x, a negative x, and 0",
        )
        expect_that(
            came_back == "None",
            "Nothing should come back: 'None'.",
            came_back,
            "None",
            on="a positive x, a negative x, and 0",
        )
    got = debug_saw(answer, "shape_only", 2.0)
    expect_that(
        got == (0, "None"),
        "For a shape alone there should be no call.",
        got,
        (0, "None"),
        on="a transformation that asks for the shape alone",
    )


# %% predict_watched_rows
@answer
def predict_watched_rows():
    return 3


# %% host_bessel
@answer
def host_bessel(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    v, z = jnp.broadcast_arrays(v, z.astype(jnp.result_type(float, z.dtype)))

    def host(v, z):
        return scipy.special.jv(v, z).astype(z.dtype)

    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@alternative
def sequential_with_type_error(v, z):
    if jnp.result_type(v).kind != "i":
        raise TypeError("the order must be an integer")
    v, z = jnp.asarray(v), jnp.asarray(z, jnp.float32)
    promise = jax.eval_shape(jnp.add, v.astype(jnp.float32), z)
    host = lambda v, z: np.asarray(scipy.special.jv(np.asarray(v), np.asarray(z)), np.float32)
    return jax.pure_callback(host, promise, v, z, vmap_method="sequential")


@alternative
def broadcast_before(v, z):
    assert jnp.issubdtype(jnp.result_type(v), jnp.integer)
    v, z = jnp.broadcast_arrays(v, jnp.float32(1) * z)
    host = lambda v, z: scipy.special.jv(v, z).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, jnp.float32), v, z, vmap_method="expand_dims")


@alternative
def by_the_helper(v, z):
    from jaxguide.callbacks import host_function

    if not jnp.issubdtype(jnp.result_type(v), jnp.integer):
        raise ValueError("integer orders only")
    slope = lambda v, z: (bessel(v - 1, z) - bessel(v + 1, z)) / 2
    bessel = host_function(scipy.special.jv, elementwise=True, derivative=(None, slope))
    return bessel(v, jnp.asarray(z, jnp.float32))


@wrong(rejected_by="the_same_under_vmap", says="Nothing is said about a batch.")
def no_vmap_method(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype), v, z)


@wrong(rejected_by="orders_and_points_of_different_shapes", says="The batch axis of z pairs off with the orders.")
def batch_axis_meets_the_orders(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    host = lambda v, z: np.broadcast_to(scipy.special.jv(v, z), np.broadcast_shapes(v.shape, z.shape)).astype(z.dtype)
    promise = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(host, promise, v, z, vmap_method="broadcast_all")


@wrong(rejected_by="shapes_and_dtypes_are_kept", says="The shape of z is promised, whatever that of v.")
def promises_the_shape_of_z(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z)
    assert jnp.issubdtype(v.dtype, jnp.integer)
    z = z.astype(jnp.result_type(float, z.dtype))
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, z.dtype), v, z, vmap_method="broadcast_all")


@wrong(rejected_by="shapes_and_dtypes_are_kept", says="Any order is computed.")
def any_order(v, z):
    v, z = jnp.asarray(v), jnp.asarray(z, jnp.float32)
    host = lambda v, z: scipy.special.jv(v, z).astype(z.dtype)
    promise = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(host, promise, v, z, vmap_method="broadcast_all")


@wrong(rejected_by="the_same_under_jit", says="SciPy is called on a tracer.", misses_the_point=True)
def scipy_on_a_tracer(v, z):
    assert jnp.issubdtype(jnp.asarray(v).dtype, jnp.integer)
    return jnp.asarray(scipy.special.jv(np.asarray(v), np.asarray(z)), jnp.float32)


@wrong(rejected_by="tiny_values_and_negative_points", says="The computation is cut to half precision on the way.")
def rounds_to_six_decimals(v, z):
    assert jnp.issubdtype(jnp.result_type(v), jnp.integer)
    v, z = jnp.broadcast_arrays(v, jnp.asarray(z, jnp.float32))
    host = lambda v, z: np.round(scipy.special.jv(v, z), 6).astype(np.float32)
    return jax.pure_callback(host, jax.ShapeDtypeStruct(z.shape, jnp.float32), v, z, vmap_method="expand_dims")


@hidden(
    stage="jit",
    required=True,
    idea="High orders at small points, where the values are tiny, and negative points.",
    on="high orders at small points, and negative points",
)
def tiny_values_and_negative_points(answer):
    """Tiny values are exact too, and negative points have their values."""
    v, z = np.array([6, 8, 5, 0], np.int32), np.float32([0.5, 1.0, -1.5, -2.0])
    message = "Tiny values and those at negative points should be SciPy's."
    expect_close(answer.jit(v, z), bessel_values(v, z), message, rtol=1e-4, atol=0.0)


@hidden(
    stage="jit",
    required=True,
    idea="A batch of orders with all points for each, and a batch of one.",
    on="a batch of orders, and a batch of one",
)
def a_batch_of_orders(answer):
    """Under vmap over v alone, each row has all points; a batch of one has one row."""
    z = np.float32([0.5, 1.5, 2.5, 3.5])
    for v in (np.array([0, 1, 2], np.int32), np.array([3], np.int32)):
        got = answer.vmap(in_axes=(0, None))(v, z)
        expect_close(got, bessel_values(v[:, None], z), "Row i should be the order v[i] at all points.", atol=1e-5)


@hidden(
    stage="jit",
    idea="Three orders and points, in one batch, compiled.",
    on="random orders and points in a batch, under `jax.jit`",
)
def any_orders(answer, draw):
    """Any orders and arguments, under jit and vmap over both."""
    v = np.array([draw.integer(0, 5) for _ in range(3)], np.int32)
    z = np.abs(draw.numpy(3)) + np.float32(0.5)
    expect_close(answer.vmap().jit(v, z), bessel_values(v, z), atol=1e-5)


# %% bessel
@answer
def bessel(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v == 0, -bessel(v + 1, z), 0.5 * (bessel(v - 1, z) - bessel(v + 1, z)))
        return bessel(v, z), slope * dz

    return function(v, z)


@alternative
def one_formula_for_all_orders(v, z):
    from jaxguide.callbacks import host_function

    slope = lambda v, z: (bessel(v - 1, z) - bessel(v + 1, z)) / 2
    bessel = host_function(scipy.special.jv, elementwise=True, derivative=(None, slope))
    return bessel(v, z)


@wrong(rejected_by="any_point_has_a_slope", says="The formula divides by z, and z may be 0.")
def divides_by_z(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    # J_v' = v / z * J_v - J_(v+1)
    function.defjvp(lambda primals, tangents: (function(*primals), tangents[1] * slope(*primals)))

    def slope(v, z):
        return v / z * function(v, z) - function(v + 1, z)

    return function(v, z)


@wrong(rejected_by="the_slope_of_j1_is_as_documented", says="There is no rule.", misses_the_point=True)
def no_rule(v, z):
    return scipy_jv(v, z + 0)


@wrong(
    rejected_by="higher_derivatives_come_for_free",
    says="The rule calls SciPy's function, which has no rule.",
    misses_the_point=True,
)
def rule_calls_the_host(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        return function(v, z), 0.5 * (scipy_jv(v - 1, z) - scipy_jv(v + 1, z)) * dz

    return function(v, z)


@alternative
@jax.jit
def value_with_a_jvp_of_its_own(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    function.defjvp(lambda primals, tangents: (function(*primals), tangents[1] * slope(*primals)))

    def slope(v, z):  # J_(-1) is -J_1, so one formula serves all orders
        return (function(v - 1, z) - function(v + 1, z)) / 2

    return function(v, z)


@wrong(rejected_by="slopes_follow_the_recurrence", says="The sign of the slope of J_0 is forgotten.")
def plus_j1_for_order_zero(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v == 0, bessel(v + 1, z), 0.5 * (bessel(v - 1, z) - bessel(v + 1, z)))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(rejected_by="the_slope_of_j1_is_as_documented", says="The half is forgotten.")
def without_the_half(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        return function(v, z), (bessel(v - 1, z) - bessel(v + 1, z)) * dz

    return function(v, z)


@wrong(rejected_by="many_orders_at_once", says="Python's `if` needs the value of the order.")
def python_if_on_the_order(v, z):
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(v, primals, tangents):
        (z,), (dz,) = primals, tangents
        slope = -bessel(v + 1, z) if v == 0 else 0.5 * (bessel(v - 1, z) - bessel(v + 1, z))
        return function(v, z), slope * dz

    return function(v, z)


@wrong(rejected_by="orders_zero_and_high", says="The slopes of high orders are believed to be 0.")
def stops_at_order_four(v, z):
    @jax.custom_jvp
    def function(v, z):
        return scipy_jv(v, z)

    @function.defjvp
    def rule(primals, tangents):
        (v, z), (_, dz) = primals, tangents
        slope = jnp.where(v > 4, 0.0, 0.5 * (bessel(v - 1, z) - bessel(v + 1, z)))
        return function(v, z), slope * dz

    return function(v, z)


@hidden(
    stage="gradient",
    kind="value",
    required=True,
    idea="High orders, where slopes are tiny, negative points, and second derivatives of J_0.",
)
def orders_zero_and_high(answer):
    """Tiny slopes are exact, at negative points too, and J_0 has its second derivative."""
    slope = answer.grad(argnums=1)
    for v, z in ((5, 1.0), (7, 1.5), (3, -2.0)):
        wanted = np.float32(scipy.special.jvp(v, z))
        message = f"The slope of J_{v} at {z} should be {wanted:.6g}."
        expect_close(
            slope(v, np.float32(z)),
            wanted,
            message,
            rtol=1e-3,
            atol=0.0,
            on="higher orders, at positive and negative points",
        )
    wanted = np.float32(scipy.special.jvp(0, 1.5, 2))
    message = f"The second derivative of J_0 at 1.5 should be {wanted:.6g}."
    expect_close(
        slope.grad(argnums=1)(0, np.float32(1.5)), wanted, message, atol=1e-5, on="the second derivative at order 0"
    )


@hidden(
    stage="gradient",
    kind="value",
    idea="The point 0, and points up to 5.",
    on="several orders at random points, and the point 0",
)
def any_point_has_a_slope(answer, draw):
    """The slope is right at any point."""
    z = np.float32(draw.integer(1, 40) / 8)
    for v, at in ((0, z), (4, z), (1, np.float32(0.0))):
        expect_close(answer.grad(argnums=1)(v, at), np.float32(scipy.special.jvp(v, float(at))), atol=1e-5)


# %% addresses
@answer
def addresses(x):
    seen = {"device": x.unsafe_buffer_pointer(), "view": np.asarray(x).ctypes.data}

    def host(value):
        seen["host"] = np.asarray(value).ctypes.data
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return seen


@alternative
def jax_and_array_interface(x):
    found = []

    @jax.jit
    def run(x):
        def host(value):
            found.append(value.unsafe_buffer_pointer())
            return np.asarray(value)

        return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    run(x).block_until_ready()
    view = np.asarray(x).__array_interface__["data"][0]
    return {"host": found[0], "view": view, "device": x.addressable_data(0).unsafe_buffer_pointer()}


@wrong(
    rejected_by="the_view_lies_where_x_lies",
    says="`id` is taken for the address of the numbers.",
    misses_the_point=True,
)
def ids_for_addresses(x):
    seen = {"device": id(x), "view": id(np.asarray(x))}

    def host(value):
        seen["host"] = id(value)
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return seen


@wrong(rejected_by="the_host_gets_a_copy", says="The address is looked up outside of the host function.")
def looks_outside_the_host(x):
    seen = {"device": x.unsafe_buffer_pointer(), "view": np.asarray(x).ctypes.data}

    def host(value):
        seen["host"] = np.asarray(x).ctypes.data
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return seen


@wrong(rejected_by="the_view_lies_where_x_lies", says="Nobody uses the result, so the host function never runs.")
def result_is_not_used(x):
    seen = {"device": x.unsafe_buffer_pointer(), "view": np.asarray(x).ctypes.data, "host": 0}

    def host(value):
        seen["host"] = np.asarray(value).ctypes.data
        return np.int32(0)

    @jax.jit
    def run(x):
        jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.int32), x)
        return x

    run(x).block_until_ready()
    return seen


@wrong(rejected_by="the_view_lies_where_x_lies", says="A copy is taken for a view.")
def copies_for_the_view(x):
    copied = np.array(x)
    seen = {"device": x.unsafe_buffer_pointer(), "view": copied.ctypes.data}

    def host(value):
        seen["host"] = np.asarray(value).ctypes.data
        return np.int32(0)

    promise = jax.ShapeDtypeStruct((), jnp.int32)
    jax.jit(lambda x: jax.pure_callback(host, promise, x))(x).block_until_ready()
    return seen


@hidden(kind="relation", idea="An array of 777 numbers.", on="an array of several hundred numbers")
def any_size_is_copied(answer):
    """For another size the view is no copy, and the host's array is one."""
    got = places(answer, 777)
    message = "The view should lie where x lies, and the host's array elsewhere."
    expect_that(got == (True, False), message, got, (True, False))
