"""Where this user's programs keep files that can be made again, and how files are written: whole or not at all."""

import os
import secrets
import sys
from pathlib import Path


def user_folder() -> Path:
    """Return where this user's programs keep what can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "jaxguide"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "jaxguide" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "jaxguide"


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write `text` to `path` so that a reader sees the old file or the new one, never a part.

    Args:
        path: the file; its folder is made where it is missing.
        text: all that it is to hold.
        mode: who may do what with it, less what this process's umask takes away.

    Raises:
        OSError: the folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
