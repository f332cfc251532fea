"""Identify the state of a course and the JAX version, so that stored results are reused only for the same state."""

import hashlib

import jax

from jaxguide.course.books import digest
from jaxguide.course.books.library import Course


def course_state_digest(course: Course) -> str:
    """Return a digest of a course's contracts, checks and keys, and of the JAX version.

    Hidden inputs derive from the digest without the version, so another JAX draws the same inputs.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(f"jax {jax.__version__}\n{digest.course_digest(course)}".encode()).hexdigest()
