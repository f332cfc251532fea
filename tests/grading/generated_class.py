"""Generate a class from a seed: right and wrong answers, in scripts, notebooks and truncated files."""

import json
import random
from pathlib import Path

from small_course import ANSWERS

_DOUBLES = {
    "right": ANSWERS["double"],
    "another way": "def double(x):\n    return x + x\n",
    "wrong": "def double(x):\n    return x\n",
    "fits the visible input": "def double(x):\n    return 2 * x if len(x) == 3 else x\n",
    "raises": "def double(x):\n    return x / nothing\n",
    "prints": "def double(x):\n    print('doubling', len(x))\n    return 2 * x\n",
    "ends its process": "def double(x):\n    import os\n    os._exit(0)\n",
    "not begun": "",
    "cut off": "def double(x:\n",
}


def write_class(folder: Path, size: int, seed: int = 0) -> None:
    """Write `size` submissions to the small course into a new folder; the same seed writes the same files."""
    folder.mkdir()
    choose = random.Random(seed)
    for number in range(size):
        sort, source = choose.choice(list(_DOUBLES.items()))
        name = f"student{number:04}"
        # All files differ, so that each student has an independent result.
        text = f"# {name}: {sort}\n{source}"
        if choose.random() < 0.5:
            (folder / f"{name}.py").write_text(text)
            continue
        cell = {"cell_type": "code", "metadata": {}, "source": text.splitlines(True)}
        notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        is_whole = choose.random() < 0.9
        (folder / f"{name}.ipynb").write_text(notebook if is_whole else notebook[: len(notebook) // 2])
