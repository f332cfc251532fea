"""Choose the seed of a batch: a number, or one that nobody knows, kept beside the results."""

import os
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.judging.draw import fresh_seed

SECRET = "secret"
SEED_FILE_NAME = "seed.txt"


class SeedError(ValueError):
    """What was asked for is no seed; the message says what is."""


def seed_of(asked: str, folder: Path) -> int:
    """Return the seed that an instructor asks for.

    Args:
        asked: a whole number; or 'secret' for a fresh one, which is the same at every run into the same folder.
        folder: where results go. A secret seed is kept there, in `seed.txt`, for its owner alone to read.

    Raises:
        SeedError: it is neither, `seed.txt` holds no number, or it cannot be written.

    >>> seed_of("17", Path("results"))
    17
    """
    if asked != SECRET:
        try:
            return int(asked)
        except ValueError:
            message = _("`{asked}` is no seed. Give a whole number, or `secret` for one that nobody can guess.")
            raise SeedError(message.format(asked=asked)) from None
    path = folder / SEED_FILE_NAME
    try:
        return int(path.read_text("ascii")) if path.exists() else _keep(path, fresh_seed())
    except ValueError:
        message = _("`{path}` holds no number. Take it away for a new secret seed; what is graded is graded again.")
        raise SeedError(message.format(path=path)) from None
    except OSError as error:
        message = _("The secret seed cannot be kept in `{path}`: {error}.")
        raise SeedError(message.format(path=path, error=error.strerror)) from error


def _keep(path: Path, seed: int) -> int:
    """Write a seed down, so that the file is there with all of it or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(f"{seed}\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return seed
