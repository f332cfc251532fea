"""The zygote's process: it imports what workers need, then forks one for each request.

Started by `zygote`, or forked there by a process that did here what comes first, and nothing else.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from typing import Any, NoReturn

from jaxguide import compat

# What JAX and lessons import when a function is first called, besides what a worker imports by its name.
MODULES = (
    *("jax", "jax.numpy", "jax.random", "jax.nn", "jax.nn.initializers", "jax.lax", "jax.tree_util"),
    *("jax.experimental", "jax.experimental.checkify", "jax.flatten_util", "jax.extend", "jax.extend.core"),
    *("jax.dtypes", "numpy", "numpy.random", "numpy.testing", "ml_dtypes"),
    *("jaxlib.mlir.dialects.builtin", "jaxlib.mlir.dialects.mhlo"),
    *("platform", "jaxguide.course.judging.evaluate", "jaxguide.keys", "jaxguide.tracing", "jaxguide.debug"),
    *("jaxguide.callbacks", "jaxguide.grading.isolation", "jaxguide.grading.workers.program_folder"),
    *("jaxguide.grading.workers.supervisor", "jaxguide.grading.workers.wire", "jaxguide.grading.workers.worker"),
)
# A quarter of the time that all of these take is SciPy's: a command that knows its files may do without.
SCIPY = (
    *("jax.scipy", "jax.scipy.linalg", "jax.scipy.special", "jax.scipy.stats", "jax.scipy.optimize"),
    *("scipy", "scipy.linalg", "scipy.special"),
)
_LOOKS_AFTER_MS = 250


def main() -> None:
    """Import, tell the grader whether all is fit, and fork until the grader closes the socket or is gone."""
    line = _take_socket()
    prepare()
    serve(line)


def prepare(with_scipy: bool = True) -> None:
    """Import what workers need.

    Args:
        with_scipy: whether code is expected to use SciPy; what does then imports it by itself.
    """
    gc.disable()  # nothing that modules make is ever let go of
    compat.set_print_flag()
    for name in (*MODULES, *(SCIPY if with_scipy else ())):
        importlib.import_module(name)
    compat.keep_lowering_context()
    # Objects of before are no longer looked through: that would copy the pages that workers share.
    gc.freeze()
    gc.enable()


def serve(line: socket.socket) -> NoReturn:
    """Tell the grader whether all is fit, and fork until the grader closes the socket or is gone."""
    sys.dont_write_bytecode = True  # of what submissions import
    line.send(json.dumps({"unfit": unfit()}).encode())
    signal.signal(signal.SIGCHLD, _forget_ended)
    worker = _fork_for_requests(line)
    line.close()
    _start(*worker)


def serve_in_fork(line: socket.socket, output: int) -> NoReturn:
    """Be the zygote in a process that was forked after `prepare`: leave its terminal and files, then serve.

    Args:
        line: to the grader.
        output: where errors go.
    """
    try:
        os.setsid()
        _read_nothing()
        os.dup2(0, 1)
        os.dup2(output, 2)
        _close_all_but(0, 1, 2, line.fileno())
        os.chdir(tempfile.gettempdir())
        serve(line)
    finally:
        os._exit(1)


def unfit() -> str:
    """Return why this process must not be forked, '' where it may."""
    if compat.backend_started():
        return "JAX's backend has started"
    threads = len(os.listdir("/proc/self/task"))
    return f"it has {threads} threads" if threads != 1 else ""


def _take_socket() -> socket.socket:
    line = socket.socket(fileno=os.dup(0))
    _read_nothing()
    return line


def _read_nothing() -> None:
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def _forget_ended(*_unused: object) -> None:
    """Let go of supervisors that ended; the grader knows by their pipes."""
    # Of children that are ignored, no parent is told what processor time they used.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_for_requests(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a request and its descriptors in each process that is to become its supervisor; never in this one."""
    from jaxguide.grading.workers.processes import MESSAGE_BYTES

    grader, zygote = os.getppid(), os.getpid()
    ready = select.poll()
    ready.register(line, select.POLLIN)
    while True:
        # A program that the grader forked may hold the socket open; a child may have ended right before the wait.
        while not ready.poll(_LOOKS_AFTER_MS):
            _forget_ended()
            if os.getppid() != grader:
                os._exit(0)
        data, descriptors, _flags, _address = socket.recv_fds(line, MESSAGE_BYTES, 4)
        if not data:
            _forget_ended()
            os._exit(0)
        request = json.loads(data)
        reply: dict[str, Any] = {"id": request["id"]}
        try:
            reply["pid"] = pid = os.fork()
        except OSError as error:
            reply["error"] = str(error)
        else:
            if pid == 0:
                _end_with(zygote)
                return request, list(descriptors)
        line.send(json.dumps(reply).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _end_with(zygote: int) -> None:
    from jaxguide.grading.workers.supervisor import end_with_parent

    end_with_parent(zygote)


def _start(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Make of this process what a new Python would be, and go on as a worker's supervisor."""
    from jaxguide.grading.workers import worker

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    kept = _keep_only(descriptors)
    _set_environment(request["environment"])
    os.chdir(request["scratch"])
    _forget_what_was_drawn()
    incoming, outgoing, status = kept
    worker.work(incoming, outgoing, status)
    os._exit(0)


def _keep_only(descriptors: list[int]) -> list[int]:
    """Print to the last of them, read nothing, keep the others as the worker's own, and close all else."""
    import fcntl

    from jaxguide.grading.workers.worker import FIRST_PRIVATE_DESCRIPTOR

    *pipes, output = descriptors
    kept = [fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR) for pipe in pipes]
    _read_nothing()  # not from where others read nothing: processes that share a file see each other's flags on it
    os.dup2(output, 1)
    os.dup2(output, 2)
    _close_all_but(0, 1, 2, *kept)
    return kept


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself is closed already
                os.close(int(name))


def _set_environment(variables: dict[str, str]) -> None:
    """Set the variables, and show the mark where other processes look for it: in what this program started with."""
    from jaxguide.grading.workers.usage import TOKEN_VARIABLE

    find = ctypes.CDLL(None).getenv
    find.restype = ctypes.c_void_p
    place, token = find(TOKEN_VARIABLE.encode()), variables[TOKEN_VARIABLE].encode()
    if place and len(ctypes.string_at(place)) == len(token):
        ctypes.memmove(place, token, len(token))
    os.environ.update(variables)


def _forget_what_was_drawn() -> None:
    import numpy

    tempfile.tempdir = None
    numpy.random.seed()  # Python's own generator is seeded anew by the fork itself
