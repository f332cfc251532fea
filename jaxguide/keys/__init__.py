"""See how a program uses its PRNG keys, and where it uses one twice."""

from jaxguide.keys.observe import key_use
from jaxguide.keys.record import KeyProblem, KeyUse, Use

__all__ = ["KeyProblem", "KeyUse", "Use", "key_use"]
