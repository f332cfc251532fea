"""Test that isolation prevents what it must and leaves honest code alone, and that no part of it is idle."""

import os
import sys
import types

import kernel_attempts
import pytest
from kernel_attempts import FORBIDDEN, LIMITS, MUST_WORK, outcomes
from needs import lacks

from jaxguide.grading.isolation import landlock
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import LANDLOCK, SECCOMP, UNPRIVILEGED, Isolation

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")

# What some systems refuse to unprivileged users anyway.
NEEDS_ROOT = {"be root", "hold a capability", "mount something"}


@pytest.fixture
def complete() -> Isolation:
    found = find_isolation()
    return lacks("; ".join(found.missing)) if found.missing else found


def came_through(found: dict) -> set[str]:
    return {attempt for attempt, how in found["fails"].items() if not how}


def hindered(found: dict) -> dict[str, str]:
    return {attempt: how for attempt, how in found["works"].items() if how}


def test_it_prevents_everything_and_hinders_nothing(complete: Isolation) -> None:
    found = outcomes(complete)
    assert (came_through(found), hindered(found)) == (set(), {})
    assert len(found["fails"]) == sum(map(len, FORBIDDEN.values()))


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_alone_prevents_what_it_must(complete: Isolation, part: str) -> None:
    found = outcomes(Isolation(() if part == LIMITS else (part,), reads_as_root=complete.reads_as_root), part)
    assert (came_through(found), hindered(found)) == (set(), {})


def test_without_isolation_each_attempt_comes_through() -> None:
    found = outcomes(Isolation(()))
    limited = {attempt.__name__.replace("_", " ") for attempt in FORBIDDEN[LIMITS]}
    refused = NEEDS_ROOT if os.geteuid() else set()
    assert found["fails"].keys() - came_through(found) - refused == limited


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_versions_of_landlock_are_enough(complete: Isolation, version: int) -> None:
    if landlock.version() < version:
        lacks(f"a kernel with version {version} of Landlock")
    # Without another user, the hidden file belongs to the user of the attempts.
    found = outcomes(Isolation((LANDLOCK, SECCOMP)), landlock_version=version)
    of_user = {attempt.__name__.replace("_", " ") for attempt in FORBIDDEN[UNPRIVILEGED]}
    assert came_through(found) <= of_user
    assert hindered(found) == {}


def test_every_attempt_is_made() -> None:
    made = {attempt for some in (*FORBIDDEN.values(), MUST_WORK) for attempt in some}
    ours = {value for value in vars(kernel_attempts).values() if isinstance(value, types.FunctionType)}
    defined = {one for one in ours if one.__module__ == kernel_attempts.__name__ and not one.__name__.startswith("_")}
    assert defined - made == {kernel_attempts.main, outcomes}
