"""Describe what determines which layers hold: the kernel, its settings, and this process's rights and Python."""

import errno
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jaxguide.base.catalogues import languages
from jaxguide.grading.isolation import landlock

_PROC = Path("/proc")
_STATUS = (
    *("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"),
    "Seccomp_filters",
)
_SETTINGS = (
    *(f"user/max_{kind}_namespaces" for kind in ("user", "pid", "net", "ipc", "mnt", "uts")),
    *("kernel/unprivileged_userns_clone", "kernel/apparmor_restrict_unprivileged_userns"),
    *("kernel/apparmor_restrict_unprivileged_unconfined", "kernel/seccomp/actions_avail", "vm/overcommit_memory"),
)
_NO_FILTER = "0"


def circumstances(probe: Any, folders: Iterable[str]) -> dict[str, Any] | None:
    """Return everything that determines what a probe finds, as plain data, or None if some of it cannot be known.

    Not every kernel has all of these settings; a missing one counts as a value.

    Args:
        probe: how the probe is started, as plain data.
        folders: the folders of the probe and of Python, since other users may or may not be able to enter them.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        status = dict(line.split(":", 1) for line in (_PROC / "self/status").read_text().splitlines())
        may = {name: status[name].split() for name in _STATUS}
        # A process cannot read what its filter refuses, and the next process may have another filter.
        if may["Seccomp"] != [_NO_FILTER]:
            return None
        return {
            "boot": (_PROC / "sys/kernel/random/boot_id").read_text(),
            "kernel": list(os.uname()),
            "settings": {name: _text(_PROC / "sys" / name) for name in _SETTINGS},
            "landlock": landlock.version(),
            "may": may,
            "label": _text(_PROC / "self/attr/current"),
            "users": [(_PROC / "self" / name).read_text() for name in ("uid_map", "gid_map", "setgroups")],
            "namespaces": {path.name: os.readlink(path) for path in sorted((_PROC / "self/ns").iterdir())},
            "cgroup": (_PROC / "self/cgroup").read_text(),
            "limits": (_PROC / "self/limits").read_text(),
            "python": [sys.version, sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
            "folders": _owners([*folders, sys.executable, sys.prefix, sys.base_prefix, __file__]),
            "probe": probe,
            "languages": list(languages()),
            "sources": _sources(),
        }
    except (OSError, ValueError, KeyError):
        return None


def _text(path: Path) -> str | None:
    """Return the value of a setting, or None if this kernel does not have it.

    Raises:
        OSError: the setting exists but cannot be read.
    """
    try:
        return path.read_text()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EINVAL):
            raise
        return None


def _owners(places: Iterable[str]) -> list[list[Any]]:
    """Return the owner and mode of each of these places and of all folders above them, leaving out missing ones."""
    found = {}
    for real in {os.path.realpath(place) for place in places}:
        for path in (Path(real), *Path(real).parents):
            if path not in found and path.exists():
                about = path.stat()
                found[path] = [str(path), about.st_dev, about.st_mode, about.st_uid, about.st_gid]
    return [found[path] for path in sorted(found)]


def _sources() -> str:
    """Return a digest of this package's sources, which define the layers and the attempts."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.name} {len(source)}\n".encode() + source)
    return digest.hexdigest()
