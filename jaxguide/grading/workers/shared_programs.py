"""Spare workers what the course's own answers have compiled before: a folder of programs that they may only read.

Each state of a course, with each version of JAX, has one; of this user's, those that were used last are kept.
"""

import ast
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
from jaxguide.course.books.library import Course

_SUFFIX = "-cache"
OWN, VALUES = ".own", ".values"
# The packages whose code computes the key's values.
_DECIDING = ("base", "compat", "code", "jaxpr", "course", "keys", "tracing", "callbacks", "debug", "grading")
# How many states of courses keep their programs, besides those used within a day, which may be in use.
KEPT = 8
_IN_USE_S = 24 * 3600.0
# Functions of JAX's that compile what a caller's function says: a program of theirs would give the key away.
_TAKE_FUNCTIONS = frozenset(
    (
        *("apply_along_axis", "apply_over_axes", "frompyfunc", "fromfunction", "piecewise", "vectorize"),
        *("associative_scan", "cond", "custom_linear_solve", "custom_root", "fori_loop", "map", "platform_dependent"),
        *("reduce", "reduce_window", "scan", "switch", "while_loop", "while", "sort", "custom_jvp", "custom_vjp"),
    )
)
# What `jax.random` compiles and does not name in public.
_RANDOM = frozenset(
    (
        *("_threefry_seed", "_threefry_split", "_threefry_fold_in", "_threefry_random_bits", "_shuffle"),
        *("_rbg_seed", "_rbg_split", "_rbg_fold_in", "_rbg_random_bits"),
    )
)


def fill(folder: Path, programs: Path, course: Course) -> None:
    """Fill a folder that is not there yet with what the course's own answers compiled, but for the answers.

    Where the disk refuses, there is no folder, and workers compile for themselves.

    Args:
        folder: for one lesson.
        programs: where this process keeps what it compiles, and has compiled nothing but this course's.
        course: the course, with its keys.
    """
    if not folder.exists():
        with contextlib.suppress(OSError), new_folder(folder) as part:
            for path in programs.iterdir():
                shutil.copyfile(path, part / path.name)
            keep_public(part, course)


def prune(used: Path) -> None:
    """Note that a folder of `folder_of` is used, and remove those that were not used for the longest time.

    Args:
        used: of another place than `folder_of` names, nothing is removed.
    """
    if used.parent != _all_programs():
        return
    with contextlib.suppress(OSError):
        os.utime(used)
        ages = {one: time.time() - one.lstat().st_mtime for one in used.parent.iterdir() if one != used}
        for one in sorted(ages, key=ages.__getitem__)[KEPT - 1 :]:
            if ages[one] > _IN_USE_S:
                shutil.rmtree(one, ignore_errors=True)  # of a link or a file it removes nothing


def folder_of(course_digest: str) -> Path:
    """Return where the programs and values of one state of a course belong on this kind of machine.

    A folder in it for each lesson has the programs that workers may take. `OWN` has those of the grader alone, and
    `VALUES` is the file of what the key's answers gave.

    Args:
        course_digest: which covers the JAX version.
    """
    flags = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    versions = (sys.version, *(importlib.metadata.version(name) for name in ("jaxlib", "numpy", "scipy")))
    state = "\n".join((course_digest, machine, *versions, *_state_of_package()))
    digest = hashlib.sha256(state.encode("utf-8", "backslashreplace")).hexdigest()
    return _all_programs() / digest[:32]


def _state_of_package() -> list[str]:
    """Return what tells this code from another state of it, in a clone too: the names, sizes and times of its files."""
    package = Path(__file__).parents[2]
    files = [path for folder in _DECIDING for path in (package / folder).rglob("*.py")]
    found = [(path.relative_to(package).as_posix(), path.stat()) for path in sorted(files)]
    return [f"{name} {about.st_size} {about.st_mtime_ns}" for name, about in found]


def _all_programs() -> Path:
    return user_folder() / "programs"


def keep_public(folder: Path, course: Course) -> int:
    """Remove every program but those of JAX's own functions, and return how many are left.

    Workers can read, load and call what is here. A compiled `mean` is nobody's secret; the compiled answer to an
    exercise is the key.
    """
    public, taken = library_names() - _TAKE_FUNCTIONS, taken_names(course)
    left = 0
    for path in folder.iterdir():
        name = path.name.removesuffix(_SUFFIX).rpartition("-")[0].removeprefix("jit_")
        is_public = name.removeprefix("_") in public or name in _RANDOM
        if path.name.endswith(_SUFFIX) and is_public and name not in taken:
            path.chmod(0o644)  # a worker may run as a user of its own
            left += 1
        else:
            path.unlink()
    return left


def library_names() -> set[str]:
    """Return the names of JAX's public functions on arrays, and of its primitives."""
    import jax
    import jax.numpy as jnp

    modules = (jnp, jnp.linalg, jnp.fft, jax.lax, jax.nn, jax.random)
    public = {name for module in modules for name in dir(module) if not name.startswith("_")}
    return {name.removesuffix("_p") for name in public}


def taken_names(course: Course) -> set[str]:
    """Return the names under which a program of a book's or key's own may have been compiled.

    Those of the functions and classes that are defined there, and of all that is handed to a call there: a program of
    `jax.jit(jax.vmap(jnp.dot))` is called `dot`.
    """
    paths = {book.path for book in course.books.values()}
    for exercise in course.exercises.values():
        if exercise.key is not None:
            paths |= {exercise.key.answer.path, *(check.path for check in exercise.key.hidden)}
    names: set[str] = set()
    for node in (node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            names |= {one.attr for one in given if isinstance(one, ast.Attribute)}
            names |= {one.id for one in given if isinstance(one, ast.Name)}
    return names


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which takes its place when all of it is there."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)  # a worker may be another user
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o755)
    try:
        yield part
        with contextlib.suppress(OSError):  # another grader was faster
            os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
