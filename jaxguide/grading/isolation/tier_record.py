"""Record the tiers found for this user's next commands, in a file that only this user writes and no worker sees.

A record that is odd in any way is ignored: all layers are tried again, and a new record replaces it.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.files import user_folder, write_whole
from jaxguide.grading.isolation import landlock
from jaxguide.grading.isolation.tier import MEDIUM, NAMES, NEEDED, STRONG, Tier

_MODE = 0o600
_BYTES_LIMIT = 2**16
_TEXT_LIMIT = 2**12
_TIER_FIELDS, _LAYER_FIELDS = {"name", "layers", "reads_as_root"}, {"name", "holds", "why"}


def record_path() -> Path | None:
    """Return the path of the record, whether or not it exists, or None if this user has no home folder."""
    with contextlib.suppress(RuntimeError):
        return user_folder() / "isolation.json"
    return None


def read(circumstances: dict[str, Any]) -> list[Tier]:
    """Return the tiers that were found in exactly these circumstances, best first, or none if there is any doubt.

    Args:
        circumstances: what determines the tiers, as plain data.
    """
    path = record_path()
    try:
        kept = json.loads(_own_text(path)) if path is not None else None
        if not isinstance(kept, dict) or kept.keys() != {"tiers", "digest"}:
            return []
        if kept["digest"] != _digest(circumstances, kept["tiers"]) or not _is_well_formed(kept["tiers"]):
            return []
        return [Tier.from_plain(plain) for plain in kept["tiers"]]
    except (OSError, ValueError, RecursionError):
        return []


def write(circumstances: dict[str, Any], tiers: Sequence[Tier]) -> None:
    """Record tiers for `read`, if the disk allows.

    Args:
        circumstances: what determines the tiers, as plain data.
        tiers: the tiers, best first. If the best is below `medium`, nothing is recorded, because submissions could
            change the record.
    """
    path, plain = record_path(), [tier.to_plain() for tier in tiers]
    if path is None or not _is_well_formed(plain):
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = path.parent.lstat()
        # If root grades with another user's home folder, write nothing there.
        if stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.geteuid():
            text = json.dumps({"digest": _digest(circumstances, plain), "tiers": plain}, indent=1)
            write_whole(path, text + "\n", mode=_MODE)


def discard() -> None:
    """Delete a record that does not fit what happens, so that all layers are tried again."""
    path = record_path()
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()


def _own_text(path: Path) -> str:
    """Return the content of a small file that only this user can read and write.

    Raises:
        OSError: it is something else, or cannot be read.
        ValueError: it is not text.
    """
    # Do not follow a link, and do not wait for a writer if it is a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        is_own = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
        if not is_own or stat.S_IMODE(about.st_mode) != _MODE or about.st_size > _BYTES_LIMIT:
            raise PermissionError("not a small file that is this user's alone")
        return file.read(_BYTES_LIMIT + 1).decode("utf-8")


def _digest(circumstances: dict[str, Any], tiers: Any) -> str:
    """Return a digest that ties tiers to the circumstances they were found in."""
    return hashlib.sha256(json.dumps([circumstances, tiers], sort_keys=True).encode()).hexdigest()


def _is_well_formed(tiers: Any) -> bool:
    """Return whether the data is a list of tiers as `find_tier` records it, with `strong` or `medium` as the best."""
    if not isinstance(tiers, list) or not all(isinstance(tier, dict) and _is_tier(tier) for tier in tiers):
        return False
    names = [tier["name"] for tier in tiers]
    return names == [name for name in NAMES if name in names] and names[:1] in ([STRONG], [MEDIUM])


def _is_tier(plain: dict[str, Any]) -> bool:
    if plain.keys() != _TIER_FIELDS or plain["name"] not in NAMES or type(plain["reads_as_root"]) is not bool:
        return False
    layers = plain["layers"]
    if not isinstance(layers, list | tuple) or not all(isinstance(one, dict) and _is_layer(one) for one in layers):
        return False
    held = {layer["name"] for layer in layers if layer["holds"]}
    return held.issuperset(NEEDED[plain["name"]])


def _is_layer(plain: dict[str, Any]) -> bool:
    if plain.keys() != _LAYER_FIELDS or type(plain["holds"]) is not bool:
        return False
    return all(type(plain[name]) is str and len(plain[name]) <= _TEXT_LIMIT for name in ("name", "why"))


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
