"""Set a worker up for a course, as the other processes that run its lessons are."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxguide.course.books.outline import Outline
from jaxguide.course.requirements import requirement_folders
from jaxguide.course.set_up import process_settings
from jaxguide.course.settings import CourseSettings

_BLOCK_BYTES = 4096


@dataclasses.dataclass(frozen=True)
class WorkerSetUp:
    """What a worker needs of a course besides the code of its lessons. It comes from the course's folder alone.

    Args:
        process: the arguments of `set_up_process`.
        files: the files that lessons read, by name.
        folders: the folders from which lessons import what the course requires.
    """

    process: Mapping[str, Any] = dataclasses.field(default_factory=lambda: process_settings(CourseSettings()))
    files: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, course: Outline, lesson: str = "") -> "WorkerSetUp":
        """Return what the workers for a course, or for one lesson, need."""
        return cls(process_settings(course.settings, lesson), course.files, tuple(requirement_folders(course.settings)))

    @property
    def size_bytes(self) -> int:
        """How much the files take of the scratch folder, in which submissions may write as much without them."""
        folders = {folder for name in self.files for folder in Path(name).parents}
        blocks = [path.stat().st_size // _BLOCK_BYTES + 1 for path in self.files.values()]
        return _BLOCK_BYTES * (sum(blocks) + len(folders))

    def to_plain(self) -> dict[str, Any]:
        files = {name: str(path) for name, path in self.files.items()}
        return {"process": dict(self.process), "files": files, "folders": list(self.folders)}


def read_files(files: Mapping[str, str]) -> dict[str, bytes]:
    """Return the content of files by name; a worker reads them before it is isolated.

    Raises:
        OSError: a file cannot be read.
    """
    return {name: Path(path).read_bytes() for name, path in files.items()}


def write_files(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a worker's own folder, for reading only. Each worker gets its own copies."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(content)
