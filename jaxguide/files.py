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


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    Args:
        path: the file; its folder is made where it is missing.
        content: all that it is to hold.
        mode: who may do what with it, less what this process's umask takes away.

    Raises:
        OSError: the folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
