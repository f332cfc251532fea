"""Prove at most an eighth of the course in one run of the tests, and keep a record of each exercise proven.

A record is valid as long as nothing that decides the proof has changed: the exercise's book and key, the package's
modules, this test's own code, the versions of Python and of the libraries that compute. An exercise whose book or key
changed since its record is proven in every case; what lacks a record otherwise waits for its part.
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
from jaxguide.course.books.library import read_outline
from jaxguide.course.books.places import Places, places

PARTS = 8
TEST = "test_the_exercise_is_proven"
ALL, BY_RECORDS = "all", "due"
# Nothing of the school or of a helper imports these (`test_imports.py`), so that no proof depends on them.
_CANNOT_DECIDE = frozenset({"cli", "fixtures.py", "grading", "lesson.py", "student", "translation", "__main__.py"})
_LIBRARIES = ("jax", "jaxlib", "ml_dtypes", "numpy", "scipy")


@dataclasses.dataclass(frozen=True)
class Digests:
    """What the proof of each exercise depends on.

    Attributes:
        common: what decides every proof: modules and versions.
        texts: for each exercise, in the course's order, its book and its key.
    """

    common: str
    texts: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Plan:
    """What one run proves.

    Attributes:
        part: which of the eight parts, from 1; None where it is the whole course, or nothing is due.
        chosen: the exercises to prove.
        changed: those of them whose book or key is not the recorded one.
        recorded: how many exercises have a valid record.
        total: how many exercises there are.
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
    """The records of green proofs with one Python and one JAX, a small file for each exercise."""

    def __init__(self, folder: Path | None):
        self.folder = folder

    def write(self, name: str, digests: Digests) -> None:
        """Record that an exercise was proven. Where nothing can be written it is proven again."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                record = {"exercise": name, "text": digests.texts[name], "common": digests.common}
                write_whole(self.folder / f"{name}.json", json.dumps(record))

    def read(self, name: str) -> dict[str, str]:
        """Return the record of an exercise; one that is lost or damaged is empty."""
        if self.folder is None:
            return {}
        with contextlib.suppress(OSError, ValueError):
            record = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
            if isinstance(record, dict) and record.get("exercise") == name:
                return record
        return {}


def plan(digests: Digests, records: Records, asked: str = BY_RECORDS) -> Plan:
    """Choose what one run proves.

    Args:
        digests: what the proofs depend on.
        records: the proofs that are known.
        asked: `due`, `all`, or the number of a part, which is then proven whatever the records say.
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
    """Split the exercises into eight parts, by digests: an edit of a book moves no exercise."""
    ranked = sorted(digests.texts, key=lambda name: hashlib.sha256(f"{digests.common} {name}".encode()).digest())
    return [set(ranked[number::PARTS]) for number in range(PARTS)]


@functools.cache
def course_digests() -> Digests:
    """Return what the proofs of the course that comes with the package depend on, here and now."""
    where = places()
    texts = {}
    for lesson in read_outline().books.values():
        of_book = _text_digest(where, lesson.path)
        texts.update({exercise.name: of_book for exercise in lesson.exercises})
    return Digests(_common_digest(), texts)


def _text_digest(where: Places, book: Path) -> str:
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
        help=f"prove part 1 to {PARTS} of the course, or `all` of it; by default, the next part without green records",
    )


def _asked(text: str) -> str:
    if text not in (ALL, BY_RECORDS, *(str(number + 1) for number in range(PARTS))):
        raise ValueError(text)
    return text


_PLAN = pytest.StashKey[Plan]()
_SEEN = pytest.StashKey[bool]()
_DIGESTS = pytest.StashKey[Digests]()


def _plan_of(config: pytest.Config) -> Plan:
    """Return the plan of this run: made once, by the process that distributes the tests where there is one."""
    if _PLAN not in config.stash:
        given = getattr(config, "workerinput", {}).get("proof")
        if given:
            config.stash[_PLAN] = Plan(**{name: _frozen(value) for name, value in given.items()})
        else:
            config.stash[_PLAN] = plan(_digests_of(config), _records(config), config.getoption("--prove"))
    return config.stash[_PLAN]


def _digests_of(config: pytest.Config) -> Digests:
    """Return the course's digests: computed once, by the process that distributes the tests where there is one."""
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
    """Tell a worker what to prove: the records may change before it collects."""
    made = dataclasses.asdict(_plan_of(node.config))
    node.workerinput["proof"] = {name: list(v) if isinstance(v, tuple) else v for name, v in made.items()}
    node.workerinput["digests"] = dataclasses.asdict(_digests_of(node.config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the proofs that are not due, but for those that the command line names, and spread the others."""
    proofs = [item for item in items if getattr(item, "originalname", "") == TEST]
    if not proofs:
        return
    if not any(f"::{TEST}" in argument for argument in config.args):
        config.stash[_SEEN] = True
        chosen = set(_plan_of(config).chosen)
        left_out = [item for item in proofs if item.callspec.params["name"] not in chosen]  # type: ignore[attr-defined]
        config.hook.pytest_deselected(items=left_out)
        proofs = [item for item in proofs if item not in left_out]
    items[:] = _spread(proofs, [item for item in items if getattr(item, "originalname", "") != TEST])


def _spread(proofs: list[pytest.Item], others: list[pytest.Item]) -> list[pytest.Item]:
    """Put the proofs between the modules, evenly.

    pytest-xdist hands out neighbouring tests together: side by side, these would keep one process busy for minutes
    after the others are done.
    """
    spread: list[pytest.Item] = []
    placed = 0
    for _module, tests in itertools.groupby(others, key=lambda item: item.nodeid.split("::")[0]):
        spread += tests
        due = len(proofs) * len(spread) // len(others)
        spread += proofs[placed:due]
        placed = max(placed, due)
    return spread + proofs[placed:]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(_SEEN, False) and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["proof"] = True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if getattr(node, "workeroutput", {}).get("proof"):
        node.config.stash[_SEEN] = True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how much of the course this run set out to prove."""
    if config.stash.get(_SEEN, False):
        made = _plan_of(config)
        again = f" (again: --prove={made.part}, all: --prove=all)" if made.part else ""
        terminalreporter.write_line(f"{made}{again}")


@pytest.fixture(scope="session")
def proof_records(request: pytest.FixtureRequest) -> Records:
    """Return where a green proof is recorded."""
    return _records(request.config)


@pytest.fixture(scope="session")
def digests(request: pytest.FixtureRequest) -> Digests:
    """Return what the proofs depend on now."""
    return _digests_of(request.config)
