# %%
import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    answer,
    expect_close,
    expect_that,
    given,
    hidden,
    wrong,
)


# %% nth_derivative
@answer
def nth_derivative(f, n):
    for _ in range(n):
        f = jax.grad(f)
    return f


@alternative
def by_recursion(f, n):
    return f if n == 0 else jax.grad(nth_derivative(f, n - 1))


@alternative
def in_forward_mode(f, n):
    for _ in range(n):
        f = jax.jacfwd(f)
    return f


@alternative
def folded(f, n):
    from functools import reduce

    return reduce(lambda g, _: jax.grad(g), range(n), f)


@wrong(
    rejected_by="the_next_derivatives_of_tanh",
    says="A power of the slope is taken for a derivative of the slope.",
    misses_the_point=True,
)
def power_of_the_slope(f, n):
    return lambda x: jax.grad(f)(x) ** n if n else f(x)


@wrong(
    rejected_by="the_next_derivatives_of_tanh",
    says="The slope is put in as the next point, where the slope function should be differentiated.",
)
def feeds_the_slope_back(f, n):
    def derivative(x):
        for _ in range(n):
            x = jax.grad(f)(x)
        return x

    return derivative


@wrong(rejected_by="number_zero_is_the_function_itself", says="`jax.grad` is applied once even for n = 0.")
def at_least_one_derivative(f, n):
    f = jax.grad(f)
    for _ in range(n - 1):
        f = jax.grad(f)
    return f


@wrong(rejected_by="the_first_derivative_of_tanh", says="One derivative too many.")
def one_too_many(f, n):
    for _ in range(n + 1):
        f = jax.grad(f)
    return f


@wrong(rejected_by="high_orders_of_other_functions", says="The list of derivatives ends with the fourth.")
def a_list_of_derivatives(f, n):
    derivatives = [f]
    for _ in range(4):
        derivatives.append(jax.grad(derivatives[-1]))
    return derivatives[min(n, 4)]


@wrong(rejected_by="high_orders_of_other_functions", says="The formulas of the lesson's functions are written down.")
def formulas_of_the_lesson(f, n):
    def tanhs(x):
        t = jnp.tanh(x)
        s = 1 - t**2
        return (t, s, -2 * t * s, (6 * t**2 - 2) * s, (16 * t - 24 * t**3) * s)[n]

    def cubics(x):
        return (x**3 + 2 * x**2 - 3 * x + 1, 3 * x**2 + 4 * x - 3, 6 * x + 4, 6.0, 0.0)[min(n, 4)]

    def waves(x):
        return 2**n * jnp.sin(2 * x + n * jnp.pi / 2)

    return {"tanh": tanhs, "cubic": cubics}.get(f.__name__, waves)


@hidden(
    idea="The derivatives 1 and 2 of another function, and the derivatives 5 and 6.",
    on="other functions, for low and for high orders",
)
def high_orders_of_other_functions(answer):
    """The first derivatives of the sigmoid and the fifth and sixth of sin(2x) are right."""
    s = 1 / (1 + np.exp(-0.7))
    wanted = {("sigmoid", 1): s * (1 - s), ("sigmoid", 2): s * (1 - s) * (1 - 2 * s)}
    wanted |= {("wave", n): 2**n * np.sin(1.4 + n * np.pi / 2) for n in (5, 6)}
    for (name, n), value in wanted.items():
        message = f"The derivative number {n} of `{name}` at 0.7 should be {value:.6g}."
        expect_close(answer.then(given(name), n)(0.7), np.float32(value), message, rtol=1e-4)


@hidden(
    idea="The derivatives 1, 2 and 4 of sin(2x), at positive and negative points.",
    on="sin(2x), at a point between -1 and 1",
)
def any_function_and_order(answer, draw, reference):
    """For other functions and orders it gives the right derivative."""
    x = draw.integer(-9, 10) / 10
    for n in (1, 2, 4):
        wanted = 2**n * np.sin(2 * x + n * np.pi / 2)
        expect_close(answer.then(given("wave"), n)(x), jnp.float32(wanted), rtol=1e-4, atol=1e-4)


# %% derivative_table
@answer
def derivative_table(f, xs):
    rows = []
    for _ in range(5):
        rows.append(jax.vmap(f)(xs))
        f = jax.grad(f)
    return jnp.stack(rows)


@alternative
def slope_of_the_sum(f, xs):
    rows = [f(xs)]
    for _ in range(4):
        f = jax.grad(lambda x, f=f: jnp.sum(f(x)))
        rows.append(f(xs))
    return jnp.array(rows)


@alternative
def pushed_forward(f, xs):
    def slope(g):
        return lambda x: jax.jvp(g, (x,), (jnp.ones_like(x),))[1]

    rows = []
    for _ in range(5):
        rows.append(f(xs))
        f = slope(f)
    return jnp.stack(rows)


@wrong(rejected_by="five_rows_of_n_numbers", says="`jax.grad` is called with all points at once, without `vmap`.")
def grad_of_a_vector(f, xs):
    rows = [f(xs)]
    for _ in range(4):
        f = jax.grad(f)
        rows.append(f(xs))
    return jnp.stack(rows)


@wrong(rejected_by="the_cubic_and_its_slope", says="The table starts with the slope, not with the function.")
def starts_with_the_slope(f, xs):
    rows = []
    for _ in range(5):
        f = jax.grad(f)
        rows.append(jax.vmap(f)(xs))
    return jnp.stack(rows)


@wrong(
    rejected_by="any_function_can_be_tabulated",
    says="The formulas of the cubic are written down for every function.",
    misses_the_point=True,
)
def formulas_of_the_cubic(f, xs):
    one = jnp.ones_like(xs)
    return jnp.stack([f(xs), 3 * xs**2 + 4 * xs - 3, 6 * xs + 4, 6 * one, 0 * one])


@wrong(rejected_by="the_documented_derivatives", says="Every row is the slope once more, without going on.")
def the_slope_four_times(f, xs):
    return jnp.stack([jax.vmap(f)(xs)] + [jax.vmap(jax.grad(f))(xs)] * 4)


@wrong(rejected_by="one_point_of_another_function", says="A batch of one is taken for no batch.")
def squeezes_one_point(f, xs):
    rows = []
    for _ in range(5):
        rows.append(jax.vmap(f)(xs))
        f = jax.grad(f)
    return jnp.squeeze(jnp.stack(rows))


@hidden(idea="One point, and a function that the checks you see do not use.", on="a single point, for another function")
def one_point_of_another_function(answer):
    """For the sigmoid at one point, the table has one column."""
    s = 1 / (1 + np.exp(-0.7))
    slope = s * (1 - s)
    rows = [s, slope, slope * (1 - 2 * s), slope * (1 - 6 * slope), slope * (1 - 2 * s) * (1 - 12 * slope)]
    got = answer(given("sigmoid"), np.float32([0.7]))
    expect_close(got, np.float32(rows)[:, None], "The table should have one column.", rtol=1e-3, atol=1e-4)


@hidden(idea="tanh, at nine points.", on="the function tanh, at nine points")
def any_points(answer, draw, reference):
    """For tanh and other points, each derivative is right too."""
    xs = draw.numpy(9)
    t = np.tanh(xs.astype(np.float64))
    s = 1 - t**2
    wanted = np.stack([t, s, -2 * t * s, (6 * t**2 - 2) * s, (16 * t - 24 * t**3) * s])
    expect_close(answer(given("tanh"), xs), wanted.astype("float32"), rtol=1e-4, atol=1e-4)


# %% what_grad_refuses
@answer
def what_grad_refuses(f, x):
    try:
        jax.grad(f)(x)
    except TypeError as error:
        return "output" if "scalar-output" in str(error) else "input"
    return "nothing"


@alternative
def looks_at_both(f, x):
    if not jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating):
        return "input"
    return "nothing" if jnp.shape(f(x)) == () else "output"


@alternative
def looks_at_the_abstract_value(f, x):
    if not jnp.issubdtype(jax.typeof(jnp.asarray(x)).dtype, jnp.inexact):
        return "input"
    return "output" if jax.eval_shape(f, x).shape else "nothing"


@wrong(rejected_by="five_calls_are_judged", says="A vector as input is taken for a problem.", misses_the_point=True)
def judges_the_shape_of_the_input(f, x):
    if jnp.asarray(x).dtype.kind != "f":
        return "input"
    return "output" if jnp.shape(x) else "nothing"


@wrong(rejected_by="five_calls_are_judged", says="An array of one number is taken for one number.")
def counts_the_numbers(f, x):
    if jnp.asarray(x).dtype.kind != "f":
        return "input"
    return "nothing" if jnp.size(f(x)) == 1 else "output"


@wrong(rejected_by="five_calls_are_judged", says="The dtype of the input is not looked at.")
def forgets_integers(f, x):
    return "output" if jnp.shape(f(x)) else "nothing"


@wrong(rejected_by="the_shape_of_the_input_does_not_matter", says="Only Python's int is known as an integer.")
def knows_only_pythons_int(f, x):
    if isinstance(x, int):
        return "input"
    return "output" if jnp.shape(f(x)) else "nothing"


@wrong(rejected_by="the_shape_of_the_input_does_not_matter", says="One float is believed to give one number always.")
def looks_only_at_arrays(f, x):
    if jnp.asarray(x).dtype.kind != "f":
        return "input"
    return "output" if jnp.ndim(x) and jnp.ndim(f(x)) else "nothing"


@wrong(rejected_by="bfloat16_and_empty_arrays", says="NumPy does not know bfloat16 as a float.")
def knows_numpys_floats_only(f, x):
    if np.asarray(x).dtype.kind != "f":
        return "input"
    return "output" if jax.eval_shape(f, x).shape else "nothing"


@wrong(rejected_by="bfloat16_and_empty_arrays", says="An array without numbers is taken for no output.")
def looks_for_more_than_one_number(f, x):
    if not jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating):
        return "input"
    y = f(x)
    return "output" if jnp.size(y) > 1 or (jnp.size(y) and jnp.ndim(y)) else "nothing"


@hidden(idea="bfloat16, small ints, and arrays without numbers.", on="a bfloat16 or int8 array, or an empty one")
def bfloat16_and_empty_arrays(answer):
    """bfloat16 is a float, int8 is none, and an array without numbers is no single number."""
    calls = [("energy", jnp.ones(2, "bfloat16"), "nothing"), ("wave", jnp.ones(2, "bfloat16"), "output")]
    calls += [("energy", jnp.ones(2, "int8"), "input"), ("energy", jnp.zeros(0), "nothing")]
    for name, x, wanted in [*calls, ("first_entry", jnp.zeros(0), "output")]:
        message = f"For `{name}` at {x.dtype}{list(x.shape)}, the answer should be {wanted!r}."
        got = answer(given(name), x)
        expect_that(got == wanted, message, got, wanted)


@hidden(
    idea="Vectors of floats and ints, and single numbers of both kinds.",
    on="vectors and single numbers, of floats or integers",
)
def other_calls_are_judged(answer, draw, reference):
    """Other functions and inputs are judged right."""
    calls = [("energy", draw.floats(4)), ("wave", draw.floats(2)), ("cubic", draw.integer(1, 9)), ("cubic", 0.5)]
    for name, x in [*calls, ("first_entry", jnp.arange(3)), ("first_entry", draw.floats(2))]:
        got, wanted = answer(given(name), x), reference(given(name), x)
        expect_that(got == wanted, "This call is not judged right.", got, wanted)


# %% slope_at_any_number
@answer
def slope_at_any_number(f):
    def slope(x):
        return jax.grad(f)(jnp.asarray(x, dtype=jnp.float32))

    return slope


@alternative
def times_one_point_zero(f):
    return lambda x: jax.grad(f)(x * 1.0)


@alternative
def compiled(f):
    return jax.jit(lambda x: jax.grad(f)(jnp.float32(x)))


@alternative
def in_forward_mode(f):
    def slope(x):
        x = jnp.asarray(x).astype("float32")
        return jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    return slope


@wrong(
    rejected_by="slopes_are_float32",
    says="`allow_int=True` lets integers in, and gives an empty gradient.",
    misses_the_point=True,
)
def allows_integers(f):
    return jax.grad(f, allow_int=True)


@wrong(rejected_by="slopes_are_float32", says="The number becomes an array, and stays an integer.")
def only_makes_it_an_array(f):
    return lambda x: jax.grad(f)(jnp.asarray(x))


@wrong(
    rejected_by="slopes_are_float32", says="The number is made a float inside f, after `jax.grad` has seen the integer."
)
def converts_inside(f):
    return jax.grad(lambda x: f(jnp.asarray(x, jnp.float32)))


@wrong(rejected_by="whole_numbers_under_jit", says="Python's `float` cannot convert a tracer.")
def pythons_float(f):
    return lambda x: jax.grad(f)(float(x))


@wrong(rejected_by="whole_numbers_have_the_same_slope", says="Only Python's int is converted, no array of integers.")
def knows_only_pythons_int(f):
    return lambda x: jax.grad(f)(float(x) if isinstance(x, int) else x)


@wrong(rejected_by="large_whole_numbers", says="float16 keeps whole numbers up to 2048 only.")
def by_way_of_float16(f):
    return lambda x: jax.grad(f)(jnp.asarray(x).astype(jnp.float16).astype(jnp.float32))


@hidden(idea="Whole numbers of more than 2048, 0, and arrays of small ints.", on="large whole numbers, 0, or an int8")
def large_whole_numbers(answer):
    """At large whole numbers, at 0 and at an int8 the slope of the cubic is right."""
    for x in (3001, -20003, 0, np.int8(-3)):
        wanted = np.float32(3 * int(x) ** 2 + 4 * int(x) - 3)
        got = answer.then(given("cubic"))(x)
        expect_close(got, wanted, f"The slope of the cubic at {x} should be {wanted}.", rtol=1e-5)


@hidden(idea="Whole numbers from -4 to 4.", on="a small whole number, positive, negative or 0")
def any_whole_number(answer, draw, reference):
    """At other numbers and for other functions the slope is right."""
    for name in ("wave", "cubic"):
        x = draw.integer(-4, 5)
        wanted = reference.then(given(name))(float(x))
        expect_close(answer.then(given(name))(x), wanted, rtol=1e-4, atol=1e-4)


# %% start_of_regression
@answer
def start_of_regression(key):
    key, w_key, b_key = jax.random.split(key, 3)
    w = jax.random.normal(w_key, (3,))
    b = jax.random.normal(b_key, ())
    return w, b, loss(w, b)


@alternative
def indexes_the_keys(key):
    keys = jax.random.split(key, 3)
    w, b = jax.random.normal(keys[1], shape=(3,)), jax.random.normal(keys[2])
    return w, b, loss(w, b)


@alternative
@jax.jit
def jitted(key):
    _, w_key, b_key = jax.random.split(key, 3)
    w, b = jax.random.normal(w_key, 3), jax.random.normal(b_key)
    return w, b, loss(w, b)


@wrong(rejected_by="the_documented_start", says="The key is split in two, not in three.")
def splits_in_two(key):
    w_key, b_key = jax.random.split(key)
    w, b = jax.random.normal(w_key, (3,)), jax.random.normal(b_key)
    return w, b, loss(w, b)


@wrong(rejected_by="the_documented_start", says="w and b are drawn from the first two keys.")
def takes_the_first_two(key):
    w_key, b_key, _ = jax.random.split(key, 3)
    w, b = jax.random.normal(w_key, (3,)), jax.random.normal(b_key)
    return w, b, loss(w, b)


@wrong(rejected_by="the_documented_start", says="One key for both draws.")
def one_key_for_both(key):
    w, b = jax.random.normal(key, (3,)), jax.random.normal(key)
    return w, b, loss(w, b)


@wrong(
    rejected_by="the_loss_belongs_to_the_parameters",
    says="A seed inside is used instead of the argument.",
    misses_the_point=True,
)
def makes_its_own_key(key):
    _, w_key, b_key = jax.random.split(jax.random.key(0), 3)
    w, b = jax.random.normal(w_key, (3,)), jax.random.normal(b_key)
    return w, b, loss(w, b)


@hidden(idea="A key other than `jax.random.key(0)`.", on="a key other than `jax.random.key(0)`")
def any_key(answer, draw, reference):
    """For another key it gives what the key's answer gives."""
    key = draw.key()
    expect_close(tuple(answer(key)), reference(key), rtol=1e-4, atol=1e-5)


# %% gradient_by_position
@answer
def gradient_by_position(f, args, which=None):
    if which is None:
        return jax.grad(f)(*args)
    return jax.grad(f, which)(*args)


@alternative
def all_then_choose(f, args, which=None):
    every = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    if which is None:
        return every[0]
    return tuple(every[i] for i in which) if isinstance(which, tuple) else every[which]


@alternative
def closes_over_the_others(f, args, which=None):
    def partial_derivative(i):
        return jax.grad(lambda x: f(*args[:i], x, *args[i + 1 :]))(args[i])

    if isinstance(which, tuple):
        return tuple(map(partial_derivative, which))
    return partial_derivative(which or 0)


@wrong(rejected_by="gradients_have_the_shapes_of_arguments", says="Positions are counted from 1.")
def counts_from_one(f, args, which=None):
    if which is None:
        return jax.grad(f)(*args)
    if isinstance(which, tuple):
        return tuple(jax.grad(f, max(i - 1, 0))(*args) for i in which)
    return jax.grad(f, max(which - 1, 0))(*args)


@wrong(rejected_by="the_order_of_positions_counts", says="The positions are sorted, so the order asked for is lost.")
def sorts_the_positions(f, args, which=None):
    if isinstance(which, tuple):
        return jax.grad(f, tuple(sorted(which)))(*args)
    return jax.grad(f, which or 0)(*args)


@wrong(
    rejected_by="gradients_have_the_shapes_of_arguments",
    says="Without `argnums` only the first argument counts.",
    misses_the_point=True,
)
def only_the_first(f, args, which=None):
    return jax.grad(f)(*args)


@wrong(rejected_by="the_gradient_by_the_weights", says="Without positions all gradients are returned, not the first.")
def all_by_default(f, args, which=None):
    return jax.grad(f, tuple(range(len(args))) if which is None else which)(*args)


@wrong(rejected_by="gradients_have_the_shapes_of_arguments", says="A tuple of one position is unpacked.")
def unpacks_one_position(f, args, which=None):
    if isinstance(which, tuple) and len(which) == 1:
        (which,) = which
    return jax.grad(f, which or 0)(*args)


@wrong(rejected_by="one_argument_that_is_a_matrix", says="A tuple of position 0 alone is taken for the default.")
def takes_a_first_position_for_none(f, args, which=None):
    if not which or (which == (0,) and len(args) == 1):
        return jax.grad(f)(*args)
    return jax.grad(f, which)(*args)


@hidden(idea="A function of one argument, which is a matrix.", on="a function of one matrix")
def one_argument_that_is_a_matrix(answer, draw):
    """For the energy of a matrix, the position 0 gives a gradient, and the tuple (0,) a tuple."""
    x = draw.numpy(2, 3)
    for which in (None, 0):
        expect_close(
            answer(given("energy"), (x,), which),
            2 * x,
            "The gradient should be 2 x.",
            on="one matrix, with the position 0 or none",
        )
    (got,) = parts(answer(given("energy"), (x,), (0,)), 1)
    expect_close(got, 2 * x, "The gradient should be 2 x.", on="one matrix, with a tuple of one position")


@hidden(idea="The positions 0, 1 and 2 alone, and in the order (1, 2, 0).")
def any_positions(answer, draw, reference):
    """For other positions and arguments it gives the right gradients."""
    p, q, r = draw.floats(3)
    slopes = [q**2, 2 * p * q, jnp.cos(r)]
    for i in range(3):
        expect_close(
            answer(given("bend"), (p, q, r), i),
            slopes[i],
            rtol=1e-4,
            atol=1e-5,
            on="one position, out of three arguments",
        )
    expect_close(
        tuple(answer(given("bend"), (p, q, r), (1, 2, 0))),
        (slopes[1], slopes[2], slopes[0]),
        on="three positions, in another order",
    )


# %% first_order_change
@answer
def first_order_change(f, args, steps):
    partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return sum(jnp.sum(partial * step) for partial, step in zip(partials, steps, strict=True))


@alternative
def by_jvp(f, args, steps):
    return jax.jvp(f, args, steps)[1]


@alternative
def along_a_line(f, args, steps):
    return jax.grad(lambda t: f(*(x + t * step for x, step in zip(args, steps, strict=True))))(0.0)


@alternative
def one_argument_after_the_other(f, args, steps):
    change = 0.0
    for i, step in enumerate(steps):
        change += jnp.vdot(jax.grad(f, i)(*args), step)
    return change


@alternative
def with_numpy(f, args, steps):
    partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return sum(float(np.sum(np.asarray(p) * np.asarray(s))) for p, s in zip(partials, steps, strict=True))


@wrong(
    rejected_by="each_unit_step_gives_a_partial_derivative",
    says="The true change is taken for that of the tangent.",
    misses_the_point=True,
)
def takes_the_true_change(f, args, steps):
    return f(*(x + step for x, step in zip(args, steps, strict=True))) - f(*args)


@wrong(rejected_by="each_unit_step_gives_a_partial_derivative", says="Only the first argument is differentiated.")
def first_argument_only(f, args, steps):
    return jnp.sum(jax.grad(f)(*args) * steps[0])


@wrong(rejected_by="the_change_is_one_number", says="The shares of the entries of a vector are not added.")
def forgets_to_sum(f, args, steps):
    partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return sum(partial * step for partial, step in zip(partials, steps, strict=True))


@wrong(rejected_by="all_shares_are_added", says="The length of the gradient is taken, not its product with the step.")
def length_of_the_gradient(f, args, steps):
    partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return sum(jnp.sqrt(jnp.sum(p**2)) * jnp.sqrt(jnp.sum(s**2)) for p, s in zip(partials, steps, strict=True))


@wrong(
    rejected_by="all_shares_are_added", says="For matrices, `jnp.dot` is a product of matrices, not of their entries."
)
def multiplies_matrices(f, args, steps):
    partials = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return sum(jnp.sum(jnp.dot(partial, step)) for partial, step in zip(partials, steps, strict=True))


@hidden(
    idea="A small share beside large numbers, long steps, and steps of 0.",
    on="large numbers beside small ones, or steps of 0",
)
def a_small_share_beside_large_numbers(answer):
    """A small share is exact beside large numbers, and steps of 0 change nothing."""
    x = np.float32([1000.0, 0.01])
    for step, wanted in (([0.0, 3.0], 0.06), ([2000.0, 0.0], 4e6), ([0.0, 0.0], 0.0)):
        got = number(answer(given("energy"), (x,), (np.float32(step),)))
        expect_close(got, wanted, f"The change of x · x should be {wanted}.", rtol=1e-4, atol=0.0)


@hidden(idea="Steps in three numbers, and in a vector of four.", on="three numbers, or one vector")
def any_steps(answer, draw, reference):
    """For other steps it gives the right change."""
    p, q, r = draw.floats(3)
    dp, dq, dr = draw.floats(3)
    wanted = float(q**2 * dp + 2 * p * q * dq + jnp.cos(r) * dr)
    expect_close(
        number(answer(given("bend"), (p, q, r), (dp, dq, dr))),
        wanted,
        rtol=1e-4,
        atol=1e-4,
        on="three numbers, and a step for each",
    )
    x, step = draw.floats(4), draw.floats(4)
    expect_close(
        number(answer(given("energy"), (x,), (step,))),
        float(2 * x @ step),
        rtol=1e-4,
        atol=1e-4,
        on="one vector, and a step in it",
    )


# %% gradient_step
@answer
def gradient_step(f, params, rate):
    gradient = jax.grad(f)(params)
    return gradient, jax.tree.map(lambda p, g: p - rate * g, params, gradient)


@alternative
def flattens_and_rebuilds(f, params, rate):
    gradient = jax.grad(f)(params)
    leaves, structure = jax.tree.flatten(params)
    new = [p - rate * g for p, g in zip(leaves, jax.tree.leaves(gradient), strict=True)]
    return gradient, jax.tree.unflatten(structure, new)


@alternative
def as_one_vector(f, params, rate):
    from jax.flatten_util import ravel_pytree

    vector, rebuild = ravel_pytree(params)
    gradient = jax.grad(lambda v: f(rebuild(v)))(vector)
    return rebuild(gradient), rebuild(vector - rate * gradient)


@wrong(rejected_by="every_container_comes_back", says="Only a dict is thought of.")
def dicts_only(f, params, rate):
    gradient = jax.grad(f)(params)
    return gradient, {name: params[name] - rate * gradient[name] for name in params}


@wrong(rejected_by="every_container_comes_back", says="The new parameters come as a plain list of arrays.")
def a_list_of_leaves(f, params, rate):
    gradient = jax.grad(f)(params)
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(gradient), strict=True)
    return gradient, [p - rate * g for p, g in pairs]


@wrong(
    rejected_by="each_parameter_goes_downhill", says="The step goes along the gradient: uphill.", misses_the_point=True
)
def climbs(f, params, rate):
    gradient = jax.grad(f)(params)
    return gradient, jax.tree.map(lambda p, g: p + rate * g, params, gradient)


@wrong(rejected_by="each_parameter_goes_downhill", says="The rate is not used.")
def ignores_the_rate(f, params, rate):
    gradient = jax.grad(f)(params)
    return gradient, jax.tree.map(lambda p, g: p - g, params, gradient)


@wrong(rejected_by="the_gradient_of_a_dict_is_a_dict", says="The gradient is returned after it was scaled.")
def scales_the_gradient(f, params, rate):
    change = jax.tree.map(lambda g: rate * g, jax.grad(f)(params))
    return change, jax.tree.map(lambda p, c: p - c, params, change)


@wrong(rejected_by="one_array_and_a_rate_of_zero", says="Parameters are believed to come in a container always.")
def goes_through_containers(f, params, rate):
    gradient = jax.grad(f)(params)

    def step(p, g):
        if isinstance(p, dict):
            return {name: step(p[name], g[name]) for name in p}
        if isinstance(p, tuple | list):
            return type(p)(step(a, b) for a, b in zip(p, g, strict=True))
        return p - rate * g

    return gradient, step(params, gradient) if isinstance(params, dict | tuple | list) else params


@hidden(idea="One array without a container, and a rate of 0.", on="an array without a container, also at rate 0")
def one_array_and_a_rate_of_zero(answer, draw):
    """An array alone is a pytree too, and with the rate 0 nothing moves."""
    x = draw.numpy(2, 3)
    for rate in (0.25, 0.0):
        gradient, new = parts(answer(given("energy"), x, rate), 2)
        expect_close(gradient, 2 * x, "The gradient should be 2 x.")
        expect_close(new, x - np.float32(rate) * 2 * x, "The new array should be x - rate * 2 x.")


@hidden(idea="Parameters in a nested list, and a rate between 0.1 and 0.8.", on="parameters in a nested list")
def any_parameters(answer, draw, reference):
    """For other parameters in a nested list it gives what the key gives."""
    params = [draw.floats(3), [draw.floats()]]
    rate = draw.integer(1, 9) / 10
    args = (given("nested_loss"), params, rate)
    expect_close(tuple(answer(*args)), reference(*args), rtol=1e-4, atol=1e-4)


# %% gradient_of_model
@jax.tree_util.register_pytree_node_class
class Model:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def tree_flatten(self):
        return (self.w, self.b), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


@answer
def gradient_of_model(w, b):
    return jax.grad(model_loss)(Model(w, b))


@alternative
def a_namedtuple(w, b):
    from collections import namedtuple

    Model = namedtuple("Model", ["w", "b"])
    return jax.grad(model_loss)(Model(w, b))


@alternative
def a_dataclass(w, b):
    import dataclasses

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Model:
        w: jax.Array
        b: jax.Array

    return jax.grad(model_loss)(Model(b=b, w=w))


@jax.tree_util.register_pytree_node_class
class BiasFirst:
    def __init__(self, b, w):
        self.w, self.b = w, b

    def tree_flatten(self):
        return [self.b, self.w], ()

    @classmethod
    def tree_unflatten(cls, aux, children):
        b, w = children
        return cls(b, w)


@alternative
def the_bias_first(w, b):
    return jax.jit(jax.grad(model_loss))(BiasFirst(b, w))


@jax.tree_util.register_pytree_node_class
class OneChild(Model):
    def tree_flatten(self):
        return [{"w": self.w, "b": self.b}], None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(**children[0])


@alternative
def one_child_a_dict(w, b):
    return jax.grad(model_loss)(OneChild(w, b))


@jax.tree_util.register_pytree_node_class
class StaticBias(Model):
    def tree_flatten(self):
        return (self.w,), self.b

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)


@wrong(
    rejected_by="the_gradient_is_a_model", says="The bias is put into the static part, where nothing is differentiated."
)
def the_bias_is_static(w, b):
    return jax.grad(model_loss)(StaticBias(w, b))


@jax.tree_util.register_pytree_node_class
class Swapped(Model):
    def tree_flatten(self):
        return (self.b, self.w), None


@wrong(
    rejected_by="the_gradient_is_a_model", says="The children are put together in another order than they were given."
)
def the_children_are_swapped(w, b):
    return jax.grad(model_loss)(Swapped(w, b))


@wrong(
    rejected_by="the_gradient_is_a_model",
    says="The parts of the gradient are returned, without the class.",
    misses_the_point=True,
)
def parts_without_the_class(w, b):
    gradient = jax.grad(model_loss)(Model(w, b))
    return gradient.w, gradient.b


@wrong(rejected_by="the_gradient_is_in_its_place", says="The model itself is returned, not its gradient.")
def returns_the_model(w, b):
    return Model(w, b)


@wrong(
    rejected_by="a_model_passes_every_transformation",
    says="Numbers are made into NumPy arrays, which no tracer survives.",
)
def makes_numpy_arrays(w, b):
    return jax.grad(model_loss)(Model(np.asarray(w), np.asarray(b)))


@hidden(idea="A batch of two models.", on="a batch of two models")
def any_model(answer, draw, reference):
    """For a batch of other parameters it gives the right gradients."""
    w, b = draw.floats(2, 3), draw.floats(2)
    wanted = dict(zip(((2, 3), (2,)), jax.vmap(jax.grad(loss, (0, 1)))(w, b), strict=True))
    for part in children(answer.vmap()(w, b)):
        expect_close(part, wanted[np.shape(part)], rtol=1e-4, atol=1e-4)


# %% loss_and_gradient
@answer
def loss_and_gradient(f, args):
    return jax.value_and_grad(f, argnums=tuple(range(len(args))))(*args)


@alternative
def by_vjp(f, args):
    value, pull_back = jax.vjp(f, *args)
    return value, pull_back(jnp.ones_like(value))


@alternative
def the_value_beside(f, args):
    def twice(*args):
        value = f(*args)
        return value, value

    gradient, value = jax.grad(twice, argnums=tuple(range(len(args))), has_aux=True)(*args)
    return value, gradient


@alternative
def compiled(f, args):
    return jax.jit(jax.value_and_grad(lambda args: f(*args)))(args)


@wrong(
    rejected_by="the_loss_is_computed_once",
    says="The value is computed once more, before the gradient.",
    misses_the_point=True,
)
def computes_it_twice(f, args):
    return f(*args), jax.grad(f, tuple(range(len(args))))(*args)


@wrong(rejected_by="the_loss_is_computed_once", says="One pass for each argument.")
def one_pass_for_each_argument(f, args):
    values_and_slopes = [jax.value_and_grad(f, i)(*args) for i in range(len(args))]
    return values_and_slopes[0][0], tuple(slope for _, slope in values_and_slopes)


@wrong(rejected_by="a_value_and_a_tuple_of_gradients", says="Without `argnums` only the first argument counts.")
def forgets_argnums(f, args):
    return jax.value_and_grad(f)(*args)


@wrong(rejected_by="a_value_and_a_tuple_of_gradients", says="The gradient comes first.")
def gradient_first(f, args):
    value, gradient = jax.value_and_grad(f, tuple(range(len(args))))(*args)
    return gradient, value


@wrong(rejected_by="the_gradient_is_that_of_f", says="There are taken to be two arguments always.")
def two_arguments_always(f, args):
    return jax.value_and_grad(f, (0, 1))(*args)


@wrong(
    rejected_by="the_program_computes_f_once",
    says="`jit` runs the Python code once; the program still computes f twice.",
)
def hides_a_second_computation(f, args):
    compiled = jax.jit(lambda *args: f(*args))
    return compiled(*args), jax.grad(compiled, tuple(range(len(args))))(*args)


@hidden(
    stage="cost",
    required=True,
    idea="f is computed once in the program too, not only in Python.",
    on="the loss of three weights and a bias",
)
def the_program_computes_f_once(answer, draw, reference):
    """The program has as many `tanh` and `log` as that of the key."""
    args = given("loss"), (draw.floats(3), draw.floats())
    got, wanted = (
        {name: one.program(*args).primitives.get(name, 0) for name in ("tanh", "log")} for one in (answer, reference)
    )
    expect_that(all(got[name] <= wanted[name] for name in wanted), "The loss should be computed once.", got, wanted)


@hidden(idea="A function of one argument.", on="a function of a single vector")
def any_arguments(answer, draw, reference):
    """For other arguments, and for one argument alone, value and gradient are right."""
    x = draw.floats(4)
    value, gradient = parts(answer(given("energy"), (x,)), 2)
    expect_close(value, jnp.sum(x**2), rtol=1e-4)
    expect_close(tuple(gradient), (2 * x,))


# %% slope_in_two_ways
@answer
def slope_in_two_ways(f, args, direction, eps):
    ahead = [x + eps / 2 * d for x, d in zip(args, direction, strict=True)]
    behind = [x - eps / 2 * d for x, d in zip(args, direction, strict=True)]
    gradient = jax.grad(f, tuple(range(len(args))))(*args)
    exact = sum(jnp.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    return (f(*ahead) - f(*behind)) / eps, exact


@alternative
def by_jvp(f, args, direction, eps):
    def along(t):
        return f(*jax.tree.map(lambda x, d: x + t * d, args, direction))

    return (along(eps / 2) - along(-eps / 2)) / eps, jax.jvp(f, args, direction)[1]


@alternative
def slope_of_a_line(f, args, direction, eps):
    def along(t):
        return f(*(x + t * d for x, d in zip(args, direction, strict=True)))

    half = jnp.float32(eps) / 2
    return (along(half) - along(-half)) / (2 * half), jax.grad(along)(0.0)


@alternative
def as_python_floats(f, args, direction, eps):
    def along(t):
        return float(f(*(x + t * d for x, d in zip(args, direction, strict=True))))

    return (along(eps / 2) - along(-eps / 2)) / eps, float(jax.jvp(f, args, direction)[1])


@wrong(rejected_by="the_difference_is_central", says="The step goes to one side only.", misses_the_point=True)
def one_sided(f, args, direction, eps):
    ahead = [x + eps * d for x, d in zip(args, direction, strict=True)]
    return (f(*ahead) - f(*args)) / eps, jax.jvp(f, args, direction)[1]


@wrong(
    rejected_by="the_difference_is_central", says="The step is eps to each side, but the difference is divided by eps."
)
def a_whole_step_to_each_side(f, args, direction, eps):
    ahead, behind = ([x + t * d for x, d in zip(args, direction, strict=True)] for t in (eps, -eps))
    return (f(*ahead) - f(*behind)) / eps, jax.jvp(f, args, direction)[1]


@wrong(rejected_by="the_difference_is_central", says="The exact slope is returned for both.")
def the_exact_slope_twice(f, args, direction, eps):
    exact = jax.jvp(f, args, direction)[1]
    return exact, exact


@wrong(rejected_by="two_slopes", says="The gradient is returned; the slope is its product with the direction.")
def the_whole_gradient(f, args, direction, eps):
    ahead, behind = ([x + t * d for x, d in zip(args, direction, strict=True)] for t in (eps / 2, -eps / 2))
    return (f(*ahead) - f(*behind)) / eps, jax.grad(f)(*args)


@wrong(rejected_by="the_direction_is_taken_as_it_is", says="The direction is scaled to length 1.")
def scales_the_direction(f, args, direction, eps):
    length = jnp.sqrt(sum(jnp.vdot(d, d) for d in direction))
    direction = tuple(d / length for d in direction)
    ahead, behind = ([x + t * d for x, d in zip(args, direction, strict=True)] for t in (eps / 2, -eps / 2))
    return (f(*ahead) - f(*behind)) / eps, jax.jvp(f, args, direction)[1]


@wrong(rejected_by="all_arguments_move_at_once", says="The arguments move one after the other, not all at once.")
def one_argument_after_the_other(f, args, direction, eps):
    numerical = 0.0
    for i, d in enumerate(direction):
        ahead, behind = ([*args[:i], args[i] + t * d, *args[i + 1 :]] for t in (eps / 2, -eps / 2))
        numerical += (f(*ahead) - f(*behind)) / eps
    return numerical, jax.jvp(f, args, direction)[1]


@wrong(rejected_by="the_exact_slope_is_exact", says="A smaller step is taken for an exact slope.")
def a_smaller_step_for_the_exact_slope(f, args, direction, eps):
    def along(t):
        return f(*(x + t * d for x, d in zip(args, direction, strict=True)))

    return (along(eps / 2) - along(-eps / 2)) / eps, (along(0.01) - along(-0.01)) / 0.02


@wrong(rejected_by="a_direction_of_zero", says="The direction is scaled to length 1, and back.")
def divides_by_the_length(f, args, direction, eps):
    length = jnp.sqrt(sum(jnp.vdot(d, d) for d in direction))

    def along(t):
        return f(*(x + t * d / length * length for x, d in zip(args, direction, strict=True)))

    return (along(eps / 2) - along(-eps / 2)) / eps, jax.jvp(f, args, direction)[1]


@hidden(idea="A slope of some thousand: the exact one has no error of a step.", on="a point where the slope is large")
def the_exact_slope_is_exact(answer):
    """At 30, the exact slope of the cubic is 2817."""
    args, direction = (jnp.float32(30.0),), (jnp.float32(1.0),)
    _numerical, exact = parts(answer(given("cubic"), args, direction, 1.0), 2)
    expect_close(number(exact), 2817.0, "The exact slope of the cubic at 30 should be 2817.", rtol=2e-6, atol=0.0)


@hidden(idea="A direction of zeros.", on="a direction of zeros")
def a_direction_of_zero(answer, draw):
    """Along zeros both slopes are 0."""
    x = draw.floats(4)
    got = [number(part) for part in parts(answer(given("energy"), (x,), (jnp.zeros(4),), 0.01), 2)]
    expect_close(got, [0.0, 0.0], "Along a direction of zeros both slopes should be 0.")


@hidden(idea="A vector of four numbers, and a direction in it.", on="a vector, and a direction of any length")
def any_direction(answer, draw, reference):
    """For another point and direction both slopes are right."""
    x, d = draw.floats(4), draw.floats(4)
    numerical, exact = parts(answer(given("energy"), (x,), (d,), 0.01), 2)
    wanted = 2 * float(np.dot(np.asarray(x, np.float64), np.asarray(d, np.float64)))
    expect_close(number(exact), wanted, rtol=1e-4, atol=1e-4)
    expect_close(number(numerical), wanted, rtol=5e-3, atol=5e-3)


# %% predict_better_step
@answer
def predict_better_step():
    return 0.01


# %% numerical_derivative
@answer
def numerical_derivative(f, x):
    eps = 0.01 * abs(x)
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


@alternative
def third_root_of_the_precision(f, x):
    eps = float(jnp.finfo(jnp.float32).eps) ** (1 / 3) * x
    return (float(f(x + eps)) - float(f(x - eps))) / (2 * eps)


@alternative
def four_points(f, x):
    h = 0.03 * x
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@alternative
def the_step_that_was_taken(f, x):
    x = np.float32(x)
    ahead, behind = x * np.float32(1.005), x * np.float32(0.995)
    return (f(ahead) - f(behind)) / (ahead - behind)


@wrong(rejected_by="small_errors_at_every_size", says="The step is a hundredth at every size.", misses_the_point=True)
def one_step_for_all(f, x):
    eps = 0.01
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


@wrong(rejected_by="small_errors_at_every_size", says="The smaller the step the better, it is believed.")
def as_small_as_can_be(f, x):
    eps = 1e-7 * x
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


@wrong(rejected_by="small_errors_at_every_size", says="A step of this size is too large if it goes to one side only.")
def one_sided(f, x):
    eps = 0.005 * x
    return (f(x + eps) - f(x)) / eps


@wrong(rejected_by="small_errors_at_every_size", says="float64 in the argument does not help: f computes in float32.")
def float64_with_a_tiny_step(f, x):
    x, eps = np.float64(x), 1e-6 * x
    return (f(x + eps) - f(x - eps)) / (2 * eps)


@wrong(rejected_by="any_size", says="The formulas of the three examples are written down for every function.")
def formulas_of_the_examples(f, x):
    slopes = {cube_in_numpy: 3 * x**2, root_in_numpy: 0.5 / x**0.5}
    return slopes.get(f, -1 / x**2)


@wrong(rejected_by="points_near_zero", says="The step is not made smaller than 0.01.")
def a_smallest_step(f, x):
    eps = max(0.01 * x, 0.001) if x != 0.01 else 0.0001
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


@hidden(idea="Points between 0.01 and 0.1.", on="a point between 0.01 and 0.1")
def points_near_zero(answer, draw):
    """Between 0.01 and 0.1, the error is below 0.001 of the slope too."""
    for x in (0.0113, draw.integer(15, 100) / 1000):
        for name, slope in (("cube_in_numpy", 3 * x**2), ("inverse_in_numpy", -1 / x**2)):
            got = float(np.asarray(answer(given(name), x)))
            message = f"The slope of {name} at {x} should be right to 0.001."
            expect_that(abs(got - slope) <= 1e-3 * abs(slope), message, got, slope)


@hidden(
    idea="Points between 2 and 1000, and a function that the checks you see do not use.",
    on="points between 2 and 1000, also for another function",
)
def any_size(answer, draw, reference):
    """At other points, and for x², the error is below 0.001 of the slope too."""
    for low, high in ((2, 100), (100, 1000)):
        x = draw.integer(low, high) + 0.3
        for name, slope in (("cube_in_numpy", 3 * x**2), ("root_in_numpy", 0.5 / x**0.5), ("energy", 2 * x)):
            got = float(np.asarray(answer(given(name), x)))
            expect_that(abs(got - slope) <= 1e-3 * slope, "The slope is not right to 0.001.", got, slope)


# %% derivatives_agree
@answer
def derivatives_agree(f, args):
    from jax.test_util import check_grads

    try:
        check_grads(f, args, order=2)
    except AssertionError:
        return False
    return True


@alternative
def by_hand(f, args):
    from jax.flatten_util import ravel_pytree

    point, rebuild = ravel_pytree(args)
    point = np.asarray(point)

    def of_vector(v):
        return f(*rebuild(v))

    def agrees(g, v):
        eps = 0.01
        exact = jax.jacrev(g)(v)
        steps = eps * np.eye(v.size, dtype=v.dtype)
        numerical = np.stack([(np.asarray(g(v + s)) - np.asarray(g(v - s))) / (2 * eps) for s in steps], axis=-1)
        return np.allclose(exact, numerical, rtol=0.01, atol=0.01)

    return agrees(of_vector, point) and agrees(jax.grad(of_vector), point)


@alternative
def by_the_printed_name(f, args):
    try:
        jax.test_util.check_grads(f, args, order=2)
        return True
    except AssertionError:
        return False


@alternative
def reverse_mode_alone(f, args):
    from jax import test_util

    try:
        test_util.check_grads(f, tuple(args), 2, modes=["rev"])
        return np.bool_(True)
    except AssertionError:
        return np.bool_(False)


@wrong(rejected_by="two_bad_rules_are_found", says="`order=1` does not look at second derivatives.")
def first_order_alone(f, args):
    from jax.test_util import check_grads

    try:
        check_grads(f, args, order=1)
    except AssertionError:
        return False
    return True


@wrong(
    rejected_by="two_bad_rules_are_found", says="`check_grads` returns None when all is well, and None counts as False."
)
def believes_the_return_value(f, args):
    from jax.test_util import check_grads

    try:
        return bool(check_grads(f, args, order=2))
    except AssertionError:
        return False


@wrong(rejected_by="two_bad_rules_are_found", says="The AssertionError is not caught.")
def does_not_catch(f, args):
    from jax.test_util import check_grads

    check_grads(f, args, order=2)
    return True


@wrong(rejected_by="two_bad_rules_are_found", says="A finite gradient is taken for a right one.")
def only_looks_for_nan(f, args):
    gradient = jax.grad(f, tuple(range(len(args))))(*args)
    return all(bool(jnp.isfinite(g).all()) for g in gradient)


@wrong(rejected_by="each_argument_counts", says="Only the first argument is looked at.")
def the_first_argument_alone(f, args):
    from jax.test_util import check_grads

    try:
        check_grads(lambda x: f(x, *args[1:]), args[:1], order=2)
    except AssertionError:
        return False
    return True


@wrong(
    rejected_by="other_points_are_judged",
    says="The bad functions of the lesson are known by name.",
    misses_the_point=True,
)
def knows_them_by_name(f, args):
    return f not in (wrong_slope, frozen_slope, wrong_by_q)


@hidden(
    idea="Right functions that the checks you see do not use, one of them with `where`.",
    on="other functions whose derivatives are right",
)
def right_functions_are_told_right(answer):
    """Other right functions are told right."""
    told = [bool(np.asarray(answer(given(name), (jnp.float32(2.0),)))) for name in ("sigmoid", "safer_root", "wave")]
    expect_that(told == [True, True, True], "All three should be told right.", told, [True, True, True])


@hidden(
    idea="A bad rule at other points, and a factor behind `stop_gradient`.",
    on="functions with frozen parts, and a right one",
)
def other_points_are_judged(answer, draw, reference):
    """At another point, and for x * x with a frozen factor, the answer is right too."""
    x = jnp.float32(draw.integer(5, 14) / 10)
    told = [bool(np.asarray(answer(given(name), (x,)))) for name in ("frozen_slope", "half_frozen", "cubic")]
    expect_that(told == [False, False, True], "Not all are told right.", told, [False, False, True])


# %% sine_ratio
@answer
def sine_ratio(x):
    harmless = jnp.where(x == 0, 1.0, x)
    return jnp.where(x == 0, 1.0, jnp.sin(harmless) / harmless)


@alternative
def numpys_sinc(x):
    return jnp.sinc(x / jnp.pi)


@alternative
def a_series_near_zero(x):
    near = jnp.abs(x) < 0.01
    far = jnp.where(near, 1.0, x)
    return jnp.where(near, 1 - x**2 / 6, jnp.sin(far) / far)


@alternative
@jax.jit
def jitted(x):
    is_zero = x == 0
    safe = jnp.where(is_zero, jnp.ones_like(x), x)
    return jnp.where(is_zero, jnp.ones_like(x), jnp.sin(safe) / safe)


@wrong(rejected_by="the_ratio_is_right", says="A small number below the line makes the value at 0 wrong.")
def a_small_number_below(x):
    return jnp.sin(x) / (x + 1e-6)


@wrong(
    rejected_by="the_gradient_is_finite",
    says="The value is mended after the division; the gradient still goes through it.",
    misses_the_point=True,
)
def mends_the_value(x):
    return jnp.nan_to_num(jnp.where(x == 0, 1.0, jnp.sin(x) / x), nan=1.0)


@wrong(rejected_by="the_gradient_is_finite", says="Both branches are safe at 0, but the gradient there is another one.")
def guards_the_lower_part_alone(x):
    return jnp.where(x == 0, 1.0, jnp.sin(x) / jnp.where(x == 0, 1.0, x)) + jnp.where(x == 0, x, 0.0)


@wrong(rejected_by="the_ratio_can_be_compiled", says="Python's `if` cannot look at a tracer.")
def an_if_of_python(x):
    ratios = [jnp.sin(y) / y if y != 0 else jnp.ones_like(y) for y in jnp.ravel(x)]
    return jnp.stack(ratios).reshape(jnp.shape(x))


@wrong(rejected_by="the_ratio_is_right", says="Negative numbers are pushed away from 0 to the wrong side.")
def keeps_away_from_zero(x):
    x = jnp.maximum(x, 1e-6)
    return jnp.sin(x) / x


@wrong(rejected_by="the_ratio_is_right", says="Near 0 the value is said to be 1, and that too far from 0.")
def one_near_zero(x):
    near = jnp.abs(x) < 0.1
    far = jnp.where(near, 1.0, x)
    return jnp.where(near, 1.0, jnp.sin(far) / far)


@wrong(rejected_by="numbers_near_zero", says="Near 0 the value is said to be 1.")
def one_in_a_small_range(x):
    near = jnp.abs(x) < 0.01
    far = jnp.where(near, 1.0, x)
    return jnp.where(near, 1.0, jnp.sin(far) / far)


@wrong(rejected_by="minus_zero_and_no_numbers", says="Only the bits of 0.0 are known as 0, not those of -0.0.")
def knows_one_zero_only(x):
    is_zero = jax.lax.bitcast_convert_type(x, jnp.int32) == 0
    harmless = jnp.where(is_zero, 1.0, x)
    return jnp.where(is_zero, 1.0, jnp.sin(harmless) / harmless)


@hidden(
    stage="gradient", required=True, idea="Numbers between -0.05 and 0.05, without 0.", on="numbers near 0, but not 0"
)
def numbers_near_zero(answer):
    """Near 0 the value is not 1 yet, and the gradient is not 0."""
    x = np.float32([0.009, -0.009, 0.006, 0.02, -0.05])
    wide = x.astype(np.float64)
    expect_close(answer(x), np.sinc(wide / np.pi).astype("float32"), "The values should be exact.", rtol=2e-6, atol=0.0)
    wanted = (-wide / 3 + wide**3 / 30).astype("float32")
    expect_close(answer.grad().vmap()(x), wanted, "The gradient should be near -x / 3.", rtol=0.0, atol=1e-4)


@hidden(stage="gradient", required=True, idea="-0.0, and an array without numbers.")
def minus_zero_and_no_numbers(answer):
    """At -0.0 the value is 1 and the gradient 0, and an empty array stays empty."""
    x = np.float32([-0.0, 0.0])
    expect_close(answer(x), np.ones(2, np.float32), "At 0 and -0.0 the value should be 1.", on="zeros of both signs")
    expect_close(
        answer.grad().vmap()(x),
        np.zeros(2, np.float32),
        "At 0 and -0.0 the gradient should be 0.",
        on="zeros of both signs",
    )
    expect_close(
        answer(jnp.zeros((0, 2))),
        np.zeros((0, 2), np.float32),
        "An empty array should stay empty.",
        on="an array without numbers",
    )


@hidden(stage="gradient", idea="Numbers with a 0 among them.", on="numbers with a zero among them", required=True)
def any_numbers(answer, draw, reference):
    """For other numbers, with a zero among them, the gradient is right."""
    x = draw.numpy(6)
    x += np.sign(x)  # near 0, subtracting two numbers near 1/x leaves few digits
    x[draw.integer(0, 6)] = 0.0
    expect_close(answer.grad().vmap()(x), reference.grad().vmap()(x), rtol=1e-3, atol=1e-4)


# %% straight_through_round
@answer
def straight_through_round(x):
    return x + jax.lax.stop_gradient(jnp.round(x) - x)


@alternative
def a_rule_of_its_own(x):
    @jax.custom_jvp
    def rounded(x):
        return jnp.round(x)

    rounded.defjvp(lambda primals, tangents: (jnp.round(primals[0]), tangents[0]))
    return rounded(x)


@alternative
def adds_a_zero(x):
    return jax.lax.stop_gradient(jnp.round(x)) + (x - jax.lax.stop_gradient(x))


@alternative
def a_reverse_rule(x):
    rounded = jax.custom_vjp(lambda x: jnp.round(x))
    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
    return rounded(x)


@wrong(rejected_by="the_slope_is_one", says="`jnp.round` has the slope 0.", misses_the_point=True)
def plain_round(x):
    return jnp.round(x)


@wrong(rejected_by="the_slope_is_one", says="All of it is frozen, also the x that should count.")
def freezes_everything(x):
    return jax.lax.stop_gradient(x + (jnp.round(x) - x))


@wrong(rejected_by="the_value_is_rounded", says="x is frozen before it is rounded, and added once too often.")
def adds_x_twice(x):
    return x + jnp.round(jax.lax.stop_gradient(x))


@wrong(rejected_by="the_slope_is_one", says="The x inside is not frozen, so both x cancel.")
def freezes_the_rounded_part_alone(x):
    return x + (jax.lax.stop_gradient(jnp.round(x)) - x)


@wrong(rejected_by="the_value_is_rounded", says="Halfway `jnp.round` takes the even number; `floor` goes up always.")
def halves_go_up(x):
    return x + jax.lax.stop_gradient(jnp.floor(x + 0.5) - x)


@wrong(rejected_by="the_slope_is_one_at_every_kind_of_number", says="Whole numbers are passed through `round` itself.")
def leaves_whole_numbers_alone(x):
    return jnp.where(x == jnp.round(x), jnp.round(x), x + jax.lax.stop_gradient(jnp.round(x) - x))


@wrong(rejected_by="large_numbers_are_whole", says="int16 ends at 32767.")
def by_way_of_int16(x):
    whole = jnp.round(x).astype(jnp.int16).astype(x.dtype)
    return x + jax.lax.stop_gradient(whole - x)


@hidden(
    stage="gradient",
    required=True,
    idea="0, whole numbers, numbers halfway between, and large numbers: slope 1 too.",
    on="0, whole numbers, numbers halfway between, or large numbers",
)
def the_slope_is_one_at_every_kind_of_number(answer):
    """At 0, at whole numbers, halfway and far out the slope is 1."""
    for x in (0.0, -0.0, 3.0, -2.0, 0.5, 2.5, -1.5, 1000.25):
        expect_close(answer.grad()(x), jnp.float32(1.0), f"The slope at {x} should be 1.")


@hidden(idea="Large numbers, NaN, and an array without numbers.")
def large_numbers_are_whole(answer):
    """Large numbers are rounded exactly, NaN stays NaN, and an empty array stays empty."""
    x = np.float32([40000.6, -123456.7, 8388607.5, np.nan])
    expect_close(
        answer(x), np.round(x), "The values should be whole numbers.", rtol=0.0, atol=0.0, on="large numbers, and a NaN"
    )
    expect_close(
        answer(jnp.zeros((0, 2))),
        np.zeros((0, 2), np.float32),
        "An empty array should stay empty.",
        on="an array without numbers",
    )


@hidden(stage="value", idea="Numbers of both signs, in a matrix.", on="a matrix of numbers of any sign")
def any_values(answer, draw, reference):
    """Other numbers are rounded right."""
    x = 5 * draw.floats(2, 3)
    expect_close(answer(x), jnp.round(x))


# %% soft_plus
@answer
def soft_plus(x):
    @jax.custom_jvp
    def stable(x):
        return jnp.logaddexp(x, 0.0)

    @stable.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return stable(x), jax.nn.sigmoid(x) * dx

    return stable(x)


@alternative
def without_a_rule(x):
    return jnp.logaddexp(x, 0.0)


@alternative
def from_the_library(x):
    return jax.nn.softplus(x)


@alternative
@jax.jit
def small_and_large_apart(x):
    is_large = x > 15
    small, large = jnp.where(is_large, 0.0, x), jnp.where(is_large, x, 15.0)
    return jnp.where(is_large, large + jnp.exp(-large), jnp.log1p(jnp.exp(small)))


@wrong(rejected_by="zero_and_the_ends", says="At 0, the slopes of `abs` and `maximum` do not fit together.")
def the_stable_formula(x):
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@alternative
def clipped_before_the_risk(x):
    return jnp.where(x > 20, x, jnp.log1p(jnp.exp(jnp.minimum(x, 20.0))))


@wrong(
    rejected_by="values_from_minus_100_to_100",
    says="Infinity is replaced by the largest number there is.",
    misses_the_point=True,
)
def replaces_infinity(x):
    return jnp.nan_to_num(jnp.log(1 + jnp.exp(x)))


@wrong(rejected_by="values_from_minus_100_to_100", says="`log1p` helps for small x, and not for large ones.")
def log1p_alone(x):
    return jnp.log1p(jnp.exp(x))


@wrong(rejected_by="slopes_from_minus_100_to_100", says="One `where`: the unused branch still sends NaN back.")
def one_where(x):
    return jnp.where(x > 15, x, jnp.log1p(jnp.exp(x)))


@wrong(rejected_by="slopes_from_minus_100_to_100", says="The clipped value is frozen, so its slope is 0.")
def adds_what_was_clipped(x):
    small = jnp.clip(x, -100.0, 15.0)
    return jnp.log1p(jnp.exp(small)) + jax.lax.stop_gradient(x - small)


@wrong(
    rejected_by="second_derivatives_are_finite",
    says="The rule of the slope is stable, but its own slope is infinity by infinity.",
)
def an_unstable_rule(x):
    @jax.custom_jvp
    def stable(x):
        return jnp.logaddexp(x, 0.0)

    @stable.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return stable(x), (1 - 1 / (1 + jnp.exp(x))) * dx

    return stable(x)


@wrong(rejected_by="slopes_from_minus_100_to_100", says="The rule gives the sigmoid of 2x.")
def half_the_scale(x):
    @jax.custom_jvp
    def stable(x):
        return jnp.logaddexp(x, 0.0)

    stable.defjvp(lambda primals, tangents: (stable(primals[0]), 0.5 * (jnp.tanh(primals[0]) + 1) * tangents[0]))
    return stable(x)


@wrong(rejected_by="very_negative_numbers", says="1 + exp(-30) is 1, and its logarithm 0.")
def forgets_log1p(x):
    small = jnp.where(x > 15, 0.0, x)
    return jnp.where(x > 15, x, jnp.log(1 + jnp.exp(small)))


@wrong(rejected_by="zero_and_the_ends", says="At 0 the pieces do not fit together.")
def two_pieces_without_zero(x):
    return jnp.where(x > 0, x, 0.0) + jnp.where(x == 0, 0.0, jnp.log1p(jnp.exp(-jnp.abs(x))))


@hidden(
    stage="gradient",
    required=True,
    idea="Numbers from -10 to -80, where value and slope are tiny: the relative error counts.",
    on="very negative numbers",
)
def very_negative_numbers(answer):
    """From -80 to -10, value and slope are near exp(x), and not 0."""
    x = np.float32([-10.5, -18.7, -33.3, -60.1, -79.9])
    wide = x.astype(np.float64)
    message = "For very negative x, the values should be near exp(x)."
    expect_close(answer(x), np.log1p(np.exp(wide)).astype("float32"), message, rtol=1e-4, atol=0.0)
    message = "For very negative x, the slopes should be near exp(x)."
    expect_close(answer.grad().vmap()(x), true_sigmoid(x).astype("float32"), message, rtol=1e-4, atol=0.0)


@hidden(stage="gradient", required=True, idea="0, and the ends: -100 and 100.")
def zero_and_the_ends(answer):
    """At 0, at -100 and at 100 value and slope are right, and at 0 the second derivative."""
    x = np.float32([0.0, -100.0, 100.0])
    wanted = np.logaddexp(x.astype(np.float64), 0.0).astype("float32")
    expect_close(
        answer(x),
        wanted,
        "At 0 and at the ends the values should be log(1 + exp(x)).",
        atol=1e-6,
        on="0, and both ends of the range",
    )
    wanted = true_sigmoid(x).astype("float32")
    expect_close(
        answer.grad().vmap()(x),
        wanted,
        "At 0 and at the ends the slopes should be right.",
        atol=1e-6,
        on="0, and both ends of the range",
    )
    got = answer.grad().grad()(np.float32(0.0))
    expect_close(got, np.float32(0.25), "At 0 the second derivative should be 0.25.", on="the number 0")


@hidden(stage="gradient", idea="Seven numbers, some of them large.", on="numbers of any size and sign", required=True)
def any_number(answer, draw, reference):
    """At other numbers the slope is right."""
    x = np.float32(30) * draw.numpy(7)
    expect_close(answer.grad().vmap()(x), true_sigmoid(x).astype("float32"), atol=1e-6)


# %% per_example_gradients
@answer
def per_example_gradients(params, xs, ys):
    return jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)


@alternative
def jacobian_of_all_losses(params, xs, ys):
    return jax.jacrev(lambda p: jax.vmap(squared_error, in_axes=(None, 0, 0))(p, xs, ys))(params)


@alternative
@jax.jit
def closes_over_the_parameters(params, xs, ys):
    return jax.vmap(lambda x, y: jax.grad(squared_error)(params, x, y))(xs, ys)


@alternative
def with_calculus(params, xs, ys):
    twice = 2 * (xs @ params["w"] + params["b"] - ys)
    return {"b": twice, "w": twice[:, None] * xs}


@wrong(rejected_by="one_gradient_for_each_example", says="The gradient of the mean is one gradient for all.")
def gradient_of_the_mean(params, xs, ys):
    return jax.grad(lambda p: jnp.mean(jax.vmap(squared_error, in_axes=(None, 0, 0))(p, xs, ys)))(params)


@wrong(rejected_by="gradients_are_those_of_one_example", says="The mean gradient is copied for each example.")
def copies_the_mean_gradient(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf.mean(axis=0), leaf.shape), each)


@wrong(rejected_by="gradients_are_those_of_one_example", says="Each example's part of the mean is too small by n.")
def parts_of_the_mean(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(lambda leaf: leaf / len(xs), each)


@wrong(rejected_by="one_gradient_for_each_example", says="The parameters are mapped as if each example had its own.")
def maps_over_the_parameters(params, xs, ys):
    return jax.vmap(jax.grad(squared_error))(params, xs, ys)


@wrong(
    rejected_by="no_loop_over_the_examples",
    says="A Python loop over the examples is no vectorisation.",
    misses_the_point=True,
)
def loops_over_examples(params, xs, ys):
    each = [jax.grad(squared_error)(params, x, y) for x, y in zip(xs, ys, strict=True)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


@hidden(idea="Any parameters and examples.", on="a batch of five examples of two numbers")
def any_examples(answer, draw, reference):
    """Five examples of two numbers are right."""
    args = {"w": draw.floats(2), "b": draw.floats()}, draw.floats(5, 2), draw.floats(5)
    expect_close(answer(*args), reference(*args), rtol=1e-4, atol=1e-5)


@wrong(rejected_by="all_examples_at_once", says="`jax.lax.map` is a loop too: it does one example after the other.")
def loops_with_lax_map(params, xs, ys):
    return jax.lax.map(lambda one: jax.grad(squared_error)(params, *one), (xs, ys))


@wrong(rejected_by="one_example", says="A batch of one is taken for no batch.")
def squeezes_one_example(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(jnp.squeeze, each)


@hidden(
    stage="cost",
    idea="All examples at once: a loop of `jax.lax` does one after the other.",
    on="a batch of four examples",
)
def all_examples_at_once(answer, draw):
    """The program holds no loop."""
    expect_no_loop(answer, {"w": draw.floats(3), "b": draw.floats()}, draw.floats(4, 3), draw.floats(4))


@hidden(idea="A batch of one example, of one number.", on="a batch of one example of one number")
def one_example(answer, draw, reference):
    """One example of one number has its gradients in a batch."""
    args = {"w": draw.floats(1), "b": draw.floats()}, draw.floats(1, 1), draw.floats(1)
    expect_close(answer(*args), reference(*args), "One example should give a batch of one.", rtol=1e-4, atol=1e-5)


@hidden(
    idea="An example with large numbers and one with small ones: each gradient to a small relative error.",
    on="an example of large numbers beside one of small numbers",
)
def a_small_gradient_beside_a_large_one(answer, draw):
    """The gradient of an example of small numbers is as exact as that of large ones."""
    params = {"w": jnp.array([1.0, 2.0]), "b": jnp.float32(0.5)}
    xs, ys = np.float32([[300.0, -200.0], [0.001, 0.002]]), np.float32([100.0, 0.25])
    got, wanted = answer(params, xs, ys), gradients_by_hand(params, xs, ys)
    expect_close(got, wanted, "Each gradient should be exact.", rtol=1e-4, atol=0.0)


# %% hessian_times
@answer
def hessian_times(f, x, v):
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


@alternative
def reverse_over_reverse(f, x, v):
    return jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)


@alternative
def reverse_over_forward(f, x, v):
    return jax.grad(lambda x: jax.jvp(f, (x,), (v,))[1])(x)


@alternative
def linearized(f, x, v):
    _, push = jax.linearize(jax.grad(f), x)
    return push(v)


@wrong(rejected_by="the_cost_grows_as_that_of_f", says="The full matrix is built.", misses_the_point=True)
def the_full_matrix(f, x, v):
    return jax.jacfwd(jax.grad(f))(x) @ v


@wrong(rejected_by="the_cost_grows_as_that_of_f", says="The full matrix is built, one row after the other.")
def row_by_row(f, x, v):
    gradient = jax.grad(f)
    rows = [jax.grad(lambda x, i=i: gradient(x)[i])(x) for i in range(x.shape[0])]
    return jnp.stack(rows) @ v


@wrong(rejected_by="the_product_is_right", says="The gradient is multiplied by v; it is the first derivative.")
def the_gradient_times_v(f, x, v):
    return jax.grad(f)(x) * v


@wrong(rejected_by="the_product_is_right", says="The gradient is taken at the point x + v instead of along v.")
def the_gradient_at_another_point(f, x, v):
    return jax.grad(f)(x + v) - jax.grad(f)(x)


@wrong(rejected_by="the_product_is_right", says="Only the diagonal of the Hessian is used.")
def the_diagonal_alone(f, x, v):
    return jax.jvp(jax.grad(f), (x,), (jnp.ones_like(v),))[1] * v


@wrong(rejected_by="long_and_short_vectors", says="The product is estimated by a small step along v.")
def by_a_small_step(f, x, v):
    eps = 0.003
    return (jax.grad(f)(x + eps * v) - jax.grad(f)(x - eps * v)) / (2 * eps)


@hidden(idea="Vectors a thousand times as long and as short, zeros, and one parameter alone.")
def long_and_short_vectors(answer, draw):
    """For long and short vectors, for zeros and for one parameter the product is right."""
    x, v = draw.numpy(4), draw.numpy(4)
    product = valley_hessian(x) @ v
    for scale in (1e3, 1e-3, 0.0):
        wanted = (scale * product).astype("float32")
        got = answer(given("valley"), x, np.float32(scale) * v)
        message = f"With v times {scale:g}, the product should be {scale:g} times as large."
        expect_close(
            got,
            wanted,
            message,
            rtol=1e-3,
            atol=1e-3 * float(np.abs(wanted).max()),
            on="a long vector v, a short one, or zeros",
        )
    got = answer(given("energy"), np.float32([3.0]), np.float32([0.5]))
    expect_close(
        got,
        np.float32([1.0]),
        "For one parameter the product should be a vector of one number.",
        on="a vector of one parameter",
    )


@hidden(idea="Four parameters, at other points.", on="four parameters, at another point")
def any_vector(answer, draw, reference):
    """For other points and vectors the product is right."""
    x, v = draw.numpy(4), draw.numpy(4)
    wanted = (valley_hessian(x) @ v).astype("float32")
    expect_close(answer(given("valley"), x, v), wanted, rtol=2e-4, atol=2e-4 * float(np.abs(wanted).max()))
