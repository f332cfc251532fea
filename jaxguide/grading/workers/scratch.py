"""Remove a folder that a submission could write to, however deep it nested and whatever it locked."""

import contextlib
import os
from pathlib import Path


def remove_scratch(top: Path) -> None:
    """Remove a folder with all in it; what cannot be removed stays. No process may write to it any more.

    Folders may nest deeper than a path may be long, and deeper than Python recurses, which `shutil.rmtree` does before
    Python 3.13. So each folder's folders are first moved to the top.

    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> (top / "a" / "b").mkdir(parents=True)
    >>> remove_scratch(top)
    >>> top.exists()
    False

    Args:
        top: the folder; a link in it is removed, not followed.
    """
    count = 0
    with contextlib.suppress(OSError):
        top.chmod(0o700)
        while below := _emptied(top):
            for folder in below:
                for inner in _emptied(folder):
                    os.rename(inner, top / f".{count}")
                    count += 1
                folder.rmdir()
        top.rmdir()


def _emptied(folder: Path) -> list[Path]:
    """Remove the files in a folder; return the folders, made accessible."""
    with os.scandir(folder) as entries:
        found = list(entries)
    folders = []
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            folders.append(Path(entry.path))
        else:
            os.unlink(entry.path)
    return folders
