"""The program of a worker: it runs one submission's code and answers requests about it with data.

The grader starts it and does not import it. This process does not decide about marks: it never sees an expected value,
a check or another submission.
"""

import __future__

import ast
import builtins
import contextlib
import importlib
import inspect
import io
import json
import linecache
import os
import queue
import sys
import threading
import types
from typing import Any

from jaxguide.base.plain import plain_of, read_plain

FIRST_PRIVATE_DESCRIPTOR = 200
# What notebooks import from `jaxguide.lesson`, which does nothing here.
_OF_LESSONS = ("check", "hint", "progress", "solution", "start")
_FEATURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[2:])


def main() -> None:
    """Run a worker that communicates through standard input and output; see `work`."""
    work(*_take_pipes())


def work(incoming: int, outgoing: int) -> None:
    """Set up the sandbox, then serve requests until the grader closes the pipe.

    Args:
        incoming, outgoing: the descriptors of the pipes from and to the grader.
    """
    ready, served = _enter_box(incoming)
    _write(outgoing, ready)
    _serve(incoming, outgoing, served)


def _enter_box(incoming: int) -> "tuple[bytes, StudentNamespace | FileReader]":
    """Read the sandbox's configuration from the grader, and set the sandbox up.

    The configuration must not stay in memory, because the hidden paths contain names of other students.

    Returns:
        The frame that confirms it, and what answers requests.
    """
    with open(incoming, "rb", closefd=False) as pipe:  # reads ahead, but the grader sends nothing more before our reply
        config = json.loads(pipe.readline())
    os.umask(0o077)
    from jaxguide import compat
    from jaxguide.course.set_up import set_up_process
    from jaxguide.grading.isolation import rlimits
    from jaxguide.grading.isolation.stack import Isolation, enter
    from jaxguide.grading.workers.shared_programs import load_programs

    compat.set_print_flag()  # reads the version of jaxlib, which may not be possible in the sandbox
    if config["course"] is None:
        set_up_process(**config["process"])
        sys.path += [folder for folder in config["folders"] if folder not in sys.path]
    enter(Isolation(**config["isolation"]), config)

    from jaxguide.grading.intake import reading  # noqa: F401  (before the limits, as are the other modules)
    from jaxguide.grading.workers.wire import encode

    memory_bytes = config["memory_bytes"]
    if config["course"] is None:
        if config["programs"] is not None:
            load_programs(config["programs"], config["saves_programs"])
        _start_jax()
        memory_bytes += _compiler_bytes()
    rlimits.limit(memory_bytes, config["file_bytes"])
    return encode({"ready": True}), StudentNamespace() if config["course"] is None else FileReader(config["course"])


def _take_pipes() -> tuple[int, int]:
    """Move the two pipes to private descriptors; standard input becomes empty, and standard output joins the error."""
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
    """Start JAX's backend, so that its threads and their memory exist before the limits are set."""
    import jax

    from jaxguide.course.judging.evaluate import Printed  # imported before the limits, with its dependencies

    Printed.spill = _spill
    jax.devices()


def _compiler_bytes() -> int:
    """Return the address space of the compiler and its threads, which start with the first compilation.

    Starting them in advance would cost each worker 0.03 s with a small program, or 0.13 s with a large one, and many
    workers need neither. On 2 cores they take 23 MB, plus 4 threads of 11 MB for large programs (jaxlib 0.10.2 to
    0.12.0.1).
    """
    return 48 * 2**20 * (os.cpu_count() or 1)


def _spill(text: str) -> None:
    """Write output beyond what `Printed` keeps to standard error, whose size the grader watches."""
    with contextlib.suppress(OSError):  # over the file size limit, or closed by the submission
        _write(2, text.encode("utf-8", "replace"))


def _serve(incoming: int, outgoing: int, served: "StudentNamespace | FileReader") -> None:
    from jaxguide.grading.workers.wire import WireError, decode, encode

    process = os.getpid()
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_frames, args=(incoming, frames), daemon=True).start()
    while True:
        request: Any = decode(frames.get(), takes_requests=True)
        try:
            reply = encode({"id": request["id"], **served.answer(request)})
        except WireError as error:
            problem = {"type_name": "ValueError", "message": f"the value is too large to be compared: {error}"}
            error_info = {**problem, "line": None}
            reply = encode({"id": request["id"], "error": error_info, "printed": ""})
        if os.getpid() != process:
            os._exit(0)  # the student's code called os.fork(): only the original process replies
        _write(outgoing, reply)


def _read_frames(incoming: int, frames: "queue.SimpleQueue[bytes]") -> None:
    """Queue the frames that the grader sends, and end this process when the grader is gone, even during a request."""
    from jaxguide.grading.workers.wire import PREFIX, frame_size

    try:
        with open(incoming, "rb", closefd=False) as pipe:
            while prefix := pipe.read(PREFIX.size):
                frames.put(prefix + pipe.read(frame_size(prefix)))
    except MemoryError:
        _write(2, b"MemoryError\n")  # the grader reads the last words of a process that fails
        os._exit(1)
    finally:
        os._exit(0)


def _write(descriptor: int, frame: bytes) -> None:
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class StudentNamespace:
    """The namespace in which the student's code runs, and the answers defined in it."""

    def __init__(self) -> None:
        _make_lesson_inert()
        _make_shell_inert()
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names: dict[str, Any] = vars(module)
        self.names.update(__builtins__=builtins, display=_do_nothing, get_ipython=_get_ipython)
        self.names.update(dict.fromkeys(_OF_LESSONS, _do_nothing))
        self.given: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        self._loop: Any = None
        self._features = 0  # that `from __future__` switched on, for the cells below, too

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request from the grader: 'setup', 'define' or 'ask'."""
        operation = request["op"]
        if operation == "setup":
            reply = self.run("<book>", request["source"])
            self.given = dict(self.names)
            return reply
        if operation == "define":
            fields = {key: value for key, value in request.items() if key not in ("id", "op")}
            return self.define(**fields)
        from jaxguide.course.judging.evaluate import evaluate

        return evaluate(self.answers[request["name"]], request["request"], self.given)

    def define(
        self,
        cell: str,
        source: str,
        exercises: list[str],
        starters: list[str],
        may_await: bool = False,
        explains: bool = False,
    ) -> dict[str, Any]:
        """Run one cell and report which exercises' names it bound to new functions or other values.

        Args:
            cell: the cell's name, which tracebacks show.
            source: the cell's code.
            exercises: the names of the exercises.
            starters: the names that this cell defines as in the printed starter, which does not replace an answer.
            may_await: whether code may await outside of functions, as in a notebook.
            explains: whether to explain an exception.
        """
        missing = object()
        before = {name: self.names.get(name, missing) for name in exercises}
        reply = self.run(f"<{cell}>", source, may_await, explains)
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
                # Later code that calls the name gets the answer that counts.
                self.names[name] = self.answers[name] if name in starters else value
        return {**reply, "bound": bound, "values": values}

    def run(self, filename: str, source: str, may_await: bool = False, explains: bool = False) -> dict[str, Any]:
        """Run source in the namespace, one statement after the other as IPython does; return an exception as data."""
        from jaxguide.course.judging.evaluate import Printed, describe_error
        from jaxguide.course.judging.unattended import unattended

        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        out, error = Printed(), None
        flags = self._features | (ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if may_await else 0)
        if may_await and ("async" in source or "await" in source):
            self._event_loop()  # before code asks for one
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), unattended():
            try:
                for node in compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True).body:
                    code = compile(ast.Module([node], []), filename, "exec", flags, dont_inherit=True)
                    self._features |= code.co_flags & _FEATURES
                    flags |= self._features
                    awaited = eval(code, self.names)
                    if code.co_flags & inspect.CO_COROUTINE:
                        self._event_loop().run_until_complete(awaited)
            except BaseException as raised:  # also a sys.exit() in the cell
                error = plain_of(describe_error(raised, explains))
        return {"failed": error}

    def _event_loop(self) -> Any:
        """Return the loop of all cells: like in a notebook, what one has created can be awaited in another."""
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop


class FileReader:
    """Reads the files that students sent, in a process that runs none of their code."""

    def __init__(self, course: dict[str, Any]) -> None:
        from jaxguide.grading.intake.reading import CourseText

        self._course: CourseText = read_plain(CourseText, course)
        self._parts = io.BytesIO()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request from the grader: 'part' or 'read', or say why there is no answer."""
        from jaxguide.grading.intake.reading import read_content
        from jaxguide.grading.intake.submission import UnreadableSubmission

        try:
            if request["op"] == "part":
                self._parts.write(request["part"].values.data)
            else:
                content, self._parts = self._parts.getvalue(), io.BytesIO()
                return {"submission": plain_of(read_content(request["name"], content, self._course))}
        except UnreadableSubmission as problem:
            return {"problem": str(problem)}
        except MemoryError:
            return {"is_out_of_memory": True}
        return {}


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """Replace `check`, `hint` and similar functions, which do nothing during grading."""


class _Inert(list[Any]):
    """Replace IPython's shell, and all that is got from it: empty, as the output of a command that did not run."""

    def __getattr__(self, name: str) -> Any:
        _inert_attribute(name)
        return _Inert()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _Inert()

    __getitem__ = __call__

    def __setitem__(self, *unused: Any) -> None: ...

    def __delitem__(self, *unused: Any) -> None: ...


def _get_ipython() -> Any:
    asking = sys._getframe(1).f_globals.get("__name__", "")
    if asking.startswith("IPython.") and asking != "IPython.core.magic":  # which registers what code defines
        # IPython's own code asks for a shell that an answer has made.
        from IPython.core.interactiveshell import InteractiveShell

        return InteractiveShell.instance() if InteractiveShell.initialized() else None
    return _Inert()


def _make_shell_inert() -> None:
    """Let `from IPython import get_ipython` import the same as a notebook's name; IPython itself takes 0.3 s."""
    module = types.ModuleType("IPython.core.getipython", "Replace IPython's shell.")
    module.__dict__["get_ipython"] = _get_ipython
    sys.modules[module.__name__] = module
    if "IPython" in sys.modules:
        sys.modules["IPython"].__dict__["get_ipython"] = _get_ipython
    # Colab's own package, which its notebooks import in their first cell, is on no other machine.
    try:
        importlib.import_module("google")
    except ImportError:
        sys.modules["google"] = types.ModuleType("google", "Replace the namespace of Google's packages.")
    colab = types.ModuleType("google.colab", "Replace what Colab's notebooks mount and ask.")
    colab.__dict__["__getattr__"] = lambda name: getattr(_Inert(), name)
    for name in (
        "google.colab",
        *(f"google.colab.{part}" for part in ("auth", "drive", "files", "output", "userdata")),
    ):
        sys.modules[name] = colab
    sys.modules["google"].__dict__["colab"] = colab


def _make_lesson_inert() -> None:
    module = types.ModuleType("jaxguide.lesson", "Replace jaxguide.lesson by functions that do nothing.")
    for name in _OF_LESSONS:
        setattr(module, name, _do_nothing)
    module.__dict__["__getattr__"] = _inert_attribute
    module.__dict__["__all__"] = list(_OF_LESSONS)
    sys.modules["jaxguide.lesson"] = module


def _inert_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _do_nothing
