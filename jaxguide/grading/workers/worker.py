"""The process that holds one submission: it runs the student's code and answers requests about it with data.

Started by `remote`, never imported by it. Nothing here decides anything: no expected value, no check
and no other submission ever comes into this process.
"""

import builtins
import contextlib
import json
import linecache
import os
import queue
import sys
import threading
import types
from typing import Any

FIRST_PRIVATE_DESCRIPTOR = 200


def main() -> None:
    """Set up the box, then serve requests until the grader closes the pipe."""
    work(*_take_pipes())


def work(incoming: int, outgoing: int, status: int | None = None) -> None:
    """Set up the box, then serve requests until the grader closes the pipe.

    Args:
        incoming, outgoing: the two pipes.
        status: where this process tells how the worker ended, if it is no child of the grader's.
    """
    _write(outgoing, _enter_box(incoming, outgoing, status))
    _serve(incoming, outgoing)


def _enter_box(incoming: int, outgoing: int, status: int | None) -> bytes:
    """Read from the grader what the box is to be like, set it up, and return the frame that says so.

    Nothing of it stays for the submission to read: the hidden paths name other students.
    """
    with open(incoming, "rb", closefd=False) as pipe:  # nothing follows the line until the grader has our answer
        config = json.loads(pipe.readline())
    os.umask(0o077)
    parent = os.getppid()
    from jaxguide import compat
    from jaxguide.grading import isolation
    from jaxguide.grading.workers import program_folder
    from jaxguide.grading.workers.supervisor import end_with_parent, supervise

    compat.set_print_flag()  # reads which jaxlib is installed, which may not be possible in the box
    tier = isolation.Tier.from_plain(config["tier"])
    isolation.enter_outer(tier, config)
    if status is not None:
        end_with_parent(parent)  # which a change of user took off
    supervise(pipes=(incoming, outgoing), status=status)
    isolation.enter_inner(tier, config)

    if config["programs"] is not None:
        program_folder.use(**config["programs"])
    _start_jax()
    from jaxguide.grading.workers.wire import encode

    isolation.limit(config["memory_bytes"] + _compiler_bytes(), config["file_bytes"], config["cpu_s"])
    return encode({"versions": _versions()})


def _take_pipes() -> tuple[int, int]:
    """Move the two pipes to descriptors of their own; 0 becomes empty, and 1 goes where 2 goes."""
    if sys.platform == "win32":
        incoming, outgoing = os.dup(0), os.dup(1)
    else:
        import fcntl

        incoming = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR)
        outgoing = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_DESCRIPTOR)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return incoming, outgoing


def _start_jax() -> None:
    """Start JAX's backend, so that its threads and what they reserve are there before the limits."""
    import jax

    from jaxguide.course.judging.evaluate import Printed  # before the limits, with all that it imports

    Printed.spill = _spill
    jax.devices()


def _compiler_bytes() -> int:
    """Return the address space of the compiler and its threads, which only the first programs start.

    To start them here would cost each worker 0.03 s for a small program, and 0.13 s for a large one, though many need
    neither. On 2 cores they are 23 MB, and 4 threads of 11 MB more for large programs (jaxlib 0.10.2 to 0.12.0.1).
    """
    return 48 * 2**20 * (os.cpu_count() or 1)


def _spill(text: str) -> None:
    """Write what is printed and not kept where native output goes, whose size the grader watches."""
    rest = memoryview(text.encode("utf-8", "replace"))
    with contextlib.suppress(OSError):  # more than a file may hold, or closed by the submission
        while rest:
            rest = rest[os.write(2, rest) :]


def _versions() -> dict[str, str]:
    import platform

    import jax
    import jaxlib
    import numpy

    import jaxguide

    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": numpy.__version__,
        "jaxguide": jaxguide.__version__,
    }


def _serve(incoming: int, outgoing: int) -> None:
    from jaxguide.grading.workers.wire import WireError, encode

    process = os.getpid()
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_frames, args=(incoming, frames), daemon=True).start()
    submission = StudentNamespace()
    while True:
        request = _decoded(frames.get())
        try:
            reply = encode({"id": request["id"], **submission.answer(request)})
        except WireError as error:
            problem = {"type_name": "ValueError", "message": f"the value is too large to be compared: {error}"}
            error_info = {**problem, "line": None, "source": ""}
            reply = encode({"id": request["id"], "error": error_info, "printed": ""})
        if os.getpid() != process:
            os._exit(0)  # a student's os.fork() came back twice: only the first process answers
        _write(outgoing, reply)


def _decoded(frame: bytes) -> dict[str, Any]:
    from jaxguide.grading.workers.wire import decode

    request: dict[str, Any] = decode(frame)
    return request


def _read_frames(incoming: int, frames: "queue.SimpleQueue[bytes]") -> None:
    """Pass on what the grader sends, and end this process when the grader is gone, whatever the student's code does."""
    from jaxguide.grading.workers.wire import PREFIX, frame_size

    try:
        while True:
            prefix = _read(incoming, PREFIX.size)
            frames.put(prefix + _read(incoming, frame_size(prefix)))
    finally:
        os._exit(0)


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(descriptor, min(size, 2**20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(descriptor: int, frame: bytes) -> None:
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class StudentNamespace:
    """The student's namespace and what was defined in it."""

    def __init__(self) -> None:
        _make_lesson_inert()
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names: dict[str, Any] = vars(module)
        self.names.update(__builtins__=builtins, display=_do_nothing, get_ipython=_Inert)
        self.names.update(dict.fromkeys(("check", "hint", "solution", "start"), _do_nothing))
        self.given: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request of the grader: 'setup', 'define' or 'ask'."""
        operation = request["op"]
        if operation == "setup":
            reply = self.run("<book>", request["source"])
            self.given = dict(self.names)
            return reply
        if operation == "define":
            return self.define(request["cell"], request["source"], request["exercises"], request["starters"])
        from jaxguide.course.judging.evaluate import evaluate

        return evaluate(self.answers[request["name"]], request["request"], self.given)

    def define(self, cell: int, source: str, exercises: list[str], starters: list[str]) -> dict[str, Any]:
        """Run one cell and note which exercises' names it bound to something new.

        Args:
            cell: its number, for the names of its lines.
            source: its code.
            exercises: the names to look after.
            starters: those that this cell leaves as the printed starter, which no answer is replaced by.
        """
        missing = object()
        before = {name: self.names.get(name, missing) for name in exercises}
        reply = self.run(f"<submission cell {cell}>", source)
        bound, values = [], []
        for name in exercises:
            value = self.names.get(name, missing)
            if value is before[name] or value is missing:
                continue
            if not callable(value):
                values.append(name)
            elif name not in starters or name not in self.answers:
                self.answers[name] = value
                bound.append(name)
            if name in self.answers:
                # As in a notebook, later code that calls the name gets the answer that counts.
                self.names[name] = self.answers[name] if name in starters else value
        return {**reply, "bound": bound, "values": values}

    def run(self, filename: str, source: str) -> dict[str, Any]:
        """Run source in the namespace; an exception becomes data."""
        from jaxguide.course.judging.evaluate import Printed, describe_error
        from jaxguide.course.judging.unattended import unattended

        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        out, error = Printed(), None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), unattended():
            try:
                exec(compile(source, filename, "exec", dont_inherit=True), self.names)
            except BaseException as raised:  # also a sys.exit() in the cell
                error = describe_error(raised).to_plain()
        return {"failed": error}


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand for `check`, `hint` and the like, which have no work in grading."""


class _Inert:
    """Stand for IPython's shell: whatever is asked of it does nothing."""

    def __getattr__(self, name: str) -> Any:
        return _do_nothing


def _make_lesson_inert() -> None:
    module = types.ModuleType("jaxguide.lesson", "Nothing of a lesson works in grading.")
    names = ("check", "hint", "progress", "solution", "start")
    for name in names:
        setattr(module, name, _do_nothing)
    module.__dict__["__getattr__"] = _inert_attribute
    module.__dict__["__all__"] = list(names)
    sys.modules["jaxguide.lesson"] = module


def _inert_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _do_nothing
