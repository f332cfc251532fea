"""Make untrusted text safe to show in a terminal, on a page or in JSON."""

import re
from typing import Any

# Colours, cursor moves and window titles that a student's code may print: they must not reach a terminal.
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])")
# Control characters except the line feed, characters that change the text's direction, and invisible line ends.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ZERO_WIDTH = re.compile("[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u3164\ufeff\uffa0]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str, limit: int = 20_000) -> str:
    r"""Return text without terminal escapes, control characters and lone surrogates, cut to `limit` characters.

    >>> clean("a\x1b[31mb\x07")
    'ab'
    """
    text = _ESCAPES.sub("", str(text)[: 4 * limit]).replace("\r\n", "\n").expandtabs(4)
    kept = _LONE_SURROGATE.sub("\ufffd", _UNSEEN.sub("", text))
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def name_as_seen(text: str) -> str:
    r"""Return a name as people see it: one line without control, zero-width and byte order characters.

    >>> name_as_seen("a\x1b[31md\u200ba\ufeff ")
    'ada'
    """
    return " ".join(_ZERO_WIDTH.sub("", clean(text, 200)).split())


def cleaned(plain: Any) -> Any:
    r"""Return JSON data with all text in it clean, names of fields too; a tuple becomes a list.

    >>> cleaned({"a\x07": ("b\x1b[31m", 1)})
    {'a': ['b', 1]}
    """
    if isinstance(plain, str):
        return clean(plain)
    if isinstance(plain, list | tuple):
        return [cleaned(child) for child in plain]
    if isinstance(plain, dict):
        return {clean(name): cleaned(child) for name, child in plain.items()}
    return plain
