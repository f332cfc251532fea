"""The two cells that every printed lesson begins with."""

# Plain Python, since lessons are also scripts; `sys.executable -m pip` installs for the Python that runs the cell.
INSTALL_CELL = """# This installs jaxguide where it is missing, as in Colab. It does nothing elsewhere.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("jaxguide") is None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "jaxguide"], check=True
    )
    importlib.invalidate_caches()"""


def setup_cell(topic: str, course: str = "") -> str:
    """Return the source of the cell that starts a printed lesson.

    Args:
        topic: the lesson's name.
        course: the course's identity, '' for the one that comes with the package. Students get no other solutions.
    """
    names = ["check", "hint", "progress", *(() if course else ("solution",)), "start"]
    asked = f'"{topic}", course="{course}"' if course else f'"{topic}"'
    return f"from jaxguide.lesson import {', '.join(names)}\n\nstart({asked})"
