"""Enter a tier's layers, in the order in which each still allows the next."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import (
    audit,
    landlock,
    mounts,
    namespaces,
    places,
    privileges,
    rlimits,
    seccomp,
)
from jaxguide.grading.isolation.syscalls import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, prctl
from jaxguide.grading.isolation.tier import (
    AUDIT_HOOK,
    CAPABILITIES,
    LANDLOCK,
    MOUNT_NAMESPACE,
    NAMESPACES,
    NO_NEW_PRIVILEGES,
    ORDINARY_USER,
    PID_NAMESPACE,
    RLIMITS,
    SECCOMP,
    USER_NAMESPACE,
    Tier,
)

SCRATCH_BYTES = 256 * 2**20
_KILL = 9


def enter_outer(tier: Tier, config: dict[str, Any]) -> None:
    """Prepare what a worker cannot do itself; in the worker's parent, right before it forks the worker.

    Where the tier has namespaces of processes, one more child of this process runs from now on, the first process
    there; when it ends, so does all that was started after it. This process itself stays outside and may wait.

    Args:
        tier: what `find_tier` returned.
        config: 'scratch', the folder that the worker may write to; `enter_inner` reads what is added here.

    Raises:
        OSError: a layer refuses.
    """
    if not sys.platform.startswith("linux"):
        return
    # The one of mounts is the worker's own affair: a change of root moves all who share it.
    wanted = [name for name in NAMESPACES if tier.uses(name) and name != MOUNT_NAMESPACE]
    privileged = privileges.may_mount()
    config["user"] = privileges.unused_user() if privileges.is_root() and tier.uses(ORDINARY_USER) else None
    config["threads"] = None
    config["users_last"] = privileged and USER_NAMESPACE in wanted
    if tier.uses(RLIMITS):
        has_own_count = config["user"] is not None or USER_NAMESPACE in wanted
        config["threads"] = rlimits.own_threads() if has_own_count else rlimits.shared_threads()
    if config["user"] is not None and not tier.uses(MOUNT_NAMESPACE):
        os.chown(config["scratch"], config["user"], config["user"])
    if privileged:
        # Root makes the others first: the mounts may then lead where only root may look. Its own users come last.
        namespaces.unshare(name for name in wanted if name != USER_NAMESPACE)
    elif wanted:
        if config["user"] is not None:
            privileges.become(config["user"])
            config["user"] = None
        namespaces.unshare(wanted)
    if PID_NAMESPACE in wanted:
        namespaces.start_init()


def enter_inner(tier: Tier, config: dict[str, Any]) -> None:
    """Enter every layer of the tier, for good; in the worker, before any thread and before JAX's backend.

    Afterwards the process holds no more than its user may, sees Python, the system's libraries and its scratch, and
    starts nothing but threads, as far as the tier's layers go.

    Args:
        tier: what `find_tier` returned.
        config: 'hidden', folders and files that must not be seen; 'scratch'; what `enter_outer` added; and perhaps
            'readable', more files and folders to be read, and 'scratch_bytes', how much the scratch may hold.

    Raises:
        OSError, LandlockMissing, SeccompMissing: a layer refuses, which the probe of `find_tier` did not see.
    """
    hidden = [Path(os.path.realpath(path)) for path in config["hidden"]]
    scratch = Path(config["scratch"])
    places.forget(hidden)
    if sys.platform.startswith("linux"):
        readable = [*places.readable(), *map(Path, config.get("readable", ()))]
        if tier.uses(LANDLOCK) or tier.uses(MOUNT_NAMESPACE):
            places.remember_folders()
        _enter_linux(tier, config, readable, places.touching(hidden, readable), scratch)
    elif tier.uses(RLIMITS):
        rlimits.limit_counts(None)
    if tier.uses(AUDIT_HOOK):
        audit.confine(hidden)


def _enter_linux(tier: Tier, config: dict[str, Any], readable: list[Path], hidden: list[Path], scratch: Path) -> None:
    parent, user = os.getppid(), config.get("user")
    if tier.uses(MOUNT_NAMESPACE):
        owner = os.geteuid() if user is None else user
        namespaces.unshare([MOUNT_NAMESPACE])
        mounts.enter(readable, hidden, scratch, int(config.get("scratch_bytes", SCRATCH_BYTES)), owner)
    if user is not None:
        privileges.become(user, tier.reads_as_root)
    if config.get("users_last"):
        namespaces.unshare([USER_NAMESPACE])
    if user is not None:
        prctl(PR_SET_PDEATHSIG, _KILL)  # which the change of user took off
        if os.getppid() != parent:
            os._exit(1)
    if tier.uses(CAPABILITIES):
        privileges.drop_capabilities(privileges.READING if tier.reads_as_root else 0)
    if tier.uses(RLIMITS):
        rlimits.limit_counts(config.get("threads"))
    if tier.uses(NO_NEW_PRIVILEGES):
        with contextlib.suppress(OSError):
            prctl(PR_SET_NO_NEW_PRIVS, 1)
    if tier.uses(LANDLOCK):
        landlock.confine(readable, [scratch, Path(os.devnull)], hidden)
    if tier.uses(SECCOMP):
        seccomp.confine()
