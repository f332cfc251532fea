"""Find the best isolation tier that this machine allows, by trying its layers."""

import contextlib
import dataclasses
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import privileges
from jaxguide.grading.isolation.tier import (
    AUDIT_HOOK,
    LAYERS,
    MOUNT_NAMESPACE,
    NAMES,
    NAMESPACES,
    NEEDED,
    ORDINARY_USER,
    PID_NAMESPACE,
    PROCESS,
    RLIMITS,
    STRONG,
    USER_NAMESPACE,
    IsolationError,
    Layer,
    Tier,
)

_LIMIT_S = 120.0
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from jaxguide.grading.isolation.self_test import main; main()"
)
_ALL = (*LAYERS[STRONG], AUDIT_HOOK)
_Reply = dict[str, Any]


def find_tier(wanted: str | None = None) -> Tier:
    """Return the best tier that holds on this machine, as a self-test in processes of its own finds.

    A process enters all layers of `strong` and attempts what they must prevent. If it cannot enter a layer or an
    attempt succeeds, each layer is tried alone and each tier as a whole: what does not hold lowers the tier and says
    why. The result is kept as long as this process runs.

    Args:
        wanted: 'strong', 'medium' or 'process' to insist on that tier; None for the best.

    Raises:
        IsolationError: the wanted tier does not hold on this machine, or this process runs as root and cannot become
            an ordinary user.
        ValueError: there is no such tier.
    """
    if wanted is not None and wanted not in NAMES:
        raise ValueError(f"There is no tier `{wanted}`; choose strong, medium or process.")
    if wanted in (None, STRONG) and (strong := _strong()) is not None:
        return strong
    found = _found()
    usable = {tier.name: tier for tier in found}
    if wanted is None:
        return found[0]
    if wanted not in usable:
        missing = [x for x in found[0].layers if not x.holds and x.name in (*NEEDED[wanted], together(wanted))]
        message = "Isolation `{name}` does not hold on this machine. {reasons}. The best that holds is `{best}`."
        reasons = "; ".join(f"{layer.name}: {layer.why}" for layer in missing)
        raise IsolationError(message.format(name=wanted, reasons=reasons, best=find_tier().name))
    return usable[wanted]


def together(name: str) -> str:
    """Return the name of the pseudo-layer that represents all layers of a tier together."""
    return f"all of {name}"


@functools.cache
def _strong() -> Tier | None:
    """Return the tier `strong` if all its layers hold together."""
    if not sys.platform.startswith("linux"):
        return None
    tier = _whole(STRONG)
    (reply,) = _replies([(tier, LAYERS[STRONG])])
    return None if _leak(reply) or _hindrance(reply) else tier


@functools.cache
def _found() -> list[Tier]:
    """Return the tiers that hold, best first, after trying each and each layer alone."""
    if not sys.platform.startswith("linux"):
        return [_elsewhere()]
    wholes = [(name, False) for name in NAMES]
    if privileges.is_root():
        wholes += [(name, True) for name in NAMES if name != STRONG]
    requests: list[tuple[Tier, Sequence[str]]] = [(alone(name), [name]) for name in _ALL]
    requests += [(_whole(name, reading), LAYERS[name]) for name, reading in wholes]
    replies = _replies(requests)
    layers = [Layer(name, not (why := _leak(reply)), why) for name, reply in zip(_ALL, replies, strict=False)]
    troubles = dict(zip(wholes, (_leak(reply) or _hindrance(reply) for reply in replies[len(_ALL) :]), strict=True))
    held = {layer.name for layer in layers if layer.holds}
    found = []
    for name in NAMES:
        if not held.issuperset(NEEDED[name]):
            continue
        why, reads_as_root = troubles[name, False], False
        if why and troubles.get((name, True)) == "":
            why, reads_as_root = "", True
        if name == PROCESS:
            found.append((name, reads_as_root))
            break
        layers.append(Layer(together(name), not why, why))
        if not why:
            found.append((name, reads_as_root))
    if privileges.is_root() and ORDINARY_USER not in held:
        why = next(layer.why for layer in layers if layer.name == ORDINARY_USER)
        message = (
            "Grading runs as root and cannot run submissions as an ordinary user ({why}), so they would run as root "
            "too. Run it as an ordinary user."
        )
        raise IsolationError(message.format(why=why))
    return [Tier(name, tuple(_remarked(layers, name) if reading else layers), reading) for name, reading in found]


def _whole(name: str, reads_as_root: bool = False) -> Tier:
    return Tier(name, tuple(Layer(layer, True) for layer in LAYERS[name]), reads_as_root)


def _remarked(layers: list[Layer], name: str) -> list[Layer]:
    remark = "it may look into root's folders that Landlock shows, because Python is in one"
    if name == PROCESS:
        remark = "it may read every file, because Python is in one of root's folders"
    return [dataclasses.replace(x, why=remark) if x.name == ORDINARY_USER else x for x in layers]


def alone(name: str) -> Tier:
    """Return a tier of one layer and the layers without which it cannot be entered."""
    names = {name}
    if name == MOUNT_NAMESPACE:
        names.add(PID_NAMESPACE)
    if names & set(NAMESPACES) and not privileges.may_mount():
        names.add(USER_NAMESPACE)
    return Tier(PROCESS if name == AUDIT_HOOK else STRONG, tuple(Layer(x, True) for x in _ALL if x in names))


def _leak(reply: _Reply) -> str:
    """Return why a layer does not hold, or '' if everything was prevented."""
    if reply["error"]:
        return str(reply["error"])
    came_through = [name.replace("_", " ") for name, how in reply["fails"].items() if not how]
    return "not prevented: {names}".format(names=", ".join(came_through)) if came_through else ""


def _hindrance(reply: _Reply) -> str:
    """Return what honest code could not do, or '' if it could do everything."""
    hindered = [f"{name.replace('_', ' ')} ({how})" for name, how in reply["works"].items() if how]
    return "honest code cannot: {names}".format(names=", ".join(hindered)) if hindered else ""


def _elsewhere() -> Tier:
    """Return the tier of systems other than Linux."""
    if privileges.is_root():
        raise IsolationError("Grading runs as root, so submissions would too. Run it as an ordinary user.")
    why = "only Linux has it"
    here = (RLIMITS, AUDIT_HOOK) if os.name == "posix" else (AUDIT_HOOK,)
    layers = [Layer(name, name in here, "" if name in here else why) for name in _ALL if name != ORDINARY_USER]
    return Tier(PROCESS, (*layers, Layer(ORDINARY_USER, True)))


def _replies(requests: Sequence[tuple[Tier, Sequence[str]]]) -> list[_Reply]:
    """Return the self-test's reply for each of these tiers, with the layers whose attempts to make.

    See `self_test.attempts_in`.
    """
    top = str(Path(__file__).parents[3])
    places = [top, *(entry for entry in sys.path if entry and entry != top)]
    kept = ("TMPDIR", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-P", "-c", _BOOT, json.dumps(places)],
            input=json.dumps([(tier.to_plain(), list(layers)) for tier, layers in requests]),
            capture_output=True,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    else:
        with contextlib.suppress(json.JSONDecodeError):
            replies: list[_Reply] = json.loads(done.stdout)
            return replies
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it printed nothing"
    return [{"error": f"the self-test did not run: {said}"}] * len(requests)
