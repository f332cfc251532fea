"""Switch off the flags with which JAX checks or changes what runs, for what a helper does of its own accord."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax

_OFF: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "jax_debug_nans": lambda: jax.debug_nans(False),
    "jax_debug_infs": lambda: jax.debug_infs(False),
    "jax_debug_key_reuse": lambda: jax.debug_key_reuse(False),
    "jax_check_tracer_leaks": lambda: jax.check_tracer_leaks(False),
    "jax_disable_jit": lambda: jax.disable_jit(False),
    "jax_numpy_rank_promotion": lambda: jax.numpy_rank_promotion("allow"),
    "jax_numpy_dtype_promotion": lambda: jax.numpy_dtype_promotion("standard"),
    "jax_transfer_guard_host_to_device": lambda: jax.transfer_guard_host_to_device("allow"),
    "jax_transfer_guard_device_to_device": lambda: jax.transfer_guard_device_to_device("allow"),
    "jax_transfer_guard_device_to_host": lambda: jax.transfer_guard_device_to_host("allow"),
}
_HARMLESS = (None, False, "allow", "log", "log_explicit", "standard")
DISABLE_JIT = "jax_disable_jit"
PROMOTION = tuple(name for name in _OFF if "promotion" in name)
TRANSFERS = tuple(name for name in _OFF if "transfer" in name)
# What stops a helper that runs or traces a program again, without being a property of the program.
CHECKS = ("jax_debug_nans", "jax_debug_infs", "jax_debug_key_reuse", "jax_check_tracer_leaks", *TRANSFERS)


def is_on(flag: str) -> bool:
    """Return whether a flag is on in this thread, by `jax.config.update` or a `with` block.

    >>> with jax.disable_jit():
    ...     is_on(DISABLE_JIT)
    True
    """
    return getattr(jax.config, flag, None) not in _HARMLESS


@contextlib.contextmanager
def flags_off(*flags: str) -> Iterator[None]:
    """Switch off these flags in a block or, as a decorator, in a function; without those that are on, it costs 2 µs.

    >>> with jax.debug_nans(True), flags_off(*CHECKS):
    ...     print(jax.numpy.log(-1.0))
    nan
    """
    with contextlib.ExitStack() as stack:
        for flag in filter(is_on, flags):  # JAX traces again what was traced under another setting
            stack.enter_context(_OFF[flag]())
        yield
