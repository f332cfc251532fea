"""The program of the zygote process: it imports what workers need, then forks one worker per request.

`zygote.Zygote` starts it in a new Python, or forks it from a process that has called `prepare` and nothing else.
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

# The modules that a worker imports by name, and those that JAX and lessons import when a function is first called.
MODULES = (
    *("jax", "jax.numpy", "jax.random", "jax.nn", "jax.nn.initializers", "jax.lax", "jax.tree_util"),
    *("jax.experimental", "jax.experimental.checkify", "jax.flatten_util", "jax.extend", "jax.extend.core"),
    *("jax.dtypes", "numpy", "numpy.random", "numpy.testing", "ml_dtypes"),
    *("jaxlib.mlir.dialects.builtin", "jaxlib.mlir.dialects.mhlo"),
    *("platform", "jaxguide.course.judging.evaluate", "jaxguide.keys", "jaxguide.tracing", "jaxguide.debug"),
    *("jaxguide.callbacks", "jaxguide.course.set_up", "jaxguide.grading.isolation.stack"),
    *("jaxguide.grading.workers.program_folder", "jaxguide.grading.workers.worker_set_up"),
    *("jaxguide.grading.workers.supervisor", "jaxguide.grading.workers.wire", "jaxguide.grading.workers.worker"),
)
# SciPy takes a quarter of the import time, so a command that knows its files do not use it may skip it.
SCIPY = (
    *("jax.scipy", "jax.scipy.linalg", "jax.scipy.special", "jax.scipy.stats", "jax.scipy.optimize"),
    *("scipy", "scipy.linalg", "scipy.special"),
)
_LOOKS_AFTER_MS = 250


def main() -> None:
    """Import what workers need, then serve fork requests from the socket on standard input; see `serve`."""
    line = _take_socket()
    prepare()
    serve(line)


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


def serve(line: socket.socket) -> NoReturn:
    """Report whether this process may be forked, then fork workers until the grader closes the socket or ends."""
    sys.dont_write_bytecode = True  # for modules that submissions import
    line.send(json.dumps({"unfit": compat.why_not_fork()}).encode())
    signal.signal(signal.SIGCHLD, _forget_ended)
    worker = _fork_for_requests(line)
    line.close()
    _start(*worker)


def serve_in_fork(line: socket.socket, output: int) -> NoReturn:
    """Turn a process that was forked after `prepare` into the zygote: detach its terminal and files, then serve.

    Args:
        line: the socket to the grader.
        output: the file descriptor for error messages.
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


def _take_socket() -> socket.socket:
    line = socket.socket(fileno=os.dup(0))
    _read_nothing()
    return line


def _read_nothing() -> None:
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def _forget_ended(*_unused: object) -> None:
    """Reap supervisors that ended; the grader learns of their end through their pipes."""
    # Ignoring SIGCHLD would lose their processor times: the kernel adds them up only for children that are reaped.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_for_requests(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork on each request; return the request and its descriptors in each child, and never in this process."""
    from jaxguide.grading.workers.processes import MESSAGE_BYTES

    grader, zygote = os.getppid(), os.getpid()
    ready = select.poll()
    ready.register(line, select.POLLIN)
    while True:
        # Poll with a timeout: a program that the grader forked may keep the socket open after the grader has ended,
        # and a child may end right before the wait.
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
    from jaxguide.grading.isolation.privileges import end_with_parent

    end_with_parent(zygote)


def _start(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Reset this forked process to the state of a new Python, and continue as a worker's supervisor."""
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
    """Send output to the last descriptor, move the others to private numbers, and close all else; return the others."""
    import fcntl

    from jaxguide.grading.workers.worker import FIRST_PRIVATE_DESCRIPTOR

    *pipes, output = descriptors
    kept = [fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR) for pipe in pipes]
    _read_nothing()  # reopen /dev/null: processes that share an open file share its flags
    os.dup2(output, 1)
    os.dup2(output, 2)
    _close_all_but(0, 1, 2, *kept)
    return kept


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is already closed
                os.close(int(name))


def _set_environment(variables: dict[str, str]) -> None:
    """Set the variables, and write the token into the initial environment, which other processes read in /proc."""
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
    numpy.random.seed()  # Python reseeds the `random` module after a fork
