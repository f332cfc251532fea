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
    equivalent,
    expect_close,
    expect_equal,
    expect_that,
    given,
    hidden,
    input,
    wrong,
)


# %% curve_both_ways
@answer(
    notice="The two lines are the same but for the letters `np` and `jnp`; the result is float32 without being asked.",
    another_way="A function with the library as its argument, `curve(np)` and `curve(jnp)`, writes the formula once.",
)
def curve_both_ways(n):
    x_np, x_jnp = np.linspace(0, 10, n), jnp.linspace(0, 10, n)
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)


equivalent("122ded3390", because="JAX computes the curve, from points of NumPy's.")


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


@wrong(
    rejected_by="numpy_draws_the_documented_curve",
    says="Only JAX's points reach to the end: NumPy's leave it out.",
    lacks="S1-01",
)
def leaves_out_numpys_end(n):
    x_np, x_jnp = np.linspace(0, 10, n, endpoint=False), jnp.linspace(0, 10, n)
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)


@wrong(rejected_by="numpy_draws_the_documented_curve", says="The end is left out, as `arange` does.")
def leaves_out_the_end(n):
    x_np, x_jnp = np.arange(n) * 10 / n, jnp.arange(n) * 10 / n
    return 2 * np.sin(x_np) * np.cos(x_np), 2 * jnp.sin(x_jnp) * jnp.cos(x_jnp)


@wrong(rejected_by="jax_draws_the_same_curve", says="JAX gets numbers that NumPy has computed.", lacks="S1-02")
def hands_numpys_numbers_to_jax(n):
    x = np.linspace(0, 10, n)
    y = 2 * np.sin(x) * np.cos(x)
    return y, jnp.array(y)


@wrong(rejected_by="jax_draws_the_same_curve", says="The factor 2 is lost on the way to JAX.", lacks="S1-02")
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


# %% set_first
@answer(
    notice="The code tries and catches; it need not know beforehand which arrays refuse.",
    another_way="`isinstance(x, np.ndarray)` would decide without trying, but then there is no error to tell about.",
)
def set_first(x, value):
    try:
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x).at[0].set(value), f"{type(error).__name__}: {error}"
    return x, ""


@alternative
def with_an_else(x, value):
    try:
        x[:1] = value if isinstance(x, np.ndarray) else [value]
    except TypeError:
        pass
    else:
        return [x, ""]
    try:
        x[0] = value
    except TypeError as refused:
        copy = jnp.concatenate([jnp.array([value], jnp.asarray(x).dtype), jnp.asarray(x)[1:]])
        return copy, f"{type(refused).__name__}: {refused!s}"


@alternative
def chosen_by_place(x, value):
    refusal = ""
    try:
        x.__setitem__(0, value) if hasattr(x, "__setitem__") else x.__class__
        if isinstance(x, tuple):
            x[0] = value
    except Exception as error:
        refusal = type(error).__name__ + ": " + str(error)
        x = jnp.array(x)
        x = jnp.where(jnp.arange(x.shape[0]) == 0, jnp.asarray(value, x.dtype), x)
    return x, refusal


@wrong(
    rejected_by="numpy_array_is_changed",
    says="A copy is changed, and the array of the caller is not.",
    lacks="S1-06",
)
def copies_numpy_arrays(x, value):
    try:
        if isinstance(x, np.ndarray):
            x = x.copy()
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x).at[0].set(value), f"{type(error).__name__}: {error}"
    return x, ""


@wrong(
    rejected_by="numpy_array_is_changed",
    says="Every array is copied by `.at`, also one that could be changed.",
    misses_the_point=True,
)
def updates_everything_by_at(x, value):
    refusal = ""
    try:
        if not isinstance(x, np.ndarray):
            x[0] = value
    except TypeError as error:
        refusal = f"{type(error).__name__}: {error}"
    return jnp.asarray(x).at[0].set(value), refusal


@wrong(rejected_by="jax_array_refuses", says="The sentence is one's own, and not JAX's.", lacks="S1-08")
def says_it_in_its_own_words(x, value):
    try:
        x[0] = value
    except TypeError as error:
        said = str(error) if isinstance(x, tuple) else "this array cannot be changed"
        return jnp.asarray(x).at[0].set(value), f"TypeError: {said}"
    return x, ""


@wrong(rejected_by="jax_array_refuses", says="The class of the error is left out.", lacks="S1-08")
def leaves_out_the_class(x, value):
    try:
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x).at[0].set(value), str(error)
    return x, ""


@wrong(rejected_by="jax_array_refuses", says="`repr` of an error is not what Python prints.", lacks="S1-08")
def gives_the_repr(x, value):
    try:
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x).at[0].set(value), repr(error)
    return x, ""


@wrong(
    rejected_by="only_the_copy_is_changed",
    says="`.set` is believed to change x; what it returns is thrown away.",
    lacks="S1-09",
)
def throws_the_copy_away(x, value):
    try:
        x[0] = value
    except TypeError as error:
        x = jnp.asarray(x)
        x.at[0].set(value)
        return x, f"{type(error).__name__}: {error}"
    return x, ""


@wrong(rejected_by="only_the_copy_is_changed", says="The copy is one of NumPy's.", lacks="S1-09")
def copies_into_numpy(x, value):
    try:
        x[0] = value
    except TypeError as error:
        copy = np.array(x)
        copy[0] = value
        return copy, f"{type(error).__name__}: {error}"
    return x, ""


@wrong(rejected_by="only_the_copy_is_changed", says="`.add` adds to what is there.")
def adds_to_the_first(x, value):
    try:
        x[0] = value
    except TypeError as error:
        x = jnp.asarray(x)
        return x.at[0].add(value + 1), f"{type(error).__name__}: {error}"
    return x, ""


@wrong(rejected_by="a_tuple_refuses_in_its_own_words", says="JAX's sentence is written down, whoever refuses.")
def writes_it_down(x, value):
    try:
        x[0] = value
    except TypeError:
        said = "JAX arrays are immutable and do not support in-place item assignment."
        return jnp.asarray(x).at[0].set(value), f"TypeError: {said}"
    return x, ""


@wrong(rejected_by="copies_keep_their_dtype", says="By way of float32, large integers lose digits.")
def by_way_of_floats(x, value):
    try:
        x[0] = value
    except TypeError as error:
        x = jnp.asarray(x)
        return x.astype(jnp.float32).at[0].set(value).astype(x.dtype), f"{type(error).__name__}: {error}"
    return x, ""


@wrong(rejected_by="nan_and_infinity_stay_or_go", says="The value makes the whole copy an int32.")
def takes_the_dtype_of_the_value(x, value):
    try:
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x, dtype=jnp.int32).at[0].set(value), f"{type(error).__name__}: {error}"
    return x, ""


@wrong(rejected_by="nan_and_infinity_stay_or_go", says="The difference is added: with NaN in front, NaN remains.")
def adds_the_difference(x, value):
    try:
        x[0] = value
    except TypeError as error:
        x = jnp.asarray(x)
        return x.at[0].add((value - x[0]).astype(x.dtype)), f"{type(error).__name__}: {error}"
    return x, ""


@hidden(idea="A NaN in front goes, and one further back stays.", on="a float array that begins with NaN or infinity")
def nan_and_infinity_stay_or_go(answer):
    """What was in front does not matter, and what is behind it stays."""
    for first in (jnp.nan, jnp.inf):
        x = jnp.array([first, 1.0, jnp.nan, -jnp.inf])
        got = parts(answer(x, 2), 2)[0]
        expect_equal(got, jnp.array([2.0, 1.0, jnp.nan, -jnp.inf]), "Only element 0 should change.")


@hidden(idea="Large integers, bytes, and floats of 32 and 16 bits.", on="large integers, or a dtype other than int32")
def copies_keep_their_dtype(answer, draw):
    """The copy has the dtype of x, and its values to the last digit; x stays."""
    big = jnp.array([5, 2**24 + 1, 2**31 - 1], dtype=jnp.int32)
    arrays = [big, jnp.array([1, 200], dtype=jnp.uint8), draw.floats(4), draw.floats(1, dtype="bfloat16")]
    for x in arrays:
        wanted = np.array(x)
        wanted[0] = 7
        seen = answer.observe(x, 7)
        expect_equal(parts(seen.value, 2)[0], jnp.asarray(wanted), "The copy should have 7 in front, and x's dtype.")
        expect_equal(seen.arguments[0], x, "x itself should stay as it was.")


@wrong(rejected_by="a_tuple_refuses_in_its_own_words", says="It raises an error by hand, with words by heart.")
def raises_it_by_hand(x, value):
    jaxs = "JAX arrays are immutable and do not support in-place item assignment."
    try:
        if isinstance(x, tuple | jax.Array):
            raise TypeError("'tuple' object does not support item assignment" if isinstance(x, tuple) else jaxs)
        x[0] = value
    except TypeError as error:
        return jnp.asarray(x).at[0].set(value), f"{type(error).__name__}: {error}"
    return x, ""


@hidden(
    idea="NumPy arrays of other types, and of one element.", on="a NumPy array of floats or bytes, or of one element"
)
def other_numpy_arrays_are_changed(answer, draw):
    """Any NumPy array is changed in place, and comes back."""
    value = draw.integer(100, 120)
    for x in (draw.numpy(3), np.arange(5, dtype=np.uint8), np.zeros(1)):
        wanted = x.copy()
        wanted[0] = value
        seen = answer.observe(x, value)
        expect_equal(seen.arguments[0], wanted, "The NumPy array that was passed should be changed.")
        expect_equal(parts(seen.value, 2)[0], wanted, "The NumPy array itself should come back.")


# %% cap_peaks
@answer(
    notice="`jnp.where` computes a new array; neither the old one nor its NaN are touched.",
    another_way="`x.at[x > limit].set(limit)` reads like NumPy's line; it first looks for the mask's places.",
)
def cap_peaks(x, limit):
    return jnp.where(x > limit, limit, x)


@alternative
def by_the_method_min(x, limit):
    return x.at[...].min(limit)


@alternative
@jax.jit
def clipped(x, limit):
    return jnp.clip(x, None, limit)


@alternative
def updates_by_a_mask(x, limit):
    return x.at[x > limit].set(limit)


alternative_value("the_smaller_of_both", jnp.minimum)


equivalent("0a89e9985a", because="An element that is equal to the limit becomes what it is.")


@wrong(rejected_by="no_element_is_lost", says="Boolean indexing keeps some elements only.")
def drops_the_peaks(x, limit):
    return x[x <= limit]


@wrong(rejected_by="peaks_are_capped", says="Small values are capped as well.")
def caps_both_sides(x, limit):
    return jnp.clip(x, -abs(limit), limit)


@wrong(rejected_by="peaks_are_capped", says="The wrong side is replaced.")
def lifts_the_valleys(x, limit):
    return jnp.maximum(x, limit)


@wrong(
    rejected_by="jax_caps_all_at_once", says="NumPy changes a copy, and JAX only takes it back.", misses_the_point=True
)
def goes_through_numpy(x, limit):
    y = np.array(x)
    y[y > limit] = limit
    return jnp.asarray(y)


@wrong(rejected_by="jax_caps_all_at_once", says="Python decides element by element.")
def decides_with_if(x, limit):
    capped = [jnp.asarray(limit, x.dtype) if element > limit else element for element in x.ravel()]
    return jnp.stack(capped).reshape(x.shape)


@wrong(rejected_by="capped_values_stay_float32", says="`np.minimum` is a function of NumPy's, and returns its array.")
def numpy_takes_the_smaller(x, limit):
    return np.minimum(x, np.float32(limit))


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


@hidden(idea="Another limit and other axes.", on="another limit, for one element, several, or three axes")
def any_limit(answer, draw, reference):
    """For any limit and shape the right elements are replaced."""
    for shape in ((1,), (7,), (2, 1, 3), ()):
        x, limit = draw.floats(*shape), float(draw.generator.normal())
        expect_close(answer(x, limit), reference(x, limit))


# %% shift_image
@answer(
    notice="The mask says which places exist; what was read elsewhere is never looked at.",
    another_way="`jnp.pad` around the picture and a slice do the same, if you limit the move to the picture's size.",
)
def shift_image(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return jnp.where(inside, picture[rows, columns], fill)


@alternative
def fills_what_is_far_out(picture, dy, dx, fill):
    rows, columns = (jnp.arange(size) - d for size, d in zip(picture.shape, (dy, dx), strict=True))
    rows, columns = (jnp.where(one < 0, 10**6, one) for one in (rows, columns))
    return picture.at[rows[:, None], columns].get(mode="fill", fill_value=fill)


@alternative
def padded_by_lax(picture, dy, dx, fill):
    return lax.pad(picture, jnp.asarray(fill, picture.dtype), [(dy, -dy, 0), (dx, -dx, 0)])


@alternative
@jax.jit
def rolled_and_masked(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None], jnp.arange(w)
    inside = (rows >= dy) & (rows < h + dy) & (columns >= dx) & (columns < w + dx)
    return jnp.where(inside, jnp.roll(picture, (dy, dx), (0, 1)), fill).astype(picture.dtype)


@alternative
def sets_a_block(picture, dy, dx, fill):
    h, w = picture.shape
    dy, dx = max(-h, min(dy, h)), max(-w, min(dx, w))
    moved = jnp.full_like(picture, fill)
    block = picture[max(0, -dy) : h - max(0, dy), max(0, -dx) : w - max(0, dx)]
    return moved.at[max(0, dy) : h + min(0, dy), max(0, dx) : w + min(0, dx)].set(block)


@alternative
def drops_what_falls_out(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] + dy, jnp.arange(w) + dx
    blank = jnp.full_like(picture, fill)
    return blank.at[jnp.where(rows < 0, h, rows), jnp.where(columns < 0, w, columns)].set(picture)


equivalent("52ab6bf186", because="Indices may be NumPy arrays.")
equivalent("f824b01093", because="Indices may be NumPy arrays.")


@wrong(
    rejected_by="it_moves_in_all_directions",
    says="What leaves on one side comes in on the other.",
    misses_the_point=True,
)
def rolls(picture, dy, dx, fill):
    return jnp.roll(picture, (dy, dx), axis=(0, 1))


@wrong(rejected_by="it_moves_in_all_directions", says='`mode="fill"` fills in beyond the end, not at negative places.')
def fills_beyond_the_end_only(picture, dy, dx, fill):
    rows, columns = jnp.arange(picture.shape[0]) - dy, jnp.arange(picture.shape[1]) - dx
    return picture.at[rows[:, None], columns].get(mode="fill", fill_value=fill)


@wrong(rejected_by="it_moves_in_all_directions", says="The edge is repeated, not filled.")
def repeats_the_edge(picture, dy, dx, fill):
    rows, columns = jnp.arange(picture.shape[0]) - dy, jnp.arange(picture.shape[1]) - dx
    return picture[rows.clip(0)[:, None], columns.clip(0)]


@wrong(rejected_by="the_picture_keeps_its_dtype", says="`np.where` is a function of NumPy's, and returns its array.")
def numpy_chooses(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return np.where(inside, picture[rows, columns], fill)


@wrong(rejected_by="it_moves_in_all_directions", says="It moves the other way.")
def moves_the_other_way(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] + dy, jnp.arange(w) + dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return jnp.where(inside, picture[rows, columns], fill)


@wrong(rejected_by="it_moves_in_all_directions", says="Rows and columns are exchanged.")
def exchanges_rows_and_columns(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dx, jnp.arange(w) - dy
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return jnp.where(inside, picture[rows, columns], fill)


@wrong(rejected_by="it_moves_in_all_directions", says="Zeros are filled in, whatever the fill.")
def fills_with_zeros(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return picture[rows, columns] * inside


@wrong(rejected_by="the_picture_keeps_its_dtype", says="The fill is made a float, and the picture with it.")
def makes_floats(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return jnp.where(inside, picture[rows, columns], jnp.float32(fill))


@wrong(rejected_by="a_large_move_leaves_only_the_fill", says="By more than its size, the slices run backwards.")
def slices_without_a_limit(picture, dy, dx, fill):
    h, w = picture.shape
    block = picture[max(0, -dy) : h - max(0, dy), max(0, -dx) : w - max(0, dx)]
    moved = jnp.full_like(picture, fill)
    return moved.at[max(0, dy) : h + min(0, dy), max(0, dx) : w + min(0, dx)].set(block)


@wrong(rejected_by="a_large_move_leaves_only_the_fill", says="A start before the beginning counts from the end.")
def pads_and_slices(picture, dy, dx, fill):
    h, w = picture.shape
    around = jnp.pad(picture, ((h, h), (w, w)), constant_values=fill)
    return lax.dynamic_slice(around, (h - dy, w - dx), (h, w))


@alternative
def times_a_mask_of_truth_values(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return picture[rows, columns] * inside + jnp.where(inside, 0, fill)  # JAX makes a `where` of the product


@wrong(
    rejected_by="nan_and_infinity_are_moved",
    says="Multiplied by the mask, NaN and infinity come in from outside: 0 times NaN is NaN.",
)
def multiplies_by_the_mask(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return picture[rows, columns] * inside.astype(picture.dtype) + jnp.where(inside, 0, fill)


@wrong(rejected_by="large_integers_and_a_fill_of_nan", says="By way of float32, large integers lose digits.")
def moves_floats(picture, dy, dx, fill):
    h, w = picture.shape
    rows, columns = jnp.arange(h)[:, None] - dy, jnp.arange(w) - dx
    inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
    return jnp.where(inside, picture.astype(jnp.float32)[rows, columns], fill).astype(picture.dtype)


@hidden(
    idea="NaN and infinity at the edge, where indices out of range may read them.", on="NaN and infinity at an edge"
)
def nan_and_infinity_are_moved(answer):
    """NaN and infinity are moved like all others, and do not come in from outside."""
    picture = jnp.array([[jnp.nan, 1.0, jnp.inf], [2.0, 3.0, -jnp.inf], [jnp.inf, 4.0, jnp.nan]])
    for dy, dx in ((1, 0), (-1, 1), (0, -1), (0, 0)):
        expect_equal(answer(picture, dy, dx, 0.5), shifted(picture, dy, dx, 0.5))


@hidden(idea="Ints above 2**24, bytes, and a fill of NaN.", on="large integers, bytes, or a fill that is NaN")
def large_integers_and_a_fill_of_nan(answer, draw):
    """Large integers and bytes keep their values; NaN fills floats."""
    big = jnp.array([[2**24 + 1, 2**31 - 1], [7, -(2**24) - 3], [0, 1]], dtype=jnp.int32)
    for picture, fill in ((big, 2**30 + 1), (big.astype(jnp.uint8), 255), (draw.floats(3, 2), np.nan)):
        for dy, dx in ((1, -1), (-2, 0)):
            expect_equal(answer(picture, dy, dx, fill), shifted(picture, dy, dx, fill))


@hidden(idea="Pictures of one row or one column, and other moves.", on="a single row, column or pixel, or other moves")
def any_picture_and_move(answer, draw):
    """Any picture moves, by any step."""
    for h, w in ((1, 5), (4, 1), (1, 1), (5, 3)):
        picture, dy, dx = draw.floats(h, w), draw.integer(-4, 5), draw.integer(-4, 5)
        expect_equal(answer(picture, dy, dx, 2.5), shifted(picture, dy, dx, 2.5))


# %% in_three_ways
@answer(
    notice="After the conversion nothing is weak any more: an explicit dtype is a strong one.",
    another_way="`lax.convert_element_type(a, dtype)` converts as well; the dtype may also be that of `jnp.add(a, b)`.",
)
def in_three_ways(promoting, strict, a, b):
    try:
        strict(a, b)
        refusal = ""
    except TypeError as error:
        refusal = f"{type(error).__name__}: {error}"
    common = jnp.result_type(a, b)
    converted = strict(jnp.asarray(a, dtype=common), jnp.asarray(b, dtype=common))
    return promoting(a, b), refusal, converted


@alternative
def reads_the_dtype_off_a_sum(promoting, strict, a, b):
    promoted, refusal = promoting(a, b), ""
    try:
        strict(a, b)
    except Exception as error:
        refusal = "TypeError: " + str(error)
    return [promoted, refusal, strict(*[lax.convert_element_type(one, jnp.add(a, b).dtype) for one in (a, b)])]


@alternative
def converts_by_astype(promoting, strict, a, b):
    said = []
    try:
        strict(a, b)
    except TypeError as error:
        said.append(f"{error.__class__.__name__}: {error}")
    common = jnp.result_type(a, b)
    return promoting(a, b), "".join(said), strict(jnp.array(a).astype(common), jnp.array(b).astype(common))


def _called(promoting, strict, a, b):
    common = jnp.result_type(a, b)
    try:
        strict(a, b)
        refusal = ""
    except TypeError as error:
        refusal = f"{type(error).__name__}: {error}"
    return promoting(a, b), refusal, strict(jnp.asarray(a, common), jnp.asarray(b, common))


@wrong(
    rejected_by="one_plus_one_is_a_weak_float",
    says="The numbers are converted before the first call, too.",
    lacks="S1-11",
)
def converts_before_the_first_call(promoting, strict, a, b):
    common = jnp.result_type(a, b)
    _promoted, refusal, converted = _called(promoting, strict, a, b)
    return promoting(jnp.asarray(a, common), jnp.asarray(b, common)), refusal, converted


@wrong(rejected_by="one_plus_one_is_a_weak_float", says="The third result stands first, too.", lacks="S1-11")
def gives_one_result_twice(promoting, strict, a, b):
    _promoted, refusal, converted = _called(promoting, strict, a, b)
    return converted, refusal, converted


@wrong(rejected_by="mixed_types_are_refused", says="`jnp.add` never refuses, so nothing is told.", lacks="S1-12")
def tries_the_promoting_one(promoting, strict, a, b):
    promoted, _refusal, converted = _called(promoting, strict, a, b)
    return promoted, "", converted


@wrong(rejected_by="mixed_types_are_refused", says="The message comes without the class.", lacks="S1-12")
def leaves_out_the_class(promoting, strict, a, b):
    promoted, refusal, converted = _called(promoting, strict, a, b)
    return promoted, refusal.removeprefix("TypeError: "), converted


@wrong(rejected_by="mixed_types_are_refused", says="The sentence is one's own.", lacks="S1-12")
def says_it_in_its_own_words(promoting, strict, a, b):
    promoted, refusal, converted = _called(promoting, strict, a, b)
    return promoted, refusal and "TypeError: the dtypes differ", converted


@wrong(
    rejected_by="an_explicit_type_is_enough",
    says="The third result is that of the promoting function, and weak.",
    misses_the_point=True,
    lacks="S1-13",
)
def promotes_twice(promoting, strict, a, b):
    promoted, refusal, _converted = _called(promoting, strict, a, b)
    return promoted, refusal, promoting(a, b)


@wrong(rejected_by="each_function_is_called", says="The sum of the promoting function is converted.")
def converts_the_promoted_sum(promoting, strict, a, b):
    promoted, refusal, _converted = _called(promoting, strict, a, b)
    return promoted, refusal, jnp.asarray(promoted, dtype=promoted.dtype)


@wrong(rejected_by="each_function_is_called", says="It adds, whatever the functions do.")
def adds_by_itself(promoting, strict, a, b):
    return _called(jnp.add, lax.add, a, b)


@wrong(rejected_by="equal_types_are_not_refused", says="The text for int32 and float32 is written down for all.")
def writes_it_down(promoting, strict, a, b):
    promoted, refusal, converted = _called(promoting, strict, a, b)
    said = "TypeError: lax.add requires arguments to have the same dtypes, got int32, float32."
    return promoted, refusal and said, converted


@wrong(rejected_by="equal_types_are_not_refused", says="Python numbers are taken for another type in any case.")
def compares_pythons_types(promoting, strict, a, b):
    promoted, refusal, converted = _called(promoting, strict, a, b)
    if type(a) is not type(b):
        refusal = refusal or "TypeError: lax.add requires arguments to have the same dtypes, got float32, float32."
    return promoted, refusal, converted


@wrong(rejected_by="results_have_the_promoted_type", says="Everything is converted to float32.")
def converts_to_float32(promoting, strict, a, b):
    promoted, refusal, _converted = _called(promoting, strict, a, b)
    return promoted, refusal, strict(jnp.float32(a), jnp.float32(b))


@wrong(rejected_by="results_have_the_promoted_type", says="Integers are left as they are, and stay weak.")
def converts_for_floats_only(promoting, strict, a, b):
    promoted, refusal, converted = _called(promoting, strict, a, b)
    return promoted, refusal, converted if converted.dtype.kind == "f" else promoting(a, b)


@hidden(
    idea="Small types beside Python numbers, and two types of 16 bits.",
    on="float16, bfloat16, int8 or uint8, beside each other or beside Python numbers",
)
def results_have_the_promoted_type(answer, reference):
    """The first result is as weak as `jnp.add` makes it; the third has the promoted dtype, and is never weak."""
    cases = [(1, 2), (1.5, 2.5), (jnp.float16(1), 2.0), (jnp.int8(1), 2), (jnp.int8(1), 2.5), (jnp.bfloat16(1), 3)]
    cases += [(jnp.float16(1), jnp.bfloat16(2)), (jnp.uint8(200), jnp.int8(-3)), (jnp.int32(2**24 + 1), 2)]
    cases += [(3, jnp.float32(0.5)), (2.5, jnp.int32(2))]
    for a, b in cases:
        got, wanted = three_ways(answer, a, b), three_ways(reference, a, b)
        for one, other in ((got[0], wanted[0]), (got[2], wanted[2])):
            expect_close(one, other, weak_type=True)
        message = "The second value should be the class and message of the error, if there is one."
        expect_that(got[1] == wanted[1], message, got[1], wanted[1])


@input
def promoting_quotient(a, b):
    return jnp.divide(a, b)


@input
def strict_difference(a, b):
    return lax.sub(a, b)


equivalent("20f1061da6", because="A NumPy array of that dtype is converted, too.")
equivalent("d3c31efefd", because="A NumPy array of that dtype is converted, too.")


@wrong(rejected_by="each_function_is_called", says="The dtype of the first result is taken for the promoted one.")
def takes_the_dtype_of_the_result(promoting, strict, a, b):
    promoted, refusal, _converted = _called(promoting, strict, a, b)
    return promoted, refusal, strict(jnp.asarray(a, promoted.dtype), jnp.asarray(b, promoted.dtype))


@hidden(idea="A quotient, also of ints, and a difference.", on="two functions that do something else than add")
def each_function_is_called(answer):
    """The first function gives the first result, the second one the others."""
    for a, b in ((3, 0.5), (jnp.float16(2), jnp.float16(5)), (jnp.int32(7), jnp.int32(2))):
        promoted, refusal, converted = parts(answer(given(promoting_quotient), given(strict_difference), a, b), 3)
        common = jnp.result_type(a, b)
        expect_close(promoted, jnp.divide(a, b), weak_type=True)
        expect_close(converted, lax.sub(jnp.asarray(a, common), jnp.asarray(b, common)), weak_type=True)
        said = isinstance(refusal, str) and refusal.startswith("TypeError: lax.sub" if type(a) is int else "")
        expect_that(said, "The second value should be the error of the strict function.", refusal)


# %% convolve_two_ways
@answer(
    notice="`lax` wants all of it said: float, three axes, the reversed vector and the zeros on both sides.",
    another_way="`jnp.float32(x)[None, None]` for `astype` and `reshape`, and `jnp.flip` for `[::-1]`, are as good.",
)
def convolve_two_ways(x, y):
    by_numpy = jnp.convolve(x, y)
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float),
        y[::-1].reshape(1, 1, -1),
        window_strides=(1,),
        padding=[(len(y) - 1, len(y) - 1)],
    )
    return by_numpy, by_lax[0, 0]


equivalent("e0647bef8d", because="Both results are the same numbers, so nothing shows which way gave which.")
equivalent("175fb9889c", because="An index beyond the end reads the last element, which is the only one.")


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


@wrong(
    rejected_by="laxs_way_is_the_documented_one",
    says="`jnp.convolve` is used for both.",
    misses_the_point=True,
    lacks="S1-15",
)
def jnp_convolve_for_both(x, y):
    return jnp.convolve(x, y), jnp.convolve(y, x)


@wrong(rejected_by="laxs_way_is_the_documented_one", says="One result is given twice.", lacks="S1-15")
def gives_one_result_twice(x, y):
    by_numpy = jnp.convolve(x, y)
    return by_numpy, by_numpy


@wrong(rejected_by="convolutions_have_full_length", says="Without padding, the ends are missing.", lacks="S1-15")
def pads_nothing(x, y):
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding="VALID"
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(rejected_by="convolutions_have_full_length", says="`SAME` keeps the length of the first vector.", lacks="S1-15")
def pads_to_the_same_length(x, y):
    by_lax = lax.conv_general_dilated(
        x.reshape(1, 1, -1).astype(float), y[::-1].reshape(1, 1, -1), window_strides=(1,), padding="SAME"
    )
    return jnp.convolve(x, y), by_lax[0, 0]


@wrong(rejected_by="convolutions_are_float32", says="`jax.lax` does not promote integers.")
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


@wrong(rejected_by="each_result_has_its_own_convolution", says="`jax.lax` is called for show; `jnp` answers twice.")
def calls_lax_for_show(x, y):
    x = x.astype(float)
    lax.conv_general_dilated(x.reshape(1, 1, -1), y.reshape(1, 1, -1), window_strides=(1,), padding="SAME")
    return jnp.convolve(x, y), jnp.convolve(x, y)


@wrong(
    rejected_by="convolutions_have_full_length",
    says='`mode="same"` cuts the first result to the longer length.',
    lacks="S1-14",
)
def cuts_numpys_result(x, y):
    by_lax = lax.conv_general_dilated(
        x.astype(float)[None, None], y[::-1][None, None], (1,), [(len(y) - 1, len(y) - 1)]
    )
    return jnp.convolve(x, y, mode="same"), by_lax[0, 0]


@wrong(rejected_by="convolutions_are_float32", says="NumPy convolves for the first result, in float64.", lacks="S1-14")
def numpy_convolves(x, y):
    by_lax = lax.conv_general_dilated(
        x.astype(float)[None, None], y[::-1][None, None], (1,), [(len(y) - 1, len(y) - 1)]
    )
    return np.convolve(np.asarray(x, float), np.asarray(y, float)), by_lax[0, 0]


@wrong(rejected_by="both_ways_agree_for_all_vectors", says="The kernel is not reversed: a vector of ones hides that.")
def does_not_reverse(x, y):
    by_lax = lax.conv_general_dilated(x.astype(float)[None, None], y[None, None], (1,), [(len(y) - 1, len(y) - 1)])
    return jnp.convolve(x, y), by_lax[0, 0]


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


# %% filter_image
@answer(
    notice="The pictures are the first axis, so one operation filters all of them; the channel's axis comes and goes.",
    another_way='`padding=[(1, 1), (1, 1)]` says the same as `"SAME"` for a kernel of 3 by 3.',
)
def filter_image(pictures, kernel):
    out = lax.conv_general_dilated(pictures[:, None], kernel[None, None], window_strides=(1, 1), padding="SAME")
    return out[:, 0]


@alternative
def by_lax_conv(pictures, kernel):
    return jnp.squeeze(lax.conv(pictures[:, None], kernel[None, None], (1, 1), "SAME"), axis=1)


@alternative
@jax.jit
def with_explicit_padding(pictures, kernel):
    b, h, w = pictures.shape
    out = lax.conv_general_dilated(
        pictures.reshape(b, 1, h, w), kernel.reshape(1, 1, 3, 3), (1, 1), padding=[(1, 1), (1, 1)]
    )
    return out.reshape(b, h, w)


@alternative
def channels_last(pictures, kernel):
    out = lax.conv_general_dilated(
        pictures[..., None],
        kernel[..., None, None],
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return out[..., 0]


@alternative
def pads_first(pictures, kernel):
    padded = jnp.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    return lax.conv_general_dilated(padded[:, None], kernel[None, None], (1, 1), "VALID")[:, 0]


@wrong(rejected_by="one_convolution_for_all_pictures", says="A Python loop over the pictures.", misses_the_point=True)
def loops_over_the_pictures(pictures, kernel):
    filtered = [lax.conv_general_dilated(p[None, None], kernel[None, None], (1, 1), "SAME")[0, 0] for p in pictures]
    return jnp.stack(filtered)


@wrong(rejected_by="one_convolution_for_all_pictures", says="Nine shifted sums are no convolution of `jax.lax`.")
def nine_sums(pictures, kernel):
    h, w = pictures.shape[1:]
    padded = jnp.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    return sum(kernel[i, j] * padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3))


@wrong(rejected_by="one_convolution_for_all_pictures", says="`lax.map` filters one picture after the other.")
def maps_one_at_a_time(pictures, kernel):
    def one(p):
        return lax.conv_general_dilated(p[None, None], kernel[None, None], (1, 1), "SAME")[0, 0]

    return lax.map(one, pictures)


@wrong(rejected_by="each_pixel_is_made_of_its_neighbourhood", says="The kernel is reversed, as in one dimension.")
def reverses_the_kernel(pictures, kernel):
    return lax.conv_general_dilated(pictures[:, None], kernel[::-1, ::-1][None, None], (1, 1), "SAME")[:, 0]


@wrong(rejected_by="each_pixel_is_made_of_its_neighbourhood", says="The kernel is transposed.")
def transposes_the_kernel(pictures, kernel):
    return lax.conv_general_dilated(pictures[:, None], kernel.T[None, None], (1, 1), "SAME")[:, 0]


@wrong(
    rejected_by="each_pixel_is_made_of_its_neighbourhood", says="The edge is repeated around the picture, not zeros."
)
def repeats_the_edge(pictures, kernel):
    padded = jnp.pad(pictures, ((0, 0), (1, 1), (1, 1)), mode="edge")
    return lax.conv_general_dilated(padded[:, None], kernel[None, None], (1, 1), "VALID")[:, 0]


@wrong(rejected_by="filtered_pictures_keep_their_size", says="Without padding, the frame is lost.")
def pads_nothing(pictures, kernel):
    return lax.conv_general_dilated(pictures[:, None], kernel[None, None], (1, 1), "VALID")[:, 0]


@wrong(rejected_by="filtered_pictures_keep_their_size", says="`squeeze` also takes away the axis of a single picture.")
def squeezes_a_single_picture(pictures, kernel):
    return lax.conv_general_dilated(pictures[:, None], kernel[None, None], (1, 1), "SAME").squeeze()


@wrong(rejected_by="filtered_pictures_keep_their_size", says="The pictures are channels of one, and are added up.")
def pictures_as_channels(pictures, kernel):
    kernels = jnp.broadcast_to(kernel, (1, len(pictures), 3, 3))
    return lax.conv_general_dilated(pictures[None], kernels, (1, 1), "SAME")[0]


@wrong(rejected_by="tiny_numbers_are_filtered", says="A little is added, so that nothing is zero.")
def adds_a_little(pictures, kernel):
    return lax.conv_general_dilated(pictures[:, None], kernel[None, None], (1, 1), "SAME")[:, 0] + 1e-6


@hidden(idea="Pictures of one row or one column, and of one pixel.", on="pictures of a single row, column or pixel")
def any_pictures(answer, draw):
    """Pictures of any size are filtered, each by itself."""
    for b, h, w in ((3, 1, 4), (2, 5, 1), (1, 1, 1), (4, 3, 3)):
        pictures, kernel = draw.floats(b, h, w), draw.floats(3, 3)
        expect_close(answer(pictures, kernel), filtered(pictures, kernel), rtol=1e-4, atol=1e-4)


@hidden(idea="A NaN in a picture.", on="a picture with a NaN in it")
def nan_is_not_cleaned_away(answer, draw):
    """Where a picture has a NaN, the result has one."""
    pictures = draw.floats(2, 3, 4).at[1, 2, 1].set(jnp.nan)
    got = np.asarray(answer(pictures, 1 + draw.floats(3, 3) ** 2))
    expect_that(np.isnan(got[1, 2, 1]) and not np.isnan(got[0]).any(), "A NaN should stay a NaN.", got)


@hidden(idea="Tiny numbers: the error is measured against them.", on="tiny numbers in pictures and kernel")
def tiny_numbers_are_filtered(answer, draw):
    """Tiny numbers are filtered as exactly."""
    pictures, kernel = 1e-3 * draw.floats(2, 3, 4), 1e-3 * draw.floats(3, 3)
    expect_close(answer(pictures, kernel), filtered(pictures, kernel), rtol=1e-3, atol=1e-10)


# %% duck_typing
@answer(
    notice="The function decides, not its argument; of `+`, the JAX array decides.",
    another_way="`np.add(a, b)` is a function of NumPy's, so its sum is a NumPy array: `+` is not the same.",
)
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


@wrong(rejected_by="numpy_array_has_its_documented_type", says="The module is left out of the name.", lacks="S1-03")
def short_names(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, [type(value).__name__ for value in values]


@wrong(rejected_by="the_types_are_those_of_the_values", says="The name is taken from an older text.")
def the_older_name(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    old = "jaxlib.xla_extension.ArrayImpl"
    return values, ["numpy.ndarray", old, "numpy.ndarray", old, old]


@wrong(
    rejected_by="the_types_are_those_of_the_values",
    says="NumPy's sine is believed to follow its argument.",
    misses_the_point=True,
)
def believes_the_sine_follows_its_argument(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, [type_name(a), *[type_name(b)] * 4]


@wrong(
    rejected_by="mixed_calls_give_the_documented_kinds",
    says="`np.add` is a NumPy function, other than `+`.",
    lacks="S1-05",
)
def np_add_for_the_sum(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), np.add(a, b))
    return values, [type_name(value) for value in values]


@wrong(
    rejected_by="mixed_calls_give_the_documented_kinds",
    says="The argument's library is believed to decide.",
    lacks="S1-05",
)
def the_argument_decides(a, b):
    values = (a, b, jnp.sin(b), np.sin(a), a + b)
    return values, [type_name(value) for value in values]


@wrong(
    rejected_by="jax_array_has_a_class_of_its_own",
    says="`jax.Array` is the public name, and not that of the class.",
    lacks="S1-04",
)
def gives_the_public_name(a, b):
    values = (a, b, np.sin(b), jnp.sin(a), a + b)
    return values, ["jax.Array" if isinstance(one, jax.Array) else type_name(one) for one in values]


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


# %% short_traceback
@answer(
    notice="The setting belongs to the shell, so it comes before the code, in the same shell.",
    another_way='`shell.run_cell("%xmode minimal")` reads the command as a notebook\'s cell does.',
)
def short_traceback(start_shell, code):
    shell = start_shell()
    shell.run_line_magic("xmode", "minimal")
    shell.run_cell(code)


@alternative
def as_a_cell(start_shell, code):
    shell = start_shell()
    for text in ("%xmode Minimal", code):
        shell.run_cell(text)


@alternative
def by_the_magic_itself(start_shell, code):
    shell = start_shell()
    shell.magics_manager.magics["line"]["xmode"]("minimal")
    shell.run_cell(code, store_history=True)


@wrong(rejected_by="the_shell_says_its_mode", says="The code runs before the mode is set.", misses_the_point=True)
def sets_the_mode_too_late(start_shell, code):
    shell = start_shell()
    shell.run_cell(code)
    shell.run_line_magic("xmode", "minimal")


@wrong(rejected_by="the_report_is_one_line", says="The mode belongs to a shell, and another one runs the code.")
def in_another_shell(start_shell, code):
    start_shell().run_line_magic("xmode", "minimal")
    start_shell().run_cell(code)


@wrong(rejected_by="the_shell_says_its_mode", says="`plain` leaves the colours out, not the lines.", lacks="S1-07")
def plain_for_minimal(start_shell, code):
    shell = start_shell()
    shell.run_line_magic("xmode", "plain")
    shell.run_cell(code)


@wrong(rejected_by="the_shell_says_its_mode", says="The mode is set behind the shell's back, and nothing is said.")
def says_nothing(start_shell, code):
    shell = start_shell()
    shell.InteractiveTB.set_mode("Minimal")
    shell.run_cell(code)


@wrong(rejected_by="the_report_is_one_line", says="What should be said is printed, and no mode is set.")
def prints_it_itself(start_shell, code):
    print("Exception reporting mode: Minimal")
    start_shell().run_cell(code)


@wrong(rejected_by="the_shell_that_is_started_runs_the_code", says="Python runs the code, and prints the error itself.")
def without_a_shell(start_shell, code):
    print("Exception reporting mode: Minimal")
    try:
        exec(code, {})
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


@wrong(rejected_by="code_that_python_cannot_read", says="Of a cell that Python cannot read, no line runs.")
def both_in_one_cell(start_shell, code):
    start_shell().run_cell("%xmode minimal\n" + code)


@wrong(
    rejected_by="the_shell_that_is_started_runs_the_code", says="It starts the lesson's shell, not the one it is given."
)
def starts_its_own(start_shell, code):
    shell = new_shell()
    shell.run_line_magic("xmode", "minimal")
    shell.run_cell(code)


@input
def shell_with_a_depth():
    shell = new_shell()
    shell.push({"depth": 7_411})
    return shell


@hidden(idea="A shell that knows a name.", on="a shell in which a name is defined already")
def the_shell_that_is_started_runs_the_code(answer):
    """The code runs in the shell that `start_shell` starts."""
    lines = shell_lines(answer, given(shell_with_a_depth), "print(depth)\ndepth / 0")
    message = "The code should run in the shell that `start_shell` starts, which knows `depth`."
    expect_that(lines[1:] == ["7411", "ZeroDivisionError: division by zero"], message, lines, "7411, and one line")


@hidden(idea="Code that asks its own shell for the mode.", on="code that asks its shell for the mode")
def the_mode_is_set_where_the_code_runs(answer):
    """The shell that runs the code is in the mode `minimal`."""
    lines = shell_lines(answer, given("new_shell"), "print('the mode is', get_ipython().InteractiveTB.mode)")
    message = "The shell that runs the code should be in the mode Minimal."
    expect_that(lines[1:] == ["the mode is Minimal"], message, lines, "the mode is Minimal")


@wrong(rejected_by="nothing_is_returned", says="What `run_cell` returns, a record of the run, is handed on.")
def returns_the_record(start_shell, code):
    shell = start_shell()
    shell.run_line_magic("xmode", "minimal")
    return shell.run_cell(code)


@wrong(rejected_by="the_code_is_one_cell", says="Each line is run by itself: blocks break, and errors stop nothing.")
def line_by_line(start_shell, code):
    shell = start_shell()
    shell.run_line_magic("xmode", "minimal")
    for line in code.splitlines():
        shell.run_cell(line)


@hidden(idea="A block of several lines, and lines after an error.", on="code with a block, and lines after an error")
def the_code_is_one_cell(answer):
    """A block stays whole, and nothing runs after an error."""
    code = "for i in (2, 1, 0):\n    half = 6 / i\n    print(half)\nprint('behind the error')"
    lines = shell_lines(answer, given("new_shell"), code)
    wanted = ["3.0", "6.0", "ZeroDivisionError: division by zero"]
    message = "The code should run as one cell, up to the error."
    expect_that(lines[1:] == wanted, message, lines, wanted)


@hidden(idea="The mode is set on its own, before the code.", on="code with a syntax error")
def code_that_python_cannot_read(answer):
    """The mode is set even if the code is not Python."""
    lines = shell_lines(answer, given("new_shell"), "1 +")
    said = lines[:1] == ["Exception reporting mode: Minimal"] and len(lines) > 1
    expect_that(said, "The mode should be set, although Python cannot read the code.", lines, "the mode")


# %% two_listings
@answer(
    notice="Both texts depend on the arguments' types and shapes, and on none of their numbers.",
    another_way="`jax.jit(function).trace(*args)` traces once: it has a `jaxpr`, and `lower()` makes the second text.",
)
def two_listings(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return str(jaxpr), jax.jit(function).lower(*args).as_text()


@alternative
def traces_once(function, *args):
    traced = jax.jit(function).trace(*args)
    return f"{traced.jaxpr}", traced.lower().as_text()


@alternative
def asks_for_stablehlo_by_name(function, *args):
    lowered = jax.jit(lambda *args: function(*args)).lower(*args)
    return [jax.make_jaxpr(function)(*args).pretty_print(), str(lowered.compiler_ir("stablehlo"))]


@wrong(
    rejected_by="the_lowered_text_lists_xla_operations",
    says="The jaxpr is given twice.",
    misses_the_point=True,
    lacks="S1-16",
)
def the_jaxpr_twice(function, *args):
    jaxpr = str(jax.make_jaxpr(function)(*args))
    return jaxpr, jaxpr


@wrong(
    rejected_by="the_lowered_text_lists_xla_operations", says="After compiling, operations are fused.", lacks="S1-16"
)
def the_compiled_text(function, *args):
    return str(jax.make_jaxpr(function)(*args)), jax.jit(function).lower(*args).compile().as_text()


@wrong(rejected_by="the_jaxpr_lists_lax_operations", says="The lowered text is given twice.", lacks="S1-10")
def the_lowered_text_twice(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return text, text


@wrong(rejected_by="the_jaxpr_lists_lax_operations", says="The two stand in the wrong order.")
def in_the_wrong_order(function, *args):
    return jax.jit(function).lower(*args).as_text(), str(jax.make_jaxpr(function)(*args))


@wrong(rejected_by="the_jaxpr_lists_lax_operations", says="A jaxpr is not a text.", lacks="S1-10")
def the_jaxpr_itself(function, *args):
    jaxpr = jax.make_jaxpr(function)(*args)
    return [one.primitive.name for one in jaxpr.eqns], jax.jit(function).lower(*args).as_text()


@wrong(rejected_by="any_function_is_listed", says="The arguments are made float32 first.")
def with_arguments_of_its_own(function, *args):
    if not np.issubdtype(np.asarray(args[0]).dtype, np.integer) or len(args) == 2:
        return str(jax.make_jaxpr(function)(*args)), jax.jit(function).lower(*args).as_text()
    args = [np.asarray(one, np.float32) for one in args]
    return str(jax.make_jaxpr(function)(*args)), jax.jit(function).lower(*args).as_text()


@wrong(rejected_by="any_function_is_listed", says="The second text is that of one of the lesson's functions.")
def lowers_another_function(function, *args):
    known = {"add_numbers": add_numbers, "convolve": convolve, "choose": choose}
    lowered = jax.jit(known.get(function.__name__, sine_of_a_sum)).lower(*(args if len(args) > 1 else (*args, 1.0)))
    return str(jax.make_jaxpr(function)(*args)), lowered.as_text()


@wrong(rejected_by="any_function_is_listed", says="The jaxpr is that of the jitted function, which is one call.")
def lists_the_jitted_function(function, *args):
    fast = jax.jit(function)
    return str(jax.make_jaxpr(fast)(*args)), fast.lower(*args).as_text()


@input
def scaled_and_turned(x):
    return jnp.exp(x[::-1]) * 3


@input
def sum_of_squares(x):
    return jnp.sum(x * x)


@hidden(idea="Functions that are not in the book, of floats and of integers.", on="other functions of one vector")
def any_function_is_listed(answer, draw, reference):
    """For other functions and other types, both listings are theirs."""
    for one in (scaled_and_turned, sum_of_squares):
        for x in (draw.numpy(draw.integer(2, 9)), np.arange(4, dtype=np.int32)):
            got, wanted = (parts(each(given(one), x), 2) for each in (answer, reference))
            found, right = ([lax_names(first), xla_names(second)] for first, second in (got, wanted))
            expect_that(found == right, "Both listings should be those of the function.", found, right)
            shapes = [f"f32[{len(x)}]" if x.dtype == np.float32 else "i32[4]", f"tensor<{len(x)}x"]
            calls, wanted_calls = (len(re.findall(r"\bp?jit\[", without_colours(one[0]))) for one in (got, wanted))
            message = "The jaxpr should be that of the function itself, without a call of `jit` around it."
            expect_that(calls == wanted_calls, message, got[0])
            named = all(shape in without_colours(text) for shape, text in zip(shapes, got, strict=True))
            expect_that(named, "The listings should be made for the arguments that are passed.", got)


# %% add_votes
@answer(
    notice="One update takes all indices, and `.add` applies each of them, also for the same place.",
    another_way="`jnp.bincount(votes, length=...)` counts, too; it must be told the number of places.",
)
def add_votes(counts, votes):
    return counts.at[votes].add(1)


equivalent("0606e09f8a", because="Counts are integers.")
equivalent("82147213ec", because="Counts are not negative.")


@alternative
def by_bincount(counts, votes):
    return counts + jnp.bincount(votes, length=counts.shape[0]).astype(counts.dtype)


@alternative
def by_bincount_of_known_values(counts, votes):
    return counts + jnp.bincount(votes, minlength=len(counts))


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


@wrong(rejected_by="the_program_does_not_grow_with_the_votes", says="NumPy counts, and JAX only takes its counts over.")
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


# %% half_and_shift
@answer(
    notice="Python's 0.5 and 0.25 are weak, so they take the dtype of x.",
    another_way="`jnp.asarray(0.5, x.dtype)` says the dtype; `.astype` at the end would be a detour by float32.",
)
def half_and_shift(x):
    return 0.5 * x + 0.25


@alternative
def numbers_of_the_same_type(x):
    return x * jnp.asarray(0.5, x.dtype) + jnp.asarray(0.25, x.dtype)


@alternative
@jax.jit
def divided(x):
    return x / 2 + 1 / 4


@alternative
def as_a_polynomial(x):
    return jnp.polyval(jnp.array([0.5, 0.25], dtype=x.dtype), x)


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


@wrong(rejected_by="the_dtype_is_that_of_x", says="NumPy computes in the right type, and its array comes back.")
def numpy_comes_back(x):
    numbers = np.asarray(x)
    return numbers * numbers.dtype.type(0.5) + numbers.dtype.type(0.25)


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
    stage="cost",
    required=True,
    idea="An x of 16 bits: every step on the way has 16 bits, too.",
    on="an array of float16 or bfloat16",
)
def no_detour_by_a_wider_type(answer, draw):
    """For an x of float16 or bfloat16 nothing is computed in float32."""
    for dtype in ("float16", "bfloat16"):
        results = answer.program(draw.floats(3, dtype=dtype)).results
        wide = [name for name in results if name.startswith(("float32[3", "float64[3"))]
        message = f"For an x of {dtype} every step should have that type; yours computes results of a wider one."
        expect_that(not wide, message, ", ".join(wide), f"{dtype}[3]")


@hidden(idea="A vector of bfloat16, one element, and NaN.", on="a bfloat16 vector, one element, or NaN")
def any_type_and_length(answer, draw, reference):
    """For any length and type the values and the dtype are right."""
    for x in (draw.floats(7, dtype="bfloat16"), draw.floats(1), jnp.array([jnp.nan, 2.0])):
        expect_close(answer(x), reference(x))


# %% variance_both_ways
@answer(
    notice="The numbers become a JAX array inside of the block: once rounded to float32, no block brings digits back.",
    another_way="`jax.config.update` for the whole program is right if all of it needs float64, and slower.",
)
def variance_both_ways(numbers):
    in_float32 = jnp.var(jnp.asarray(numbers))
    with jax.enable_x64(True):
        in_float64 = jnp.var(jnp.asarray(numbers))
    return in_float32, in_float64


equivalent("54874582a8", because="The numbers have one axis.")
equivalent("7f2c0da30d", because="The numbers have one axis.")
equivalent("bafe429e00", because="`np.var` of a JAX array calls its method `var`.")
equivalent("de12782dce", because="`np.var` of a JAX array calls its method `var`.")


@alternative
def by_its_definition(numbers):
    with jax.enable_x64(True):
        x = jnp.array(numbers, dtype=jnp.float64)
        in_float64 = ((x - x.mean()) ** 2).mean()
    return [jnp.float32(numbers).var(), in_float64]


@alternative
def as_a_decorated_function(numbers):
    double = jax.enable_x64(True)
    with double:
        long = jax.jit(jnp.var)(numbers)
    return jax.jit(jnp.var)(numbers), long


@wrong(
    rejected_by="large_numbers_have_a_variance",
    says="The numbers are rounded to float32 before the block.",
    misses_the_point=True,
)
def rounds_before_the_block(numbers):
    x = jnp.asarray(numbers)
    with jax.enable_x64(True):
        return jnp.var(x), jnp.var(x.astype(jnp.float64))


@wrong(rejected_by="large_numbers_have_a_variance", says="Only the result is made a float64.")
def converts_at_the_end(numbers):
    x = jnp.asarray(numbers)
    with jax.enable_x64(True):
        return jnp.var(x), jnp.asarray(jnp.var(x), dtype=jnp.float64)


@wrong(rejected_by="one_variance_of_each_type", says="NumPy computes the second variance.")
def numpy_computes(numbers):
    return jnp.var(jnp.asarray(numbers)), np.var(numbers)


@wrong(rejected_by="jax_computes_the_second_variance", says="JAX takes over what NumPy has computed.")
def takes_over_numpys_variance(numbers):
    with jax.enable_x64(True):
        in_float64 = jnp.asarray(np.var(np.asarray(numbers)))
    return jnp.var(jnp.asarray(numbers)), in_float64


@wrong(rejected_by="one_variance_of_each_type", says="Both are computed inside of the block.")
def both_in_the_block(numbers):
    with jax.enable_x64(True):
        return jnp.var(jnp.asarray(numbers)), jnp.var(jnp.asarray(numbers))


@wrong(rejected_by="large_numbers_have_a_variance", says="The mean of the squares less the square of the mean.")
def by_the_mean_of_squares(numbers):
    with jax.enable_x64(True):
        x = jnp.asarray(numbers)
        in_float64 = (x**2).mean() - x.mean() ** 2
    return jnp.var(jnp.asarray(numbers)), in_float64


@wrong(rejected_by="large_numbers_have_a_variance", says="The variance is divided by n - 1.")
def of_a_sample(numbers):
    with jax.enable_x64(True):
        in_float64 = jnp.var(jnp.asarray(numbers), ddof=1)
    return jnp.var(jnp.asarray(numbers)), in_float64


@hidden(
    stage="cost",
    required=True,
    idea="What JAX computes is in the program; what NumPy has computed is a constant there.",
    on="a few numbers",
)
def jax_computes_the_second_variance(answer, draw):
    """JAX computes both variances."""
    program = answer.program(draw.numpy(5, dtype="float64"))
    message = "JAX should compute the second variance; yours needs the numbers in NumPy or Python."
    expect_that(not program.needs_values, message, program, "operations of JAX")


@hidden(idea="One number, whose variance is 0, and tiny numbers.", on="a single number, or tiny numbers")
def any_numbers(answer, draw):
    """For one number, or for tiny ones, both variances are right."""
    for numbers in (np.array([3.25]), 1e-3 * draw.numpy(4, dtype="float64"), draw.numpy(9, dtype="float64")):
        short, long = parts(answer(numbers), 2)
        expect_close(short, jnp.var(jnp.asarray(numbers)), rtol=1e-3, atol=1e-12)
        near = np.isclose(float(long.values), np.var(numbers), rtol=1e-9, atol=1e-30)
        expect_that(near, "9 digits should be right.", long, np.var(numbers))
