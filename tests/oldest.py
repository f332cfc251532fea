"""What `make test` leaves to `make test-long` on the oldest Python, and so with the oldest JAX.

Most of what these tests take is compiling. With the newest JAX all of them run.
"""

import sys

import pytest

LONG_THERE = [pytest.mark.long] if sys.version_info < (3, 12) else []
