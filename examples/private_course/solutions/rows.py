# %%
import jax.numpy as jnp

from jaxguide.course.author import answer, expect_close, hidden, wrong


# %% unit_rows
@answer(
    notice="A length of 0 is replaced before the division, since `jnp.where` computes both of its values.",
    another_way="Dividing first and choosing afterwards gives the same values, but NaN derivatives for a row of zeros.",
)
def unit_rows(x):
    length = jnp.linalg.norm(x, axis=1, keepdims=True)
    return jnp.where(length > 0, x / jnp.where(length > 0, length, 1), x)


@wrong(
    rejected_by="every_row_has_length_one", says="The columns are scaled instead of the rows.", misses_the_point=True
)
def scales_columns(x):
    return x / jnp.linalg.norm(x, axis=0, keepdims=True)


@wrong(rejected_by="rows_of_zeros_stay", says="A row of zeros is divided by its length, which is 0.")
def divides_by_zero(x):
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


@hidden(idea="0 / 0 is NaN: a length of 0 needs a case of its own.", on="a row of zeros")
def rows_of_zeros_stay(answer, draw, reference):
    """A row of zeros stays as it is."""
    x = draw.floats(3, 7).at[draw.integer(0, 3)].set(0)
    expect_close(answer(x), reference(x))
