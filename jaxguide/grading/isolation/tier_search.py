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

from jaxguide.base.text import _
from jaxguide.grading.isolation import privileges, tier_record
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
from jaxguide.grading.isolation.tier_record import circumstances

_PROBE_LIMIT_S = 120.0
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);from jaxguide.grading.isolation.probe import main; main()"
)
_ALL = (*LAYERS[STRONG], AUDIT_HOOK)
_Reply = dict[str, Any]


def find_tier(wanted: str | None = None, anew: bool = False) -> Tier:
    """Return the best tier that holds on this machine, after trying each of its layers in a real process.

    In each layer, the probe attempts what the layer must prevent. A layer that does not hold lowers the tier and says
    why. This takes a few tenths of a second. The result is kept for this user's next processes, until anything changes
    that it depends on.

    Args:
        wanted: 'strong', 'medium' or 'process' to insist on that tier; None for the best.
        anew: try everything again, even if a result was kept.

    Raises:
        IsolationError: the wanted tier does not hold on this machine, or this process runs as root and cannot become
            an ordinary user.
        ValueError: there is no such tier.
    """
    if wanted is not None and wanted not in NAMES:
        raise ValueError(_("There is no tier `{name}`; choose strong, medium or process.").format(name=wanted))
    if anew:
        _found.cache_clear()
    found = _found(anew)
    usable = {tier.name: tier for tier in found}
    if wanted is None:
        return found[0]
    if wanted not in usable:
        missing = [x for x in found[0].layers if not x.holds and x.name in (*NEEDED[wanted], together(wanted))]
        message = _("Isolation `{name}` does not hold on this machine. {reasons}. The best that holds is `{best}`.")
        reasons = "; ".join(f"{layer.name}: {layer.why}" for layer in missing)
        raise IsolationError(message.format(name=wanted, reasons=reasons, best=found[0].name))
    return usable[wanted]


def together(name: str) -> str:
    """Return the name of the pseudo-layer that represents all layers of a tier together."""
    return f"all of {name}"


@functools.cache
def _found(anew: bool) -> list[Tier]:
    """Return the tiers that hold, best first: the recorded ones, or else those of a probe, recorded if it is sure."""
    if not sys.platform.startswith("linux"):
        return [_elsewhere()]
    before = now()
    found = [] if anew or before is None else tier_record.read(before)
    if not found:
        found, is_sure = _probed()
        if before is not None and is_sure:
            tier_record.write(before, found)
    return found


def now() -> dict[str, Any] | None:
    """Return everything that determines what a probe finds, as plain data, or None if some of it cannot be known."""
    return circumstances([_command(), _environment()], [tempfile.gettempdir(), *_path()])


def _probed() -> tuple[list[Tier], bool]:
    """Return the tiers that hold, best first, and whether another probe would give the same result.

    It might not if the machine was short of something.
    """
    wholes = [(name, False) for name in NAMES]
    if privileges.is_root():
        wholes += [(name, True) for name in NAMES if name != STRONG]
    requests: list[tuple[Tier, Sequence[str]]] = [(alone(name), [name]) for name in _ALL]
    for name, reading in wholes:
        requests.append((Tier(name, tuple(Layer(layer, True) for layer in LAYERS[name]), reading), LAYERS[name]))
    replies = try_layers(requests)
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
        message = _(
            "Grading runs as root and cannot run submissions as an ordinary user ({why}), so they would run as root "
            "too. Run it as an ordinary user."
        )
        raise IsolationError(message.format(why=why))
    tiers = [Tier(name, tuple(_remarked(layers, name) if reading else layers), reading) for name, reading in found]
    return tiers, not any(reply["doubts"] for reply in replies)


def _remarked(layers: list[Layer], name: str) -> list[Layer]:
    remark = _("it may look into root's folders that Landlock shows, because Python is in one")
    if name == PROCESS:
        remark = _("it may read every file, because Python is in one of root's folders")
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
    return _("not prevented: {names}").format(names=", ".join(came_through)) if came_through else ""


def _hindrance(reply: _Reply) -> str:
    """Return what honest code could not do, or '' if it could do everything."""
    hindered = [f"{name.replace('_', ' ')} ({how})" for name, how in reply["works"].items() if how]
    return _("honest code cannot: {names}").format(names=", ".join(hindered)) if hindered else ""


def _elsewhere() -> Tier:
    """Return the tier of systems other than Linux."""
    if privileges.is_root():
        raise IsolationError(_("Grading runs as root, so submissions would too. Run it as an ordinary user."))
    why = _("only Linux has it")
    here = (RLIMITS, AUDIT_HOOK) if os.name == "posix" else (AUDIT_HOOK,)
    layers = [Layer(name, name in here, "" if name in here else why) for name in _ALL if name != ORDINARY_USER]
    return Tier(PROCESS, (*layers, Layer(ORDINARY_USER, True)))


def try_layers(requests: Sequence[tuple[Tier, Sequence[str]]], landlock_version: int | None = None) -> list[_Reply]:
    """Enter tiers in separate processes, and attempt there what some layers must prevent.

    Args:
        requests: tiers, each with the layers whose attempts to make.
        landlock_version: the newest version of Landlock to use, as on an older kernel; tests set it.

    Returns:
        For each request: 'error', why the tier could not be entered, or None; 'works' and 'fails', for each attempt how
        it was prevented, '' if it succeeded; 'doubts', what may turn out differently next time.
    """
    asked = json.dumps(
        [
            {"tier": tier.to_plain(), "attempts": list(layers), "landlock_version": landlock_version}
            for tier, layers in requests
        ]
    )
    try:
        done = subprocess.run(
            _command(),
            input=asked,
            capture_output=True,
            text=True,
            env=_environment(),
            cwd=tempfile.gettempdir(),
            timeout=_PROBE_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    else:
        with contextlib.suppress(json.JSONDecodeError):
            replies: list[_Reply] = json.loads(done.stdout)
            return replies
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else _("it printed nothing")
    return [{"error": _("the probe did not run: {said}").format(said=said), "doubts": [said]}] * len(requests)


def _command() -> list[str]:
    return [sys.executable, "-s", "-P", "-c", _BOOT, json.dumps(_path())]


def _path() -> list[str]:
    top = str(Path(__file__).parents[3])
    return [top, *(entry for entry in sys.path if entry and entry != top)]


def _environment() -> dict[str, str]:
    kept = ("TMPDIR", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    return environment | {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
