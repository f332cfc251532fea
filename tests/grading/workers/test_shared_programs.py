"""Test that workers load programs compiled from the key by name only, and cannot change them."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import lacks
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.course.judging.compilation_cache import compiled_once
from jaxguide.grading.batch.grader import Grader, GradeSettings, open_grader
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers import shared_programs
from jaxguide.grading.workers.shared_programs import SHARED, is_safe

LOOKS = """
import os, jax
folder = jax.config.jax_compilation_cache_dir
events = []
jax.monitoring.register_event_listener(lambda event, **details: events.append(event))

def attempt(act):
    try:
        return str(act())
    except OSError:
        return "refused"

seen = [attempt(lambda: len(open(os.path.join(folder, {name!r}), "rb").read()))]
seen.append(attempt(lambda: os.listdir(folder)))
seen.append(attempt(lambda: os.open(folder, os.O_RDONLY | os.O_DIRECTORY)))
seen.append(attempt(lambda: open(os.path.join(folder, {name!r}), "r+b")))
seen.append(attempt(lambda: open(os.path.join(folder, "new-cache"), "wb")))

def double(x):
    twice = 2.0 * x
    print(*seen, "loaded" if "/jax/compilation_cache/cache_hits" in events else "compiled")
    return twice
"""


@pytest.fixture(scope="module")
def cache(course: Course) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:  # other users may not enter pytest's folders
        Path(made).chmod(0o755)
        folder = Path(made, "programs")
        with open_grader(course, GradeSettings(compile_cache=folder)) as grader:
            grader.grade_controlled(submission("double"))
        yield folder


def submission(*names: str, before: str = "") -> Entry:
    return Entry(Path("ada.py"), "\n\n".join([before, *(ANSWERS[name] for name in names)]).encode())


def test_programs_name_no_code_of_the_key(course: Course, cache: Path) -> None:
    """As they would by default, in what they keep for profilers: files and lines that asked for them."""
    programs = [_unpacked(path) for path in (cache / SHARED).iterdir()]
    assert programs
    named = [course.books["small_numbers"].path.parent.name, "small_numbers"]
    assert [name for name in named if any(name.encode() in program for program in programs)] == []


def _unpacked(program: Path) -> bytes:
    content = program.read_bytes()
    if content.startswith(b"\x78"):
        return zlib.decompress(content)
    import zstandard  # with which JAX packs them, where it is installed

    return zstandard.ZstdDecompressor().decompressobj().decompress(content)


def test_workers_load_programs_and_cannot_list_or_change_them(course: Course) -> None:
    if find_isolation().missing:
        lacks("; ".join(find_isolation().missing))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if not find_isolation().reads_as_root:  # which also lets workers enter a cache in a folder of root's
            folder.chmod(0o755)
        graded(folder, course, ANSWERS["double"])
        program = next(folder.glob(f"**/{SHARED}/*"))
        double = graded(folder, course, LOOKS.format(name=program.name))
        refused = "refused " * 4
        assert double["verdict"] == "passed"
        assert double["printed"].split("\n")[0] == f"{program.stat().st_size} {refused}loaded"


def graded(folder: Path, course: Course, source: str) -> dict[str, Any]:
    """Grade an answer to `double` by the command, whose process has compiled nothing before; return its result."""
    (folder / "ada.py").write_text(source)
    command = [sys.executable, "-m", "jaxguide", "grade", folder / "ada.py", "--course", course.folders.top]
    command += ["--only", "double", "--out", folder / "results"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": str(folder)})
    (submission,) = json.loads((folder / "results" / "results.json").read_text())["submissions"]
    (result,) = submission["exercises"]
    return dict(result)


def test_nothing_that_a_submission_compiles_is_kept(course: Course, cache: Path) -> None:
    before = sorted((path.name, path.read_bytes()) for path in (cache / SHARED).iterdir())
    odd = "import jax.numpy as jnp\njnp.arange(17.0).reshape(17, 1).sum(axis=1)\n"
    result = Grader(course, GradeSettings(compile_cache=cache)).grade(submission(*ANSWERS, before=odd))
    assert result.score == result.points
    assert sorted((path.name, path.read_bytes()) for path in (cache / SHARED).iterdir()) == before


@pytest.mark.long
def test_results_are_the_same_with_and_without(course: Course, cache: Path) -> None:
    with_programs, without = (
        Grader(course, GradeSettings(compile_cache=folder)).grade(submission(*ANSWERS)) for folder in (cache, None)
    )
    nothing = {"wall_s": 0.0, "cpu_s": 0.0, "memory_bytes": 0}
    assert dataclasses.replace(with_programs, **nothing) == dataclasses.replace(without, **nothing)  # type: ignore


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert not is_safe(folder)
    folder.mkdir(mode=0o755)
    assert is_safe(folder)
    folder.chmod(0o777)
    assert not is_safe(folder)
    (tmp_path / "link").symlink_to(folder)
    folder.chmod(0o755)
    assert not is_safe(tmp_path / "link")


def test_a_disk_that_refuses_leaves_no_folder_and_stops_nobody(course: Course, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = GradeSettings(compile_cache=tmp_path / "file" / "programs", only=frozenset({"double"}))
    with compiled_once() as programs:
        grader = Grader(course, settings)
        grader.programs = programs
        result, *_confirmed = grader.grade_controlled(submission("double"))
    assert result.score == 1.0


def test_another_course_or_machine_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    one = shared_programs.folder_of("one")
    assert one == shared_programs.folder_of("one")
    assert one != shared_programs.folder_of("other")
    with monkeypatch.context() as other:
        other.setattr("platform.machine", lambda: "abacus")
        assert one != shared_programs.folder_of("one")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")  # a part of each program's key
    assert one != shared_programs.folder_of("one")


def test_programs_of_courses_that_were_not_used_for_long_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_programs, "user_folder", lambda: tmp_path)
    folders = [shared_programs.folder_of(str(number)) for number in range(shared_programs.KEPT + 3)]
    day_s = 24 * 3600
    for days, folder in enumerate(folders):
        (folder / "lesson").mkdir(parents=True)
        (folder / "lesson" / "jit_add-1-cache").write_text("x")
        os.utime(folder, (time.time() - days * day_s - 60,) * 2)
    used = folders[-2]
    shared_programs.prune(used)
    kept = [*folders[: shared_programs.KEPT - 1], used]
    assert set(used.parent.iterdir()) == set(kept)
    assert all((folder / "lesson" / "jit_add-1-cache").exists() for folder in kept)
    assert time.time() - used.stat().st_mtime < day_s


def test_programs_that_may_be_in_use_or_are_elsewhere_are_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days, parent in ((0, tmp_path / "programs"), (9, tmp_path / "elsewhere")):
        for number in range(shared_programs.KEPT + 3):
            (parent / str(number)).mkdir(parents=True)
            os.utime(parent / str(number), (time.time() - days * 24 * 3600,) * 2)
    monkeypatch.setattr(shared_programs, "user_folder", lambda: tmp_path)
    for parent in (tmp_path / "programs", tmp_path / "elsewhere"):
        shared_programs.prune(parent / "0")
        assert len(list(parent.iterdir())) == shared_programs.KEPT + 3
