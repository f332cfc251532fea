"""Where this user's programs keep what can be made again, and how files are written: whole or not at all."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_KEPT = 16


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
    import secrets

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def kept_place(kind: str, makers: Iterable[str], parts: Iterable[bytes]) -> Path | None:
    """Return this user's file for JSON that can be made again; None where there can be none.

    Its name is a digest of what it is made of, so that what is there is right, whenever it was made.

    Args:
        kind: the folder of all of its kind.
        makers: the folders of this package whose modules make it.
        parts: what they make it of.
    """
    import hashlib

    digest = hashlib.sha256(repr(sys.version_info[:3]).encode())
    try:
        sources = (path.read_bytes() for name in makers for path in sorted((_PACKAGE / name).glob("*.py")))
        for part in (*sources, *parts):
            digest.update(b"\n%d\n" % len(part) + part)
        return user_folder() / kind / f"{digest.hexdigest()[:32]}.json"
    except (OSError, RuntimeError):  # the latter where there is no home
        return None


def find_kept(place: Path | None) -> Any:
    """Return what is kept there, to be checked by the caller; None where nothing is, or no JSON."""
    import json

    with contextlib.suppress(OSError, ValueError, RecursionError):
        return None if place is None else json.loads(place.read_bytes())
    return None


def keep(place: Path | None, plain: Any) -> None:
    """Keep JSON there, if that is possible; of its kind, the newest stay."""
    import json

    with contextlib.suppress(OSError, TypeError, ValueError):  # what an author computes may not be JSON
        if place is not None:
            text = json.dumps(plain)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(place, text)
            files = sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in files[_KEPT:]:
                path.unlink()
