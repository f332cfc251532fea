"""Spare workers what the course's own answers have compiled before: a folder of programs that they may only read.

Each state of a course, with each version of JAX, has one; of this user's, those that were used last are kept.
"""

import ast
import contextlib
import dataclasses
import hashlib
import os
import platform
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from jaxguide.course.library import Course
from jaxguide.course.verdict import NotJudged
from jaxguide.files import user_folder
from jaxguide.grading.entry import Entry
from jaxguide.grading.grade import Grader, GradeSettings

_SUFFIX = "-cache"
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


def fill(folder: Path, course: Course, settings: GradeSettings, entry: Entry) -> None:
    """Fill a folder that is not there yet with what grading the key's own answers compiles, but for the answers.

    They are trusted: nothing keeps their workers from writing. Where the disk refuses, there is no folder, and workers
    compile for themselves. Of courses and versions that were not used for long the folders go.

    Args:
        folder: for one lesson.
        course: the course, with its keys.
        settings: how submissions are graded.
        entry: the key's answers to the lesson.
    """
    if not folder.exists():
        _fill(folder, course, settings, entry)
    prune(folder.parent)


def _fill(folder: Path, course: Course, settings: GradeSettings, entry: Entry) -> None:
    with contextlib.suppress(OSError), new_folder(folder) as part:
        with contextlib.suppress(NotJudged):  # what is wrong here the control submission will tell
            Grader(course, dataclasses.replace(settings, only=None, conceal=()), fill=part).grade(entry)
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
    """Return where the programs of one state of a course belong on this kind of machine, a folder for each lesson.

    Args:
        course_digest: which covers the JAX version.
    """
    flags = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    digest = hashlib.sha256(f"{course_digest}\n{machine}".encode()).hexdigest()
    return _all_programs() / digest[:32]


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
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o755)
    try:
        yield part
        with contextlib.suppress(OSError):  # another grader was faster
            os.rename(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
