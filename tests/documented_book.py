"""A tiny course whose exercise reproduces documented examples, with a cell that shows one of them."""

from pathlib import Path

from tiny_course import edit

BOOK = "exercises/tiny.py"
CODE = "# JAX prints what it printed then.\nsquare(double(FACTOR))"
SHOWN = f"# %% documented S2-01\n{CODE}\n\n# documented\n# 16.0\n"
_BELOW = "\n# %% exercise\n@prediction"


def show(course: Path, cell: str = SHOWN, reproduces: str = '"S2-01", "S2-04"') -> Path:
    """Let `double` of a tiny course reproduce documented examples, put a cell below its checks, and return the book."""
    edit(course, BOOK, "points=2,", f"points=2, reproduces=[{reproduces}],")
    return edit(course, BOOK, _BELOW, f"\n{cell}{_BELOW}")
