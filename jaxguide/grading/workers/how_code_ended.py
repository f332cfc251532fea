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


def out_of_time(limits: Limits) -> AnswerGone:
    """Describe the end of code that computed too long."""
    message = "Your code was stopped after {limit:g} seconds of computing. Is there a loop that never ends?"
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.cpu_s))


def only_waited(limits: Limits) -> AnswerGone:
    """Describe the end of code that waited too long without computing."""
    message = "Your code was stopped after {limit:g} seconds of waiting. Does it sleep, or wait for input?"
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.idle_s))


def all_spent(limits: Limits) -> AnswerGone:
    """Describe the end of a submission that computed too long in total."""
    message = "Your submission was stopped after {limit:g} seconds of computing in total."
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.total_cpu_s))


def too_much_output(limits: Limits) -> AnswerGone:
    """Describe the end of code that printed too much."""
    message = "Your code was stopped after printing more than {size:g} MB. Is there a `print` in a long loop?"
    return AnswerGone(Verdict.TOO_MUCH_OUTPUT, message.format(size=round(limits.output_bytes / 2**20, 2)))


def scratch_full(limits: Limits) -> AnswerGone:
    """Describe the end of code that wrote too much to its folder."""
    message = "Your code was stopped: its files take more than {size:g} MB, or are too many or nested too deeply."
    return AnswerGone(Verdict.TOO_MUCH_OUTPUT, message.format(size=round(limits.scratch_bytes / 2**20, 2)))


def out_of_memory(limits: Limits) -> AnswerGone:
    """Describe the end of code that needed too much memory."""
    message = "Your code needed more than {size:g} GB of memory. Is a shape larger than you meant?"
    return AnswerGone(Verdict.OUT_OF_MEMORY, message.format(size=float(f"{limits.memory_bytes / 2**30:.2g}")))


def broken_reply() -> AnswerGone:
    """Describe the end of code that corrupted its reply to the grader."""
    message = "Your code wrote to the grader's connection, so the reply could not be read."
    return AnswerGone(Verdict.BROKEN_REPLY, message)


def too_much_text() -> AnswerGone:
    """Describe a result that contains too much text to be compared."""
    return AnswerGone(Verdict.TOO_MUCH_OUTPUT, "Your function returned too much text to be compared.")


def closed_line() -> AnswerGone:
    """Describe the end of code that closed its connection to the grader and kept running."""
    return AnswerGone(Verdict.BROKEN_REPLY, "Your code closed the connection to the grader.")


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
        return out_of_memory(limits)
    if code < 0:
        message = "Your code made the Python process crash (signal {name})."
        if may_be_killed(code):
            message = "Your code's Python process was killed (signal {name})."
        return AnswerGone(Verdict.DIED, message.format(name=_signal_name(code)))
    message = "Your code ended the Python process (exit code {code}), so no result came back."
    return AnswerGone(Verdict.EXITED, message.format(code=code))
