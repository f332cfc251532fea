# %% [markdown]
# # Rows of unit length
#
# A row of a table is a vector. Many methods want it to have length 1.

# %%
import jax.numpy as jnp

# %% check
from jaxguide.course.author import exercise, expect_close, visible


# %% exercise
@exercise(
    title="Rows of unit length",
    points=2,
    hints=[
        "What is the length of one row?",
        "Broadcasting needs a kept axis: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.norm.html",
        "x / jnp.linalg.norm(x, axis=____, keepdims=True)",
    ],
)
def unit_rows(x):
    """Scale each row to length 1, and leave a row of zeros as it is: float32[n,m] -> float32[n,m].

    >>> unit_rows(jnp.array([[3.0, 4.0], [0.0, 0.0]]))
    Array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    ...


# %% check
@visible(unit_rows, idea="A row's length is the root of the sum of its squares.")
def every_row_has_length_one(answer, draw):
    """Every row has length 1."""
    for shape in ((2, 3), (4, 5)):
        x = draw.floats(*shape)
        expect_close(answer(x), x / jnp.sqrt((x**2).sum(axis=1, keepdims=True)))
