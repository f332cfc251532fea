"""Enter a tier's layers, in an order in which each still allows the next."""

import os
import sys
from pathlib import Path
from typing import Any

from jaxguide.grading.isolation import audit, landlock, mounts, namespaces, privileges, rlimits, seccomp, visible_paths
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
    """Enter the layers that the worker's parent must enter, right before it forks the worker.

    If the tier has a pid namespace, this also starts a child, the first process in that namespace; when it ends, so do
    all processes started in it later. This process itself stays outside and can wait for the worker.

    Args:
        tier: what `find_tier` returned.
        config: contains 'scratch', the folder that the worker may write to; what `enter_inner` needs is added.

    Raises:
        OSError: the system refuses a layer.
    """
    if not sys.platform.startswith("linux"):
        return
    # The worker makes its own mount namespace, since a change of root affects every process that shares one.
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
        # Root makes the user namespace last, so that mounts can still include folders that only root may enter.
        namespaces.unshare(name for name in wanted if name != USER_NAMESPACE)
    elif wanted:
        if config["user"] is not None:
            privileges.become(config["user"])
            config["user"] = None
        namespaces.unshare(wanted)
    if PID_NAMESPACE in wanted:
        namespaces.start_init()


def enter_inner(tier: Tier, config: dict[str, Any]) -> None:
    """Enter all layers of the tier, irrevocably, in the worker, before it starts threads and JAX's backend.

    As far as the tier's layers provide, the process then has no special rights, sees only Python, the system's
    libraries and its scratch folder, and can start nothing but threads.

    Args:
        tier: what `find_tier` returned.
        config: 'hidden', the folders and files that must not be seen; 'scratch'; what `enter_outer` added; and
            optionally 'unlisted', folders whose files can be opened by name but not listed, 'scratch_bytes', the size
            limit of the scratch, 'cpu_s', processor time after which the system kills it, and 'landlock_version', the
            newest that is used.

    Raises:
        OSError, LandlockMissing, SeccompMissing: the system refuses a layer that the self-test could enter.
    """
    hidden = [Path(os.path.realpath(path)) for path in config["hidden"]]
    scratch = Path(config["scratch"])
    visible_paths.forget(hidden)
    if sys.platform.startswith("linux"):
        readable, unlisted = visible_paths.readable(), [Path(folder) for folder in config.get("unlisted", ())]
        if tier.uses(LANDLOCK) or tier.uses(MOUNT_NAMESPACE):
            visible_paths.remember_folders()
        touching = visible_paths.touching(hidden, [*readable, *unlisted])
        _enter_linux(tier, config, readable, unlisted, touching, scratch)
    elif tier.uses(RLIMITS):
        rlimits.limit_counts(None, config.get("cpu_s"))
    if tier.uses(AUDIT_HOOK):
        audit.add_audit_hook(hidden)


def _enter_linux(
    tier: Tier, config: dict[str, Any], readable: list[Path], unlisted: list[Path], hidden: list[Path], scratch: Path
) -> None:
    parent, user = os.getppid(), config.get("user")
    if tier.uses(MOUNT_NAMESPACE):
        owner = os.geteuid() if user is None else user
        namespaces.unshare([MOUNT_NAMESPACE])
        mounts.enter([*readable, *unlisted], hidden, scratch, int(config.get("scratch_bytes", SCRATCH_BYTES)), owner)
    if user is not None:
        privileges.become(user, tier.reads_as_root)
    if config.get("users_last"):
        namespaces.unshare([USER_NAMESPACE])
    if user is not None:
        prctl(PR_SET_PDEATHSIG, _KILL)  # the change of user cleared it
        if os.getppid() != parent:
            os._exit(1)
    if tier.uses(CAPABILITIES):
        privileges.drop_capabilities(privileges.READING if tier.reads_as_root else 0)
    if tier.uses(RLIMITS):
        rlimits.limit_counts(config.get("threads"), config.get("cpu_s"))
    if tier.uses(NO_NEW_PRIVILEGES):
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    if tier.uses(LANDLOCK):
        writable = [scratch, Path(os.devnull)]
        landlock.restrict_files(readable, unlisted, writable, hidden, config.get("landlock_version"))
    if tier.uses(SECCOMP):
        seccomp.filter_calls()
