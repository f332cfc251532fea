"""Suggest names similar to an unknown one."""

from collections.abc import Iterable, Sequence


def did_you_mean(name: object, names: Iterable[str], most: int = 3) -> str:
    """Return a space and a sentence that suggests the most similar names; empty if there are none.

    >>> did_you_mean("two_draw", ["two_draws", "walk"])
    ' Did you mean `two_draws`?'

    Args:
        name: the unknown name.
        names: the known names.
        most: the maximum number of suggestions.
    """
    import difflib  # only if a name is wrong: every command imports this module

    return suggestion(difflib.get_close_matches(str(name), names, n=most))


def suggestion(near: Sequence[str]) -> str:
    """Return the sentence that suggests these names, as `did_you_mean` does.

    >>> suggestion(["scan", "while"]), suggestion([])
    (' Did you mean `scan` or `while`?', '')
    """
    return " Did you mean {names}?".format(names=" or ".join(f"`{one}`" for one in near)) if near else ""
