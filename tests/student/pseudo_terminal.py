"""Run a program in a pseudo terminal: wait for the words that it shows, and press keys."""

import codecs
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMIT_S = 60.0
_HOME = "\x1b[H"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class PseudoTerminal:
    """Context manager that runs `python -m jaxguide ...` in a terminal.

    Args:
        arguments: the command's words.
        folder: the working folder.
        columns, rows: the terminal's size.
        environment: environment variables to set.
    """

    def __init__(
        self,
        *arguments: object,
        folder: Path,
        columns: int = 80,
        rows: int = 50,
        environment: Mapping[str, str] = {},
    ):
        self._master, self._slave = pty.openpty()
        self.resize(columns, rows)
        self.settings_before = termios.tcgetattr(self._slave)
        variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        variables |= {"TERM": "xterm-256color", "PYTHONUTF8": "1", **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jaxguide", *map(str, arguments)],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            cwd=folder,
            env=variables,
            start_new_session=True,
        )
        self.raw = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character
        self._seen = 0

    def __enter__(self) -> "PseudoTerminal":
        return self

    def __exit__(self, *unused: Any) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    @property
    def text(self) -> str:
        """The text shown so far, without colours and carriage returns."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self._slave, (rows, columns))

    @property
    def screen(self) -> str:
        """What a program that redraws shows now: all that it wrote since it last went to the first line."""
        return _ESCAPES.sub("", self.raw.rpartition(_HOME)[2]).replace("\r\n", "\n")

    def see(self, words: str, without: str = "\0") -> str:
        """Wait until a screen shows these words, and not the others, above the keys, and return the screen."""
        pattern = re.compile(r"\s+".join(map(re.escape, words.split())))
        deadline = time.monotonic() + LIMIT_S
        while True:
            screen = self.screen
            if screen.rstrip().endswith("q quit") and pattern.search(screen) and without not in screen:
                return screen
            assert time.monotonic() < deadline, f"did not show {words!r}:\n{screen}"
            assert self.process.poll() is None, f"it ended without {words!r}:\n{self.text}"
            self._read()

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, words: str) -> str:
        """Wait until these words are shown, and return the text from the end of the last wait up to them.

        Spaces and line ends are equal, since the places of line breaks depend on the terminal's width.
        """
        pattern = re.compile(r"\s+".join(map(re.escape, words.split())))
        deadline = time.monotonic() + LIMIT_S
        while True:
            text = self.text
            match = pattern.search(text, self._seen)
            if match:
                before, self._seen = self._seen, match.end()
                return text[before : match.end()]
            assert time.monotonic() < deadline, f"did not show {words!r}:\n{text[self._seen :]}"
            ended = self.process.poll() is not None
            self._read()
            assert not ended or pattern.search(self.text, self._seen), f"it ended without {words!r}:\n{self.text}"

    def wait(self) -> int:
        """Wait until the program ends, and return its exit status."""
        deadline = time.monotonic() + LIMIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self._read()
        self._read()
        return self.process.wait()

    def settings(self) -> list[Any]:
        """Return the terminal's settings."""
        return termios.tcgetattr(self._slave)

    def _read(self) -> None:
        ready, _writable, _wrong = select.select([self._master], [], [], 0.1)
        with contextlib.suppress(OSError):
            self.raw += self._decoder.decode(os.read(self._master, 65536)) if ready else ""
