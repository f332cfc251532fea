"""Make all attempts in layers: a clean process forks children, which enter the layers."""

import contextlib
import ctypes
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import kernel_attempts
from kernel_attempts import MUST_FAIL, MUST_WORK, KernelTargets

from jaxguide.grading.isolation.self_test import attempts_in, new_targets
from jaxguide.grading.isolation.tier import Tier

_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from kernel_probe import main; main()"
_CREATE, _REMOVE = 0o1000, 0


def try_layers(requests: Sequence[tuple[Tier, Sequence[str]]], **config: Any) -> list[dict[str, Any]]:
    """Enter tiers in separate processes, and attempt there what some layers must prevent.

    Args:
        requests: tiers, each with the layers whose attempts to make.
        config: more for `enter_inner`, such as 'landlock_version'.

    Returns:
        For each request, what `self_test.attempts_in` returned.
    """
    places = json.dumps([place for place in sys.path if place])
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", _BOOT, places],
        input=json.dumps([config, [(tier.to_plain(), list(layers)) for tier, layers in requests]]),
        capture_output=True,
        text=True,
        env={"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tempfile.gettempdir(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    replies: list[dict[str, Any]] = json.loads(done.stdout)
    return replies


def main() -> None:
    config, requests = json.load(sys.stdin)
    replies = []
    with _targets() as targets:
        for tier, layers in requests:
            forbidden = list(dict.fromkeys(attempt for layer in layers for attempt in MUST_FAIL[layer]))
            more = {"scratch_bytes": kernel_attempts.SCRATCH_BYTES, **config}
            replies.append(attempts_in(Tier.from_plain(tier), forbidden, MUST_WORK, targets, **more))
    print(json.dumps(replies))


@contextlib.contextmanager
def _targets() -> Iterator[KernelTargets]:
    libc = ctypes.CDLL(None, use_errno=True)
    key = int.from_bytes(os.urandom(3), "big") + 1
    memory = libc.shmget(key, 4096, _CREATE | 0o666)
    try:
        with new_targets() as targets:
            namespace = os.readlink("/proc/self/ns/user")
            yield KernelTargets(
                **dataclasses.asdict(targets), message_key=key, user_namespace=namespace, root=kernel_attempts.root()
            )
    finally:
        if memory >= 0:
            libc.shmctl(memory, _REMOVE, None)
