"""Record a session of `jaxguide watch` in tmux: wrong answers, a crash, an endless loop, a right answer, and keys.

    python benchmarks/session/record.py [--columns 80] [--rows 40] [--no-color] [--out watch.txt]
        [--picture watch.svg [--light]]

tmux is a real terminal without a window, so the record is what its screen shows after each step. `--picture` draws it
in colour, on a dark background or, with `--light`, on a light one.
"""

import argparse
import io
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

HEAD = "import os\n\nimport jax\n\n\ndef two_samples(key, n, m):\n"
RIGHT = (
    "    first, second = jax.random.split(key)\n    return jax.random.normal({}, (n,)), jax.random.normal({}, (m,))\n"
)
# (title, file content, words that the screen shows when the save has been handled)
SAVES = (
    ("The same key twice", HEAD + RIGHT.format("first", "first"), "✗"),
    ("A crash", HEAD + "    os.abort()\n", "SIGABRT"),
    ("An endless loop", HEAD + "    while True:\n        pass\n", "stopped after 15"),
    ("A syntax error", HEAD + "    return (\n", "SyntaxError"),
    ("Right, and the next exercise follows", HEAD + RIGHT.format("first", "second"), "✓"),
)
KEYS = (("The key h", "h", "Hint 1"), ("The key l", "l", "core exercises done"), ("The key q", "q", "Next:"))
LIMIT_S = 120.0


class Terminal:
    """A separate tmux server with one window."""

    def __init__(self, folder: Path, columns: int, rows: int, command: list[str], environment: dict[str, str]):
        self._socket = folder / "tmux"
        size = ["-x", str(columns), "-y", str(rows)]
        self._run("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), environment=environment)
        self.type(shlex.join(command) + "\n")

    def _run(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        command = ["tmux", "-u", "-S", str(self._socket), *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def type(self, keys: str) -> None:
        """Type keys."""
        self._run("send-keys", "-l", keys)

    def screen(self) -> str:
        """Return what the terminal shows now, with colours."""
        return self._run("capture-pane", "-p", "-e")

    def close(self) -> None:
        """End the server and the programs in it."""
        self._run("kill-server")


def steps(terminal: Terminal, file: Path) -> Iterator[tuple[str, str]]:
    """Do each step, and yield its title and what the terminal shows then."""

    def shown(words: str) -> str:
        deadline = time.monotonic() + LIMIT_S
        while True:
            screen = terminal.screen().rstrip()
            plain = Text.from_ansi(screen).plain
            if words in plain:
                return screen
            if time.monotonic() > deadline:
                raise RuntimeError(f"{words!r} was not shown:\n{plain}")
            time.sleep(0.1)

    yield "jaxguide watch", shown(" quit")
    for said, source, words in SAVES:
        part = file.with_suffix(".part")
        part.write_text(source)
        part.replace(file)
        yield said, shown(words)
    for said, key, words in KEYS:
        terminal.type(key)
        yield said, shown(words)


def main() -> None:
    """Record the session, and write it as text and, if asked, as a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--no-color", action="store_true")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    program = str(Path(sys.executable).with_name("jaxguide"))
    environment = {**os.environ, "SHELL": "/bin/sh", "PS1": "$ "}
    environment.pop("TMUX", None)
    if given.no_color:
        environment["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        file = folder / "work" / "two_samples.py"
        file.write_text(HEAD + "    ...\n")
        command = [program, "watch", "work", "--cpu-limit", "15"]
        terminal = Terminal(folder, given.columns, given.rows, command, environment)
        try:
            recorded = list(steps(terminal, file))
        finally:
            terminal.close()
    text = "\n".join(
        f"--- {said}\n{Text.from_ansi(new).plain.replace(name, '~').replace(program, 'jaxguide')}\n"
        for said, new in recorded
    )
    if given.out:
        given.out.write_text(text)
    else:
        print(text)
    if given.picture:
        console = Console(record=True, width=given.columns, file=io.StringIO(), force_terminal=True)
        for _said, new in recorded:
            console.print(Text.from_ansi(new.replace(name, "~")))
        theme = DEFAULT_TERMINAL_THEME if given.light else MONOKAI
        console.save_svg(str(given.picture), title="jaxguide watch", theme=theme)


if __name__ == "__main__":
    main()
