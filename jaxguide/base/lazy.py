"""Import the module behind a package's public name when the name is first used."""

import importlib
import sys
from collections.abc import Callable, Mapping

# Former public name, as "jaxguide.keys.key_tree" -> the module and name that give it, for notebooks printed earlier.
printed_names: dict[str, tuple[str, str]] = {}


def names_on_demand(
    package: str, homes: Mapping[str, str], gone: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a `__getattr__` and a `__dir__` for a package that imports its public names on first use.

    >>> get, listing = names_on_demand("jaxguide", {"program": "tracing"})
    >>> get("program").__name__, "program" in listing()
    ('program', True)

    Args:
        package: the package's `__name__`.
        homes: public name -> the module of the package that defines it. A module must not have the name of a function,
            which it would hide.
        gone: former public name -> what to use now, as the end of a sentence. An import of it raises ImportError, which
            says so; Python would replace the words of an AttributeError by its own.
    """

    def get(name: str) -> object:
        if f"{package}.{name}" in printed_names:
            module, found = printed_names[f"{package}.{name}"]
            return getattr(importlib.import_module(module), found)
        if gone and name in gone:
            raise ImportError(f"{package} no longer has {name!r}: use {gone[name]}.")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, listing
