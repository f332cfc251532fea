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


@hidden(idea="Any number of points.")
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


@hidden(idea="Any length.")
def any_length(answer, draw, reference):
    """For arrays of any length the values and the types are right."""
    for n in (2, 7):
        a, b = draw.numpy(n), draw.floats(n)
        (values, types_seen), (wanted, types_wanted) = answer(a, b), reference(a, b)
        expect_close(list(values), list(wanted), rtol=1e-4, atol=1e-5)
        expect_that(list(types_seen) == list(types_wanted), "The types are others.", types_seen, types_wanted)


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


@hidden(idea="Any dtype, any shape; a random key is a `jax.Array` too, of another class.")
def any_dtype_and_shape(answer, draw):
    """Integers, truth values, random keys, and arrays of any shape count; strings and tuples do not."""
    for value in (jnp.arange(6).reshape(2, 3), jnp.zeros((0,)), jnp.array(True), jax.random.key(0)):
        expect_that(bool(np.asarray(answer(value))), "A JAX array was not recognised.", value, "True")
    for value in ("array", (1.0, 2.0), np.zeros((2, 3)), None):
        expect_that(not np.asarray(answer(value)), "What is no JAX array was taken for one.", value, "False")


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


@wrong(rejected_by="numpy_array_is_changed", says="What is changed in place is not returned.")
def forgets_the_return(x, value):
    x[0] = value


@hidden(idea="Any array, any value.")
def any_numpy_array(answer, draw, reference):
    """Any NumPy array is changed, and any JAX array refuses."""
    x = draw.generator.integers(0, 99, size=5)
    value = draw.integer(100, 200)
    expect_close(answer(x, value), reference(x, value))
    expect_raises(answer.observe_error(jnp.asarray(x), value), "TypeError", "JAX arrays are immutable")


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


@hidden(idea="A new session knows no names of the one before.")
def each_call_has_a_new_session(answer):
    """What one call defines, the next one does not know."""
    answer("kept = 1")
    _said, report = answer("print(kept)")
    message = "The session still knows a name of the call before: start a new one in each call."
    expect_that(len(report) == 1 and report[0].startswith("NameError"), message, report, "NameError: ...")


@hidden(idea="The mode is set in a cell of its own, before the code's.")
def code_that_python_cannot_read(answer):
    """The mode is set even if the code is not Python."""
    said, _report = answer("1 +")
    set_first = len(said) == 1 and said[0].startswith("Exception reporting mode")
    expect_that(set_first, "The mode was not set. Type it in on its own, before the code.", said, "the mode")


@hidden(idea="Any error is reported in one line, and what is printed before it stays.")
def any_error_in_one_line(answer, draw):
    """Another error is reported in one line, below what the code prints."""
    n = draw.integer(100, 1000)
    _said, report = answer(f"print({n} + 1)\ndef f():\n    return 1 / 0\nf()")
    expect_that(len(report) == 2, "The report is not one line below the printed one.", report, "two lines")
    expect_that(report[0] == str(n + 1), "What the code prints is missing.", report, str(n + 1))
    expect_that(report[1].startswith("ZeroDivisionError"), "The report tells another error.", report)


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


@hidden(idea="Any length and dtype.")
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


@hidden(idea="Any limit, any length.")
def any_limit(answer, draw, reference):
    """For any limit and length the right elements are replaced."""
    for n in (3, 7):
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


@hidden(idea="Any number of places and votes, all for one place included.")
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


@hidden(idea="NumPy's numbers are strong.")
def numpys_numbers_are_strong(answer, draw, reference):
    """With NumPy's numbers and arrays, sums and weakness are right too."""
    half = draw.floats(3, dtype="float16")
    for a, b in ((np.float32(2), 1.0), (half, np.float32(1)), (draw.integer(1, 9), 2.5), (np.arange(3), 0.5)):
        (total, is_weak), (wanted, wanted_weak) = answer(a, b), reference(a, b)
        expect_close(total, wanted)
        weak = bool(np.asarray(is_weak)), bool(np.asarray(wanted_weak))
        expect_that(weak[0] == weak[1], "Weakness is told wrong.", str(weak[0]), str(weak[1]))


# %% half_and_shift
@answer
def half_and_shift(x):
    return 0.5 * x + 0.25


@alternative
def numbers_of_the_same_type(x):
    return x * jnp.asarray(0.5, x.dtype) + jnp.asarray(0.25, x.dtype)


@alternative
def back_to_the_type_at_the_end(x):
    return (x.astype(jnp.float32) * np.float32(0.5) + 0.25).astype(x.dtype)


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


@hidden(stage="value", idea="The numbers are those of half precision, and any shape will do.")
def any_type_and_shape(answer, draw, reference):
    """For a matrix of bfloat16 the values and the dtype are right."""
    x = draw.floats(2, 3, dtype="bfloat16")
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


@hidden(idea="`jax.lax` repeats no row for a whole matrix either.")
def shapes_must_agree(answer, draw, reference):
    """Arrays of any equal shape are added; a row is not added to a matrix."""
    a, b = draw.floats(3, 2), draw.floats(3, 2)
    expect_close(answer(a, b), reference(a, b))
    expect_raises(answer.observe_error(a, draw.floats(2)), "TypeError")
    expect_raises(answer.observe_error(a, b, draw.floats(2)), "TypeError")


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


@hidden(idea="Any function.")
def any_function(answer, draw, reference):
    """Of other functions the operations are listed as well."""
    for name in ("squared_length", "turn_and_scale"):
        x = draw.numpy(5)
        seen, wanted = sorted(answer(given(name), x)), sorted(reference(given(name), x))
        expect_that(seen == wanted, "These are not all operations of the function, or not only those.", seen, wanted)


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


@hidden(idea="Any lengths, integers too.")
def any_two_vectors(answer, draw, reference):
    """For any two vectors, of integers or floats, both results are the convolution."""
    for x, y in (
        (jnp.asarray(draw.generator.integers(0, 9, size=4)), draw.floats(3)),
        (draw.floats(2), draw.floats(5)),
    ):
        expect_close(list(answer(x, y)), list(reference(x, y)), rtol=1e-4, atol=1e-4)


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


@hidden(idea="Any number of rows, any lengths.")
def any_rows_and_kernel(answer, draw, reference):
    """For other rows and kernels the result is right."""
    for b, n, m in ((3, 4, 2), (2, 3, 5)):
        rows, kernel = draw.floats(b, n), draw.floats(m)
        expect_close(answer(rows, kernel), reference(rows, kernel), rtol=1e-4, atol=1e-4)


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


@hidden(idea="Any function.")
def any_function_lowered(answer, draw, reference):
    """Of other functions the operations are listed as well."""
    for name in ("squared_length", "turn_and_scale"):
        x = draw.numpy(5)
        seen, wanted = sorted(answer(given(name), x)), sorted(reference(given(name), x))
        expect_that(seen == wanted, "These are not all operations in the text, or not only those.", seen, wanted)


# %% seconds_per_run
@answer
def seconds_per_run(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@alternative
def the_mean_of_five(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    for _ in range(5):
        machine.run().block_until_ready()
    return (machine.clock() - before) / 5


@alternative
def the_shortest_of_three(start_machine):
    machine = start_machine()
    times = []
    for _ in range(3):
        before = machine.clock()
        jax.block_until_ready(machine.run())
        times.append(machine.clock() - before)
    return min(times)


@alternative
def waits_by_converting(start_machine):
    machine = start_machine()
    np.asarray(machine.run())
    before = machine.clock()
    np.asarray(machine.run())
    return np.float32(machine.clock() - before)


@wrong(rejected_by="the_time_is_honest", says="The call comes back before the work is done.", misses_the_point=True)
def does_not_wait(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    machine.run()
    return machine.clock() - before


@wrong(rejected_by="the_time_is_honest", says="The first call compiles.")
def measures_the_compiler(start_machine):
    machine = start_machine()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@wrong(rejected_by="the_time_is_honest", says="The job of the first run is still in the queue.")
def does_not_wait_for_the_first_run(start_machine):
    machine = start_machine()
    machine.run()
    before = machine.clock()
    machine.run().block_until_ready()
    return machine.clock() - before


@wrong(rejected_by="the_time_is_honest", says="The result is waited for after the clock was read.")
def waits_too_late(start_machine):
    machine = start_machine()
    machine.run().block_until_ready()
    before = machine.clock()
    result = machine.run()
    seconds = machine.clock() - before
    result.block_until_ready()
    return seconds


@wrong(rejected_by="the_time_is_honest", says="The compiler's time is spread over several runs, not left out.")
def hides_the_compiler_in_a_mean(start_machine):
    machine = start_machine()
    before = machine.clock()
    for _ in range(10):
        machine.run().block_until_ready()
    return (machine.clock() - before) / 10


@hidden(idea="Any machine.")
def another_machine_is_measured_as_honestly(answer):
    """For another machine the time is honest, too."""
    expect_honest(answer, big_machine)
