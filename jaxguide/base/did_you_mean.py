"""Suggest names close to one that does not exist."""

from collections.abc import Iterable, Sequence

from jaxguide.base.text import _


def did_you_mean(name: object, names: Iterable[str], most: int = 3) -> str:
    """Return a sentence that suggests the nearest names, after a space, or nothing.

    >>> did_you_mean("two_draw", ["two_draws", "walk"])
    ' Did you mean `two_draws`?'

    Args:
        name: what was given.
        names: what there is.
        most: how many are suggested.
    """
    import difflib  # only when a name is wrong: every command imports this module

    return suggestion(difflib.get_close_matches(str(name), names, n=most))


def suggestion(near: Sequence[str]) -> str:
    """Return the sentence of `did_you_mean` for these names.

    >>> suggestion(["scan", "while"]), suggestion([])
    (' Did you mean `scan` or `while`?', '')
    """
    return _(" Did you mean {names}?").format(names=_(" or ").join(f"`{one}`" for one in near)) if near else ""
