"""Save compilation time in workers: give them a read-only folder of programs compiled from the course's answers.

Each state of a course has a separate folder for each version of JAX. Of a user's folders, the most recent are kept.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from jaxguide.base.files import user_folder
from jaxguide.grading.workers.public_programs import is_public

OWN, VALUES = ".own", ".values"
# The packages whose code computes the key's values.
_DECIDING = ("base", "compat", "code", "jaxpr", "course", "keys", "tracing", "callbacks", "debug", "grading")
# The number of folders to keep, besides those used within a day, which may be in use.
KEPT = 8
_IN_USE_S = 24 * 3600.0


def fill(folder: Path, programs: Path) -> None:
    """Create a lesson's folder, if it does not exist, with the public programs that this process has used so far.

    Workers can read, load and call what is there. A compiled `mean` is no secret; the compiled answer to an exercise is
    the key. If the disk refuses, no folder is created and workers compile for themselves.

    Args:
        folder: the folder of one lesson.
        programs: the folder to which this process saves what it compiles.
    """
    if not folder.exists():
        with contextlib.suppress(OSError), new_folder(folder) as part:
            for path in [path for path in programs.iterdir() if is_public(path.name)]:
                shutil.copyfile(path, part / path.name)
                (part / path.name).chmod(0o644)  # a worker may run as a user of its own


def prune(used: Path) -> None:
    """Mark a folder from `folder_of` as used, and delete the least recently used ones.

    Args:
        used: the folder. If it is not in this user's cache, nothing is deleted.
    """
    if used.parent != _all_programs():
        return
    with contextlib.suppress(OSError):
        os.utime(used)
        ages = {one: time.time() - one.lstat().st_mtime for one in used.parent.iterdir() if one != used}
        for one in sorted(ages, key=ages.__getitem__)[KEPT - 1 :]:
            if ages[one] > _IN_USE_S:
                shutil.rmtree(one, ignore_errors=True)  # does not delete links or files


def folder_of(course_digest: str) -> Path:
    """Return the folder for the programs and values of one state of a course on this kind of machine.

    It contains a folder for each lesson with the programs that workers may load, the folder `OWN` with programs for the
    grader only, and the file `VALUES` with the results of the key's answers.

    Args:
        course_digest: the course's `course_state_digest`, which covers the JAX version.
    """
    flags = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    versions = (sys.version, *(importlib.metadata.version(name) for name in ("jaxlib", "numpy", "scipy")))
    # Part of each program's key in JAX's cache: programs compiled with other flags would never be found.
    settings = [
        f"{name}={os.environ.get(name, '')}"
        for name in ("XLA_FLAGS", "JAX_PLATFORMS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    ]
    state = "\n".join((course_digest, machine, *versions, *settings, *_state_of_package()))
    digest = hashlib.sha256(state.encode("utf-8", "backslashreplace")).hexdigest()
    return _all_programs() / digest[:32]


def _state_of_package() -> list[str]:
    """Return the names, sizes and times of the package's files, which identify its state even in a clone."""
    package = Path(__file__).parents[2]
    files = [path for folder in _DECIDING for path in (package / folder).rglob("*.py")]
    found = [(path.relative_to(package).as_posix(), path.stat()) for path in sorted(files)]
    return [f"{name} {about.st_size} {about.st_mtime_ns}" for name, about in found]


def _all_programs() -> Path:
    return user_folder() / "programs"


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill, and rename it to `folder` at the end unless an error was raised."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)  # a worker may run as another user
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o755)
    try:
        yield part
        with contextlib.suppress(OSError):  # another grader created it first
            os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
