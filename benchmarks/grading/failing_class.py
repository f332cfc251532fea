"""Grade a class in which 40 % fail with two versions of jaxguide in turns, and compare what they cost; see the README.

`python benchmarks/grading/failing_class.py ~/jaxguide-before --size 30 --rounds 5`
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from assignment import Kind, well_behaved
from graders import HERE
from layouts import notebook

from jaxguide.course.books.library import load_course

_FAILING = (1, 3)  # of five students


def failing_class(size: int) -> list[Kind]:
    """Return submissions of which two in five have a wrong answer, every other time one that the course expects."""
    exercises = load_course(HERE / "course").books["arrays"].exercises
    expected = [(one.name, planted.source) for one in exercises if one.key is not None for planted in one.key.wrong]
    kinds = [well_behaved(number) for number in range(size)]
    for order, number in enumerate(number for number in range(size) if number % 5 in _FAILING):
        cells = dict(kinds[number].cells)
        name, source = expected[order // 2 % len(expected)]
        if order % 2:
            head, last, value = cells[name].rpartition("return ")
            source = f"{head}{last}1 + {value}"
        cells[name] = f"# student {number}\n{source}"
        kinds[number] = dataclasses.replace(kinds[number], cells=tuple(cells.items()))
    return kinds


def cpu_s(kinds: list[Kind], tree: Path, cache: Path) -> float:
    """Grade submissions with the jaxguide of a source tree, and return the CPU seconds of the command."""
    with tempfile.TemporaryDirectory(prefix="failing-") as folder:
        submissions = Path(folder, "submissions")
        submissions.mkdir()
        for kind in kinds:
            (submissions / f"{kind.name}.ipynb").write_text(notebook(kind, "jaxguide"))
        command = [sys.executable, "-m", "jaxguide", "grade", "submissions", "--course", str(HERE / "course")]
        command += ["--out", "results", "--jobs", "1", "--seed", "7"]
        environment = {**os.environ, "PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(cache)}
        before = os.times()
        said = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        now = os.times()
        document = Path(folder, "results", "results.json")
        if not document.exists():
            raise SystemExit(said.stdout + said.stderr)
        rows = json.loads(document.read_text())["submissions"]
        failed = sum(row["score"] < 10 for row in rows)
        if failed != sum(number % 5 in _FAILING for number in range(len(kinds))):
            raise SystemExit(f"{failed} of {len(rows)} failed")
    return now.children_user + now.children_system - before.children_user - before.children_system


def main() -> None:
    """Print the CPU seconds of each round and the median ratio, with an empty cache and with a filled one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the source tree of the version to compare with")
    parser.add_argument("--size", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    kinds, trees = failing_class(asked.size), (asked.before.absolute(), HERE.parents[1])
    print("| round | cache | before, CPU s | now, CPU s | ratio |\n| --- | --- | --- | --- | --- |")
    ratios: dict[str, list[float]] = {"empty": [], "filled": []}
    for number in range(asked.rounds):
        with tempfile.TemporaryDirectory(prefix="caches-") as caches:
            for state, found in ratios.items():
                used = {}
                for tree in trees if number % 2 else trees[::-1]:
                    used[tree] = cpu_s(kinds, tree, Path(caches, str(trees.index(tree))))
                found.append(used[trees[1]] / used[trees[0]])
                row = f"| {number + 1} | {state} | {used[trees[0]]:.2f} | {used[trees[1]]:.2f} | {found[-1]:.3f} |"
                print(row, flush=True)
    for state, found in ratios.items():
        print(f"{state} cache: median ratio {statistics.median(found):.3f}, {min(found):.3f} to {max(found):.3f}")


if __name__ == "__main__":
    main()
