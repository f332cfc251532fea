"""Describe for the student how the submission's code ended: over a limit, by exiting, or by a signal."""

import signal

from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, Verdict

# The last words of native code, JAX or Python when memory runs out, as in the traceback of a worker that cannot reply.
_MEMORY_WORDS = ("bad_alloc", "resource_exhausted", "out of memory", "cannot allocate", "memoryerror")
# Code that crashes, or exceeds a limit that the kernel watches, ends by one of these. The others come from outside, as
# SIGKILL does when the machine runs out of memory, or the code sends them to itself.
_OWN_SIGNALS = (
    *("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGABRT", "SIGTRAP", "SIGXFSZ", "SIGXCPU"),
    *("SIGALRM", "SIGPROF", "SIGVTALRM", "SIGPIPE"),
)


_SAID = {
    "cpu_s": "Your code was stopped after {limit:g} seconds of computing. Is there a loop that never ends?",
    "idle_s": "Your code was stopped after {limit:g} seconds of waiting. Does it sleep, or wait for input?",
    "total_cpu_s": "Your submission was stopped after {limit:g} seconds of computing in total.",
    "memory_bytes": "Your code needed more than {gigabytes:g} GB of memory. Is a shape larger than you meant?",
    "output_bytes": "Your code was stopped after printing more than {megabytes:g} MB. Is there a `print` in a long "
    "loop?",
    "scratch_bytes": "Your code was stopped: its files take more than {megabytes:g} MB, or are too many or nested too "
    "deeply.",
}


def over(name: str, limits: Limits) -> AnswerGone:
    """Describe the end of code that exceeded a limit.

    >>> over("idle_s", Limits(idle_s=2)).note
    'Your code was stopped after 2 seconds of waiting. Does it sleep, or wait for input?'

    Args:
        name: the limit's name.
        limits: the limits.
    """
    limit = getattr(limits, name)
    verdict = Verdict.OUT_OF_MEMORY if name == "memory_bytes" else Verdict.TOO_MUCH_OUTPUT
    verdict = Verdict.OUT_OF_TIME if name.endswith("_s") else verdict
    gigabytes, megabytes = float(f"{limit / 2**30:.2g}"), round(limit / 2**20, 2)
    return AnswerGone(verdict, _SAID[name].format(limit=limit, gigabytes=gigabytes, megabytes=megabytes))


def broken_reply() -> AnswerGone:
    """Describe the end of code that corrupted its reply to the grader."""
    message = "Your code wrote to the grader's connection, so the reply could not be read."
    return AnswerGone(Verdict.BROKEN_REPLY, message)


def may_be_killed(code: int) -> bool:
    """Return whether a process with this exit code may have been killed from outside, through no fault of its code.

    >>> may_be_killed(-signal.SIGKILL), may_be_killed(-signal.SIGSEGV), may_be_killed(1)
    (True, False, False)
    """
    return code < 0 and _signal_name(code) not in _OWN_SIGNALS


def _signal_name(code: int) -> str:
    return signal.Signals(-code).name if -code in list(signal.Signals) else str(-code)


def ended_by_itself(code: int, said: str, limits: Limits) -> AnswerGone:
    """Describe the end of code whose process ended.

    Args:
        code: the exit code, or the negative number of the signal that ended the process.
        said: the last output of the process.
        limits: the limits; exceeding the memory limit may have ended the process.
    """
    if code != 0 and any(words in said.lower() for words in _MEMORY_WORDS):
        return over("memory_bytes", limits)
    if code < 0:
        message = "Your code made the Python process crash (signal {name})."
        if may_be_killed(code):
            message = "Your code's Python process was killed (signal {name})."
        return AnswerGone(Verdict.DIED, message.format(name=_signal_name(code)))
    message = "Your code ended the Python process (exit code {code}), so no result came back."
    return AnswerGone(Verdict.EXITED, message.format(code=code))
