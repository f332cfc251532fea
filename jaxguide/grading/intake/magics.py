"""Take IPython's magics and shell lines out of a cell, which grading does not run."""

import ast
import re

# Cell magics below which stands Python; below others (`%%bash`, `%%html`) stands something else.
_PYTHON_BELOW = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "mprun", "memit"})
# Each line taken out has the cell read once more: who writes thousands must not keep the grader busy.
_MOST = 300
_LINE = re.compile(r"^\s*(%|!|\?)|\?\s*$|^[\w\s,.\[\]]+=\s*(!|%\w)")


def without_magics(source: str) -> tuple[str, list[str]]:
    """Return the cell's Python with each magic's line replaced by `pass`, and the lines taken out.

    A cell that is Python is left as it is, also where a string holds a line that looks like a magic.

    >>> without_magics("%matplotlib inline\\nx = 1")
    ('pass\\nx = 1', ['%matplotlib inline'])
    >>> without_magics("%%bash\\nls")
    ('', ['%%bash'])
    """
    lines = source.split("\n")
    removed: list[str] = []
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        removed.append(lines[first].strip())
        words = lines[first][2:].split()
        if not words or words[0] not in _PYTHON_BELOW:
            return "", removed
        lines[first] = ""
    while len(removed) < _MOST and (number := _wrong_line(lines)) is not None:
        line = lines[number]
        if not _LINE.search(line):
            break
        lines[number] = line[: len(line) - len(line.lstrip())] + "pass"
        removed.append(line.strip())
    return "\n".join(lines), removed


def _wrong_line(lines: list[str]) -> int | None:
    """Return the index of the line at which the code stops to be Python."""
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        return min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    except (ValueError, MemoryError, RecursionError):
        return None
    return None
