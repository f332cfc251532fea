"""Stop planted answers that run too long in this process, so that the proof names them and goes on."""

import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.workers.usage import BUSY_SHARE, has_ready_thread

_T = TypeVar("_T")

_SAMPLE_S = 0.25
# Compiled code cannot be interrupted. It gets this much longer to end by itself.
GRACE_S = 5.0


class _Interrupted(BaseException):
    """Raised in code that is over a limit. Code that catches every exception catches this one, too."""


class TimeLimit:
    """Interrupt code that exceeds a limit; a context manager for the main thread.

    Only the limits `cpu` and `idle` are watched. A signal interrupts Python code and calls that sleep. It cannot
    interrupt compiled code, and code that catches every exception goes on.

    Args:
        limits: the limits.
        stuck: called in another thread, with a sentence, if code goes on after it was interrupted: it can only be
            stopped by ending the process. By default it goes on.
    """

    def __init__(self, limits: Limits, stuck: Callable[[str], None] | None = None):
        self.limits, self._stuck = limits, stuck
        self._spent_s = self._idle_s = 0.0
        # The processor time at which the code that runs now would have begun, had it run all of its time since `begin`.
        self._began_s: float | None = None
        self._over = ""
        self._turn = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._before: Any = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "TimeLimit":
        # Windows lacks the signal, and only the main thread receives it.
        if hasattr(signal, "pthread_kill") and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, self._interrupt)
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()  # it must not send a signal that no one handles any more
            signal.signal(signal.SIGALRM, self._before)

    def begin(self) -> None:
        """Start counting from zero, for another answer."""
        with self._lock:
            self._turn += 1
            self._spent_s = self._idle_s = 0.0
            self._over = ""

    def call(self, function: Callable[[], _T], apart: bool = False) -> _T:
        """Call a function, watch it, and return its value.

        Args:
            function: the function.
            apart: whether to count its processor time from zero, and not with that of other calls.

        Raises:
            AnswerGone: a limit was exceeded, in this call or in an earlier one since `begin`.
        """
        self._stop_if_over()
        began_s = time.process_time()
        try:
            self._began_s = began_s - (0.0 if apart else self._spent_s)
            value = function()
        except _Interrupted:
            raise AnswerGone(Verdict.OUT_OF_TIME, self._over) from None
        finally:
            self._began_s = None
            if not apart:
                self._spent_s += time.process_time() - began_s
        self._stop_if_over()
        return value

    def _stop_if_over(self) -> None:
        if self._over:
            raise AnswerGone(Verdict.OUT_OF_TIME, self._over)

    def _interrupt(self, *unused: object) -> None:
        if self._began_s is not None and self._over:
            raise _Interrupted

    def _watch(self) -> None:
        """Sample what runs in the main thread, until the watch is closed."""
        own = threading.get_native_id()
        wall_s, cpu_s = time.monotonic(), time.process_time()
        late_s = 0.0
        while not self._closed.wait(_SAMPLE_S):
            passed_s, used_s = time.monotonic() - wall_s, time.process_time() - cpu_s
            wall_s, cpu_s = wall_s + passed_s, cpu_s + used_s
            turn, began_s = self._turn, self._began_s
            if began_s is None:
                continue
            is_idle = used_s < BUSY_SHARE * passed_s and not has_ready_thread(os.getpid(), other_than=own)
            with self._lock:
                if turn != self._turn:
                    continue
                self._idle_s += passed_s if is_idle else 0.0
                late_s = late_s + passed_s if self._over else 0.0
                self._over = self._over or self._what_is_over(cpu_s - began_s)
            if self._over and late_s > GRACE_S and self._stuck is not None:
                self._stuck(self._over)
                return
            if self._over:
                main = threading.main_thread().ident
                assert main is not None
                signal.pthread_kill(main, signal.SIGALRM)

    def _what_is_over(self, cpu_s: float) -> str:
        if cpu_s > self.limits.cpu_s:
            return f"it was stopped after {self.limits.cpu_s:g} seconds of computing, the limit `cpu`"
        if self._idle_s > self.limits.idle_s:
            return f"it was stopped after {self.limits.idle_s:g} seconds of waiting, the limit `idle`"
        return ""


class LimitedAnswer(LocalAnswer):
    """An answer in this process that a watch may interrupt; then it is gone, as if its worker had ended.

    If it `is_apart`, its time does not count with that of others; see `TimeLimit.call`.
    """

    is_apart = False

    def __init__(self, name: str, function: Callable[..., Any], names: Mapping[str, Any], watch: TimeLimit):
        super().__init__(name, function, names)
        self._watch = watch

    def _ask(self, request: Request) -> dict[str, Any]:
        return self._watch.call(functools.partial(super()._ask, request), self.is_apart)
