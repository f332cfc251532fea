"""Call the host in program order from a program on any number of devices.

`jax.debug.callback(..., ordered=True)` is refused on more than one device (0.10.2 to 0.12.0.1), and
`io_callback(..., ordered=True)`, which is not, has no derivative and no `vmap`. Can go when JAX lifts that refusal.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax._src import callback as callbacks
from jax._src import debugging, effects, sharding_impls
from jax._src.interpreters import ad, batching, mlir, partial_eval
from jax.extend.core import Primitive


def ordered_callback(callback: Callable[..., None], *args: Any) -> None:
    """Call `callback` with arrays, in program order, like `jax.debug.callback(callback, *args, ordered=True)`.

    A program on several devices calls it once at each point, or once on each device inside `jax.shard_map` and
    `jax.pmap`: in order on each device, and in any order among them.

    In a `shard_map` over some of the axes of its mesh, JAX keeps no order, so this is refused (0.12.0.1) or ends the
    process (0.10.2).
    """
    _CALLBACK.bind(*args, callback=callback, ordered=True)


class OrderedOnDevices(jax.debug.OrderedDebugEffect):
    """The effect of these callbacks: what JAX allows its own debug callbacks, and several devices too."""

    __str__ = lambda self: "OrderedOnDevices"  # noqa: E731


effects.shardable_ordered_effects.add_type(OrderedOnDevices)
_EFFECT = OrderedOnDevices()
_CALLBACK = Primitive("debug_callback")  # the name of JAX's own, which has the same rules
_CALLBACK.multiple_results = True


def _now(*args: Any, callback: Callable[..., None], **_: Any) -> tuple[()]:
    debugging.debug_callback_impl(*args, callback=callback, effect=_EFFECT, partitioned=False)
    return ()


def _types(*_: Any, **__: Any) -> tuple[list[Any], set[Any]]:
    return [], {_EFFECT}


def _lowered(ctx: Any, *args: Any, callback: Callable[..., None], ordered: bool) -> Any:
    context = ctx.module_context.axis_context
    in_shards = isinstance(context, sharding_impls.SPMDAxisContext)
    on_one = (context.mesh.size if in_shards else getattr(context, "num_devices", 1)) == 1
    result, token, _ = callbacks.emit_python_callback(
        ctx,
        lambda *args: _now(*args, callback=callback),
        ctx.tokens_in.get(_EFFECT),
        list(args),
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=True,
        returns_token=True,
        sharding=None if on_one else callbacks._callback_op_sharding(context, None, ctx.avals_out),
    )
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({_EFFECT: token})))
    return result


def _rows_gathered(value: Any, axis: int | None) -> Any:
    """Return an array of rows with all of them on each device; JAX 0.10.2 cannot pick one of rows sharded in its type.

    Can go at 0.12.
    """
    sharding: Any = jax.typeof(value).sharding
    if axis is None or sharding.spec[axis] is None:
        return value
    spec = jax.P(*(None if i == axis else part for i, part in enumerate(sharding.spec)))
    return jax.sharding.reshard(value, jax.sharding.NamedSharding(sharding.mesh, spec))


_CALLBACK.def_impl(_now)
_CALLBACK.def_effectful_abstract_eval(_types)
for _platform in ("cpu", "gpu", "tpu"):
    mlir.register_lowering(_CALLBACK, _lowered, platform=_platform, cacheable=_platform != "tpu")
batching.primitive_batchers[_CALLBACK] = lambda args, axes, **params: debugging.debug_batching_rule(
    list(map(_rows_gathered, args, axes)), axes, primitive=_CALLBACK, **params
)
ad.primitive_jvps[_CALLBACK] = lambda primals, _, **params: (_CALLBACK.bind(*primals, **params), [])
ad.primitive_transposes[_CALLBACK] = lambda _, *args, **__: [None for _ in args]
partial_eval.partial_eval_jaxpr_custom_rules[_CALLBACK] = lambda saveable, unknown, instantiated, eqn: (
    debugging._debug_partial_eval_custom(saveable, unknown, instantiated, eqn, primitive=_CALLBACK)
)
