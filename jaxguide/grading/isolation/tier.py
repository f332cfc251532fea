"""What keeps submissions from the rest of the machine: tiers of layers, each with whether it holds and why not."""

import dataclasses
from typing import Any

from jaxguide.base.text import _

STRONG, MEDIUM, PROCESS = "strong", "medium", "process"
NAMES = (STRONG, MEDIUM, PROCESS)

USER_NAMESPACE, PID_NAMESPACE, NET_NAMESPACE = "user namespace", "pid namespace", "net namespace"
IPC_NAMESPACE, MOUNT_NAMESPACE = "ipc namespace", "mount namespace"
ORDINARY_USER, CAPABILITIES, NO_NEW_PRIVILEGES = "ordinary user", "capabilities", "no new privileges"
LANDLOCK, SECCOMP, RLIMITS, AUDIT_HOOK = "landlock", "seccomp", "rlimits", "audit hook"

NAMESPACES = (USER_NAMESPACE, PID_NAMESPACE, NET_NAMESPACE, IPC_NAMESPACE, MOUNT_NAMESPACE)
_EVERYWHERE = (ORDINARY_USER, CAPABILITIES, NO_NEW_PRIVILEGES, SECCOMP, RLIMITS)
# What each tier consists of. `process` takes what it can get: only `NEEDED` decides which tier it is.
LAYERS = {
    STRONG: (*NAMESPACES, *_EVERYWHERE, LANDLOCK),
    MEDIUM: (*_EVERYWHERE, LANDLOCK),
    PROCESS: (*_EVERYWHERE, AUDIT_HOOK),
}
NEEDED = {**LAYERS, PROCESS: ()}


class IsolationError(Exception):
    """Submissions cannot be run here as asked; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """One thing that holds a submission off.

    Args:
        name: such as 'seccomp'; the names are this module's.
        holds: a probe tried on this machine what it must prevent, and failed.
        why: where it does not hold, what happened; otherwise a remark or nothing.
    """

    name: str
    holds: bool
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Tier:
    """How well submissions are kept apart from everything else on this machine.

    >>> tier = Tier("medium", (Layer("landlock", True), Layer("pid namespace", False, "refused here")))
    >>> tier.uses("landlock"), tier.uses("pid namespace")
    (True, False)
    >>> Tier.from_plain(tier.to_plain()) == tier
    True
    >>> print(tier)
    medium: landlock (not holding: pid namespace: refused here)

    Args:
        name: 'strong', 'medium' or 'process'.
        layers: all that were tried, those of better tiers too.
        reads_as_root: started by root, and Python lies where only root may look: workers keep the right to read, not
            to write, whatever Landlock lets them see.
    """

    name: str
    layers: tuple[Layer, ...]
    reads_as_root: bool = False

    def uses(self, name: str) -> bool:
        """Return whether workers of this tier enter this layer."""
        return name in LAYERS[self.name] and any(layer.name == name and layer.holds for layer in self.layers)

    def without(self, *names: str) -> "Tier":
        """Return this tier with some layers switched off, for tests of what they prevent."""
        off = [Layer(x.name, False, _("switched off")) if x.name in names else x for x in self.layers]
        return dataclasses.replace(self, layers=tuple(off))

    @property
    def asks_for_trust(self) -> bool:
        """Whether nothing keeps a submission from the key and the disk, so that `--trust-submissions` is needed."""
        return self.name == PROCESS

    @property
    def reasons(self) -> list[str]:
        """Return a line for each layer that does not hold: its name and why."""
        return [f"{layer.name}: {layer.why}" for layer in self.layers if not layer.holds]

    @property
    def remarks(self) -> list[str]:
        """Return a line for each layer in use that has something to be said of it."""
        return [f"{layer.name}: {layer.why}" for layer in self.layers if self.uses(layer.name) and layer.why]

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, list, str and bool only."""
        return dataclasses.asdict(self) | {"layers": [dataclasses.asdict(layer) for layer in self.layers]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Tier":
        """Return the tier that `to_plain` wrote down."""
        layers = tuple(Layer(str(x["name"]), bool(x["holds"]), str(x["why"])) for x in plain["layers"])
        return cls(str(plain["name"]), layers, bool(plain["reads_as_root"]))

    def __str__(self) -> str:
        used = ", ".join(layer.name for layer in self.layers if self.uses(layer.name)) or _("no layer")
        line = f"{self.name}: {used}"
        if self.reasons:
            line += " " + _("(not holding: {reasons})").format(reasons="; ".join(self.reasons))
        return line
