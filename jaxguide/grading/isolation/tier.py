"""Define the isolation tiers and their layers, each with whether it holds on this machine and if not, why."""

import dataclasses
from typing import Any

STRONG, MEDIUM, PROCESS = "strong", "medium", "process"
NAMES = (STRONG, MEDIUM, PROCESS)

USER_NAMESPACE, PID_NAMESPACE, NET_NAMESPACE = "user namespace", "pid namespace", "net namespace"
IPC_NAMESPACE, MOUNT_NAMESPACE = "ipc namespace", "mount namespace"
ORDINARY_USER, CAPABILITIES, NO_NEW_PRIVILEGES = "ordinary user", "capabilities", "no new privileges"
LANDLOCK, SECCOMP, RLIMITS, AUDIT_HOOK = "landlock", "seccomp", "rlimits", "audit hook"

NAMESPACES = (USER_NAMESPACE, PID_NAMESPACE, NET_NAMESPACE, IPC_NAMESPACE, MOUNT_NAMESPACE)
_EVERYWHERE = (ORDINARY_USER, CAPABILITIES, NO_NEW_PRIVILEGES, SECCOMP, RLIMITS)
# The layers of each tier. `NEEDED` decides whether a tier holds; `process` uses whichever of its layers hold.
LAYERS = {
    STRONG: (*NAMESPACES, *_EVERYWHERE, LANDLOCK),
    MEDIUM: (*_EVERYWHERE, LANDLOCK),
    PROCESS: (*_EVERYWHERE, AUDIT_HOOK),
}
NEEDED = {**LAYERS, PROCESS: ()}


class IsolationError(Exception):
    """Submissions cannot be isolated as requested on this machine; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """One protection against submissions.

    Args:
        name: one of this module's names of layers, such as 'seccomp'.
        holds: whether the self-test entered it on this machine and attempted in vain what the layer must prevent.
        why: what happened if it does not hold; otherwise a remark, or ''.
    """

    name: str
    holds: bool
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Tier:
    """How well submissions are isolated on this machine.

    >>> tier = Tier("medium", (Layer("landlock", True), Layer("pid namespace", False, "refused here")))
    >>> tier.uses("landlock"), tier.uses("pid namespace")
    (True, False)
    >>> Tier.from_plain(tier.to_plain()) == tier
    True
    >>> print(tier)
    medium: landlock (not holding: pid namespace: refused here)

    Args:
        name: 'strong', 'medium' or 'process'.
        layers: all layers that were tried, including those of better tiers.
        reads_as_root: root grades, and Python is in a folder that only root may enter: workers keep the right to read,
            but not to write, whatever Landlock lets them see.
    """

    name: str
    layers: tuple[Layer, ...]
    reads_as_root: bool = False

    def uses(self, name: str) -> bool:
        """Return whether workers of this tier enter this layer."""
        return name in LAYERS[self.name] and any(layer.name == name and layer.holds for layer in self.layers)

    @property
    def asks_for_trust(self) -> bool:
        """Whether a submission could reach the key and the disk, so that `--trust-submissions` is needed."""
        return self.name == PROCESS

    @property
    def reasons(self) -> list[str]:
        """Return a line for each layer that does not hold: its name and why."""
        return [f"{layer.name}: {layer.why}" for layer in self.layers if not layer.holds]

    @property
    def remarks(self) -> list[str]:
        """Return a line for each active layer that has a note: its name and the note."""
        return [f"{layer.name}: {layer.why}" for layer in self.layers if self.uses(layer.name) and layer.why]

    def to_plain(self) -> dict[str, Any]:
        """Return this tier as dicts, lists, strings and booleans."""
        return dataclasses.asdict(self) | {"layers": [dataclasses.asdict(layer) for layer in self.layers]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Tier":
        """Return the tier that `to_plain` described."""
        layers = tuple(Layer(str(x["name"]), bool(x["holds"]), str(x["why"])) for x in plain["layers"])
        return cls(str(plain["name"]), layers, bool(plain["reads_as_root"]))

    def __str__(self) -> str:
        used = ", ".join(layer.name for layer in self.layers if self.uses(layer.name)) or "no layer"
        line = f"{self.name}: {used}"
        if self.reasons:
            line += " " + "(not holding: {reasons})".format(reasons="; ".join(self.reasons))
        return line
