"""Write files atomically, and cache JSON in the user's cache folder."""

import contextlib
import os
import sys
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_KEPT = 16
# The earliest time that a zip can store.
_ZIPPED_AT = (1980, 1, 1, 0, 0, 0)


def user_folder() -> Path:
    """Return jaxguide's folder for this user's cached files."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "jaxguide"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "jaxguide" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "jaxguide"


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write `content` to `path` atomically: readers see the old file or the new one, never a part.

    Args:
        path: the file; missing parent folders are created.
        content: the file's whole content.
        mode: the file's permissions before the umask is applied.

    Raises:
        OSError: the folder cannot be created or the file cannot be written.
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


def zip_bytes(files: Mapping[str, bytes], programs: Container[str] = ()) -> bytes:
    """Return a zip of files, by their names in it; the same files give the same bytes.

    Args:
        files: the files.
        programs: the names of those that can be executed.
    """
    import io
    import stat
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _ZIPPED_AT)
            info.create_system = 3  # Unix, on every system, because the mode below is a Unix mode
            mode = 0o755 if name in programs else 0o644
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def kept_place(kind: str, makers: Iterable[str], parts: Iterable[bytes]) -> Path | None:
    """Return the path of a cached JSON file; None if the cache cannot be used.

    The file is named by a digest of everything it is computed from, so an existing file is always up to date.

    Args:
        kind: the subfolder for files of this kind.
        makers: the folders of this package whose modules compute the content.
        parts: the data that they compute it from.
    """
    import hashlib

    digest = hashlib.sha256(repr(sys.version_info[:3]).encode())
    try:
        sources = (path.read_bytes() for name in makers for path in sorted((_PACKAGE / name).glob("*.py")))
        for part in (*sources, *parts):
            digest.update(b"\n%d\n" % len(part) + part)
        return user_folder() / kind / f"{digest.hexdigest()[:32]}.json"
    except (OSError, RuntimeError):  # RuntimeError if there is no home directory
        return None


def find_kept(place: Path | None) -> Any:
    """Return the JSON in a cached file, which the caller must validate; None if the file is missing or invalid."""
    import json

    with contextlib.suppress(OSError, ValueError, RecursionError):
        return None if place is None else json.loads(place.read_bytes())
    return None


def keep(place: Path | None, plain: Any) -> None:
    """Cache JSON in a file if possible, and delete all but the newest files of its kind."""
    import json

    with contextlib.suppress(OSError, TypeError, ValueError):  # values that authors compute may not be JSON
        if place is not None:
            text = json.dumps(plain)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(place, text)
            files = sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in files[_KEPT:]:
                path.unlink()
