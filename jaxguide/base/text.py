"""Fill counts into messages."""

import math


def plural(one: str, many: str, count: float, **words: object) -> str:
    """Return the singular or plural message for `count`, with `{count}` and `words` filled in.

    >>> plural("{count} check", "{count} checks", 3)
    '3 checks'
    """
    message = one if math.ceil(count) == 1 else many
    return message.format(count=f"{count:g}", **words)
