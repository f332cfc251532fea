"""Tell what decides on which layers hold: the kernel, its settings, and what this process may, is and runs from."""

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
    """Return all that decides on what a probe finds, as plain data, or None where some of it cannot be known.

    The settings of some kernels lack some of these files, which counts as a setting of its own.

    Args:
        probe: how the probe is started, as plain data.
        folders: what it and Python lie in: other users may enter them or not.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        status = dict(line.split(":", 1) for line in (_PROC / "self/status").read_text().splitlines())
        may = {name: status[name].split() for name in _STATUS}
        # What a filter refuses cannot be read, and the next process may have another one.
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
    """Return what a setting is, None where this kernel has none.

    Raises:
        OSError: it has one, and it cannot be read.
    """
    try:
        return path.read_text()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EINVAL):
            raise
        return None


def _owners(places: Iterable[str]) -> list[list[Any]]:
    """Return of these places and all folders above them whose they are and who may enter, those missing left out."""
    found = {}
    for real in {os.path.realpath(place) for place in places}:
        for path in (Path(real), *Path(real).parents):
            if path not in found and path.exists():
                about = path.stat()
                found[path] = [str(path), about.st_dev, about.st_mode, about.st_uid, about.st_gid]
    return [found[path] for path in sorted(found)]


def _sources() -> str:
    """Return a digest of this package: of what the layers do, and of what is tried."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.name} {len(source)}\n".encode() + source)
    return digest.hexdigest()
