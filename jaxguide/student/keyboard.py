"""Read single keys of a terminal, without Enter, and leave the terminal as it was."""

import contextlib
import os
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
_MOST_BYTES = 64
_LOOKS_AFTER_S = 0.1


class Keyboard:
    """The keys that are pressed while it is entered, one call of `press` for each, from a thread of its own.

    Letters come as small ones, also those of a Chinese or Japanese input method, which are twice as wide. `ENTER` is
    Enter, `END` the end of all input. Keys that send several characters, such as arrows, are left out.
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
            # A shell puts the terminal back when it stops a program (Ctrl-Z), and not again when the program goes on.
            self._continued_before: Any = signal.signal(signal.SIGCONT, self._set_single_keys)

        def _set_single_keys(self, *unused: object) -> None:
            import termios
            import tty

            with contextlib.suppress(termios.error):
                tty.setcbreak(self._fd, termios.TCSANOW)  # what was typed before is kept

        def _leave_terminal(self) -> None:
            import termios

            signal.signal(signal.SIGCONT, self._continued_before)
            with contextlib.suppress(termios.error):  # a terminal that was closed
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
                for key in keys_of(console.getwch().encode("utf-8", "replace")):
                    self._press(key)
            time.sleep(_LOOKS_AFTER_S)


def keys_of(data: bytes) -> list[str]:
    r"""Return the keys that some bytes of a terminal stand for.

    >>> keys_of(b"N"), keys_of("ｈ".encode()), keys_of(b"\x1b[A"), keys_of(b"\r")
    (['n'], ['h'], [], ['\n'])
    """
    if data[:1] in (b"\x1b", b"\xe0", b"\x00"):
        return []
    text = unicodedata.normalize("NFKC", data.decode("utf-8", "ignore")).lower().replace("\r", "\n")
    return [key for key in text if key.isprintable() or key in (ENTER, END)]
