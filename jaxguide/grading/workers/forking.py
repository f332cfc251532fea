"""The program of the zygote process: it imports what workers need, then forks one worker per request.

`zygote.Zygote` starts it in a new Python, or forks it from a process that has called `prepare` and nothing else.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from jaxguide import compat
from jaxguide.grading.workers.processes import FIT, MESSAGE_BYTES, NUMBER

# The modules that a worker imports by name, and those that JAX and lessons import when a function is first called.
MODULES = (
    *("jax", "jax.numpy", "jax.random", "jax.nn", "jax.nn.initializers", "jax.lax", "jax.tree_util"),
    *("jax.experimental", "jax.experimental.checkify", "jax.flatten_util", "jax.extend", "jax.extend.core"),
    *("jax.dtypes", "numpy", "numpy.random", "numpy.testing", "ml_dtypes"),
    *("jaxlib.mlir.dialects.builtin", "jaxlib.mlir.dialects.mhlo"),
    *("platform", "jaxguide.course.judging.evaluate", "jaxguide.keys", "jaxguide.tracing", "jaxguide.debug"),
    *("jaxguide.callbacks", "jaxguide.course.set_up", "jaxguide.grading.isolation.stack"),
    *("jaxguide.grading.workers.shared_programs", "jaxguide.grading.workers.wire", "jaxguide.grading.workers.worker"),
)
# SciPy takes a quarter of the import time, so a command that knows its files do not use it may skip it.
SCIPY = (
    *("jax.scipy", "jax.scipy.linalg", "jax.scipy.special", "jax.scipy.stats", "jax.scipy.optimize"),
    *("scipy", "scipy.linalg", "scipy.special"),
)


def main() -> None:
    """Import what workers need, then serve fork requests from the socket on standard input; see `serve`."""
    os.setsid()
    prepare()
    serve(socket.socket(fileno=os.dup(0)), 2)


def prepare(with_scipy: bool = True) -> None:
    """Import what workers need.

    Args:
        with_scipy: whether to import SciPy in advance; without it, code that uses SciPy imports it when needed.
    """
    gc.disable()  # objects that modules create on import are never freed
    compat.set_print_flag()
    for name in (*MODULES, *(SCIPY if with_scipy else ())):
        importlib.import_module(name)
    compat.keep_lowering_context()
    # Exclude existing objects from garbage collection: visiting them would copy the pages that workers share.
    gc.freeze()
    gc.enable()


def serve(line: socket.socket, output: int) -> NoReturn:
    """Report whether this process may be forked, then fork workers until the grader closes the socket or ends.

    Args:
        line: the socket to the grader.
        output: the file descriptor for error messages.
    """
    sys.dont_write_bytecode = True  # for modules that submissions import
    _redirect(output)
    _close_all_but(0, 1, 2, line.fileno())
    os.chdir(tempfile.gettempdir())
    line.send(compat.why_not_fork().encode() or FIT)
    _become_worker(*_fork_for_requests(line))


def _fork_for_requests(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork on each request; return the request and its descriptors in each child, and never in this process."""
    from jaxguide.grading.isolation.privileges import end_with_parent
    from jaxguide.grading.isolation.syscalls import PR_SET_CHILD_SUBREAPER, prctl

    zygote, grader = os.getpid(), os.pidfd_open(os.getppid())
    workers: dict[int, tuple[int, int]] = {}
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    ready = select.poll()
    for descriptor in (line.fileno(), grader):
        ready.register(descriptor, select.POLLIN)
    while True:
        events = [descriptor for descriptor, _event in ready.poll()]
        for process in workers.keys() & events:
            ready.unregister(process)
            os.close(process)
            pid, status = workers.pop(process)
            _tell(status, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os.close(status)
            _end_orphans({pid for pid, _status in workers.values()})
        # A program that the grader forked may keep the socket open after the grader has ended.
        if grader in events:
            os._exit(0)
        if line.fileno() not in events:
            continue
        data, descriptors, _flags, _address = socket.recv_fds(line, MESSAGE_BYTES, 4)
        if not data:
            os._exit(0)
        incoming, outgoing, output, status = descriptors
        try:
            pid = os.fork()
        except OSError as error:
            _tell(status, -(error.errno or 1))
            os.close(status)
        else:
            if pid == 0:
                end_with_parent(zygote)
                return json.loads(data), [incoming, outgoing, output]
            _tell(status, pid)
            process = os.pidfd_open(pid)
            workers[process] = pid, status
            ready.register(process, select.POLLIN)
        for descriptor in (incoming, outgoing, output):
            os.close(descriptor)


def _tell(status: int, number: int) -> None:
    with contextlib.suppress(OSError):  # the grader no longer asks
        os.write(status, NUMBER.pack(number))


def _end_orphans(workers: set[int]) -> None:
    """End what code that is not isolated has left behind: this process adopts it."""
    with contextlib.suppress(OSError):  # the kernel does not list children, or one has ended
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for orphan in set(map(int, listed)) - workers:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)


def _become_worker(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Reset this forked process to the state of a new Python, and continue as a worker."""
    from jaxguide.grading.workers import worker

    os.setsid()
    incoming, outgoing = _keep_only(descriptors)
    os.environ.update(request["environment"])
    os.chdir(request["scratch"])
    _forget_what_was_drawn()
    worker.work(incoming, outgoing)
    os._exit(0)


def _keep_only(descriptors: list[int]) -> list[int]:
    """Send output to the last descriptor, move the others to private numbers, and close all else; return the others."""
    import fcntl

    from jaxguide.grading.workers.worker import FIRST_PRIVATE_DESCRIPTOR

    *pipes, output = descriptors
    kept = [fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR) for pipe in pipes]
    _redirect(output)  # again: processes that share an open file share its flags
    _close_all_but(0, 1, 2, *kept)
    return kept


def _redirect(output: int) -> None:
    """Let standard input be empty, and send standard output and error to a descriptor."""
    empty = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((empty, output, output)):
        os.dup2(descriptor, number)
    os.close(empty)


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is already closed
                os.close(int(name))


def _forget_what_was_drawn() -> None:
    import numpy

    tempfile.tempdir = None
    numpy.random.seed()  # Python reseeds the `random` module after a fork
