# %%
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxguide.course.author import (
    alternative,
    alternative_value,
    answer,
    expect_close,
    expect_equal,
    expect_raises,
    expect_that,
    given,
    hidden,
    wrong,
)
from jaxguide.tracing import program


# %% curve_both_ways
@answer
def curve_both_ways(n):
    x_np, x_jnp = np.linspace(0, 10, n), jnp.linspace(0, 10, n)
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)


@alternative
def one_function_for_both(n):
    def curve(xp):
        x = xp.linspace(0, 10, n)
        return 2 * xp.sin(x) * xp.cos(x)

    return curve(np), curve(jnp)


@alternative
def numpys_points_for_both_and_a_list(n):
    x = np.linspace(0, 10, n)
    return [np.sin(2 * x), jnp.sin(2 * jnp.asarray(x))]


@wrong(
    rejected_by="one_curve_of_each_kind",
    says="NumPy computes the curve, and JAX only takes it over at the call.",
    misses_the_point=True,
)
def numpy_for_both(n):
    x = np.linspace(0, 10, n)
    y = 2 * np.sin(x) * np.cos(x)
    return y, y.copy()


@wrong(rejected_by="one_curve_of_each_kind", says="JAX computes both.")
def jax_for_both(n):
    x = jnp.linspace(0, 10, n)
    y = 2 * jnp.sin(x) * jnp.cos(x)
    return y, y


@wrong(rejected_by="one_curve_of_each_kind", says="`np.sin` of a JAX array is NumPy's.")
def numpys_sine_of_jax_points(n):
    x_np, x_jnp = np.linspace(0, 10, n), jnp.linspace(0, 10, n)
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * np.sin(x_jnp) * np.cos(x_jnp)


@wrong(rejected_by="numpy_draws_the_documented_curve", says="The end is left out, as `arange` does.")
def leaves_out_the_end(n):
    x_np, x_jnp = np.arange(n) * 10 / n, jnp.arange(n) * 10 / n
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)


@wrong(rejected_by="jax_draws_the_same_curve", says="JAX gets numbers that NumPy has computed.")
def hands_numpys_numbers_to_jax(n):
    x = np.linspace(0, 10, n)
    y = 2 * np.sin(x) * np.cos(x)
    return y, jnp.array(y)


@wrong(rejected_by="jax_draws_the_same_curve", says="The factor 2 is lost on the way to JAX.")
def forgets_the_factor(n):
    x_np, x_jnp = np.linspace(0, 10, n), jnp.linspace(0, 10, n)
    return 2 * np.sin(x_np) * np.cos(x_np), jnp.sin(x_jnp) * jnp.cos(x_jnp)


@wrong(rejected_by="jax_computes_the_second_curve", says="NumPy computes in float32, and JAX takes the numbers over.")
def numpys_float32_for_jax(n):
    x = np.linspace(0, 10, n)
    single = x.astype(np.float32)
    return 2 * np.sin(x) * np.cos(x), jnp.asarray(2 * np.sin(single) * np.cos(single))


@hidden(
    stage="cost",
    idea="What JAX computes stands in the program; what NumPy has computed is a constant there.",
    on="a curve of a few points",
)
def jax_computes_the_second_curve(answer):
    """The sine or the cosine of the second curve is an operation of JAX."""
    found = answer.program(6).primitives
    message = "JAX should compute the sine and the cosine of the second curve; its program holds neither."
    expect_that(bool({"sin", "cos"} & {*found}), message, sorted(found), "sin, cos")


@hidden(idea="Two points, or any other number.", on="two points, and another number of them")
def any_number_of_points(answer, draw, reference):
    """For any n both curves are right."""
    for n in (2, draw.integer(9, 40)):
        expect_close(list(answer(n)), list(reference(n)), rtol=1e-4, atol=1e-5)


# %% predict_mixed_sum
@answer
def predict_mixed_sum():
    return "jax"


# %% duck_typing
@answer
def duck_typing(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, [type_name(value) for value in values]


@alternative
def the_other_order(a, b):
    total = b + a
    values = [a, b, np.sin(b), jnp.sin(a), total]
    return values, tuple(map(type_name, values))


@alternative
def writes_the_names_itself(a, b):
    values = (a, b, np.sin(np.asarray(b)), jnp.sin(jnp.asarray(a)), jnp.asarray(a) + b)
    return values, [f"{v.__class__.__module__}.{v.__class__.__name__}" for v in values]


@wrong(rejected_by="numpy_array_has_its_documented_type", says="The module is left out of the name.")
def short_names(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, [type(value).__name__ for value in values]


@wrong(rejected_by="jax_array_has_todays_type", says="The name is taken from an older text.")
def the_older_name(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    old = "jaxlib.xla_extension.ArrayImpl"
    return values, ["numpy.ndarray", old, "numpy.ndarray", old, old]


@wrong(
    rejected_by="mixed_calls_give_the_documented_kinds",
    says="NumPy's sine is believed to follow its argument.",
    misses_the_point=True,
)
def believes_the_sine_follows_its_argument(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, [type_name(a), *[type_name(b)] * 4]


@wrong(rejected_by="mixed_calls_give_the_documented_kinds", says="`np.add` is a NumPy function, other than `+`.")
def np_add_for_the_sum(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), np.add(a, b))
    return values, [type_name(value) for value in values]


@wrong(rejected_by="mixed_calls_give_the_documented_kinds", says="The argument's library is believed to decide.")
def the_argument_decides(a, b):
    values = (a, b, jnp.sin(b), np.sin(a), a + b)
    return values, [type_name(value) for value in values]


@wrong(rejected_by="five_values_are_right", says="The two sines are exchanged.")
def exchanges_the_sines(a, b):
    values = (a, b, jnp.sin(a), np.sin(b), a + b)
    return values, [type_name(value) for value in values]


@hidden(idea="Arrays of one number, and of seven.", on="arrays of one number, and of several")
def any_length(answer, draw, reference):
    """For arrays of any length the values and the types are right."""
    for n in (1, 7):
        a, b = draw.numpy(n), draw.floats(n)
        (values, types_seen), (wanted, types_wanted) = answer(a, b), reference(a, b)
        expect_close(list(values), list(wanted), rtol=1e-4, atol=1e-5)
        expect_that(
            list(types_seen) == list(types_wanted), "The types should be those of the values.", types_seen, types_wanted
        )


# %% is_jax_array
@answer
def is_jax_array(x):
    return isinstance(x, jax.Array)


alternative_value("by_the_name_in_jnp", lambda x: isinstance(x, jnp.ndarray))


@alternative
def asks_for_at_first(x):
    try:
        return x.at is not None and isinstance(x, jnp.ndarray)
    except AttributeError:
        return False


@wrong(rejected_by="arrays_of_both_kinds_are_told_apart", says="A JAX array is no `np.ndarray`.", misses_the_point=True)
def asks_numpy(x):
    return isinstance(x, np.ndarray)


@wrong(rejected_by="arrays_of_both_kinds_are_told_apart", says="NumPy arrays have shapes and dtypes as well.")
def looks_for_a_shape(x):
    return hasattr(x, "shape") and hasattr(x, "dtype")


@wrong(rejected_by="arrays_of_both_kinds_are_told_apart", says="The private name of older texts is gone.")
def knows_the_older_name(x):
    return f"{type(x).__module__}.{type(x).__qualname__}" == "jaxlib.xla_extension.ArrayImpl"


@wrong(rejected_by="tracers_count_too", says="The class of a JAX array is another one under `jax.jit`.")
def asks_the_class(x):
    return issubclass(type(x), jax.Array)


@wrong(rejected_by="numbers_and_functions_are_not", says="What is no NumPy array is taken for JAX's.")
def whatever_is_not_numpys(x):
    return not isinstance(x, np.ndarray | np.generic)


@wrong(rejected_by="numbers_and_functions_are_not", says="Other things of JAX have `jax` in their type's name, too.")
def looks_for_jax_in_the_name(x):
    return "jax" in str(type(x))


@wrong(rejected_by="any_dtype_and_shape", says="There are JAX arrays of other classes, such as random keys.")
def looks_for_the_name_of_the_class(x):
    return "ArrayImpl" in type(x).__name__ or "Tracer" in type(x).__name__


@wrong(rejected_by="what_has_at_need_not_be_an_array", says="Other things have an attribute `at` as well.")
def looks_for_at(x):
    return hasattr(x, "at")


@wrong(rejected_by="what_has_at_need_not_be_an_array", says="Attributes do not make an array.")
def looks_for_what_numpys_arrays_lack(x):
    return hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, np.ndarray | np.generic)


@wrong(rejected_by="tracers_of_any_type", says="The tracer of a random key is a tracer all the same.")
def leaves_out_keys_under_jit(x):
    if isinstance(x, jax.core.Tracer):
        return not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    return isinstance(x, jax.Array)


@hidden(
    idea="A tuple with names that has `at`, a shape and a dtype: it is no array.",
    on="a `Place`, and the class `Place` itself",
)
def what_has_at_need_not_be_an_array(answer):
    """A `Place`, which has `at`, a shape and a dtype, is no JAX array, and neither is the class."""
    for value in (Place("here", (3,), "float32"), Place("here", (), ""), given("Place")):
        expect_that(not np.asarray(answer(value)), "For a `Place` it should be False.", answer(value), "False")


@hidden(
    stage="jit",
    idea="Under `jax.jit`: arrays of integers, of no number at all, and random keys.",
    on="integers, an empty array or a random key, as tracers",
)
def tracers_of_any_type(answer, draw):
    """Under `jax.jit` it is True for integers, for empty arrays and for random keys, too."""
    for value in (jnp.arange(3), jnp.zeros((0, 2)), draw.key(), draw.integer(2, 9)):
        expect_that(bool(np.asarray(answer.jit(value))), "Under `jax.jit` it should be True.", "False", "True")


@hidden(idea="Integers, truth values, an empty array and a random key are JAX arrays; a text and a dict are not.")
def any_dtype_and_shape(answer, draw):
    """Integers, truth values, random keys, and arrays of any shape count; strings and tuples do not."""
    for value in (jnp.arange(6).reshape(2, 3), jnp.zeros((0,)), jnp.array(True), jax.random.key(0)):
        expect_that(
            bool(np.asarray(answer(value))),
            "For a JAX array it should be True.",
            "False",
            "True",
            on="an empty, integer or Boolean JAX array, or a key",
        )
    for value in ("array", (1.0, 2.0), np.zeros((2, 3)), None, True, 1j, {"x": 1.0}):
        expect_that(
            not np.asarray(answer(value)),
            "For what is no JAX array it should be False.",
            "True",
            "False",
            on="something else, such as a string, a dict or None",
        )


# %% change_first
@answer
def change_first(x, value):
    x[0] = value
    return x


@alternative
def by_a_slice(x, value):
    x[:1] = value
    return x


@alternative
def by_the_method(x, value):
    x.__setitem__(0, value)
    return x


@wrong(
    rejected_by="jax_array_refuses",
    says="The array is copied into NumPy, so that nothing refuses.",
    misses_the_point=True,
)
def copies_into_numpy(x, value):
    x = np.array(x)
    x[0] = value
    return x


@wrong(rejected_by="jax_array_refuses", says="The error is caught, and the old array comes back.")
def catches_the_error(x, value):
    try:
        x[0] = value
    except TypeError:
        return x
    return x


@wrong(rejected_by="numpy_array_is_changed", says="NumPy arrays have no `.at`.")
def updates_by_at(x, value):
    return x.at[0].set(value)


@wrong(rejected_by="the_array_itself_is_changed", says="A copy is changed, and the array of the caller is not.")
def changes_a_copy(x, value):
    if isinstance(x, np.ndarray):
        x = x.copy()
    x[0] = value
    return x


@wrong(rejected_by="jax_array_refuses", says="The error is one's own, and not JAX's.")
def raises_an_error_of_its_own(x, value):
    if isinstance(x, jax.Array):
        raise TypeError("this array cannot be changed")
    x[0] = value
    return x


@wrong(rejected_by="numpy_array_is_changed", says="What is changed in place is not returned.")
def forgets_the_return(x, value):
    x[0] = value


@hidden(idea="Another array, and an array of one element.")
def any_numpy_array(answer, draw, reference):
    """Any NumPy array is changed, and any JAX array refuses."""
    for n in (5, 1):
        x = draw.generator.integers(0, 99, size=n)
        value = draw.integer(100, 200)
        expect_equal(answer(x, value), reference(x, value), on="a NumPy array of one element, or of several")
    expect_raises(
        answer.observe_error(jnp.asarray(x), value),
        "TypeError",
        "JAX arrays are immutable",
        on="a JAX array of one element",
    )


# %% minimal_report
@answer
def minimal_report(code):
    session = Session()
    said = session.type_in("%xmode minimal")
    report = session.type_in(code)
    return said, report


@alternative
def in_capitals_and_at_once(code):
    session = Session()
    return tuple(session.type_in(text) for text in ("%xmode Minimal", code))


@alternative
def by_the_shells_method(code):
    session = Session()
    said = session.type_in("get_ipython().run_line_magic('xmode', 'minimal')")
    return [said, session.type_in(code)]


@wrong(rejected_by="the_report_is_one_line", says="The code runs before the mode is set.")
def sets_the_mode_too_late(code):
    session = Session()
    report = session.type_in(code)
    return session.type_in("%xmode minimal"), report


@wrong(rejected_by="the_report_is_one_line", says="The mode belongs to a session, and each call starts a new one.")
def another_session(code):
    return Session().type_in("%xmode minimal"), Session().type_in(code)


@wrong(rejected_by="the_session_says_its_mode", says="`plain` leaves the colours out, not the lines.")
def plain_for_minimal(code):
    session = Session()
    return session.type_in("%xmode plain"), session.type_in(code)


@wrong(
    rejected_by="the_report_is_one_line",
    says="What should be said is written down, and no mode is set.",
    misses_the_point=True,
)
def writes_it_down(code):
    return ["Exception reporting mode: Minimal"], Session().type_in(code)


@wrong(rejected_by="each_call_has_a_new_session", says="All calls share the lesson's session.")
def one_session_for_all(code):
    return session.type_in("%xmode minimal"), session.type_in(code)


@wrong(rejected_by="code_that_python_cannot_read", says="Of a cell that Python cannot read, no line runs.")
def both_in_one_cell(code):
    lines = Session().type_in("%xmode minimal\n" + code)
    return lines[:1], lines[1:]


@hidden(idea="A new session knows no names of the one before.", on="code that uses a name from the call before")
def each_call_has_a_new_session(answer):
    """What one call defines, the next one does not know."""
    answer("kept = 1")
    _said, report = answer("print(kept)")
    message = "The session of a call should not know the names of the call before."
    expect_that(len(report) == 1 and report[0].startswith("NameError"), message, report, "NameError: ...")


@hidden(idea="The mode is set in a cell of its own, before the code's.", on="code with a syntax error")
def code_that_python_cannot_read(answer):
    """The mode is set even if the code is not Python."""
    said, _report = answer("1 +")
    set_first = len(said) == 1 and said[0].startswith("Exception reporting mode")
    expect_that(set_first, "The mode should be set, although Python cannot read the code.", said, "the mode")


@wrong(
    rejected_by="the_mode_is_set_where_the_code_runs",
    says="The mode is set in one session, and the last line cut out in another.",
)
def cuts_out_the_last_line(code):
    lines = Session().type_in(code)
    dashes = [i for i, line in enumerate(lines) if line.startswith("-----")]
    return Session().type_in("%xmode minimal"), lines[: dashes[0]] + lines[-1:] if dashes else lines


@hidden(idea="Code that asks its own session for the mode.", on="code that asks its session for the mode")
def the_mode_is_set_where_the_code_runs(answer):
    """The session that runs the code is in the mode `minimal`."""
    _said, report = answer("print('the mode is', get_ipython().InteractiveTB.mode)")
    message = "The session that runs the code should be in the mode Minimal."
    expect_that(list(report) == ["the mode is Minimal"], message, report, "the mode is Minimal")


@hidden(
    idea="Any error is reported in one line, and what is printed before it stays.",
    on="code that prints, and then fails in a function",
)
def any_error_in_one_line(answer, draw):
    """Another error is reported in one line, below what the code prints."""
    n = draw.integer(100, 1000)
    _said, report = answer(f"print({n} + 1)\ndef f():\n    return 1 / 0\nf()")
    expect_that(
        len(report) == 2, "Below the line that the code prints, the report should be one line.", report, "two lines"
    )
    expect_that(report[0] == str(n + 1), "The first line should be what the code prints.", report, str(n + 1))
    expect_that(
        report[1].startswith("ZeroDivisionError"),
        "The last line should tell the error.",
        report,
        "ZeroDivisionError: ...",
    )


# %% old_and_new
@answer
def old_and_new(x, value):
    return x, x.at[0].set(value)


@alternative
@jax.jit
def compiled(x, value):
    y = x.at[:1].set(value)
    return x, y


@alternative
def joined(x, value):
    return x, jnp.concatenate([jnp.full((1,), value, x.dtype), x[1:]])


@alternative
def chosen(x, value):
    y = jnp.where(jnp.arange(x.shape[0]) == 0, jnp.asarray(value, x.dtype), x)
    return [x, y][0], y


@alternative
def chosen_without_a_dtype(x, value):
    return x, jnp.where(jnp.arange(len(x)) == 0, value, x)


@wrong(rejected_by="infinities_and_nan_are_replaced", says="The difference of the two is added: inf - inf is NaN.")
def adds_the_difference(x, value):
    return x, x.at[0].add(jnp.asarray(value - x[0], x.dtype))


@wrong(
    rejected_by="numbers_keep_their_type",
    says="The integers take a detour by float32, which has no room for large ones.",
)
def by_way_of_floats(x, value):
    return x, x.astype(jnp.float32).at[0].set(value).astype(x.dtype)


@wrong(rejected_by="numbers_keep_their_type", says="The value is made a float32, and the array with it.")
def a_strong_value(x, value):
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x, x.at[0].set(value)
    return x, jnp.concatenate([jnp.float32(value)[None], x[1:]])


@hidden(idea="An array that begins with an infinity or a NaN.", on="an array that begins with infinity or NaN")
def infinities_and_nan_are_replaced(answer, draw):
    """An infinity or a NaN in front is replaced, and one further back stays."""
    for first in (jnp.inf, -jnp.inf, jnp.nan):
        x = jnp.array([first, 1.0, jnp.inf, jnp.nan])
        wanted = jnp.array([2.5, 1.0, jnp.inf, jnp.nan])
        expect_equal(
            list(answer(x, 2.5)), [x, wanted], "The new array should have the value in front, and x as before."
        )


@hidden(idea="Large integers, small integers, and floats of 16 bits.", on="large integers, or a dtype other than int32")
def numbers_keep_their_type(answer, draw):
    """Integers and floats of any size keep their dtype and their values."""
    big = jnp.array([5, 2**24 + 1, 2**31 - 1], dtype=jnp.int32)
    cases = [(big, 7), (jnp.array([1, 200], dtype=jnp.uint8), 255), (jnp.array([3.0]), 2)]
    cases += [(draw.floats(3, dtype=dtype), 2.5) for dtype in ("bfloat16", "float16")]
    for x, value in cases:
        wanted = np.array(x)
        wanted[0] = value
        expect_equal(list(answer(x, value)), [x, jnp.asarray(wanted)])


@wrong(
    rejected_by="only_the_copy_is_changed",
    says="`.set` is believed to change x; what it returns is thrown away.",
    misses_the_point=True,
)
def throws_the_copy_away(x, value):
    y = x
    y.at[0].set(value)
    return x, y


@wrong(rejected_by="only_the_copy_is_changed", says="The name x is given to the copy, so that the old array is gone.")
def overwrites_the_name(x, value):
    x = x.at[0].set(value)
    return x, x


@wrong(rejected_by="only_the_copy_is_changed", says="`.add` adds to what is there.")
def adds_instead(x, value):
    return x, x.at[0].add(value + 1)


@wrong(rejected_by="old_and_new_under_jit", says="NumPy changes a copy; under `jax.jit` it has no numbers.")
def changes_a_numpy_copy(x, value):
    y = np.array(x)
    y[0] = value
    return x, jnp.asarray(y)


@hidden(idea="One element, or any other number of them.", on="an array of one element, or of several")
def any_array_and_value(answer, draw, reference):
    """For any array and value both results are right."""
    for x, value in ((draw.floats(1), 2.0), (draw.floats(6), -1.5), (jnp.arange(3), draw.integer(5, 50))):
        expect_close(list(answer(x, value)), list(reference(x, value)))


# %% cap_peaks
@answer
def cap_peaks(x, limit):
    return jnp.where(x > limit, limit, x)


@alternative
def by_the_method_min(x, limit):
    return x.at[:].min(limit)


@alternative
@jax.jit
def clipped(x, limit):
    return jnp.clip(x, None, limit)


alternative_value("the_smaller_of_both", jnp.minimum)


@wrong(rejected_by="no_element_is_lost", says="Boolean indexing keeps some elements only.")
def drops_the_peaks(x, limit):
    return x[x <= limit]


@wrong(rejected_by="peaks_are_capped", says="Small values are capped as well.")
def caps_both_sides(x, limit):
    return jnp.clip(x, -abs(limit), limit)


@wrong(rejected_by="peaks_are_capped", says="The wrong side is replaced.")
def lifts_the_valleys(x, limit):
    return jnp.maximum(x, limit)


@wrong(rejected_by="peaks_are_capped_under_jit", says="A mask as an index needs the values, also in `.at[mask]`.")
def updates_by_a_mask(x, limit):
    return x.at[x > limit].set(limit)


@wrong(rejected_by="peaks_are_capped_under_jit", says="NumPy needs the numbers; under `jax.jit` there are none.")
def goes_through_numpy(x, limit):
    y = np.array(x)
    y[y > limit] = limit
    return jnp.asarray(y)


@wrong(
    rejected_by="peaks_are_capped_under_jit",
    says="Python's `if` needs the value while the function is traced.",
    misses_the_point=True,
)
def decides_with_if(x, limit):
    return jnp.stack([jnp.asarray(limit, x.dtype) if element > limit else element for element in x])


@wrong(rejected_by="capped_values_stay_float32", says="A NumPy array comes back, in float64.")
def numpy_comes_back(x, limit):
    return np.minimum(np.asarray(x, dtype=np.float64), limit)


@wrong(rejected_by="nan_stays", says="`fmin` takes the limit where there is a NaN.")
def the_limit_for_nan(x, limit):
    return jnp.fmin(x, limit)


@wrong(rejected_by="nan_stays", says="What is not below the limit is taken for above it, also a NaN.")
def whatever_is_not_below(x, limit):
    return jnp.where(x <= limit, x, limit)


@wrong(rejected_by="infinities_are_capped", says="The two parts are multiplied by the masks and added: 0 * inf is NaN.")
def multiplies_by_masks(x, limit):
    above = (x > limit).astype(x.dtype)
    return x * (1 - above) + limit * above


@hidden(idea="A NaN among the elements: it is not above the limit.", on="an array with a NaN in it")
def nan_stays(answer):
    """A NaN stays a NaN."""
    x = jnp.array([jnp.nan, 3.0, -1.0])
    wanted = jnp.array([jnp.nan, 0.5, -1.0])
    expect_close(answer(x, 0.5), wanted, "The NaN should stay, and 3 should become the limit.")


@hidden(
    idea="Infinities, elements equal to the limit, and a limit of 0.",
    on="elements that are infinite, or equal to the limit",
)
def infinities_are_capped(answer):
    """Plus infinity becomes the limit, minus infinity stays, and so does an element that is equal to the limit."""
    for limit in (2.0, 0.0, -1.5):
        x = jnp.array([jnp.inf, -jnp.inf, limit, limit + 1, limit - 1])
        expect_close(answer(x, limit), jnp.minimum(x, limit), "Only what is above the limit should change.")


@wrong(rejected_by="far_apart_numbers_are_capped", says="Small numbers are lost in the distance from a large limit.")
def by_the_distance_from_the_limit(x, limit):
    return limit - jnp.maximum(limit - x, 0.0)


@hidden(idea="Tiny numbers, and a limit that is far above them.", on="tiny numbers, far below the limit")
def far_apart_numbers_are_capped(answer, draw):
    """A tiny number stays as it is, whatever the limit."""
    x = 1e-6 * draw.floats(4)
    expect_equal(answer(x, 1e4), x, "All elements are below the limit, so they should stay as they are.")


@hidden(idea="Another limit, and an array of one element.", on="another limit, for one element or several")
def any_limit(answer, draw, reference):
    """For any limit and length the right elements are replaced."""
    for n in (1, 3, 7):
        x, limit = draw.floats(n), float(draw.generator.normal())
        expect_close(answer(x, limit), reference(x, limit))


# %% predict_three_votes
@answer
def predict_three_votes():
    return 3


# %% add_votes
@answer
def add_votes(counts, votes):
    return counts.at[votes].add(1)


@alternative
def by_bincount(counts, votes):
    return counts + jnp.bincount(votes, length=counts.shape[0]).astype(counts.dtype)


@alternative
def by_comparing(counts, votes):
    return counts + jnp.sum(votes[:, None] == jnp.arange(counts.shape[0]), axis=0, dtype=counts.dtype)


@alternative
@jax.jit
def by_a_compiled_loop(counts, votes):
    return lax.fori_loop(0, votes.shape[0], lambda i, c: c.at[votes[i]].add(1), counts)


@alternative
def by_segments(counts, votes):
    ones = jnp.ones_like(votes)
    return counts + jax.ops.segment_sum(ones, votes, num_segments=counts.shape[0])


@wrong(rejected_by="every_vote_counts", says="As in NumPy, places are read once and written once.")
def reads_once_and_writes_once(counts, votes):
    return counts.at[votes].set(counts[votes] + 1)


@wrong(rejected_by="every_vote_counts", says="Each place is counted once, however many votes it has.")
def counts_places_not_votes(counts, votes):
    return counts.at[jnp.unique(votes)].add(1)


@wrong(rejected_by="every_vote_counts", says="The votes counted before are forgotten.")
def forgets_the_old_counts(counts, votes):
    return jnp.bincount(votes, length=counts.shape[0])


@wrong(rejected_by="counts_stay_int32", says="One-hot rows are float32, and so is their sum.")
def one_hot_floats(counts, votes):
    return counts + jax.nn.one_hot(votes, counts.shape[0]).sum(axis=0)


@wrong(
    rejected_by="the_program_does_not_grow_with_the_votes",
    says="`jax.jit` unrolls a Python loop all the same.",
    misses_the_point=True,
)
@jax.jit
def compiles_the_loop(counts, votes):
    for vote in votes:
        counts = counts.at[vote].add(1)
    return counts


@wrong(rejected_by="votes_count_under_jit", says="NumPy needs the numbers; under `jax.jit` there are none.")
def counts_with_numpy(counts, votes):
    return jnp.asarray(counts + np.bincount(np.asarray(votes), minlength=len(counts)), dtype=counts.dtype)


@alternative
def one_sum_for_each_place(counts, votes):
    return jnp.stack([count + jnp.sum(votes == place, dtype=jnp.int32) for place, count in enumerate(counts)])


@wrong(rejected_by="large_counts_are_exact", says="Counted in float32, which has no room for large counts.")
def counts_in_floats(counts, votes):
    return counts.astype(jnp.float32).at[votes].add(1.0).astype(jnp.int32)


@hidden(idea="Counts above 2**24, where float32 leaves out numbers.", on="very large counts beside a small one")
def large_counts_are_exact(answer):
    """Large counts are exact."""
    counts = jnp.array([2**24, 2**30 + 1, 7], dtype=jnp.int32)
    wanted = jnp.array([2**24 + 1, 2**30 + 3, 7], dtype=jnp.int32)
    expect_equal(answer(counts, jnp.array([1, 0, 1], dtype=jnp.int32)), wanted)


@wrong(rejected_by="one_vote_and_one_place", says="`squeeze` also takes away the axis of a single place.")
def squeezes_a_single_place(counts, votes):
    return jnp.squeeze(counts.at[votes].add(1))


@hidden(idea="One vote, and one place.")
def one_vote_and_one_place(answer):
    """One vote is counted, and one place gets all votes."""
    counts = jnp.array([3, 0], dtype=jnp.int32)
    expect_equal(
        answer(counts, jnp.array([1], dtype=jnp.int32)), jnp.array([3, 1], dtype=jnp.int32), on="a single vote"
    )
    expect_equal(
        answer(counts[:1], jnp.zeros(3, dtype=jnp.int32)),
        jnp.array([6], dtype=jnp.int32),
        on="a single place that gets all votes",
    )


@hidden(idea="Other votes, and votes that are all for one place.", on="votes at random, or all for one place")
def any_votes(answer, draw, reference):
    """For any counts and votes every vote counts."""
    counts = jnp.asarray(draw.generator.integers(0, 99, size=5), dtype=jnp.int32)
    for votes in (draw.generator.integers(0, 5, size=6), np.full(6, 4)):
        votes = jnp.asarray(votes, dtype=jnp.int32)
        expect_close(answer(counts, votes), reference(counts, votes))


# %% add_and_tell
@answer
def add_and_tell(a, b):
    total = jnp.add(a, b)
    return total, total.weak_type


@alternative
def asks_the_type_of_the_result(a, b):
    total = jnp.add(a, b)
    return [total, bool(jax.typeof(total).weak_type)]


@alternative
@jax.jit
def a_compiled_sum(a, b):
    total = jnp.add(a, b)
    return total, total.weak_type


@wrong(rejected_by="one_plus_one_is_a_weak_float", says="NumPy adds in float64.", misses_the_point=True)
def numpy_adds(a, b):
    return np.add(a, b), False


@wrong(rejected_by="one_plus_one_is_a_weak_float", says="An explicit float32 is strong.")
def makes_it_explicit(a, b):
    total = jnp.add(jnp.asarray(a, dtype=jnp.float32), b)
    return total, total.weak_type


@wrong(rejected_by="sums_have_the_promoted_type", says="One Python number is believed to make the result weak.")
def one_python_number_is_enough(a, b):
    return jnp.add(a, b), isinstance(a, int | float) or isinstance(b, int | float)


@wrong(rejected_by="sums_have_the_promoted_type", says="Only two Python numbers are believed to give a weak result.")
def only_two_python_numbers(a, b):
    return jnp.add(a, b), isinstance(a, int | float) and isinstance(b, int | float)


@wrong(rejected_by="weak_arrays_and_truth_values", says="A JAX array may be weak as well.")
def arrays_are_believed_strong(a, b):
    total = jnp.add(a, b)
    return total, total.weak_type and not any(isinstance(one, jax.Array) and one.weak_type for one in (a, b))


@wrong(rejected_by="one_plus_one_is_a_weak_float", says="The sum is made strong on its way out.")
def makes_the_sum_strong(a, b):
    total = jnp.add(a, b)
    return total.astype(total.dtype), total.weak_type


@hidden(
    idea="A JAX array of a weak type, truth values, complex numbers, and large integers.",
    on="weak arrays, truth values, complex numbers, or other dtypes",
)
def weak_arrays_and_truth_values(answer, reference):
    """Weak arrays, truth values, complex numbers and large integers are added, and weakness is told right."""
    weak = jnp.asarray(2.0)
    cases = [(weak, weak), (weak, jnp.float16(1)), (weak, jnp.int32(1)), (True, 1.0), (jnp.array(True), 1)]
    cases += [(jnp.int32(1), 1j), (1, 2j), (jnp.int32(2**24), 1), (np.int8(3), 1), (jnp.bfloat16(1), np.float16(1))]
    for a, b in cases:
        (total, is_weak), (wanted, wanted_weak) = answer(a, b), reference(a, b)
        expect_close(total, wanted, weak_type=True)
        weak_told = bool(np.asarray(is_weak)), bool(np.asarray(wanted_weak))
        message = "The second value should tell whether the sum is weak."
        expect_that(weak_told[0] == weak_told[1], message, str(weak_told[0]), str(weak_told[1]))


@hidden(idea="NumPy's numbers and arrays, which are strong.", on="NumPy's numbers and arrays, or two Python numbers")
def numpys_numbers_are_strong(answer, draw, reference):
    """With NumPy's numbers and arrays, sums and weakness are right too."""
    half = draw.floats(3, dtype="float16")
    for a, b in ((np.float32(2), 1.0), (half, np.float32(1)), (draw.integer(1, 9), 2.5), (np.arange(3), 0.5)):
        (total, is_weak), (wanted, wanted_weak) = answer(a, b), reference(a, b)
        expect_close(total, wanted, weak_type=True)
        weak = bool(np.asarray(is_weak)), bool(np.asarray(wanted_weak))
        message = "The second value should tell whether the sum is weak."
        expect_that(weak[0] == weak[1], message, str(weak[0]), str(weak[1]))


# %% half_and_shift
@answer
def half_and_shift(x):
    return 0.5 * x + 0.25


@alternative
def numbers_of_the_same_type(x):
    return x * jnp.asarray(0.5, x.dtype) + jnp.asarray(0.25, x.dtype)


@alternative
@jax.jit
def divided(x):
    return x / 2 + 1 / 4


@wrong(
    rejected_by="the_dtype_is_that_of_x", says="A NumPy number is strong, also of half the size.", misses_the_point=True
)
def always_half_precision(x):
    return (0.5 * x + 0.25).astype(jnp.float16)


@wrong(rejected_by="the_dtype_is_that_of_x", says="float32 is strong, whichever library it comes from.")
def jaxs_own_float32(x):
    return jnp.float32(0.5) * x + jnp.float32(0.25)


@wrong(rejected_by="the_dtype_is_that_of_x", says="An array of ones or halves has a strong type.")
def filled_arrays(x):
    return x * jnp.full(x.shape, 0.5, jnp.float32) + 0.25


@wrong(rejected_by="values_are_halved_and_shifted", says="The shift is halved too.")
def halves_the_shift(x):
    return 0.5 * (x + 0.25)


@wrong(rejected_by="no_detour_by_a_wider_type", says="float32 is computed with, and only the result is cast back.")
def back_to_the_type_at_the_end(x):
    return (x.astype(jnp.float32) * np.float32(0.5) + 0.25).astype(x.dtype)


@wrong(rejected_by="no_detour_by_a_wider_type", says="The starter's numbers stay strong, and the result is cast back.")
def casts_the_starters_result(x):
    return (x * np.float32(0.5) + np.float64(0.25)).astype(x.dtype)


@hidden(
    stage="cost", idea="An x of 16 bits: every step on the way has 16 bits, too.", on="an array of float16 or bfloat16"
)
def no_detour_by_a_wider_type(answer, draw):
    """For an x of float16 or bfloat16 nothing is computed in float32."""
    for dtype in ("float16", "bfloat16"):
        results = answer.program(draw.floats(3, dtype=dtype)).results
        wide = [name for name in results if name.startswith(("float32[3", "float64[3"))]
        message = f"For an x of {dtype} every step should have that type; yours computes results of a wider one."
        expect_that(not wide, message, ", ".join(wide), f"{dtype}[3]")


@hidden(idea="A matrix of bfloat16, and an array of one element.", on="a bfloat16 matrix, or one float32 element")
def any_type_and_shape(answer, draw, reference):
    """For a matrix of bfloat16 the values and the dtype are right."""
    for x in (draw.floats(2, 3, dtype="bfloat16"), draw.floats(1)):
        expect_close(answer(x), reference(x))


# %% strict_add
@answer
def strict_add(a, b, c=None):
    total = lax.add(a, b)
    return total if c is None else lax.add(total, c)


@alternative
def in_a_loop(a, b, c=None):
    terms = [a, b] if c is None else [a, b, c]
    total = terms[0]
    for term in terms[1:]:
        total = lax.add(total, term)
    return total


@alternative
@jax.jit
def compiled_sum(a, b, c=None):
    if c is None:
        return jax.lax.add(a, b)
    return jax.lax.add(jax.lax.add(a, b), c)


@alternative
def the_sum_of_the_last_two_first(a, b, c=None):
    return lax.add(a, b if c is None else lax.add(b, c))


@wrong(rejected_by="mixed_types_are_refused", says="`jnp.add` promotes.", misses_the_point=True)
def promotes(a, b, c=None):
    total = jnp.add(a, b)
    return total if c is None else jnp.add(total, c)


@wrong(rejected_by="mixed_types_are_refused", says="Making both explicit float32 is a promotion too.")
def converts_first(a, b, c=None):
    total = lax.add(jnp.float32(a), jnp.float32(b))
    return total if c is None else lax.add(total, c)


@wrong(rejected_by="mixed_types_are_refused", says="A check of one's own raises the document's old error.")
def raises_the_old_error(a, b, c=None):
    if jnp.result_type(a) != jnp.result_type(b):
        raise ValueError("Cannot lower jaxpr with verifier errors")
    total = lax.add(a, b)
    return total if c is None else lax.add(total, c)


@wrong(rejected_by="three_are_added_as_strictly", says="`+` promotes: only the first sum is strict.")
def plus_for_the_third(a, b, c=None):
    total = lax.add(a, b)
    return total if c is None else total + c


@wrong(rejected_by="an_explicit_type_is_enough", says="NumPy adds, and promotes.")
def numpys_sum(a, b, c=None):
    total = np.add(a, b)
    return total if c is None else np.add(total, c)


@wrong(rejected_by="a_third_of_zero_counts", says="A third number 0 is taken for none.")
def zero_is_taken_for_none(a, b, c=None):
    total = lax.add(a, b)
    return total if c is None or (np.ndim(c) == 0 and not c) else lax.add(total, c)


@wrong(rejected_by="half_precision_is_refused_too", says="A Python number is believed to give way to float16.")
def python_numbers_give_way(a, b, c=None):
    def fit(one, other):
        half = isinstance(other, jax.Array) and other.dtype.itemsize == 2
        return jnp.asarray(one, other.dtype) if isinstance(one, float) and half else one

    total = lax.add(fit(a, b), fit(b, a))
    return total if c is None else lax.add(total, fit(c, total))


@hidden(idea="A third number that is 0: it has a type as well.")
def a_third_of_zero_counts(answer, reference):
    """A third number 0 is added, and refused if it has another type."""
    expect_close(
        answer(1.5, 2.0, 0.0), reference(1.5, 2.0, 0.0), weak_type=True, on="three floats, the third of them 0"
    )
    for c in (0.0, jnp.zeros(())):
        message = "For two integers and a third 0.0 the call should raise TypeError; yours returned a value."
        seen = answer.observe_error(1, 2, c)
        expect_that(seen.error is not None, message, seen.value, "TypeError", on="two integers, and a third number 0.0")
        expect_raises(seen, "TypeError", on="two integers, and a third number 0.0")


@hidden(
    idea="float16 beside a Python float, and two widths of integers.",
    on="16-bit floats with Python floats, or integers of two sizes",
)
def half_precision_is_refused_too(answer):
    """float16 and 1.0 are refused, and int8 beside int32."""
    for a, b in ((jnp.float16(1), 1.0), (jnp.int8(1), jnp.int32(1)), (1.0, jnp.bfloat16(2))):
        seen = answer.observe_error(a, b)
        message = "For two types that differ the call should raise TypeError; yours returned a value."
        expect_that(seen.error is not None, message, seen.value, "TypeError")
        expect_raises(seen, "TypeError")


@hidden(idea="A matrix and a row, which `jax.lax` does not repeat.")
def shapes_must_agree(answer, draw, reference):
    """Arrays of any equal shape are added; a row is not added to a matrix."""
    a, b = draw.floats(3, 2), draw.floats(3, 2)
    expect_close(answer(a, b), reference(a, b), on="two matrices of the same shape")
    expect_raises(answer.observe_error(a, draw.floats(2)), "TypeError", on="a matrix and a row")
    expect_raises(answer.observe_error(a, b, draw.floats(2)), "TypeError", on="two matrices, and a row as the third")


# %% lax_operations
@answer
def lax_operations(function, *args):
    return sorted(program(function, *args).primitives)


@alternative
def with_a_list(function, *args):
    return list(program(function, *args).primitives)


@alternative
def walks_the_jaxpr(function, *args):
    def walk(jaxpr):
        for equation in jaxpr.eqns:
            inner = [p for p in equation.params.values() if hasattr(p, "eqns") or hasattr(p, "jaxpr")]
            if equation.primitive.name in ("jit", "pjit"):
                for one in inner:
                    yield from walk(getattr(one, "jaxpr", one))
            else:
                yield equation.primitive.name

    return sorted(set(walk(jax.make_jaxpr(function)(*args).jaxpr)))


@wrong(rejected_by="jnp_functions_become_lax_operations", says="The call is taken for the operation.")
def takes_the_call(function, *args):
    return sorted({equation.primitive.name for equation in jax.make_jaxpr(function)(*args).jaxpr.eqns})


@wrong(rejected_by="equal_types_need_no_conversion", says="The arguments are replaced by others, of other types.")
def with_arguments_of_its_own(function, *args):
    args = [np.ones(3, np.int32), *args[1:]] if len(args) == 2 and function.__name__ == "add_numbers" else args
    return sorted(program(function, *args).primitives)


@wrong(
    rejected_by="jnp_functions_become_lax_operations",
    says="XLA's names are not those of `jax.lax`.",
    misses_the_point=True,
)
def names_of_xla(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return sorted(set(re.findall(r"stablehlo\.(\w+)", text)))


@wrong(rejected_by="jnp_functions_become_lax_operations", says="The name of the function is taken for the operation.")
def the_functions_name(function, *args):
    return [function.__name__]


@wrong(
    rejected_by="other_types_other_operations", says="A table of names is written down, for the arguments of the text."
)
def a_table_of_names(function, *args):
    table = {
        "convolve": ["broadcast_in_dim", "conv_general_dilated", "rev", "squeeze"],
        "choose": ["select_n"],
        "squared_length": ["mul", "reduce_sum"],
        "turn_and_scale": ["exp", "rev"],
        "sine_of_a_sum": ["add", "sin"],
    }
    return table[function.__name__] if function.__name__ in table else sorted(program(function, *args).primitives)


@hidden(idea="Integers where the text above has floats.", on="arrays of integers, or of integers and floats")
def other_types_other_operations(answer, reference):
    """For integers, or for two types, the list is that of these arguments."""
    whole = np.ones(3, dtype=np.int32)
    single = np.ones(3, dtype=np.float32)
    for name, *args in (
        ("sine_of_a_sum", whole, whole),
        ("turn_and_scale", whole),
        ("choose", whole > 0, whole, single),
    ):
        seen, wanted = sorted(answer(given(name), *args)), sorted(reference(given(name), *args))
        expect_that(
            seen == wanted, "For arguments of other types the list should be that of these types.", seen, wanted
        )


@hidden(idea="Functions that the visible checks do not use.", on="other functions of one vector")
def any_function(answer, draw, reference):
    """Of other functions the operations are listed as well."""
    for name in ("squared_length", "turn_and_scale"):
        x = draw.numpy(5)
        seen, wanted = sorted(answer(given(name), x)), sorted(reference(given(name), x))
        expect_that(seen == wanted, "All operations of the function should be listed, and no others.", seen, wanted)


# %% convolve_two_ways
@answer
def convolve_two_ways(x, y):
    by_numpy = jnp.convolve(x, y)
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float),
        y[::-1].reshape(1, 1, -1),
        window_strides=(1,),
        padding=[(len(y) - 1, len(y) - 1)],
    )
    return by_numpy, by_lax[0, 0]


@alternative
def slides_x_over_y(x, y):
    by_lax = lax.conv_general_dilated(
        y[None, None, :], lax.rev(x.astype(y.dtype), (0,))[None, None, :], (1,), [(len(x) - 1, len(x) - 1)]
    )
    return jnp.convolve(x, y, mode="full"), jnp.squeeze(by_lax)


@alternative
@jax.jit
def compiled_and_flipped(x, y):
    m = y.size - 1
    by_lax = lax.conv_general_dilated(
        jnp.float32(x).reshape(1, 1, -1), jnp.flip(y).reshape(1, 1, -1), window_strides=(1,), padding=((m, m),)
    )
    return [jnp.convolve(x, y), by_lax.ravel()]


@wrong(rejected_by="both_ways_agree_for_all_vectors", says="The result is reversed instead of the second vector.")
def reverses_the_result(x, y):
    m = len(y) - 1
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y.reshape(1, 1, -1), window_strides=(1,), padding=[(m, m)]
    )
    return jnp.convolve(x, y), by_lax[0, 0][::-1]


@wrong(rejected_by="both_ways_agree_for_all_vectors", says="Both vectors are reversed.")
def reverses_both(x, y):
    m = len(y) - 1
    by_lax = lax.conv_general_dilated(
        x[::-1].reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding=[(m, m)]
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(rejected_by="both_ways_agree_for_all_vectors", says="NumPy's correlation is made to agree with the document.")
def makes_the_first_a_correlation(x, y):
    m = len(y) - 1
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y.reshape(1, 1, -1), window_strides=(1,), padding=[(m, m)]
    )
    return jnp.correlate(x, y, mode="full"), by_lax[0, 0]


@wrong(rejected_by="each_result_has_its_own_convolution", says="`jnp.convolve` is used for both.")
def jnp_convolve_for_both(x, y):
    return jnp.convolve(x, y), jnp.convolve(y, x)


@wrong(rejected_by="each_result_has_its_own_convolution", says="One result is given twice.", misses_the_point=True)
def gives_one_result_twice(x, y):
    by_numpy = jnp.convolve(x, y)
    return by_numpy, by_numpy


@wrong(rejected_by="convolutions_have_full_length", says="Without padding, the ends are missing.")
def pads_nothing(x, y):
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding="VALID"
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(rejected_by="convolutions_have_full_length", says="`SAME` keeps the length of the first vector.")
def pads_to_the_same_length(x, y):
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding="SAME"
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(rejected_by="numpys_way_is_the_documented_one", says="`jax.lax` does not promote integers.")
def leaves_the_integers(x, y):
    m = len(y) - 1
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding=[(m, m)]
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(
    rejected_by="each_result_has_its_own_convolution",
    says="The second convolution is computed, and the first given twice.",
)
def throws_the_second_away(x, y):
    m = len(y) - 1
    lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding=[(m, m)]
    )
    by_numpy = jnp.convolve(x, y)
    return by_numpy, by_numpy


@hidden(
    idea="Integers, vectors of one number, and a second vector that is the longer one.",
    on="integers, tiny numbers, a single number, or a longer y",
)
def any_two_vectors(answer, draw, reference):
    """For any two vectors, of integers or floats, both results are the convolution."""
    for x, y in (
        (jnp.asarray(draw.generator.integers(0, 9, size=4)), draw.floats(3)),
        (draw.floats(2), draw.floats(5)),
        (draw.floats(4), draw.floats(1)),
        (draw.floats(1), draw.floats(3)),
        (1e-4 * draw.floats(3), 1e-3 * draw.floats(2)),
    ):
        expect_close(list(answer(x, y)), list(reference(x, y)), rtol=1e-4)


# %% filter_rows
@answer
def filter_rows(rows, kernel):
    m = len(kernel)
    out = lax.conv_general_dilated(rows[:, None, :], kernel[None, None, ::-1], (2,), [(m - 1, m - 1)])
    return out[:, 0, :]


@alternative
def maps_jnp_convolve(rows, kernel):
    return jax.vmap(jnp.convolve, in_axes=(0, None))(rows, kernel)[:, ::2]


@alternative
@jax.jit
def sums_shifted_rows(rows, kernel):
    m = kernel.shape[0]
    padded = jnp.pad(rows, ((0, 0), (m - 1, m - 1)))
    starts = jnp.arange(0, rows.shape[1] + m - 1, 2)
    return padded[:, starts[:, None] + jnp.arange(m)] @ kernel[::-1]


@alternative
def maps_one_signal_at_a_time(rows, kernel):
    return lax.map(lambda row: jnp.convolve(row, kernel)[::2], rows)


@wrong(rejected_by="rows_are_convolved_and_thinned_out", says="The kernel is not reversed.")
def correlates(rows, kernel):
    m = len(kernel)
    out = lax.conv_general_dilated(rows[:, None, :], kernel[None, None, :], (2,), [(m - 1, m - 1)])
    return out[:, 0, :]


@wrong(rejected_by="one_filtered_row_for_each_row", says="The rows are thinned out before they are filtered.")
def thins_out_first(rows, kernel):
    return jax.vmap(jnp.convolve, in_axes=(0, None))(rows[:, ::2], kernel)


@wrong(rejected_by="one_filtered_row_for_each_row", says="The stride is forgotten.")
def keeps_all(rows, kernel):
    m = len(kernel)
    return lax.conv_general_dilated(rows[:, None, :], kernel[None, None, ::-1], (1,), [(m - 1, m - 1)])[:, 0, :]


@wrong(rejected_by="one_filtered_row_for_each_row", says="The rows are channels of one signal, and get added up.")
def rows_as_channels(rows, kernel):
    m = len(kernel)
    kernels = jnp.broadcast_to(kernel[::-1], (1, rows.shape[0], m))
    return lax.conv_general_dilated(rows[None, :, :], kernels, (2,), [(m - 1, m - 1)])[0]


@wrong(rejected_by="one_filtered_row_for_each_row", says="One zero too many at the end: right only for n + m even.")
def pads_one_too_many(rows, kernel):
    m = len(kernel)
    return lax.conv_general_dilated(rows[:, None, :], kernel[None, None, ::-1], (2,), [(m - 1, m)])[:, 0, :]


@wrong(rejected_by="one_filtered_row_for_each_row", says="`squeeze` also takes away the axis of a single row.")
def squeezes_a_single_row(rows, kernel):
    m = len(kernel)
    return lax.conv_general_dilated(rows[:, None, :], kernel[None, None, ::-1], (2,), [(m - 1, m - 1)]).squeeze()


@wrong(
    rejected_by="the_program_does_not_grow_with_the_rows", says="A Python loop over the rows.", misses_the_point=True
)
def loops_over_the_rows(rows, kernel):
    return jnp.stack([jnp.convolve(row, kernel)[::2] for row in rows])


@wrong(rejected_by="rows_are_convolved_and_thinned_out", says="The other half of the numbers is kept.")
def keeps_the_odd_ones(rows, kernel):
    full = jax.vmap(jnp.convolve, in_axes=(0, None))(rows, kernel)
    return jnp.roll(full, -1, axis=1)[:, ::2]


@hidden(
    idea="Other numbers of rows, a kernel longer than the rows, and one of a single number.",
    on="a kernel shorter or longer than the rows",
)
def any_rows_and_kernel(answer, draw, reference):
    """For other rows and kernels the result is right."""
    for b, n, m in ((3, 4, 2), (2, 3, 5), (2, 4, 1), (3, 1, 2)):
        rows, kernel = draw.floats(b, n), draw.floats(m)
        expect_close(answer(rows, kernel), reference(rows, kernel), rtol=1e-4, atol=1e-4)


@wrong(
    rejected_by="tiny_numbers_are_filtered",
    says="The kernel is divided by its length plus a little, and multiplied again.",
)
def adds_a_little(rows, kernel):
    return jax.vmap(jnp.convolve, in_axes=(0, None))(rows, kernel)[:, ::2] + 1e-6


@hidden(idea="Tiny numbers: the error is measured against them.", on="tiny numbers in the rows and in the kernel")
def tiny_numbers_are_filtered(answer, draw, reference):
    """Rows of tiny numbers are filtered as exactly."""
    rows, kernel = 1e-3 * draw.floats(2, 6), 1e-3 * draw.floats(3)
    expect_close(answer(rows, kernel), reference(rows, kernel), rtol=1e-3, atol=1e-10)


# %% xla_operations
@answer
def xla_operations(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return sorted(set(re.findall(r"stablehlo\.(\w+)", text)))


@alternative
def traces_first_and_reads_line_by_line(function, *args):
    text = jax.jit(function).trace(*args).lower().as_text()
    found = []
    for word in text.replace('"', " ").replace("(", " ").split():
        if word.startswith("stablehlo.") and word.removeprefix("stablehlo.") not in found:
            found.append(word.removeprefix("stablehlo."))
    return found


@alternative
def asks_for_stablehlo_by_name(function, *args):
    module = jax.jit(function).lower(*args).compiler_ir("stablehlo")
    return list(dict.fromkeys(re.findall(r"stablehlo\.([a-z_]+)", str(module))))


@alternative
def walks_the_module(function, *args):
    found = []

    def walk(operation):
        name = operation.name
        if name.startswith("stablehlo."):
            found.append(name.removeprefix("stablehlo."))
        for region in operation.regions:
            for block in region:
                for inner in block:
                    walk(inner.operation)

    walk(jax.jit(function).lower(*args).compiler_ir("stablehlo").operation)
    return sorted(set(found))


@wrong(
    rejected_by="convolve_becomes_xla_operations",
    says="These are JAX's names, before the lowering.",
    misses_the_point=True,
)
def reads_the_jaxpr(function, *args):
    return sorted(program(function, *args).primitives)


@wrong(rejected_by="convolve_becomes_xla_operations", says="After compiling, the operations are fused and renamed.")
def reads_the_compiled_text(function, *args):
    text = jax.jit(function).lower(*args).compile().as_text()
    return sorted(set(re.findall(r"stablehlo\.(\w+)", text)))


@wrong(rejected_by="convolve_becomes_xla_operations", says="Functions called in the text are no operations.")
def takes_calls_too(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return sorted(set(re.findall(r"= (?:stablehlo\.)?(\w+)", text)))


@wrong(rejected_by="other_types_are_lowered", says="A table of names is written down, for the arguments of the text.")
def a_table_of_names(function, *args):
    table = {"sine_of_a_sum": ["add", "sine"], "squared_length": ["add", "constant", "multiply", "reduce"]}
    table |= {"turn_and_scale": ["exponential", "reverse"]}
    if function.__name__ in table:
        return table[function.__name__]
    text = jax.jit(function).lower(*args).as_text()
    return sorted(set(re.findall(r"stablehlo\.(\w+)", text)))


@hidden(idea="Integers where the text above has floats.", on="arrays of integers, or of integers and floats")
def other_types_are_lowered(answer, reference):
    """For integers, or for two types, the list is that of these arguments."""
    whole, single = np.ones(3, dtype=np.int32), np.ones(3, dtype=np.float32)
    for name, *args in (("sine_of_a_sum", whole, whole), ("turn_and_scale", whole), ("sine_of_a_sum", whole, single)):
        seen, wanted = (without_returns(one(given(name), *args)) for one in (answer, reference))
        expect_that(
            seen == wanted, "For arguments of other types the list should be that of these types.", seen, wanted
        )


@hidden(idea="Functions that the visible checks do not use.", on="other functions of one vector")
def any_function_lowered(answer, draw, reference):
    """Of other functions the operations are listed as well."""
    for name in ("squared_length", "turn_and_scale"):
        x = draw.numpy(5)
        seen, wanted = (without_returns(one(given(name), x)) for one in (answer, reference))
        expect_that(seen == wanted, "The list should hold all operations in the text, and no others.", seen, wanted)
