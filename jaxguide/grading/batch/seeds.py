"""Choose the seed of a batch: a given number, or a secret one that is stored with the results."""

from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.course.judging.draw import fresh_seed

SECRET = "secret"
SEED_FILE_NAME = "seed.txt"


class SeedError(ValueError):
    """The text is not a seed, or the secret seed cannot be read or written; the message says what to do."""


def seed_of(asked: str, folder: Path) -> int:
    """Return the seed that an instructor requests.

    Args:
        asked: a whole number, or 'secret' for a random one, which is reused by later runs into the same folder.
        folder: the folder for results. A secret seed is stored in its `seed.txt`, readable by the owner only.

    Raises:
        SeedError: `asked` is neither, `seed.txt` does not contain a number, or it cannot be written.

    >>> seed_of("17", Path("results"))
    17
    """
    if asked != SECRET:
        try:
            return int(asked)
        except ValueError:
            message = "`{asked}` is not a seed. Give a whole number, or `secret` for one that no one can guess."
            raise SeedError(message.format(asked=asked)) from None
    path = folder / SEED_FILE_NAME
    try:
        if not path.exists():
            write_whole(path, f"{fresh_seed()}\n", 0o600)
        return int(path.read_text("ascii"))
    except ValueError:
        message = "`{path}` does not contain a number. Delete it to get a new seed; everything will be regraded."
        raise SeedError(message.format(path=path)) from None
    except OSError as error:
        message = "The secret seed cannot be stored in `{path}`: {error}."
        raise SeedError(message.format(path=path, error=error.strerror)) from error
