# url: https://github.com/lucidrains/flash-attention-jax/pull/8
# wrong: The forward rule must return (what the function returns, residuals); here its first part is the triple with row sums, although the function returns only the attention output.

# %% fails
import jax
import jax.numpy as jnp

def attention_parts(q, k, v):
    w = jnp.exp(q @ k.T)
    total = w.sum(-1, keepdims=True)
    return (w / total) @ v, total, w

@jax.custom_vjp
def attention(q, k, v):
    return attention_parts(q, k, v)[0]

def attention_fwd(q, k, v):
    parts = attention_parts(q, k, v)
    return parts, (q, k, v)

def attention_bwd(res, g):
    _, pull = jax.vjp(lambda *a: attention_parts(*a)[0], *res)
    return pull(g)

attention.defvjp(attention_fwd, attention_bwd)
x = jnp.eye(3)
print(jax.grad(lambda q: attention(q, x, x).sum())(x))

# %% works
import jax
import jax.numpy as jnp

def attention_parts(q, k, v):
    w = jnp.exp(q @ k.T)
    total = w.sum(-1, keepdims=True)
    return (w / total) @ v, total, w

@jax.custom_vjp
def attention(q, k, v):
    return attention_parts(q, k, v)[0]

def attention_fwd(q, k, v):
    out, total, w = attention_parts(q, k, v)
    return out, (q, k, v)

def attention_bwd(res, g):
    _, pull = jax.vjp(lambda *a: attention_parts(*a)[0], *res)
    return pull(g)

attention.defvjp(attention_fwd, attention_bwd)
x = jnp.eye(3)
print(jax.grad(lambda q: attention(q, x, x).sum())(x))
