"""Tell one state of a course on one JAX from another: what the results of a batch are kept under."""

import hashlib

import jax

from jaxguide.course.books import digest
from jaxguide.course.books.library import Course


def course_state_digest(course: Course) -> str:
    """Return a digest of a course's contracts, checks and keys, and of the JAX version that they run on.

    Hidden inputs derive from the digest without the version, so that they can be drawn again on another JAX.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(f"jax {jax.__version__}\n{digest.course_digest(course)}".encode()).hexdigest()
