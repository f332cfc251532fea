# %% [markdown]
# # Five functions of arrays
#
# The assignment that benchmarks grade: five exercises, each with a visible and a hidden check.

# %%
# This installs jaxguide where it is missing, as in Colab. It does nothing elsewhere.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("jaxguide") is None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True
    )
    importlib.invalidate_caches()

# %%
from jaxguide.lesson import check, hint, progress, start

start("arrays", course="benchmark-arrays")

# %%
import jax
import jax.numpy as jnp

# %% [markdown]
# ### Exercise: Columns of mean 0 (2 points)
#
# Scale each column to mean 0 and deviation 1, a constant column to 0: float32[n,m] ->
# float32[n,m].

# %%
def standardize(x):
    """Scale each column to mean 0 and deviation 1, a constant column to 0:
    float32[n,m] -> float32[n,m].
    """
    ...


check(standardize)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(standardize)

# %% [markdown]
# ### Exercise: Softmax of large scores (2 points)
#
# Turn scores into probabilities: float32[n] -> float32[n].

# %%
def stable_softmax(scores):
    """Turn scores into probabilities: float32[n] -> float32[n]."""
    ...


check(stable_softmax)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(stable_softmax)

# %% [markdown]
# ### Exercise: Gradient of a loss (2 points)
#
# Differentiate the mean of (x @ w - y)**2 by w: float32[m], float32[n,m], float32[n] ->
# float32[m].

# %%
def loss_gradient(w, x, y):
    """Differentiate the mean of (x @ w - y)**2 by w: float32[m], float32[n,m],
    float32[n] -> float32[m].
    """
    ...


check(loss_gradient)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(loss_gradient)

# %% [markdown]
# ### Exercise: All distances (2 points)
#
# Compute the distance of each row of a to each row of b: float32[n,k], float32[m,k] ->
# float32[n,m].

# %%
def distances(a, b):
    """Compute the distance of each row of a to each row of b: float32[n,k],
    float32[m,k] -> float32[n,m].
    """
    ...


check(distances)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(distances)

# %% [markdown]
# ### Exercise: Exponential smoothing (2 points)
#
# Mix each value with the result before it, weighted 1 - decay and decay: float32[n],
# float32[] -> float32[n].

# %%
def smooth(values, decay):
    """Mix each value with the result before it, weighted 1 - decay and decay:
    float32[n], float32[] -> float32[n].
    """
    ...


check(smooth)

# %%
# Stuck? Uncomment a line and run the cell.
# hint(smooth)
