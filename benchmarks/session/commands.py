"""Measure the cost of commands that only read a course, compared with `python -c 'import click, rich.console'`.

    python benchmarks/session/commands.py [--rounds 11]

Each round runs every command once in a separate process, in changing order, and measures its processor time (user and
system): cold, with an empty cache, and warm, with the cache of earlier commands. The workspace has all lessons as
notebooks and as .py files, with every exercise answered in both. The table shows medians and their ratios to the time
of Python.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from jaxguide.course.books.key_text import right_answers
from jaxguide.course.books.library import read_outline
from jaxguide.course.books.printer import printable_source
from jaxguide.student.workspace import lay_workspace

BASE = [sys.executable, "-c", "import click, rich.console"]
JAXGUIDE = [sys.executable, "-c", "import sys; from jaxguide.cli import main; sys.exit(main(prog_name='jaxguide'))"]
HELP = ("--help", "list --help", "check --help", "grade --help", "export moodle --help", "completion zsh")
WRONG = ("lst", "list --al", "hint", "hint two_sample", "list random_number", "check random_numbers.py two_sample")
TAB = ("<Tab> rese", "<Tab> hint two_sam", "<Tab> list random_n")
LOOKING = (
    *("list", "list --all", "next", "progress", "hint two_samples", "solution two_samples --sure"),
    "reset two_samples --file random_numbers.ipynb",
)
# Command -> the highest acceptable ratio to Python's time.
COMMANDS = {**dict.fromkeys((*HELP, *WRONG, *TAB), 2), **dict.fromkeys(LOOKING, 5)}


def answer_everything(folder: Path) -> None:
    """Create a workspace with all lessons, and fill in the key's answers."""
    outline = read_outline()
    lay_workspace(folder, outline, scripts=True)
    for topic, lesson in outline.books.items():
        key = outline.folders.solutions / f"{topic}.py"
        answers = {
            printable_source(e): f"{right_answers(key, e.name)[0].source.strip()}\n\n\ncheck({e.name})"
            for e in lesson.exercises
        }
        script, notebook = folder / f"{topic}.py", folder / f"{topic}.ipynb"
        text, cells = script.read_text("utf-8"), json.loads(notebook.read_text("utf-8"))
        for printed, answer in answers.items():
            text = text.replace(printed, answer)
            for cell in cells["cells"]:
                cell["source"] = "".join(cell["source"]).replace(printed, answer).splitlines(keepends=True)
        script.write_text(text, "utf-8")
        notebook.write_text(json.dumps(cells, indent=1), "utf-8")


class Measuring:
    """Run and measure commands in a separate folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kept, self.nothing, self.workspace = folder / "kept", folder / "nothing", folder / "workspace"
        answer_everything(self.workspace)
        names = {name: value for name, value in os.environ.items() if not name.startswith("JAXGUIDE_")}
        self.environment = {**names, "XDG_CACHE_HOME": str(self.kept)}

    def base(self) -> float:
        """Return the processor time of Python with the libraries that every command needs."""
        return self._cpu_s(BASE, self.environment, 0)

    def command(self, words: str, is_cold: bool) -> float:
        """Return the processor time of a command."""
        environment = dict(self.environment)
        if is_cold:
            shutil.rmtree(self.nothing, ignore_errors=True)
            environment["XDG_CACHE_HOME"] = str(self.nothing)
        arguments = words.split()
        if arguments[0] == "<Tab>":
            typed = ["jaxguide", *arguments[1:]]
            asked = {"COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1)}
            return self._cpu_s(JAXGUIDE, {**environment, **asked, "_JAXGUIDE_COMPLETE": "bash_complete"}, 0)
        return self._cpu_s([*JAXGUIDE, *arguments], environment, 2 if words in WRONG else 0)

    def _cpu_s(self, command: list[str], environment: dict[str, str], status: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=self.workspace, env=environment, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != status:
            raise RuntimeError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    ways = [(words, is_cold) for words in COMMANDS for is_cold in (True, False)]
    times: dict[tuple[str, bool], list[float]] = {way: [] for way in ways}
    base: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        measuring = Measuring(Path(folder))
        for turn in range(rounds + 1):
            first = 7 * turn % len(ways)
            for number, way in enumerate(ways[first:] + ways[:first]):
                cpu_s = measuring.command(*way)
                if turn:  # the first round fills the cache and warms up the disk cache
                    times[way].append(cpu_s)
                    if number % 4 == 0:
                        base.append(measuring.base())
    python_s = statistics.median(base)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, ", end="")
    print(f"median of {rounds}; `python -c '{BASE[-1]}'` takes {python_s:.3f} CPU s")
    print("\n| command | warm, CPU s | ratio | at most | cold, CPU s | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for words, most in COMMANDS.items():
        warm_s, cold_s = (statistics.median(times[words, is_cold]) for is_cold in (False, True))
        print(
            f"| `{words}` | {warm_s:.3f} | {warm_s / python_s:.1f} | {most} | {cold_s:.3f} | {cold_s / python_s:.1f} |"
        )


if __name__ == "__main__":
    main()
