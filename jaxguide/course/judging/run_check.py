"""Run one check on one answer and record the result."""

import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxguide.base.text import _
from jaxguide.course.exercise import Check, Exercise
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.draw import Draw
from jaxguide.course.judging.unattended import END_OF_INPUT
from jaxguide.course.judging.values import show
from jaxguide.course.verdict import AnswerGone, CheckFailed, CheckResult, NotJudged, StudentError, Verdict

_TROUBLE_LIMIT = 1_000


def run_check(
    check: Check, result: CheckResult, exercise: Exercise, answer: Answer, reference: Answer | None, draw: Draw
) -> bool:
    """Run one check and fill in its result.

    Returns:
        Whether the answer can no longer be called.

    Raises:
        NotJudged: judging itself is not possible on this machine.
    """
    answer.log.request = None
    given: dict[str, Any] = {"answer": answer, "draw": draw, "reference": reference}
    try:
        _call(check.function, given)
    except CheckFailed as failure:
        result.verdict = Verdict.FAILED
        result.message, result.got, result.expected = failure.message, failure.got, failure.expected
        _name_misconceptions(result, check, exercise, failure.misconception)
    except StudentError as failure:
        result.verdict = error_verdict(failure)
        is_stopped = failure.info.type_name == "KeyboardInterrupt"
        result.error = failure.info
        result.message = error_sentence(failure)
        if failure.info.type_name == "MemoryError" or "RESOURCE_EXHAUSTED" in failure.info.message:
            result.verdict = Verdict.OUT_OF_MEMORY
            result.message = _("It asked for more memory than there is.")
        _name_misconceptions(result, check, exercise)
        # The idea behind a check rarely explains an exception, except if the check is about a transformation. If it is
        # hidden, the idea is all that students see.
        result.idea = check.idea if check.hidden or check.stage in ("jit", "traces", "gradient") else ""
        result.call = answer.log.last
        return is_stopped
    except AnswerGone as gone:
        result.verdict, result.message = gone.verdict, gone.note
        result.idea = check.idea if check.hidden else ""
        result.call = answer.log.last
        return True
    except NotJudged:
        raise
    except (MemoryError, OSError) as error:
        # Errors in the student's code arrive as StudentError, so this one comes from the machine.
        raise NotJudged(f"{type(error).__name__}: {error}") from error
    except Exception as error:
        # `verify` proves each check on right answers, so the check cannot handle the form of this answer's value.
        if not answer.log.is_called:
            raise
        result.verdict, result.got = Verdict.FAILED, show(answer.log.value)
        result.message = _("What your function returned has another form than the contract asks for.")
        if answer.log.value is None:
            result.message = _("Your function returned None. Is the `return` missing?")
        result.trouble = _trouble(error)
        _name_misconceptions(result, check, exercise)
    else:
        result.verdict = Verdict.PASSED
        return False
    result.idea = check.idea
    result.call = answer.log.last
    return False


def _trouble(error: Exception) -> str:
    """Describe an exception that the check itself raised, for its author."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:_TROUBLE_LIMIT]} ({Path(where.filename).name}:{where.lineno})"


def _call(function: Callable[..., None], given: dict[str, Any]) -> None:
    function(**{name: given[name] for name in inspect.signature(function).parameters})


def error_verdict(failure: StudentError) -> Verdict:
    """Return the verdict for an exception in a student's code."""
    return Verdict.EXITED if failure.info.type_name == "SystemExit" else Verdict.ERROR


def error_sentence(failure: StudentError) -> str:
    """Return a sentence about an exception in a student's code."""
    if failure.info.type_name == "SystemExit":
        # As in Python: the exit code is the argument of sys.exit() if it is a number, 0 if it is missing, and else 1.
        said = failure.info.message
        code = "0" if said in ("", "None") else said if re.fullmatch(r"-?\d{1,10}", said) else "1"
        message = _("Your code called sys.exit() (exit code {code}), which ends the program. Return the value instead.")
        return message.format(code=code)
    if failure.info.type_name == "KeyboardInterrupt":
        return _("The check was stopped while your code ran.")
    if failure.info.type_name == "NotImplementedError" and not failure.info.message:
        return _("Your code raised NotImplementedError: this part is not written yet.")
    if failure.info.type_name == "EOFError" and failure.info.message == END_OF_INPUT:
        return _("Your code raised EOFError: it asked for input, and nobody types while it is checked.")
    if failure.info.type_name == "SyntaxError":
        return f"SyntaxError: {failure.info.message}"
    return _("Your code raised {name}: {message}").format(name=failure.info.type_name, message=failure.info.message)


def _name_misconceptions(result: CheckResult, check: Check, exercise: Exercise, named: str = "") -> None:
    """Record the planted wrong answers that a failure points to: the named one, or all that the check rejects."""
    if exercise.key is None:  # students do not have it, so nothing but the failing expectation tells
        result.misconception = named
        return
    wrong = {p.name: p.says for p in exercise.key.wrong if p.rejected_by == check.name}
    named = named or check.misconception
    result.misconceptions = (named,) if named in wrong else tuple(wrong)
    says = [wrong[name] for name in result.misconceptions if wrong[name]]
    # The misconception in a sentence, if there is one: the check's, or the key's if only one of these answers has one.
    result.misconception = named if named not in wrong else ""
    if not result.misconception and len(says) == 1:
        result.misconception = says[0]
