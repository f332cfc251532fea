"""Give a course an identity, by which students' notebooks and progress tell it from all others."""

import hashlib
import re
import secrets
from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.course.exercise import AuthorError
from jaxguide.course.settings import SETTINGS_NAME, read_settings

_LONGEST = 40


def add_identity(course: Path) -> str:
    """Write an identity into a course's settings, which must have none, and return it.

    It is made from the title, or else the folder's name, and random digits, so that no two courses get the same one.

    Raises:
        AuthorError: the settings contain a mistake, or cannot be written.
    """
    path = course / SETTINGS_NAME
    identity = f"{_plain(read_settings(course).title or course.absolute().name)}-{secrets.token_hex(4)}"
    try:
        before = path.read_text("utf-8") if path.is_file() else ""
        write_whole(path, f'identity = "{identity}"\n{before}')
    except OSError as error:
        raise AuthorError(path, 1, f"cannot be written: {error}") from None
    return identity


def identity_of_folder(course: Path) -> str:
    """Return an identity for a course that has none in its settings; it is the same as long as its folder is."""
    digest = hashlib.sha256(str(course.resolve()).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{_plain(course.absolute().name)}-{digest[:8]}"


def _plain(name: str) -> str:
    """Return a name in small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST].strip("-") or "course"
