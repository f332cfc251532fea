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
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True)
    importlib.invalidate_caches()

# %%
from jaxguide.lesson import check, hint, progress, start

start("arrays", course="benchmark-arrays")

# %%
import jax
import jax.numpy as jnp

# %%
# Exercise: Columns of mean 0 (2 points)
def standardize(x):
    """Scale each column to mean 0 and deviation 1, a constant column to 0: float32[n,m] -> float32[n,m]."""
    ...


check(standardize)

# %%
# Exercise: Softmax of large scores (2 points)
def stable_softmax(scores):
    """Turn scores into probabilities: float32[n] -> float32[n]."""
    ...


check(stable_softmax)

# %%
# Exercise: Gradient of a loss (2 points)
def loss_gradient(w, x, y):
    """Differentiate the mean of (x @ w - y)**2 by w: float32[m], float32[n,m], float32[n] -> float32[m]."""
    ...


check(loss_gradient)

# %%
# Exercise: All distances (2 points)
def distances(a, b):
    """Compute the distance of each row of a to each row of b: float32[n,k], float32[m,k] -> float32[n,m]."""
    ...


check(distances)

# %%
# Exercise: Exponential smoothing (2 points)
def smooth(values, decay):
    """Mix each value with the result before it, weighted 1 - decay and decay: float32[n], float32[] -> float32[n]."""
    ...


check(smooth)
