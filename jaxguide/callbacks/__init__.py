"""Define checked host callbacks, and show when a program calls the host."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.callbacks.errors import HostFunctionError, host_errors
    from jaxguide.callbacks.finite_differences import DerivativeError, Verification
    from jaxguide.callbacks.host import HostFunction, host_function
    from jaxguide.callbacks.io import io_function, watch_value
    from jaxguide.callbacks.timeline import Callback, HostRun, Timeline, callback_timeline

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "DerivativeError": "finite_differences",
    "HostFunction": "host",
    "HostFunctionError": "errors",
    "HostRun": "timeline",
    "Callback": "timeline",
    "Timeline": "timeline",
    "Verification": "finite_differences",
    "callback_timeline": "timeline",
    "host_errors": "errors",
    "host_function": "host",
    "io_function": "io",
    "watch_value": "io",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES)

__all__ = [
    "Callback",
    "DerivativeError",
    "HostFunction",
    "HostFunctionError",
    "HostRun",
    "Timeline",
    "Verification",
    "callback_timeline",
    "host_errors",
    "host_function",
    "io_function",
    "watch_value",
]
