"""Test that all files of a submission are counted from outside, even hidden ones, and nothing else is touched."""

import ctypes
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxguide.grading.workers.scratch import FILES_LIMIT, ScratchWatch, remove_scratch

MB = 2**20
_NOBODY = 65534


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Yield a folder that this process owns, without root's permission to read everything."""
    top = Path(tempfile.mkdtemp(prefix="jaxguide-test-"))
    was_root = os.geteuid() == 0
    if was_root:
        os.chown(top, _NOBODY, _NOBODY)
        os.seteuid(_NOBODY)
    try:
        yield top
    finally:
        if was_root:
            os.seteuid(0)
        shutil.rmtree(top)


def write(path: Path, size_bytes: int = 3 * MB) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size_bytes)


def is_full(scratch: Path, limit_bytes: int = 5 * MB, pids: tuple[int, ...] = ()) -> bool:
    return ScratchWatch(scratch, limit_bytes, 2 * MB).is_full(pids, at_once=True)


def test_files_in_folders_are_added_up(scratch: Path) -> None:
    write(scratch / "a" / "one")
    assert not is_full(scratch)
    write(scratch / "b" / "c" / "two")
    assert is_full(scratch)
    assert not is_full(scratch, 7 * MB)


def test_holes_in_files_take_no_room(scratch: Path) -> None:
    with open(scratch / "sparse", "wb") as file:
        file.truncate(10**9)
    assert not is_full(scratch)


def test_a_locked_folder_hides_nothing(scratch: Path) -> None:
    write(scratch / "a" / "one", 6 * MB)
    (scratch / "a").chmod(0)
    assert is_full(scratch)


def test_open_files_without_a_name_count_but_for_the_output(scratch: Path) -> None:
    with open(scratch / "gone", "wb", 0) as file:
        file.write(b"x" * 6 * MB)
        os.unlink(scratch / "gone")
        assert is_full(scratch, pids=(os.getpid(),))
        output = os.fstat(file.fileno()).st_ino
        assert not ScratchWatch(scratch, 5 * MB, 2 * MB, output).is_full((os.getpid(),), at_once=True)


def test_mapped_files_without_a_name_count_as_the_largest_that_there_may_be(scratch: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    mapped = []
    for number in range(3):
        write(scratch / f"gone {number}", MB)
        with open(scratch / f"gone {number}", "r+b") as file:  # `mmap.mmap` would keep it open
            mapped.append(libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0))
        os.unlink(scratch / f"gone {number}")
        assert is_full(scratch, pids=(os.getpid(),)) is (number == 2)
    assert not is_full(scratch.with_name(scratch.name[:-1]), pids=(os.getpid(),))
    for address in mapped:
        libc.munmap(address, mmap.PAGESIZE)
    assert not is_full(scratch, pids=(os.getpid(),))


def test_links_are_not_followed(scratch: Path) -> None:
    outside = Path(tempfile.mkdtemp(prefix="jaxguide-outside-"))
    try:
        write(outside / "big", 6 * MB)
        outside.chmod(0)
        (scratch / "link").symlink_to(outside)
        assert not is_full(scratch)
        assert outside.stat().st_mode & 0o777 == 0
    finally:
        outside.chmod(0o700)
        shutil.rmtree(outside)


@pytest.mark.long
def test_too_many_files_or_folders_in_folders_are_too_much(scratch: Path) -> None:
    (scratch / "/".join("d" * 40)).mkdir(parents=True)
    assert not is_full(scratch)
    (scratch / "/".join("d" * 80)).mkdir(parents=True)
    assert is_full(scratch)
    shutil.rmtree(scratch / "d")
    for number in range(FILES_LIMIT + 1):
        (scratch / str(number)).touch()
    assert is_full(scratch)


def test_nested_folders_are_removed_whatever_their_names(scratch: Path) -> None:
    for name in (".0", ".1", "a"):
        (scratch / "own" / name / "z" / "y" / "x").mkdir(parents=True)
        (scratch / "own" / name / "z" / "y" / "x" / "big").write_bytes(b"x")
    remove_scratch(scratch / "own")
    assert not (scratch / "own").exists()


def test_a_folder_that_is_gone_is_not_full(tmp_path: Path) -> None:
    assert not is_full(tmp_path / "nothing")
