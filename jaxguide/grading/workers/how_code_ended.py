"""How a submission's code ended, in a sentence for the student: over a limit, by itself, or by a signal."""

import signal

from jaxguide.base.text import _
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.workers.usage import Limits

# What native code, JAX and Python say last. Where nothing is left to say it with, the worker ends in a traceback.
_MEMORY_WORDS = ("bad_alloc", "resource_exhausted", "out of memory", "cannot allocate", "memoryerror")


def out_of_time(limits: Limits) -> AnswerGone:
    """Return the end of code that computed too long."""
    message = _("Your code was stopped after {limit:g} seconds of computing. Is there a loop that never ends?")
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.cpu_s))


def only_waited(limits: Limits) -> AnswerGone:
    """Return the end of code that did nothing for too long."""
    message = _("Your code was stopped after {limit:g} seconds of waiting. Does it sleep, or wait for input?")
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.idle_s))


def all_spent(limits: Limits) -> AnswerGone:
    """Return the end of a submission that computed too long in all."""
    message = _("Your submission was stopped after {limit:g} seconds of computing in all.")
    return AnswerGone(Verdict.OUT_OF_TIME, message.format(limit=limits.total_cpu_s))


def too_much_output(limits: Limits) -> AnswerGone:
    """Return the end of code that printed too much."""
    message = _("Your code was stopped after printing more than {size:g} MB. Is there a `print` in a long loop?")
    return AnswerGone(Verdict.TOO_MUCH_OUTPUT, message.format(size=round(limits.output_bytes / 2**20, 2)))


def scratch_full(limits: Limits) -> AnswerGone:
    """Return the end of code that wrote too much to its folder."""
    message = _("Your code was stopped: its files hold more than {size:g} MB, or are too many or nested too deep.")
    return AnswerGone(Verdict.TOO_MUCH_OUTPUT, message.format(size=round(limits.scratch_bytes / 2**20, 2)))


def out_of_memory(limits: Limits) -> AnswerGone:
    """Return the end of code that asked for too much memory."""
    message = _("Your code asked for more than {size:g} GB of memory. Is a shape larger than you meant?")
    return AnswerGone(Verdict.OUT_OF_MEMORY, message.format(size=round(limits.memory_bytes / 2**30, 2)))


def broken_reply() -> AnswerGone:
    """Return the end of code that disturbed the line to the grader."""
    message = _("Your code wrote to the grader's own line, so that the reply could not be read.")
    return AnswerGone(Verdict.BROKEN_REPLY, message)


def closed_line() -> AnswerGone:
    """Return the end of code that goes on, though nothing can be heard of it."""
    return AnswerGone(Verdict.BROKEN_REPLY, _("Your code closed the line to the grader."))


def ended_by_itself(code: int, said: str, limits: Limits) -> AnswerGone:
    """Return the end of code whose process ended.

    Args:
        code: its exit code, or the number of the signal that ended it, negative.
        said: what was printed last.
        limits: of memory, which may have been the reason.
    """
    if code != 0 and any(words in said.lower() for words in _MEMORY_WORDS):
        return out_of_memory(limits)
    if code < 0:
        name = signal.Signals(-code).name if -code in list(signal.Signals) else str(-code)
        message = _("Your code made the Python process crash (signal {name}).")
        if name == "SIGKILL":
            message = _("Your code's Python process was killed (signal {name}).")
        return AnswerGone(Verdict.DIED, message.format(name=name))
    message = _("Your code ended the Python process (exit code {code}), so no result came back.")
    return AnswerGone(Verdict.EXITED, message.format(code=code))
