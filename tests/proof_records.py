"""Prove a thirtieth of the course in each test run, and record each exercise proven.

A record is valid until something that the proof depends on changes: the exercise's book and key, the package's modules,
the code of this test, or the versions of Python and of the numerical libraries. An exercise whose book or key changed
since its record is proven in the next run; the others without a valid record wait until their part is due.
"""

import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import itertools
import json
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxguide.base.files import write_whole
from jaxguide.course.books.digest import what_decides
from jaxguide.course.books.folders import CourseFolders, course_folders
from jaxguide.course.books.library import read_outline

PARTS = 30
TEST = "test_the_exercise_is_proven"
# It proves all exercises of its lesson, too.
LESSON_TEST = "test_the_lesson_is_proven_and_graded_the_same"
ALL, BY_RECORDS = "all", "due"
# The course and the helpers import none of these (see `test_imports.py`), and no verdict depends on what `proving` uses
# of them.
_CANNOT_DECIDE = frozenset({"cli", "fixtures.py", "grading", "lesson.py", "student", "__main__.py"})
_LIBRARIES = ("jax", "jaxlib", "ml_dtypes", "numpy", "scipy")


@dataclasses.dataclass(frozen=True)
class Digests:
    """Digests of what the proof of each exercise depends on.

    Attributes:
        common: the digest of what all proofs depend on: modules and versions.
        texts: the digest of each exercise's book and key, in the course's order.
    """

    common: str
    texts: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The exercises that one run proves.

    Attributes:
        part: the number of the part, from 1 on; None if the run proves the whole course or no part is due.
        chosen: the exercises to prove.
        changed: those whose book or key differs from the recorded one.
        recorded: the number of exercises with a valid record.
        total: the number of exercises.
    """

    part: int | None
    chosen: tuple[str, ...]
    changed: tuple[str, ...]
    recorded: int
    total: int

    def __str__(self) -> str:
        of = f"{len(self.chosen)} of {self.total} exercises"
        head = f"proof: part {self.part} of {PARTS}: {of}" if self.part else f"proof: {of}"
        if self.changed:
            head += f" ({len(self.changed)} changed)"
        return f"{head}; {self.recorded} had green records"


class Records:
    """The records of green proofs for one Python and one JAX version, a small file for each exercise."""

    def __init__(self, folder: Path | None):
        self.folder = folder

    def write(self, name: str, digests: Digests) -> None:
        """Record that an exercise was proven. If the record cannot be written, a later run proves it again."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                record = {"exercise": name, "text": digests.texts[name], "common": digests.common}
                write_whole(self.folder / f"{name}.json", json.dumps(record))

    def read(self, name: str) -> dict[str, str]:
        """Return the record of an exercise, empty if it is missing or damaged."""
        if self.folder is None:
            return {}
        with contextlib.suppress(OSError, ValueError):
            record = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
            if isinstance(record, dict) and record.get("exercise") == name:
                return record
        return {}


def plan(digests: Digests, records: Records, asked: str = BY_RECORDS) -> Plan:
    """Choose the exercises that one run proves.

    Args:
        digests: what the proofs depend on.
        records: the records of earlier proofs.
        asked: `due`, `all`, or the number of a part to prove whatever the records say.
    """
    valid, changed = set(), []
    for name, text in digests.texts.items():
        record = records.read(name)
        if (record.get("text"), record.get("common")) == (text, digests.common):
            valid.add(name)
        elif record and record.get("text") != text:
            changed.append(name)
    parts = _parts(digests)
    number: int | None = None
    if asked == ALL:
        chosen = set(digests.texts)
    elif asked == BY_RECORDS:
        first = int(digests.common[:8], 16)
        turns = [(first + turn) % PARTS for turn in range(PARTS)]
        number = next((turn + 1 for turn in turns if parts[turn] - valid - set(changed)), None)
        chosen = (parts[number - 1] - valid if number else set()) | set(changed)
    else:
        number = int(asked)
        chosen = parts[number - 1] | set(changed)
    in_order = tuple(name for name in digests.texts if name in chosen)
    return Plan(number, in_order, tuple(changed), len(valid), len(digests.texts))


def _parts(digests: Digests) -> list[set[str]]:
    """Split the exercises into parts by digest, so that editing a book does not move any of them."""
    ranked = sorted(digests.texts, key=lambda name: hashlib.sha256(f"{digests.common} {name}".encode()).digest())
    return [set(ranked[number::PARTS]) for number in range(PARTS)]


@functools.cache
def course_digests() -> Digests:
    """Return the digests of the course that comes with the package, in its current state."""
    where = course_folders()
    texts = {}
    for lesson in read_outline().books.values():
        of_book = _text_digest(where, lesson.path)
        texts.update({exercise.name: of_book for exercise in lesson.exercises})
    return Digests(_common_digest(), texts)


def _text_digest(where: CourseFolders, book: Path) -> str:
    digest = hashlib.sha256()
    for path, is_key in ((book, False), (where.solutions / book.name, True)):
        for part in what_decides(path.read_text("utf-8"), is_key=is_key):
            digest.update(f"{is_key} {part}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _common_digest() -> str:
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}".encode())
    for library in _LIBRARIES:
        digest.update(f" {library} {importlib.metadata.version(library)}".encode())
    here = Path(__file__)
    package = here.parents[1] / "jaxguide"
    for path in (*_deciding(package), here, here.parent / "proving" / "test_course.py"):
        digest.update(f"\n{path.relative_to(package.parent)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _deciding(package: Path) -> Iterable[Path]:
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".json") and path.relative_to(package).parts[0] not in _CANNOT_DECIDE:
            yield path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("jaxguide").addoption(
        "--prove",
        default=BY_RECORDS,
        type=_asked,
        metavar="PART",
        help=f"prove this part of the course (1 to {PARTS}), or `all`; by default, the next part without green records",
    )


def _asked(text: str) -> str:
    if text not in (ALL, BY_RECORDS, *(str(number + 1) for number in range(PARTS))):
        raise ValueError(text)
    return text


_PLAN = pytest.StashKey[Plan]()
_SEEN = pytest.StashKey[bool]()
_DIGESTS = pytest.StashKey[Digests]()


def _plan_of(config: pytest.Config) -> Plan:
    """Return the plan of this run; under pytest-xdist, the controller makes it and sends it to the workers."""
    if _PLAN not in config.stash:
        given = getattr(config, "workerinput", {}).get("proof")
        if given:
            config.stash[_PLAN] = Plan(**{name: _frozen(value) for name, value in given.items()})
        else:
            config.stash[_PLAN] = plan(_digests_of(config), _records(config), config.getoption("--prove"))
    return config.stash[_PLAN]


def _digests_of(config: pytest.Config) -> Digests:
    """Return the course's digests; under pytest-xdist, the controller computes them and sends them to the workers."""
    if _DIGESTS not in config.stash:
        given = getattr(config, "workerinput", {}).get("digests")
        config.stash[_DIGESTS] = Digests(**given) if given else course_digests()
    return config.stash[_DIGESTS]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _records(config: pytest.Config) -> Records:
    cache = getattr(config, "cache", None)
    versions = f"proofs-python{platform.python_version()}-jax{importlib.metadata.version('jax')}"
    try:
        return Records(cache.mkdir(versions) if cache else None)
    except OSError:
        return Records(None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the plan to a worker of pytest-xdist: the records may change before it collects its tests."""
    made = dataclasses.asdict(_plan_of(node.config))
    node.workerinput["proof"] = {name: list(v) if isinstance(v, tuple) else v for name, v in made.items()}
    node.workerinput["digests"] = dataclasses.asdict(_digests_of(node.config))


@pytest.hookimpl(trylast=True)  # after tests were deselected by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the proofs that are not due, unless the command line names the test, and spread the others."""
    lessons = {_parameter(item, "topic") for item in _named(items, LESSON_TEST)}
    if lessons:
        proven = {one.name for one in read_outline().exercises.values() if one.lesson in lessons}
        twice = [item for item in _named(items, TEST) if _parameter(item, "name") in proven]
        config.hook.pytest_deselected(items=twice)
        items[:] = [item for item in items if item not in twice]
    proofs = _named(items, TEST)
    if proofs and not any(f"::{TEST}" in argument for argument in config.args):
        config.stash[_SEEN] = True
        chosen = set(_plan_of(config).chosen)
        left_out = [item for item in proofs if _parameter(item, "name") not in chosen]
        config.hook.pytest_deselected(items=left_out)
        proofs = [item for item in proofs if item not in left_out]
    long = [*proofs, *_named(items, LESSON_TEST)]
    others = [item for item in items if getattr(item, "originalname", "") not in (TEST, LESSON_TEST)]
    items[:] = _spread(long, others) if others else long


def _named(items: list[pytest.Item], name: str) -> list[pytest.Item]:
    return [item for item in items if getattr(item, "originalname", "") == name]


def _parameter(item: pytest.Item, name: str) -> str:
    return str(item.callspec.params[name])  # type: ignore[attr-defined]


def _spread(long: list[pytest.Item], others: list[pytest.Item]) -> list[pytest.Item]:
    """Spread long tests evenly between the test modules.

    pytest-xdist gives neighbouring tests to one worker: side by side, these would keep it busy for minutes after
    the others are done.
    """
    spread: list[pytest.Item] = []
    placed = 0
    for _module, tests in itertools.groupby(others, key=lambda item: item.nodeid.split("::")[0]):
        spread += tests
        due = len(long) * len(spread) // len(others)
        spread += long[placed:due]
        placed = max(placed, due)
    return spread + long[placed:]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(_SEEN, False) and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["proof"] = True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if getattr(node, "workeroutput", {}).get("proof"):
        node.config.stash[_SEEN] = True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print how much of the course this run was to prove."""
    if config.stash.get(_SEEN, False):
        made = _plan_of(config)
        again = f" (again: --prove={made.part}, all: --prove=all)" if made.part else ""
        terminalreporter.write_line(f"{made}{again}")


@pytest.fixture(scope="session")
def proof_records(request: pytest.FixtureRequest) -> Records:
    """Return the records of green proofs."""
    return _records(request.config)


@pytest.fixture(scope="session")
def digests(request: pytest.FixtureRequest) -> Digests:
    """Return the digests of what the proofs depend on."""
    return _digests_of(request.config)
