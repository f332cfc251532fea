"""Read the ledger: the examples of the source documents, with outputs in a form that checks can compare."""

import contextlib
import contextvars
import dataclasses
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEDGER_PATH = Path(__file__).parent / "ledger.json"

PAGES = {
    "S0-01": ("Introduction to debugging", "https://docs.jax.dev/en/latest/debugging.html"),
    "S0-23": ("Pseudorandom numbers", "https://docs.jax.dev/en/latest/random-numbers.html"),
    "S1-01": ("How to think in JAX", "https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html"),
    "S2-01": ("Automatic vectorization", "https://docs.jax.dev/en/latest/automatic-vectorization.html"),
    "S2-13": ("Automatic differentiation", "https://docs.jax.dev/en/latest/automatic-differentiation.html"),
    "S3-01": ("Generating random numbers under JIT", "https://stackoverflow.com/questions/76838537"),
    "S4-01": ("External callbacks", "https://docs.jax.dev/en/latest/external-callbacks.html"),
}
"""The first example of each page of the documents -> the page's title and address."""

_compared: contextvars.ContextVar[set[tuple[str, str]] | None] = contextvars.ContextVar("compared", default=None)


@dataclasses.dataclass(frozen=True)
class RecordPart:
    """One part of a record: the expected value and how to compare with it; `verbatim` if the key is asked for it."""

    compare: str
    value: Any
    rtol: float = 1e-6
    phrase: str = ""
    verbatim: bool = False


@functools.cache
def entries() -> dict[str, Any]:
    """Return the ledger: example id -> its source, its statement, the documented output, and its record."""
    stored: dict[str, Any] = json.loads(LEDGER_PATH.read_text(encoding="utf-8"))
    return stored


def page_of(example: str) -> tuple[str, str]:
    """Return the title and the address of the page that has an example."""
    return PAGES[max(first for first in PAGES if first <= example)]


def parts(example: str) -> tuple[str, ...]:
    """Return the parts of a record: 'value' (also for facts), or 'documented' and 'today'."""
    record = entries()[example]["record"] or {}
    if record.get("compare") == "facts":
        return ("value",)
    return tuple(part for part in ("value", "documented", "today") if part in record)


def current(record: dict[str, Any]) -> dict[str, Any]:
    """Return what a record says of the installed JAX: its `today` and `since`, or the last of those `later`."""
    import jax  # students' commands print lessons without it

    at = jax.__version_info__
    later = [one for one in record.get("later", ()) if tuple(map(int, one["since"].split("."))) <= at]
    return later[-1] if later else record


def record_part(example: str, part: str) -> RecordPart:
    """Return one part of an example's record, and note that it was compared.

    Raises:
        KeyError: the ledger has no such example, or the example's record has no such part.
    """
    entry = entries().get(example)
    if entry is None:
        raise KeyError(f"the ledger has no example {example!r}")
    record = entry["record"]
    if not record or part not in parts(example):
        raise KeyError(f"the ledger's record of {example} has no part {part!r}")
    noted = _compared.get()
    if noted is not None:
        noted.add((example, part))
    if record["compare"] == "facts":
        text, phrase = current(record).get("today", record["documented"]), record.get("phrase", "")
        return RecordPart("facts", text, record.get("rtol", 1e-6), phrase=phrase, verbatim=noted is not None)
    return RecordPart(record["compare"], record[part], record.get("rtol", 1e-6))


@contextlib.contextmanager
def asking_the_key() -> Iterator[set[tuple[str, str]]]:
    """Ask for texts verbatim within the block, and collect the (example, part) pairs that are compared."""
    noted: set[tuple[str, str]] = set()
    token = _compared.set(noted)
    try:
        yield noted
    finally:
        _compared.reset(token)


@contextlib.contextmanager
def corrupted(example: str, part: str) -> Iterator[None]:
    """Corrupt one part of one record within the block, so that every check that compares with it must fail."""
    entry = entries()[example]
    before = entry["record"]
    name = "today" if before["compare"] == "facts" else part
    value = record_part(example, part).value if name == "today" else before[name]
    entry["record"] = {**before, name: _change(value), "later": []}
    try:
        yield
    finally:
        entry["record"] = before


def _change(value: Any) -> Any:
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"corrupted {value}"
    if isinstance(value, list):
        return [*value[:-1], _change(value[-1])] if value else [0]
    return {name: _change(child) for name, child in value.items()}
