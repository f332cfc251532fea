"""Define checked host callbacks, and show when a program calls the host."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.callbacks.finite_differences import DerivativeError, Verification
    from jaxguide.callbacks.host import HostFunction, host_function
    from jaxguide.callbacks.host_call import HostFunctionError
    from jaxguide.callbacks.io import IOFunction, io_function
    from jaxguide.callbacks.timeline import Callback, HostRun, Timeline, callback_timeline

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "Callback": "timeline",
    "DerivativeError": "finite_differences",
    "HostFunction": "host",
    "HostFunctionError": "host_call",
    "HostRun": "timeline",
    "IOFunction": "io",
    "Timeline": "timeline",
    "Verification": "finite_differences",
    "callback_timeline": "timeline",
    "host_function": "host",
    "io_function": "io",
}
_GONE = {
    "host_errors": "`with f.errors():`, a method of the functions that `host_function` and `io_function` make",
    "watch_value": "`jax.debug.print`, or `record` of jaxguide.debug, which keeps the value",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, _GONE)

__all__ = [
    "Callback",
    "DerivativeError",
    "HostFunction",
    "HostFunctionError",
    "HostRun",
    "IOFunction",
    "Timeline",
    "Verification",
    "callback_timeline",
    "host_function",
    "io_function",
]
