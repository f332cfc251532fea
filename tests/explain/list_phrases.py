"""Raise the error of every case, and print the phrases that match none: what this JAX no longer says, or never did.

python tests/explain/list_phrases.py
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"  # before JAX starts

import explain_cases
import library_cases
import several_devices_cases
from failing import failure, settings_kept

from jaxguide.compat import error_texts, library_texts, sharding_texts, structure_texts
from jaxguide.explain.catalogue import RULES
from jaxguide.explain.knowledge import error_behind

HOMES = (error_texts, library_texts, sharding_texts, structure_texts)


def main() -> None:
    """Print the names of the phrases, and which libraries are not installed."""
    names = {id(value): name for home in HOMES for name, value in vars(home).items()}
    waiting = {names[id(phrase)]: phrase for phrase, _rule in RULES}
    missing = {one for libraries, _case in library_cases.CASES for one in libraries if not _is_there(one)}
    of_libraries = [case for libraries, case in library_cases.CASES if not missing & set(libraries)]
    with tempfile.TemporaryDirectory() as folder:
        for case in [*explain_cases.CASES, *several_devices_cases.CASES, *of_libraries]:
            sys.modules["student"] = type(sys)("student")  # where dataclasses look for the module of a class
            with settings_kept():
                error: BaseException | None = failure(case.program, Path(folder, "student.py"))
            while error is not None:
                waiting = {name: phrase for name, phrase in waiting.items() if phrase.match(error) is None}
                error = error_behind(error)
    print("phrases:", *sorted(waiting))
    print("not installed:", *sorted(missing))


def _is_there(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


if __name__ == "__main__":
    main()
