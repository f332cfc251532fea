# url: https://github.com/sethaxen/CAGPJax/pull/6
# wrong: The hand-written backward rule divides by the eigenvalues' differences, which are 0 on the diagonal, and multiplies by a mask afterwards.
# advice: Replace the zero differences with where before the division.

# %% fails
import jax
import jax.numpy as jnp


@jax.custom_vjp
def sym_eig(m):
    return jnp.linalg.eigh(m)


def fwd(m):
    w, v = jnp.linalg.eigh(m)
    return (w, v), (w, v)


def bwd(saved, cotangents):
    w, v = saved
    dw, dv = cotangents
    off = 1.0 - jnp.eye(w.size)
    gaps = off / (w[None, :] - w[:, None])  # guilty
    inner = jnp.diag(dw) + off * gaps * (v.T @ dv)
    return (v @ inner @ v.T,)


sym_eig.defvjp(fwd, bwd)
f = jax.grad(lambda m: sym_eig(m)[1][0, 0] + sym_eig(m)[0][1])
args = (jnp.array([[2.0, 0.3], [0.3, 1.0]]),)

# %% works
import jax
import jax.numpy as jnp


@jax.custom_vjp
def sym_eig(m):
    return jnp.linalg.eigh(m)


def fwd(m):
    w, v = jnp.linalg.eigh(m)
    return (w, v), (w, v)


def bwd(saved, cotangents):
    w, v = saved
    dw, dv = cotangents
    diff = w[None, :] - w[:, None]
    gaps = jnp.where(diff == 0, 0.0, 1.0 / jnp.where(diff == 0, 1.0, diff))
    return (v @ (jnp.diag(dw) + gaps * (v.T @ dv)) @ v.T,)


sym_eig.defvjp(fwd, bwd)
f = jax.grad(lambda m: sym_eig(m)[1][0, 0] + sym_eig(m)[0][1])
args = (jnp.array([[2.0, 0.3], [0.3, 1.0]]),)
