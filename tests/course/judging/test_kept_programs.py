"""Test that compiled programs pass from one process to the next, either complete or not at all."""

import os
import zlib
from pathlib import Path

import jax
import pytest

from jaxguide.course.judging.compilation_cache import KeptPrograms, compiled_once

PROGRAM = zlib.compress(b"a program" * 100)


@pytest.fixture
def kept(tmp_path: Path) -> KeptPrograms:
    return KeptPrograms(tmp_path / "programs")


def test_what_one_process_compiles_the_next_one_finds(kept: KeptPrograms) -> None:
    with kept.lent() as folder:
        assert list(folder.iterdir()) == []
        (folder / "jit_f-1-cache").write_bytes(PROGRAM)
        with kept.lent() as other:
            assert list(other.iterdir()) == [], "programs must not be shared before the process has ended"
            (other / "jit_f-1-cache").write_bytes(PROGRAM)
    assert not folder.exists()
    with kept.lent() as folder:
        assert (folder / "jit_f-1-cache").read_bytes() == PROGRAM


def test_jax_finds_in_one_folder_what_it_compiled_in_another(kept: KeptPrograms) -> None:
    compiled = []
    for _turn in range(2):
        with kept.lent() as folder, compiled_once(folder):
            before = set(folder.glob("*-cache"))
            jax.jit(lambda x: x * 3.25 + 1)(1.0).block_until_ready()
            compiled.append({path.name for path in folder.glob("*-cache")} - {path.name for path in before})
        jax.clear_caches()
    assert compiled[0]
    assert not compiled[1]


@pytest.mark.parametrize("content", [PROGRAM[:-1], PROGRAM[:20], b""])
def test_what_is_not_whole_is_not_kept(kept: KeptPrograms, content: bytes) -> None:
    with kept.lent() as folder:
        (folder / "jit_f-1-cache").write_bytes(content)
        (folder / "jit_f-1-atime").write_bytes(b"1")
    with kept.lent() as folder:
        assert list(folder.iterdir()) == []


def test_what_was_damaged_since_is_not_lent(kept: KeptPrograms) -> None:
    with kept.lent() as folder:
        (folder / "jit_f-1-cache").write_bytes(PROGRAM)
    (path,) = kept.folder.iterdir()
    path.write_bytes(PROGRAM[:-1])
    with kept.lent() as folder:
        assert list(folder.iterdir()) == []
    assert not path.exists()


def test_the_oldest_programs_go(tmp_path: Path) -> None:
    kept = KeptPrograms(tmp_path / "programs", limit_bytes=2 * len(PROGRAM))
    for number in range(4):
        with kept.lent() as folder:
            path = folder / f"jit_f-{number}-cache"
            path.write_bytes(PROGRAM)
            os.utime(path, (number, number))
    assert sorted(path.name.partition("-cache")[0] for path in kept.folder.iterdir()) == ["jit_f-2", "jit_f-3"]


def test_folders_of_killed_processes_are_removed_and_those_at_work_are_not(kept: KeptPrograms) -> None:
    with kept.lent() as folder:
        abandoned = folder.with_name("abandoned")
        abandoned.mkdir()
        abandoned.with_suffix(".lock").touch()
        with kept.lent():
            assert folder.exists()
            assert not abandoned.exists()


def test_where_nothing_can_be_kept_there_is_a_folder_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with KeptPrograms(tmp_path / "file" / "programs").lent() as folder:
        (folder / "jit_f-1-cache").write_bytes(PROGRAM)
    assert not folder.exists()


def test_what_is_kept_is_for_this_user_alone(kept: KeptPrograms) -> None:
    with kept.lent() as folder:
        assert {path.stat().st_mode & 0o77 for path in (kept.folder, folder, folder.parent)} == {0}
