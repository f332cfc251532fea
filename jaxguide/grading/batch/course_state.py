"""Identify the state of a course and the JAX version, so that stored results are reused only for the same state."""

import hashlib

import jax

from jaxguide.course.books import digest
from jaxguide.course.books.library import Course
from jaxguide.course.requirements import pinned


def course_state_digest(course: Course, lessons: frozenset[str] | None = None) -> str:
    """Return a digest of all in a course that affects marks, and of the versions of JAX and of what it requires.

    Hidden inputs derive from the digest without the versions, so another JAX draws the same inputs.

    Args:
        course: the course.
        lessons: the lessons that matter; by default all.

    Returns:
        64 hexadecimal digits.
    """
    versions = "".join(f"{one}\n" for one in sorted(pinned(course.settings).values()))
    return hashlib.sha256(
        f"jax {jax.__version__}\n{versions}{digest.course_digest(course, lessons)}".encode()
    ).hexdigest()
