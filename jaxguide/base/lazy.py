"""Import the module behind a package's public name when the name is first used."""

import importlib
import sys
from collections.abc import Callable, Mapping


def names_on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a `__getattr__` and a `__dir__` for a package that imports its public names on first use.

    >>> get, listing = names_on_demand("jaxguide", {"program": "tracing"})
    >>> get("program").__name__, "program" in listing()
    ('program', True)

    Args:
        package: the package's `__name__`.
        homes: public name -> the module of the package that defines it. A module must not have the name of a function,
            which it would hide.
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
