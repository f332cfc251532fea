"""Read single keys from a terminal, without Enter, and restore the terminal afterwards."""

import contextlib
import os
import re
import select
import signal
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from typing import Any

ENTER = "\n"
END = "\x04"
ESCAPE = "\x1b"
UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page up", "page down"

_SENT = {"\x1b[A": UP, "\x1b[B": DOWN, "\x1b[5~": PAGE_UP, "\x1b[6~": PAGE_DOWN}
_SENT |= {"\xe0H": UP, "\xe0P": DOWN, "\xe0I": PAGE_UP, "\xe0Q": PAGE_DOWN}  # by Windows
_ONE_KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|[\x00\xe0].|.", re.DOTALL)
_MOST_BYTES = 64
_LOOKS_AFTER_S = 0.1


class Keyboard:
    """A context that calls `press` from its own thread for each key that is pressed.

    Letters arrive in lower case, also the full-width ones of Chinese and Japanese input methods. `ENTER` is the Enter
    key, `END` the end of all input; `UP` and the like are the keys that scroll. Other keys that send several characters
    are ignored.
    """

    def __init__(self, press: Callable[[str], None]):
        self._press = press
        self._is_over = threading.Event()

    def __enter__(self) -> "Keyboard":
        target = self._read_windows if sys.platform == "win32" else self._read
        if sys.platform != "win32":
            self._enter_terminal()
        self._thread = threading.Thread(target=target, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._is_over.set()
        if sys.platform != "win32":
            self._leave_terminal()

    if sys.platform != "win32":

        def _enter_terminal(self) -> None:
            import termios

            self._fd = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._fd)
            self._set_single_keys()
            # When Ctrl-Z stops a program, the shell resets the terminal and does not undo that when it continues.
            self._continued_before: Any = signal.signal(signal.SIGCONT, self._set_single_keys)

        def _set_single_keys(self, *unused: object) -> None:
            import termios
            import tty

            with contextlib.suppress(termios.error):
                tty.setcbreak(self._fd, termios.TCSANOW)  # TCSANOW keeps what was already typed

        def _leave_terminal(self) -> None:
            import termios

            signal.signal(signal.SIGCONT, self._continued_before)
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

        def _read(self) -> None:
            while not self._is_over.is_set():
                try:
                    ready, _writable, _wrong = select.select([self._fd], [], [], _LOOKS_AFTER_S)
                    data = os.read(self._fd, _MOST_BYTES) if ready else None
                except (OSError, ValueError):
                    data = b""
                if data == b"":
                    self._press(END)
                    return
                for key in keys_of(data or b""):
                    self._press(key)

    def _read_windows(self) -> None:
        import msvcrt

        console: Any = msvcrt
        while not self._is_over.is_set():
            while console.kbhit():
                sent = console.getwch()
                sent += console.getwch() if sent in "\x00\xe0" and console.kbhit() else ""  # arrows and the like
                for key in keys_of(sent.replace("\x00", "\xe0").encode("utf-8", "replace")):
                    self._press(key)
            time.sleep(_LOOKS_AFTER_S)


def keys_of(data: bytes) -> list[str]:
    r"""Return the keys that bytes read from a terminal represent.

    >>> keys_of(b"N"), keys_of("ｈ".encode()), keys_of(b"\x1b[A\x1b[6~"), keys_of(b"\x1b[1;5A"), keys_of(b"\r")
    (['n'], ['h'], ['up', 'page down'], [], ['\n'])
    """
    found = []
    for sent in _ONE_KEY.findall(data.decode("utf-8", "ignore")):
        key = unicodedata.normalize("NFKC", sent).lower().replace("\r", ENTER)
        if sent in _SENT or (len(sent) == 1 and (key.isprintable() or key in (ENTER, END, ESCAPE))):
            found.append(_SENT.get(sent, key))
    return found
