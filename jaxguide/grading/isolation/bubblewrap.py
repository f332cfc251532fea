"""Start the process that workers are forked from inside bubblewrap, where that is installed: one more wall around all.

It sees Python and the system's libraries, read only, and nothing of anybody's: no home, no key, no results, no network,
no other processes. What each worker enters by itself holds inside of it. See https://github.com/containers/bubblewrap.
"""

import dataclasses
import functools
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jaxguide.grading.isolation import mounts, places, privileges
from jaxguide.grading.isolation.find import hindrance, leak, try_layers
from jaxguide.grading.isolation.tier import BUBBLEWRAP, LAYERS, STRONG, Layer, Tier
from jaxguide.grading.processes import command, import_folders
from jaxguide.text import _

# It ends with the grader's thread that started it; the zygote is the first process in there, with which all others end.
_ALWAYS = ("--die-with-parent", "--new-session", "--as-pid-1", "--proc", "/proc", "--dev", "/dev")
# What root needs for putting workers into namespaces, making them ordinary users, their folders, and ending them.
_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL")
_TEMPORARY = "/tmp"


@functools.lru_cache(maxsize=16)  # it is asked for each worker, and of a class there are many files to hide
def around(readable: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Return what to put before a command so that it runs inside bubblewrap; nothing where that is not installed.

    Args:
        readable: more files and folders to be seen.
        hidden: what stays out of sight although it lies below something that is seen.
    """
    program = shutil.which("bwrap")
    if program is None:
        return ()
    shown = [Path(sys.executable), *places.readable(_importable()), *readable]
    temporary = os.path.realpath(tempfile.gettempdir())
    seen = _seen(shown, [os.path.realpath(path) for path in hidden], (_TEMPORARY, temporary))
    return (program, *_namespaces(), *_ALWAYS, *seen, "--chdir", temporary, "--")


def _importable() -> list[str]:
    """Return folders to import from, but for a clone's, where keys and results may lie beside the package."""
    beside = {os.path.realpath(folder) for folder in places.clone()}
    own = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    return [folder for folder in (*import_folders(), *own) if os.path.realpath(folder) not in beside]


def _namespaces() -> list[str]:
    if not privileges.may_mount():
        return ["--unshare-all"]
    # Root's own namespace of users stays: in one of bubblewrap's a worker could become nobody else.
    kinds = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    kept = [part for name in _CAPABILITIES for part in ("--cap-add", name)]
    return [*kinds, "--cap-drop", "ALL", *kept]


def _seen(readable: Sequence[Path], hidden: Sequence[str], temporary: Sequence[str]) -> list[str]:
    """Return the options that make the file system, what is above always before what is below."""
    made: dict[str, tuple[str, ...]] = {}
    tops: list[str] = []
    for real in sorted({os.path.realpath(path) for path in readable}):
        if os.path.exists(real) and not mounts.is_within(real, ["/proc", "/dev", *tops, *hidden]):
            tops.append(real)
            made[real] = ("--ro-bind", real, real)
    for path in readable:
        for link, target in mounts.links_to(str(path)):
            if not mounts.is_within(link, ["/proc", "/dev", *tops]):
                made[link] = ("--symlink", target, link)
    for real in hidden:
        if mounts.is_within(real, tops) and os.path.lexists(real):
            made[real] = ("--tmpfs", real) if os.path.isdir(real) else ("--ro-bind", os.devnull, real)
    made |= {folder: ("--tmpfs", folder) for folder in temporary}
    return [part for place in sorted(made) for part in made[place]]


def try_it() -> Layer:
    """Start a process inside bubblewrap, attempt there what must be prevented, and enter all of `strong` there."""
    from jaxguide.grading.isolation.probe import lay_bait

    before = around()
    if not before:
        return Layer(BUBBLEWRAP, False, _("it is not installed"))
    strong = Tier(STRONG, tuple(Layer(name, True) for name in LAYERS[STRONG] if name != BUBBLEWRAP))
    request = (strong, [layer.name for layer in strong.layers])
    with lay_bait() as bait:
        program = [*before, *command("jaxguide.grading.isolation.probe")]
        own, workers = try_layers([request], program, dataclasses.asdict(bait))
    why = leak(own) or leak(workers) or hindrance(workers)
    return Layer(BUBBLEWRAP, not why, why)
