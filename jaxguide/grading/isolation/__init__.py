"""Isolate a submission's process from the key, the disk, the network and all other processes."""

from jaxguide.grading.isolation.enter import enter_inner, enter_outer
from jaxguide.grading.isolation.rlimits import limit
from jaxguide.grading.isolation.tier import MEDIUM, NAMES, PROCESS, STRONG, IsolationError, Layer, Tier
from jaxguide.grading.isolation.tier_search import find_tier

__all__ = [
    "MEDIUM",
    "NAMES",
    "PROCESS",
    "STRONG",
    "IsolationError",
    "Layer",
    "Tier",
    "enter_inner",
    "enter_outer",
    "find_tier",
    "limit",
]
