"""Import what a package's public name needs when the name is touched, and not before."""

import importlib
import sys
from collections.abc import Callable, Mapping


def names_on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`.

    >>> get, listing = names_on_demand("jaxguide", {"program": "tracing"})
    >>> get("program").__name__, "program" in listing()
    ('program', True)

    Args:
        package: the package's `__name__`.
        homes: public name -> the package's module that defines it. No module may have the name of a function, which it
            would hide.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, listing
