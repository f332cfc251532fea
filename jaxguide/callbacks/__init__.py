"""State host callbacks once, have them checked, and see what each kind can do on the installed JAX."""

from jaxguide.callbacks.bessel import bessel_jv
from jaxguide.callbacks.checked import HostFunctionError
from jaxguide.callbacks.host import HostFunction, host_function
from jaxguide.callbacks.io import io_function, watch_value
from jaxguide.callbacks.measured import Cell
from jaxguide.callbacks.table import CallbackTable, callback_table
from jaxguide.callbacks.verify import DerivativeError, Verification

__all__ = [
    "CallbackTable",
    "Cell",
    "DerivativeError",
    "HostFunction",
    "HostFunctionError",
    "Verification",
    "bessel_jv",
    "callback_table",
    "host_function",
    "io_function",
    "watch_value",
]
