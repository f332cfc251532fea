# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.course.author import (
    alternative,
    answer,
    equivalent,
    expect_close,
    expect_equal,
    expect_raises,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% nth_derivative
@answer(
    notice="Each round differentiates the function that the round before has made. With n = 0 there is no round, and "
    "f comes back.",
    another_way="`jax.jacfwd` in place of `jax.grad` goes forward, and for high derivatives is often cheaper.",
)
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
    rejected_by="the_second_derivative_of_tanh",
    says="A power of the slope is taken for a derivative of the slope.",
    misses_the_point=True,
)
def power_of_the_slope(f, n):
    return lambda x: jax.grad(f)(x) ** n if n else f(x)


@wrong(
    rejected_by="the_second_derivative_of_tanh",
    says="The slope is put in as the next point, where the slope function should be differentiated.",
)
def feeds_the_slope_back(f, n):
    def derivative(x):
        for _ in range(n):
            x = jax.grad(f)(x)
        return x

    return derivative


# A difference over a step of 1 is exact for the derivatives 2 to 4 of a cubic.
@wrong(
    rejected_by="the_first_derivative_of_tanh",
    says="The first derivative is only estimated, by a difference.",
    lacks="S2-13",
)
def estimates_the_first(f, n):
    if n == 1:
        return lambda x: f(x + 0.5) - f(x - 0.5)
    for _ in range(n):
        f = jax.grad(f)
    return f


@wrong(
    rejected_by="the_second_derivative_of_tanh",
    says="The second derivative is only estimated, by a difference of slopes.",
    lacks="S2-15",
)
def estimates_the_second(f, n):
    if n == 2:
        slope = jax.grad(f)
        return lambda x: slope(x + 0.5) - slope(x - 0.5)
    for _ in range(n):
        f = jax.grad(f)
    return f


@wrong(
    rejected_by="the_third_derivative_of_tanh",
    says="The third derivative is only estimated, by a difference of second ones.",
    lacks="S2-16",
)
def estimates_the_third(f, n):
    if n == 3:
        second = jax.grad(jax.grad(f))
        return lambda x: second(x + 0.5) - second(x - 0.5)
    for _ in range(n):
        f = jax.grad(f)
    return f


@wrong(rejected_by="the_derivatives_of_the_cubic", says="The list of derivatives ends with the third.", lacks="S2-19")
def three_at_most(f, n):
    for _ in range(min(n, 3)):
        f = jax.grad(f)
    return f


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


@input
def bell(x):
    return jnp.exp(-(x**2))


@hidden(idea="A function that is not in the lesson.", on="a function that is not in the lesson")
def a_function_from_elsewhere(answer):
    """The first three derivatives of exp(-x²) are right."""
    x = 0.7
    wanted = [-2 * x, 4 * x**2 - 2, 12 * x - 8 * x**3]
    for n, factor in enumerate(wanted, start=1):
        got = answer.then(given(bell), n)(x)
        expect_close(got, np.float32(factor * np.exp(-(x**2))), rtol=1e-4, atol=1e-5)


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


# %% gradient_by_position
@answer(
    notice="A tuple of positions gives a tuple, even a tuple of one. So `(1,)` and `1` are different questions.",
    another_way="Computing all gradients and choosing from them is right, too, and computes more than is asked for.",
)
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


@wrong(
    rejected_by="gradients_have_the_shapes_of_arguments",
    says="For one position, the entries of the gradient are added up.",
    lacks="S2-23",
)
def adds_the_entries_up(f, args, which=None):
    gradient = jax.grad(f, which or 0)(*args)
    return jnp.sum(gradient) if isinstance(which, int) else gradient


@wrong(
    rejected_by="gradients_have_the_shapes_of_arguments",
    says="Every int is taken for the first position.",
    lacks="S2-25",
)
def every_int_is_the_first(f, args, which=None):
    return jax.grad(f, which if isinstance(which, tuple) else 0)(*args)


@wrong(
    rejected_by="gradients_have_the_shapes_of_arguments",
    says="Of a tuple, only the first position counts.",
    lacks="S2-26",
)
def first_of_the_tuple(f, args, which=None):
    if isinstance(which, tuple):
        (which, *_) = which
    return jax.grad(f, which or 0)(*args)


@wrong(
    rejected_by="each_position_gives_a_partial_derivative",
    says="Positions are counted from the end, which is the same for the second of two.",
    lacks="S2-27",
)
def counts_from_the_end(f, args, which=None):
    if isinstance(which, tuple):
        return jax.grad(f, which)(*args)
    return jax.grad(f, -(which or 0))(*args)


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


@wrong(
    rejected_by="the_gradient_without_a_position",
    says="Without positions all gradients are returned, not the first.",
    lacks="S2-24",
)
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


@wrong(rejected_by="a_function_of_four_arguments", says="Three arguments are taken for the most.")
def three_arguments_at_most(f, args, which=None):
    every = jax.grad(f, tuple(range(min(len(args), 3))))(*args)
    if isinstance(which, tuple):
        return tuple(every[min(i, 2)] for i in which)
    return every[min(which or 0, 2)]


@input
def weigh_four(a, b, c, d):
    return a * jnp.sum(b) + jnp.sum(c**2) * d


@hidden(idea="A function of four arguments that is not in the lesson.", on="a function of four arguments")
def a_function_of_four_arguments(answer, draw):
    """For the positions (3, 1), the gradients with respect to the fourth and the second argument come."""
    a, b, c, d = draw.floats(), draw.floats(2), draw.floats(3), draw.floats()
    got = parts(answer(given(weigh_four), (a, b, c, d), (3, 1)), 2)
    expect_close(
        got,
        [jnp.sum(c**2), jnp.full(2, a)],
        "The gradients should be those with respect to d and b.",
        rtol=1e-5,
        atol=1e-5,
    )
    got = answer(given(weigh_four), (a, b, c, d), 2)
    expect_close(got, 2 * c * d, "The gradient should be that with respect to c.", rtol=1e-5, atol=1e-5)


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


# %% gradient_step
@answer(
    notice="`jax.tree.map` never needs to know what the container is: the gradient has the same one.",
    another_way="`jax.flatten_util.ravel_pytree` makes one vector of all parameters, and gives the way back.",
)
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


@wrong(rejected_by="every_container_comes_back", says="Only a dict is thought of.", lacks="S2-29")
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


@wrong(
    rejected_by="the_gradient_of_a_dict_is_a_dict", says="The gradient is returned after it was scaled.", lacks="S2-28"
)
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


@wrong(rejected_by="the_parameters_stay_as_they_are", says="The parameters are changed in place, and are the caller's.")
def steps_in_place(f, params, rate):
    gradient = jax.grad(f)(params)
    if isinstance(params, dict):
        for name in params:
            params[name] = params[name] - rate * gradient[name]
        return gradient, params
    return gradient, jax.tree.map(lambda p, g: p - rate * g, params, gradient)


@alternative
def a_named_tuple(f, params, rate):
    from collections import namedtuple

    gradient = jax.grad(f)(params)
    new = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
    return namedtuple("Step", ["gradient", "new"])(gradient, new)


@input
def squares_of_a_table(params):
    return sum(jnp.sum(row["x"] ** 2) for row in params["rows"])


@hidden(idea="A dict of a list of dicts, used again after the call.", on="a list of dicts in a dict")
def the_parameters_stay_as_they_are(answer, draw):
    """After the call the parameters are what they were."""
    params = {"w": draw.floats(3), "b": draw.floats()}
    seen = answer.observe(given("dict_loss"), params, 0.5)
    expect_equal(seen.arguments[1], params, "The parameters should stay as they are.")
    table = {"rows": [{"x": draw.floats(2)}, {"x": draw.floats(3)}]}
    gradient, new = parts(answer(given(squares_of_a_table), table, 0.25), 2)
    expect_close(gradient, jax.tree.map(lambda p: 2 * p, table), "The gradient should be 2 x.", rtol=1e-5)
    expect_close(
        new, jax.tree.map(lambda p: p / 2, table), "With rate 0.25, each x should be halved.", rtol=1e-5, atol=1e-6
    )


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


# %% loss_and_gradient
@answer(
    notice="`argnums` takes a tuple here, too, and then the gradient is a tuple, also for one argument.",
    another_way="`jax.vjp(f, *args)` gives the value, and a function for the way back: that is what `value_and_grad` "
    "does inside.",
)
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
    lacks="S2-32",
)
def computes_it_twice(f, args):
    return f(*args), jax.grad(f, tuple(range(len(args))))(*args)


@wrong(rejected_by="the_loss_is_computed_once", says="One pass for each argument.")
def one_pass_for_each_argument(f, args):
    values_and_slopes = [jax.value_and_grad(f, i)(*args) for i in range(len(args))]
    return values_and_slopes[0][0], tuple(slope for _, slope in values_and_slopes)


@wrong(
    rejected_by="a_value_and_a_tuple_of_gradients",
    says="Without `argnums` only the first argument counts.",
    lacks="S2-31",
)
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


@wrong(rejected_by="a_function_of_a_dict", says="Every argument is taken for an array.")
def takes_arguments_for_arrays(f, args):
    value, pull_back = jax.vjp(lambda *args: f(*args), *args)
    return value, tuple(jnp.asarray(gradient) for gradient in pull_back(jnp.ones_like(value)))


@input
def squares_of_both(point, scale):
    return scale * jnp.sum(point["x"] ** 2)


@hidden(idea="A function that is not in the lesson, of a dict and a number.", on="a function of a dict and a number")
def a_function_of_a_dict(answer, draw):
    """For a dict and a number, value and gradient are right."""
    x, scale = draw.floats(3), draw.floats()
    value, gradient = parts(answer(given(squares_of_both), ({"x": x}, scale)), 2)
    expect_close(value, scale * jnp.sum(x**2), rtol=1e-4, atol=1e-5)
    expect_close(tuple(parts(gradient, 2)), ({"x": 2 * scale * x}, jnp.sum(x**2)), rtol=1e-4, atol=1e-5)


@hidden(idea="A function of one argument.", on="a function of a single vector")
def any_arguments(answer, draw, reference):
    """For other arguments, and for one argument alone, value and gradient are right."""
    x = draw.floats(4)
    value, gradient = parts(answer(given("energy"), (x,)), 2)
    expect_close(value, jnp.sum(x**2), rtol=1e-4)
    expect_close(tuple(gradient), (2 * x,))


# %% train
@answer(
    notice="`value_and_grad` gives the loss from before the step: what is kept belongs to the parameters that go in.",
    another_way="`jax.lax.fori_loop` with arrays that are filled by `.at[i].set` is a loop in the program, too; `scan` "
    "stacks by itself.",
)
@partial(jax.jit, static_argnames=("function", "steps"))
def train(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@alternative
@partial(jax.jit, static_argnums=(0, 3))
def in_a_fori_loop(function, params, rate, steps):
    def step(i, state):
        params, losses, accuracies = state
        (loss, accuracy), gradient = jax.value_and_grad(function, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return params, losses.at[i].set(loss), accuracies.at[i].set(accuracy)

    if steps == 0:
        return params, jnp.zeros(0), jnp.zeros(0)
    return jax.lax.fori_loop(0, steps, step, (params, jnp.zeros(steps), jnp.zeros(steps)))


@alternative
def jits_inside_by_partial(function, params, rate, steps):
    return compiled_training(function, params, rate, steps)


@partial(jax.jit, static_argnames=("function", "steps"))
def compiled_training(function, params, rate, steps):
    from collections import namedtuple

    def step(params, _):
        gradient, noted = jax.grad(lambda p: (lambda both: (both[0], both))(function(p)), has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, None, steps)
    return namedtuple("Trained", ["params", "losses", "accuracies"])(params, losses, accuracies)


@wrong(rejected_by="the_notes_are_those_before_each_step", says="The loss is computed anew, after the step.")
@partial(jax.jit, static_argnames=("function", "steps"))
def notes_after_the_step(function, params, rate, steps):
    def step(params, _):
        gradient = jax.grad(lambda p: function(p)[0])(params)
        params = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return params, function(params)

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(
    rejected_by="the_notes_are_those_before_each_step",
    says="The accuracy is that of the new parameters, the loss that of the old ones.",
)
@partial(jax.jit, static_argnames=("function", "steps"))
def accuracy_of_the_new_parameters(function, params, rate, steps):
    def step(params, _):
        (loss, _), gradient = jax.value_and_grad(function, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return params, (loss, function(params)[1])

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="the_parameters_go_downhill", says="The steps go uphill.")
@partial(jax.jit, static_argnames=("function", "steps"))
def climbs(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p + rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="the_parameters_go_downhill", says="Each step starts from the parameters that went in.")
@partial(jax.jit, static_argnames=("function", "steps"))
def starts_over_in_each_step(function, params, rate, steps):
    def step(_, __):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    trained, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return trained, losses, accuracies


@wrong(
    rejected_by="the_steps_are_a_loop_in_the_program",
    says="A Python loop is unrolled: the program grows with the steps.",
    misses_the_point=True,
)
@partial(jax.jit, static_argnames=("function", "steps"))
def loops_in_python(function, params, rate, steps):
    losses, accuracies = [], []
    for _ in range(steps):
        (loss, accuracy), gradient = jax.value_and_grad(function, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        losses.append(loss)
        accuracies.append(accuracy)
    return params, jnp.array(losses, jnp.float32), jnp.array(accuracies, jnp.float32)


@wrong(rejected_by="one_trace_for_all_numbers", says="Nothing is jitted, and each call traces the loop anew.")
def scans_without_jit(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="one_trace_for_all_numbers", says="The rate is static, so that each rate makes a program.")
@partial(jax.jit, static_argnames=("function", "rate", "steps"))
def a_static_rate(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="one_trace_for_all_numbers", says="A new jitted function is made in each call.")
def jits_in_each_call(function, params, rate, steps):
    @jax.jit
    def run(params, rate):
        def step(params, _):
            noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
            return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

        return jax.lax.scan(step, params, length=steps)

    params, (losses, accuracies) = run(params, rate)
    return params, losses, accuracies


@wrong(rejected_by="the_steps_are_a_loop_in_the_program", says="Only one step is jitted; Python loops over it.")
def jits_one_step(function, params, rate, steps):
    losses, accuracies = [], []
    for _ in range(steps):
        params, loss, accuracy = one_jitted_step(function, params, rate)
        losses.append(loss)
        accuracies.append(accuracy)
    return params, jnp.array(losses, jnp.float32), jnp.array(accuracies, jnp.float32)


@partial(jax.jit, static_argnames="function")
def one_jitted_step(function, params, rate):
    (loss, accuracy), gradient = jax.value_and_grad(function, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), loss, accuracy


@wrong(rejected_by="each_step_computes_the_function_once", says="Loss and accuracy are computed beside the gradient.")
@partial(jax.jit, static_argnames=("function", "steps"))
def computes_it_twice(function, params, rate, steps):
    def step(params, _):
        gradient = jax.grad(lambda p: function(p)[0])(params)
        noted = function(jax.tree.map(jax.lax.optimization_barrier, params))
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="any_container_and_no_step", says="The parameters are taken for a dict of w and b.")
@partial(jax.jit, static_argnames=("function", "steps"))
def knows_w_and_b(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(function, has_aux=True)(params)
        return {name: params[name] - rate * gradient[name] for name in ("w", "b")}, noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@wrong(rejected_by="any_container_and_no_step", says="The function is taken for `moon_loss`.")
@partial(jax.jit, static_argnames=("function", "steps"))
def knows_the_function(function, params, rate, steps):
    def step(params, _):
        noted, gradient = jax.value_and_grad(moon_loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), noted

    params, (losses, accuracies) = jax.lax.scan(step, params, length=steps)
    return params, losses, accuracies


@input
def bowl_and_height(params):
    (x, [y]) = params["point"]
    loss = jnp.sum(x**2) + 2 * y**2
    return loss, 10 * y


@hidden(
    required=True,
    idea="Another function, a nested container, one step, many and none.",
    on="another function and container, and no step at all",
)
def any_container_and_no_step(answer, draw):
    """For a nested container the result is that of calculus, also without any step."""
    x, y = draw.floats(3), draw.floats()
    for rate, steps in ((0.125, 3), (0.0, 1), (0.125, 0)):
        got, losses, heights = parts(answer(given(bowl_and_height), {"point": (x, [y])}, rate, steps), 3)
        xs = [np.asarray(x, np.float64) * (1 - 2 * rate) ** i for i in range(steps + 1)]
        ys = [float(y) * (1 - 4 * rate) ** i for i in range(steps + 1)]
        wanted = {"point": (jnp.float32(xs[-1]), [jnp.float32(ys[-1])])}
        expect_close(got, wanted, "The parameters should be those after the last step.", rtol=1e-4, atol=1e-5)
        wanted = [np.sum(a**2) + 2 * b**2 for a, b in zip(xs, ys, strict=True)][:steps]
        expect_close(losses, np.float32(wanted), "The losses should be those before each step.", rtol=1e-4, atol=1e-5)
        wanted = np.float32([10 * b for b in ys[:steps]])
        expect_close(heights, wanted, "What comes with the loss should be kept of each step.", rtol=1e-4, atol=1e-5)


@hidden(stage="cost", required=True, idea="The loop is in the program for any function.", on="another function")
def a_loop_for_any_function(answer, draw):
    """For another function, too, the program is as long for 40 steps as for 4."""
    params = {"point": (draw.floats(3), [draw.floats()])}
    short, long = (answer.program(given(bowl_and_height), params, 0.1, steps).equations for steps in (4, 40))
    expect_that(long == short, "The program should be as long for 40 steps as for 4.", long, short)


# %% slope_in_two_ways
@answer(
    notice="The exact slope is the gradient times the direction: one gradient serves all directions. A finite "
    "difference must be computed anew for each.",
    another_way="`jax.jvp(f, args, direction)` gives the exact slope along a direction without any gradient.",
)
def slope_in_two_ways(f, args, direction, eps):
    def at(t):
        return f(*[x + t * d for x, d in zip(args, direction, strict=True)])

    gradient = jax.grad(f, tuple(range(len(args))))(*args)
    exact = sum(jnp.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    return (at(eps / 2) - at(-eps / 2)) / eps, exact


@alternative
def two_lists_of_arguments(f, args, direction, eps):
    ahead = [x + eps / 2 * d for x, d in zip(args, direction)]  # noqa: B905
    behind = [x - eps / 2 * d for x, d in zip(args, direction)]  # noqa: B905
    gradient = jax.grad(f, tuple(range(len(args))))(*args)
    exact = sum(np.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
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


@wrong(
    rejected_by="the_direction_is_taken_as_it_is",
    says="Only the first argument is moved for the difference.",
    lacks="S2-33",
)
def moves_the_first_alone(f, args, direction, eps):
    ahead, behind = ([args[0] + t * direction[0], *args[1:]] for t in (eps / 2, -eps / 2))
    return (f(*ahead) - f(*behind)) / eps, jax.jvp(f, args, direction)[1]


@wrong(
    rejected_by="the_direction_is_taken_as_it_is",
    says="Only the last argument is moved for the difference.",
    lacks="S2-34",
)
def moves_the_last_alone(f, args, direction, eps):
    ahead, behind = ([*args[:-1], args[-1] + t * direction[-1]] for t in (eps / 2, -eps / 2))
    return (f(*ahead) - f(*behind)) / eps, jax.jvp(f, args, direction)[1]


@wrong(rejected_by="the_documented_slope_by_the_bias", says="A step that fits float32 is taken for the one asked for.")
def another_step_for_small_ones(f, args, direction, eps):
    step = max(eps, 0.003)
    ahead, behind = ([x + t * d for x, d in zip(args, direction, strict=True)] for t in (step / 2, -step / 2))
    return (f(*ahead) - f(*behind)) / step, jax.jvp(f, args, direction)[1]


@wrong(rejected_by="the_documented_slope_by_the_bias", says="For a small step, the exact slope is returned for both.")
def exact_for_small_steps(f, args, direction, eps):
    exact = jax.jvp(f, args, direction)[1]
    ahead, behind = ([x + t * d for x, d in zip(args, direction, strict=True)] for t in (eps / 2, -eps / 2))
    return exact if eps < 0.001 else (f(*ahead) - f(*behind)) / eps, exact


@wrong(rejected_by="the_documented_slope_by_the_bias", says="A smaller step is taken for an exact slope.")
def a_smaller_step_for_the_exact_slope(f, args, direction, eps):
    def along(t):
        return f(*(x + t * d for x, d in zip(args, direction, strict=True)))

    return (along(eps / 2) - along(-eps / 2)) / eps, (along(0.01) - along(-0.01)) / 0.02


@wrong(
    rejected_by="the_difference_is_that_of_float32",
    says="The points are NumPy's float64, and so is what f makes of them.",
)
def in_float64(f, args, direction, eps):
    ends = [[np.float64(x) + t * np.float64(d) for x, d in zip(args, direction)] for t in (eps / 2, -eps / 2)]  # noqa: B905
    return float(f(*ends[0]) - f(*ends[1])) / eps, jax.jvp(f, args, direction)[1]


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


@input
def product_of_three(x, y, z):
    return jnp.sum(x) * y * z


@hidden(idea="A function of three arguments that is not in the lesson.", on="a function that is not in the lesson")
def a_function_from_elsewhere(answer):
    """For a product of three, with eps = 2, both slopes are those of calculus."""
    args = (jnp.array([1.0, 1.0]), jnp.float32(3.0), jnp.float32(5.0))
    direction = (jnp.array([1.0, 0.0]), jnp.float32(1.0), jnp.float32(1.0))
    got = [number(part) for part in parts(answer(given(product_of_three), args, direction, 2.0), 2)]
    message = "For the product of three, the slopes should be 32 and 31."
    expect_close(got, [32.0, 31.0], message, rtol=1e-5)


equivalent("9c1561f30f", because="As many directions as arguments go in.")
equivalent("04ec540a08", because="As many directions as arguments go in.")
equivalent("d599276cae", because="As many directions as arguments go in.")
equivalent("0c6b89c202", because="NumPy's product of two JAX arrays is the same number.")


# %% predict_better_step
@answer
def predict_better_step():
    return 0.01


# %% sine_ratio
@answer(
    notice="The inner `where` keeps 0 away from the division. The outer one chooses the value; it alone is not enough.",
    another_way="`jnp.sinc(x / jnp.pi)` has the rule built in. With `1 - x**2 / 6` near 0, small x have a right "
    "slope, too.",
)
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


@wrong(rejected_by="nan_stays_nan", says="What is not above 0 in size is taken for 0, and so is NaN.")
def takes_nan_for_zero(x):
    harmless = jnp.where(jnp.abs(x) > 0, x, 1.0)
    return jnp.where(jnp.abs(x) > 0, jnp.sin(harmless) / harmless, 1.0)


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


# %% print_derivatives
@answer(
    notice="`print(rows[-1][0])` prints a number, since nothing here is traced: `vmap` has come back with numbers.",
    another_way="The slope of `lambda x: jnp.sum(f(x))` is the slope at each point, without `vmap`, if f works on each "
    "number by itself.",
)
def print_derivatives(f, xs):
    rows = [jax.vmap(f)(xs)]
    for _ in range(4):
        f = jax.grad(f)
        rows.append(jax.vmap(f)(xs))
        print(rows[-1][0])
    return jnp.stack(rows)


@alternative
def slope_of_the_sum(f, xs):
    rows = [f(xs)]
    for _ in range(4):
        f = jax.grad(lambda x, f=f: jnp.sum(f(x)))
        rows.append(f(xs))
    for row in rows[1:]:
        print(row[0].item())
    return jnp.array(rows)


@alternative
def prints_at_the_end(f, xs):
    functions = [f]
    for _ in range(4):
        functions.append(jax.grad(functions[-1]))
    table = np.array([[g(x) for x in xs] for g in functions])
    print(*table[1:, 0], sep="\n")
    return table


@wrong(rejected_by="five_rows_of_n_numbers", says="`jax.grad` is called with all points at once, without `vmap`.")
def grad_of_a_vector(f, xs):
    rows = [f(xs)]
    for _ in range(4):
        f = jax.grad(f)
        rows.append(f(xs))
        print(rows[-1][0])
    return jnp.stack(rows)


def printed(table):
    """Print the numbers in the first column of the derivatives, and return the table."""
    for row in table[1:]:
        print(row[0])
    return table


def rows_of(f, xs):
    """Return the table."""
    rows = []
    for _ in range(5):
        rows.append(jax.vmap(f)(xs))
        f = jax.grad(f)
    return jnp.stack(rows)


@wrong(
    rejected_by="the_cubic_and_its_slope",
    says="The first row holds the slope, as the second one does, and not the function.",
    lacks="S2-17",
)
def starts_with_the_slope(f, xs):
    table = rows_of(f, xs)
    return printed(table.at[0].set(table[1]))


@wrong(
    rejected_by="the_formulas_hold",
    says="The higher derivatives are computed at the first point only, and copied.",
    lacks="S2-18",
)
def higher_ones_at_the_first_point(f, xs):
    table = rows_of(f, xs)
    return printed(table.at[2:].set(table[2:, :1]))


@wrong(rejected_by="the_derivatives_at_1", says="A batch of one is taken for no batch.", lacks="S2-20")
def squeezes_one_point(f, xs):
    return jnp.squeeze(printed(rows_of(f, xs)))


@wrong(
    rejected_by="four_lines_are_printed",
    says="The table is returned, and nothing is printed.",
    misses_the_point=True,
    lacks="S2-21",
)
def prints_nothing(f, xs):
    return rows_of(f, xs)


@wrong(rejected_by="four_lines_are_printed", says="The numbers are printed in one line.", lacks="S2-21")
def prints_one_line(f, xs):
    table = rows_of(f, xs)
    print(*table[1:, 0])
    return table


@wrong(rejected_by="four_lines_are_printed", says="Each line says whose number it is.")
def prints_names(f, xs):
    table = rows_of(f, xs)
    for n in range(1, 5):
        print(f"derivative {n}: {table[n, 0]}")
    return table


@wrong(rejected_by="four_lines_are_printed", says="Inside of `vmap`, `print` shows tracers.")
def prints_tracers(f, xs):
    table = rows_of(f, xs)
    for n in range(1, 5):
        jax.vmap(lambda y: (print(y), y)[1])(table[n])
    return table


@wrong(rejected_by="four_lines_are_printed", says="f is printed, too.")
def prints_five(f, xs):
    table = rows_of(f, xs)
    for row in table:
        print(row[0])
    return table


@wrong(
    rejected_by="any_function_can_be_tabulated", says="The formulas of the cubic are written down for every function."
)
def formulas_of_the_cubic(f, xs):
    one = jnp.ones_like(xs)
    return printed(jnp.stack([f(xs), 3 * xs**2 + 4 * xs - 3, 6 * xs + 4, 6 * one, 0 * one]))


@wrong(rejected_by="the_formulas_hold", says="Every row is the slope once more, without going on.")
def the_slope_four_times(f, xs):
    return printed(jnp.stack([jax.vmap(f)(xs)] + [jax.vmap(jax.grad(f))(xs)] * 4))


@wrong(rejected_by="the_lines_are_those_of_the_table", says="The four numbers of the example are printed.")
def prints_the_example(f, xs):
    print("4.0\n10.0\n6.0\n0.0")
    return rows_of(f, xs)


@wrong(
    rejected_by="the_lines_are_those_of_the_table",
    says="The derivatives at 1 are printed, and not those at the first point.",
)
def prints_at_1(f, xs):
    printed(rows_of(f, jnp.ones(1)))
    return rows_of(f, xs)


@input
def bell(x):
    return jnp.exp(-(x**2))


@hidden(
    required=True,
    idea="A function that is not in the lesson, at points other than 1.",
    on="another function, at other points",
)
def the_lines_are_those_of_the_table(answer, draw):
    """The lines are the derivatives at the first point."""
    seen = answer.observe(given(bell), jnp.array([0.75, 0.25]))
    table = np.asarray(seen.value)
    x = np.float64([0.75, 0.25])
    bells = np.exp(-(x**2))
    wanted = [bells, -2 * x * bells, (4 * x**2 - 2) * bells, (12 * x - 8 * x**3) * bells]
    wanted.append((16 * x**4 - 48 * x**2 + 12) * bells)
    expect_close(seen.value, np.stack(wanted).astype("float32"), rtol=1e-4, atol=1e-4)
    message = "The four lines should be the derivatives at the first point."
    try:
        lines = [float(line) for line in seen.lines]
    except ValueError:
        lines = []
    near = len(lines) == 4 and np.allclose(lines, table[1:, 0], rtol=1e-4, atol=1e-5)
    expect_that(near, message, seen.lines, table[1:, 0].tolist())


@hidden(idea="tanh, at nine points.", on="the function tanh, at nine points")
def any_points(answer, draw):
    """For tanh and other points, each derivative is right too."""
    xs = draw.numpy(9)
    t = np.tanh(xs.astype(np.float64))
    s = 1 - t**2
    wanted = np.stack([t, s, -2 * t * s, (6 * t**2 - 2) * s, (16 * t - 24 * t**3) * s])
    expect_close(answer(given("tanh"), xs), wanted.astype("float32"), rtol=1e-4, atol=1e-4)
    xs = np.float32([0.5, np.nan])
    wanted = np.stack([2**k * np.sin(2 * xs + k * np.pi / 2) for k in range(5)]).astype("float32")
    message = "At NaN, f and its derivatives should be NaN."
    expect_close(answer(given("wave"), xs), wanted, message, rtol=1e-4, atol=1e-4, on="a NaN")


equivalent("01406b1939", because="A NumPy array of float32 is a float32[5,n], too.")
equivalent("1e024ef61a", because="A NumPy array of float32 is a float32[5,n], too.")
equivalent("53a85fbfed", because="f works on each number of an array, so that the values need no `vmap`.")


# %% gradient_or_refusal
@answer(
    notice="`jax.grad(f)` itself never refuses: only a call knows what goes in, and what comes out.",
    another_way="Testing dtypes and shapes yourself is longer, and misses cases, such as a function that returns an "
    "int.",
)
def gradient_or_refusal(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f)(x)
        except TypeError as error:
            return str(error)

    return gradient_or_message


@alternative
def makes_the_gradient_first(f):
    slope = jax.grad(f)

    def gradient_or_message(x):
        try:
            return slope(x)
        except TypeError as error:
            return error.args[0]

    return gradient_or_message


@alternative
def by_value_and_grad(f):
    def gradient_or_message(x):
        try:
            jax.grad(f)(x)
        except TypeError as error:
            return f"{error}"
        return jax.value_and_grad(f)(x)[1]

    return gradient_or_message


@wrong(
    rejected_by="what_grad_accepts",
    says="The message is written by hand, after a look at dtype and shape.",
    lacks="S2-14",
)
def own_words(f):
    def gradient_or_message(x):
        if not jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating):
            return "the input must be a float"
        if jnp.shape(f(x)):
            return "the output must be one number"
        return jax.grad(f)(x)

    return gradient_or_message


@wrong(
    rejected_by="the_message_is_all_of_jaxs_own",
    says="The two messages of the lesson are copied, with their shapes and dtypes.",
    misses_the_point=True,
)
def copies_the_messages(f):
    def gradient_or_message(x):
        if not jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating):
            return (
                "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got "
                "int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True."
            )
        if jnp.shape(f(x)):
            return "Gradient only defined for scalar-output functions. Output had shape: (2,)."
        return jax.grad(f)(x)

    return gradient_or_message


@wrong(rejected_by="the_message_is_all_of_jaxs_own", says="Only the first sentence is returned.")
def first_sentence(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f)(x)
        except TypeError as error:
            return str(error).split(". ")[0]

    return gradient_or_message


@wrong(rejected_by="the_message_is_all_of_jaxs_own", says="`repr` is taken for the message.")
def the_repr(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f)(x)
        except TypeError as error:
            return repr(error)

    return gradient_or_message


@wrong(rejected_by="what_grad_accepts", says="f is tried out when the function is made.", lacks="S2-14")
def tries_f_at_once(f):
    f(1.0)

    def gradient_or_message(x):
        try:
            return jax.grad(f)(x)
        except TypeError as error:
            return str(error)

    return gradient_or_message


@wrong(rejected_by="what_grad_accepts", says="The refusal is expected where the function is made.")
def catches_too_early(f):
    try:
        return jax.grad(f)
    except TypeError as error:
        message = str(error)
        return lambda x: message


@wrong(
    rejected_by="vectors_and_short_floats_have_gradients",
    says="Whole numbers are made into floats, so that nothing is refused.",
)
def converts_whole_numbers(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f)(jnp.asarray(x, jnp.float32))
        except TypeError as error:
            return str(error)

    return gradient_or_message


@wrong(rejected_by="what_grad_accepts", says="`allow_int=True` lets whole numbers in.")
def allows_integers(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f, allow_int=True)(x)
        except TypeError as error:
            return str(error)

    return gradient_or_message


@wrong(rejected_by="other_refusals_and_errors", says="Every error is taken for a refusal.")
def catches_everything(f):
    def gradient_or_message(x):
        try:
            return jax.grad(f)(x)
        except Exception as error:
            return str(error)

    return gradient_or_message


@input
def whole_part(x):
    return jnp.floor(x).astype("int32")


@input
def wants_a_table(x):
    if x.ndim != 2:
        raise ValueError("this needs a table")
    return jnp.sum(x)


@hidden(
    required=True,
    idea="A function that returns an int, and one that raises an error of its own.",
    on="functions that are not in the lesson",
)
def other_refusals_and_errors(answer):
    """A result of int is refused, and an error that is no TypeError passes."""
    got, wanted = answer.then(given(whole_part))(2.5), refusal(whole_part, 2.5)
    expect_that(got == wanted, "The message should be JAX's own, all of it.", got, wanted)
    seen = answer.then(given(wants_a_table)).observe_error(jnp.ones(3))
    expect_raises(seen, "ValueError", "this needs a table")
    expect_close(answer.then(given(wants_a_table))(jnp.ones((1, 2))), jnp.ones((1, 2)))


# %% start_of_regression
@answer(
    notice="The key that stays for later is what lets a program draw more, without using a key twice.",
    another_way="`jax.random.split(key, 3)` is an array of keys, so `keys[1]` and `keys[2]` will do.",
)
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


@wrong(rejected_by="the_documented_start", says="The key is split in two, not in three.", lacks="S2-22")
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


@answer(
    notice="A registered class is a container like any other: the same two methods serve `grad`, `jit` and `vmap`.",
    another_way="A NamedTuple needs no registration, and for a dataclass there is `jax.tree_util.register_dataclass`.",
)
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
    rejected_by="the_gradient_is_a_model",
    says="The bias is put into the static part, where nothing is differentiated.",
    lacks="S2-30",
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


# %% derivatives_agree
@answer(
    notice="`order=2` differentiates the derivative, too: a frozen slope is found only there.",
    another_way='`modes=["rev"]` checks reverse mode alone, which a function with a `custom_vjp` needs.',
)
def derivatives_agree(f, args):
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


@wrong(rejected_by="two_bad_rules_are_found", says="`order=1` does not look at second derivatives.", lacks="S2-35")
def first_order_alone(f, args):
    try:
        check_grads(f, args, order=1)
    except AssertionError:
        return False
    return True


@wrong(
    rejected_by="two_bad_rules_are_found", says="`check_grads` returns None when all is well, and None counts as False."
)
def believes_the_return_value(f, args):
    try:
        return bool(check_grads(f, args, order=2))
    except AssertionError:
        return False


@wrong(rejected_by="two_bad_rules_are_found", says="The AssertionError is not caught.")
def does_not_catch(f, args):
    check_grads(f, args, order=2)
    return True


@wrong(rejected_by="two_bad_rules_are_found", says="A finite gradient is taken for a right one.")
def only_looks_for_nan(f, args):
    gradient = jax.grad(f, tuple(range(len(args))))(*args)
    return all(bool(jnp.isfinite(g).all()) for g in gradient)


@wrong(rejected_by="each_argument_counts", says="Only the first argument is looked at.")
def the_first_argument_alone(f, args):
    try:
        check_grads(lambda x: f(x, *args[1:]), args[:1], order=2)
    except AssertionError:
        return False
    return True


@wrong(
    rejected_by="functions_from_elsewhere_are_judged",
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
    told = [truth(answer(given(name), (jnp.float32(2.0),))) for name in ("sigmoid", "safer_root", "wave")]
    expect_that(told == [True, True, True], "All three should be told right.", told, [True, True, True])


@hidden(
    idea="The bad rules at other points.",
    on="the functions of the lesson, at other points",
)
def other_points_are_judged(answer, draw, reference):
    """At another point, the answer is right too."""
    x = jnp.float32(draw.integer(5, 14) / 10)
    told = [truth(answer(given(name), (x,))) for name in ("frozen_slope", "wrong_slope", "cubic")]
    expect_that(told == [False, False, True], "Not all are told right.", told, [False, False, True])


@input
def sine_of_the_sum(x):
    return jnp.sum(jnp.sin(x))


@input
def half_the_slope(x):
    return jnp.sum(x * jax.lax.stop_gradient(x))


@hidden(idea="Functions of a vector that are not in the lesson.", on="functions of a vector that are not in the lesson")
def functions_from_elsewhere_are_judged(answer):
    """A right function of a vector is told right, and one with a frozen part wrong."""
    x = jnp.array([1.0, 0.5, 1.5])  # of random vectors, one in 150 is beyond the tolerance of `check_grads`
    told = [truth(answer(given(one), (x,))) for one in (sine_of_the_sum, half_the_slope)]
    expect_that(told == [True, False], "These should be True and False.", told, [True, False])


equivalent("79a503ad0e", because="True is no NaN.")
equivalent("a16f0ae07c", because="NumPy's True is True, too.")
equivalent("eb07cf62d3", because="The magnitude of True is True.")


# %% jacobian_by_hand
@answer(
    notice="`vmap` over unit vectors puts the columns into rows, so forward needs a transpose, and reverse none.",
    another_way="`jax.jacfwd(f)(x)` and `jax.jacrev(f)(x)` do the same, for pytrees, too.",
)
def jacobian_by_hand(f, x, mode):
    if mode == "forward":
        return jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1], out_axes=1)(jnp.eye(x.size))
    value, pull = jax.vjp(f, x)
    return jax.vmap(lambda u: pull(u)[0])(jnp.eye(value.size))


@alternative
def from_the_library(f, x, mode):
    return jax.jacfwd(f)(x) if mode == "forward" else jax.jacrev(f)(x)


@alternative
def linearized(f, x, mode):
    value, push = jax.linearize(f, x)
    if mode == "forward":
        return jax.vmap(push)(jnp.eye(x.size)).T
    return jax.vmap(jax.vjp(f, x)[1])(jnp.eye(value.size))[0]


@alternative
@partial(jax.jit, static_argnames=("f", "mode"))
def gradients_of_results(f, x, mode):
    if mode == "forward":
        return jax.vmap(lambda v: jax.jvp(f, [x], [v])[1])(jnp.eye(len(x))).transpose()
    m = jax.eval_shape(f, x).size
    return jax.vmap(jax.grad(lambda x, i: f(x)[i]), in_axes=(None, 0))(x, jnp.arange(m))


@wrong(
    rejected_by="a_while_loop_goes_forward_only",
    says="Forward is used for both.",
    misses_the_point=True,
)
def always_forward(f, x, mode):
    return jax.jacfwd(f)(x)


@wrong(rejected_by="a_while_loop_goes_forward_only", says="Reverse is used for both.", misses_the_point=True)
def always_reverse(f, x, mode):
    return jax.jacrev(f)(x)


@wrong(
    rejected_by="each_mode_has_its_cost",
    says="In reverse, only the error is taken from `vjp`; the matrix is computed forward.",
    misses_the_point=True,
)
def forward_after_a_look(f, x, mode):
    if mode == "reverse":
        jax.eval_shape(jax.jacrev(f), x)
    return jax.jacfwd(f)(x)


@wrong(rejected_by="results_by_arguments", says="The columns are left in the rows.")
def forgets_the_transpose(f, x, mode):
    if mode == "forward":
        return jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1])(jnp.eye(x.size))
    value, pull = jax.vjp(f, x)
    return jax.vmap(lambda u: pull(u)[0])(jnp.eye(value.size))


@wrong(rejected_by="results_by_arguments", says="`pull` gives a tuple, which is left in.")
def keeps_the_tuple(f, x, mode):
    if mode == "forward":
        return jax.jacfwd(f)(x)
    value, pull = jax.vjp(f, x)
    return jax.vmap(pull)(jnp.eye(value.size))


@wrong(rejected_by="a_while_loop_goes_forward_only", says="The modes are mixed up.")
def mixes_the_modes_up(f, x, mode):
    return jax.jacrev(f)(x) if mode == "forward" else jax.jacfwd(f)(x)


@wrong(rejected_by="no_loop_over_unit_vectors", says="A Python loop takes one unit vector after the other.")
def loops_over_unit_vectors(f, x, mode):
    if mode == "forward":
        return jnp.stack([jax.jvp(f, (x,), (v,))[1] for v in jnp.eye(x.size)], axis=1)
    value, pull = jax.vjp(f, x)
    return jnp.stack([pull(u)[0] for u in jnp.eye(value.size)])


@wrong(rejected_by="no_loop_over_unit_vectors", says="`jax.lax.map` takes one unit vector after the other.")
def loops_with_lax_map(f, x, mode):
    if mode == "forward":
        return jax.lax.map(lambda v: jax.jvp(f, (x,), (v,))[1], jnp.eye(x.size)).T
    value, pull = jax.vjp(f, x)
    return jax.lax.map(lambda u: pull(u)[0], jnp.eye(value.size))


@wrong(rejected_by="one_result_and_one_argument", says="A matrix of one row is taken for a vector.")
def squeezes_one_row(f, x, mode):
    return jnp.squeeze(jax.jacfwd(f)(x) if mode == "forward" else jax.jacrev(f)(x))


@input
def cubes_and_sum(x):
    return jnp.concatenate([x**3, jnp.sum(x, keepdims=True)])


@hidden(idea="One result, one argument, and a function that is not in the lesson.")
def one_result_and_one_argument(answer, draw):
    """For one result or one argument the Jacobian is a matrix, too; a function from elsewhere is right."""
    for mode in ("forward", "reverse"):
        x = draw.numpy(3)
        wanted = np.concatenate([np.diag(3 * x**2), np.ones((1, 3), np.float32)])
        got = answer(given(cubes_and_sum), x, mode)
        expect_close(got, wanted, rtol=1e-5, atol=1e-5, on="a function that is not in the lesson")
        got = answer(given("first_number"), x, mode)
        expect_close(got, np.float32([[1, 0, 0]]), "One result should give one row.", on="a function with one result")
        got = answer(given("first_number"), x[:1], mode)
        expect_close(got, np.float32([[1]]), "One number should give [1,1].", on="one argument and one result")


# %% per_example_gradients
@answer(
    notice="`grad` is written for one example, and `vmap` goes around it: `vmap(grad(f))`, not `grad(vmap(f))`.",
    another_way="`jax.jacrev` of the vector of all losses gives the same, with a row for each example.",
)
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
    says="A Python loop over the examples is not vectorization.",
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


@wrong(
    rejected_by="no_loop_over_the_examples", says="`jax.lax.map` is a loop too: it does one example after the other."
)
def loops_with_lax_map(params, xs, ys):
    return jax.lax.map(lambda one: jax.grad(squared_error)(params, *one), (xs, ys))


@wrong(rejected_by="one_example", says="A batch of one is taken for no batch.")
def squeezes_one_example(params, xs, ys):
    each = jax.vmap(jax.grad(squared_error), in_axes=(None, 0, 0))(params, xs, ys)
    return jax.tree.map(jnp.squeeze, each)


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


# %% with_clipped_gradient
@answer(
    notice="The rule stands before f: on the way back, the cotangent there is all of the gradient of f.",
    another_way="Clipping `jax.grad(f)` in the training loop is usual. A rule can stand in the middle of a model, too.",
)
def with_clipped_gradient(f, limit):
    @jax.custom_vjp
    def through(x):
        return x

    def forward(x):
        return x, None

    def backward(_, cotangent):
        return (jnp.clip(cotangent, -limit, limit),)

    through.defvjp(forward, backward)
    return lambda x: f(through(x))


@jax.custom_vjp
def clip_cotangent(x, limit):
    return x


clip_cotangent.defvjp(
    lambda x, limit: (x, limit),
    lambda limit, cotangent: (jnp.minimum(jnp.maximum(cotangent, -limit), limit), jnp.zeros_like(limit)),
)


@alternative
def a_rule_with_two_arguments(f, limit):
    def clipped(x):
        return f(clip_cotangent(x, jnp.float32(limit)))

    return jax.jit(clipped)


@alternative
def a_slope_along_the_clipped_gradient(f, limit):
    def clipped(x):
        fixed = jax.lax.stop_gradient(x)
        slope = jnp.clip(jax.grad(f)(fixed), -limit, limit)
        return jax.lax.stop_gradient(f(x)) + jnp.sum(slope * (x - fixed))

    return clipped


@alternative
def a_rule_for_all_of_f(f, limit):
    clipped = jax.custom_vjp(f)
    clipped.defvjp(
        lambda x: (f(x), x),
        lambda x, cotangent: (jnp.clip(cotangent * jax.grad(f)(x), -limit, limit),),
    )
    return clipped


@wrong(
    rejected_by="each_entry_is_clipped",
    says="x is clipped, and not the gradient.",
)
def clips_x(f, limit):
    return lambda x: f(x + 0 * jnp.clip(x, -limit, limit))


@wrong(rejected_by="the_values_are_those_of_f", says="The value is clipped.", misses_the_point=True)
def clips_the_value(f, limit):
    return lambda x: jnp.clip(f(x), -limit, limit)


@wrong(
    rejected_by="each_entry_is_clipped",
    says="The rule stands after f, where the cotangent is 1.",
    misses_the_point=True,
)
def clips_after_f(f, limit):
    @jax.custom_vjp
    def through(y):
        return y

    through.defvjp(lambda y: (y, None), lambda _, cotangent: (jnp.clip(cotangent, -limit, limit),))
    return lambda x: through(f(x))


@wrong(rejected_by="each_entry_is_clipped", says="The gradient is scaled to a length of at most `limit`.")
def scales_the_gradient(f, limit):
    @jax.custom_vjp
    def through(x):
        return x

    def backward(_, cotangent):
        length = jnp.sqrt(jnp.sum(cotangent**2))
        return (cotangent * jnp.minimum(1.0, limit / jnp.maximum(length, 1e-9)),)

    through.defvjp(lambda x: (x, None), backward)
    return lambda x: f(through(x))


@wrong(rejected_by="each_entry_is_clipped", says="Only large positive entries are clipped.")
def clips_from_above(f, limit):
    @jax.custom_vjp
    def through(x):
        return x

    through.defvjp(lambda x: (x, None), lambda _, cotangent: (jnp.minimum(cotangent, limit),))
    return lambda x: f(through(x))


@wrong(rejected_by="each_entry_is_clipped", says="Every entry becomes ±limit, also a small one.")
def takes_the_sign(f, limit):
    @jax.custom_vjp
    def through(x):
        return x

    through.defvjp(lambda x: (x, None), lambda _, cotangent: (limit * jnp.sign(cotangent),))
    return lambda x: f(through(x))


@wrong(rejected_by="each_entry_is_clipped", says="What is too large becomes 0.")
def drops_large_entries(f, limit):
    @jax.custom_vjp
    def through(x):
        return x

    through.defvjp(lambda x: (x, None), lambda _, cotangent: (jnp.where(jnp.abs(cotangent) > limit, 0.0, cotangent),))
    return lambda x: f(through(x))


@wrong(rejected_by="another_function_and_limit_0", says="The gradient of the energy is written down.")
def knows_the_energy(f, limit):
    def clipped(x):
        fixed = jax.lax.stop_gradient(x)
        slope = jnp.clip(2 * fixed if jnp.ndim(x) else jax.grad(f)(fixed), -limit, limit)
        return jax.lax.stop_gradient(f(x)) + jnp.sum(slope * (x - fixed))

    return clipped


@wrong(rejected_by="it_works_jitted_and_mapped", says="NumPy clips, and cannot clip a tracer.")
def clips_with_numpy(f, limit):
    def slope(x):
        return jnp.asarray(np.clip(np.asarray(jax.grad(f)(x)), -limit, limit))

    clipped = jax.custom_vjp(f)
    clipped.defvjp(lambda x: (f(x), slope(x)), lambda kept, cotangent: (cotangent * kept,))
    return clipped


latest = {}


@wrong(rejected_by="each_function_has_its_limit", says="All functions clip to the limit that was asked for last.")
def one_limit_for_all(f, limit):
    latest["limit"] = limit
    clipped = jax.custom_vjp(f)
    clipped.defvjp(
        lambda x: (f(x), jax.grad(f)(x)),
        lambda kept, cotangent: (jnp.clip(cotangent * kept, -latest["limit"], latest["limit"]),),
    )
    return clipped


@input
def squares(x):
    return jnp.sum(x**2)


@hidden(
    stage="gradient",
    required=True,
    idea="Two functions with two limits: each keeps its own.",
    on="a function made after this one, with another limit",
)
def each_function_has_its_limit(answer):
    """Another function, made with another limit, changes nothing."""
    made = answer.then(given(squares), 2.0, beside=(given("energy"), 0.5))
    got = made.grad()(np.float32([3.0, -0.5, -4.0]))
    expect_close(got, np.float32([2.0, -1.0, -2.0]), "Each function should keep its own limit.")


@input
def fifth_powers(x):
    return jnp.sum(x**5) + jnp.sum(x)


@hidden(
    stage="gradient",
    required=True,
    idea="A function that is not in the lesson, matrices, large numbers, and the limit 0.",
    on="a function that is not in the lesson, or the limit 0",
)
def another_function_and_limit_0(answer, draw):
    """For another function, for a matrix and for the limit 0 the gradient is clipped."""
    x = np.float32([[10.0, -0.5], [0.0, 0.75]])
    for limit in (1.25, 0.0, 1e6):
        wanted = np.clip(5 * x**4 + 1, -limit, limit)
        got = answer.then(given(fifth_powers), limit).grad()(x)
        expect_close(got, wanted, f"With limit {limit}, each entry should be clipped.", rtol=1e-5)
        expect_close(answer.then(given(fifth_powers), limit)(x), np.sum(x**5) + np.sum(x), rtol=1e-5)


equivalent("54d2dbee99", because="Between two limits, it is the same to clip the lower limit by the number.")


# %% hessian_times
@answer(
    notice="Forward over reverse: `jvp` goes forward along v through the program of the gradient.",
    another_way="`jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)` goes twice in reverse, and needs somewhat more "
    "memory.",
)
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
    got = answer(given("energy"), np.float32([3.0]), np.float32([np.nan]))
    expect_close(got, np.float32([np.nan]), "NaN in v should stay NaN.", on="a NaN in v")
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


@input
def mixed_product(x):
    return jnp.sum(x[1:] * x[:-1] ** 2)


@hidden(idea="A function that is not in the lesson.", on="a function that is not in the lesson")
def a_function_from_elsewhere(answer):
    """For y x² + z y², the product is that of the Hessian."""
    x, y, z = 2.0, 3.0, 5.0
    hessian = np.float32([[2 * y, 2 * x, 0], [2 * x, 2 * z, 2 * y], [0, 2 * y, 0]])
    v = np.float32([1, -2, 4])
    got = answer(given(mixed_product), np.float32([x, y, z]), v)
    expect_close(got, hessian @ v, "This should be the Hessian times v.", rtol=1e-5)
