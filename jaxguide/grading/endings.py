"""How a submission's code is ended that used up more than it may in all, or wrote more."""

from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.usage import Limits
from jaxguide.text import _


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
