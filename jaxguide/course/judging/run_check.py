"""Run one check on one answer and record the result."""

import contextvars
import dataclasses
import inspect
import re
import traceback
import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from jaxguide.course.exercise import Check
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.calls import CallLog, current_log
from jaxguide.course.judging.draw import Draw
from jaxguide.course.judging.unattended import END_OF_INPUT
from jaxguide.course.verdict import AnswerGone, CheckFailed, CheckResult, NotJudged, StudentError, Verdict

_TROUBLE_LIMIT = 1_000


def run_check(check: Check, result: CheckResult, answer: Answer, reference: Answer | None, draw: Draw) -> bool:
    """Run one check and fill in its result; of misconceptions, only what the check itself says, in `says`.

    Returns:
        Whether the answer can no longer be called.

    Raises:
        NotJudged: judging itself is not possible on this machine.
    """
    log = answer.log
    log.start_check(check.name)
    result.on = check.on
    given: dict[str, Any] = {"answer": answer, "draw": draw, "reference": reference}
    try:
        contextvars.copy_context().run(_call, log, check.function, given)
    except CheckFailed as failure:
        if not failure.evidence.call and log.calls:  # raised by the check itself
            failure.evidence.call = log.evidence().call
            log.blamed = log.unsettled()
        vars(result).update(vars(failure.evidence))
        result.verdict, result.message, result.idea = Verdict.FAILED, failure.message, check.idea
        if failure.on and failure.on in _constants(check.function):
            result.on = failure.on
        result.says = (failure.misconception,) if failure.misconception else ()
        return False
    except StudentError as failure:
        result.verdict = error_verdict(failure)
        is_stopped = failure.info.type_name == "KeyboardInterrupt"
        result.error = failure.info if log.explains else dataclasses.replace(failure.info, explanation=None)
        result.message = error_sentence(failure)
        if failure.info.type_name == "MemoryError" or "RESOURCE_EXHAUSTED" in failure.info.message:
            result.verdict = Verdict.OUT_OF_MEMORY
            result.message = "It asked for more memory than there is."
        log.blamed = log.unsettled()
        # The idea behind a check rarely explains an exception, except if the check is about a transformation. If it is
        # hidden, the idea is all that students see.
        result.idea = check.idea if check.hidden or check.stage in ("jit", "traces", "gradient") else ""
        result.call = log.last
        return is_stopped
    except AnswerGone as gone:
        result.verdict, result.message = gone.verdict, gone.note
        result.idea = check.idea if check.hidden else ""
        result.call = log.last
        return True
    except (MemoryError, OSError) as error:
        # Errors in the student's code arrive as StudentError, so this one comes from the machine.
        raise NotJudged(f"{type(error).__name__}: {error}") from error
    except Exception as error:
        # `verify` proves each check on right answers, so the check cannot handle the form of this answer's value.
        if log.request is None or isinstance(error, NotJudged):
            raise
        seen = log.evidence()
        result.verdict, result.call, result.got = Verdict.FAILED, seen.call or log.last, seen.got
        result.message = "What your function returned has another form than the contract asks for."
        if seen.got == "None":
            result.message = "Your function returned None. Is the `return` missing?"
        result.trouble = said_of_course(error, [check.path], (check.path, check.line))
        result.idea = check.idea
        return False
    result.verdict, result.on = Verdict.PASSED, ""
    return False


def says_its_input(check: Check) -> bool:
    """Return whether a check, or an expectation in it, says what kind of input it uses."""
    # The names of a call's keyword arguments are a constant of the code.
    return bool(check.on) or any(isinstance(names, tuple) and "on" in names for names in _constants(check.function))


def _constants(function: Callable[..., None]) -> list[Any]:
    """Return the constants in a check's code: texts that it contains as they are cannot tell a student an input."""
    found, waiting = [], [getattr(inspect.unwrap(function), "__code__", None)]
    while waiting:
        code = waiting.pop()
        for constant in code.co_consts if code is not None else ():
            if isinstance(constant, types.CodeType):
                waiting.append(constant)
            found += [constant, *(constant if isinstance(constant, tuple) else ())]
    return found


def said_of_course(error: Exception, files: Collection[Path], otherwise: tuple[Path, int]) -> str:
    """Describe, for a course's author, an exception that a check raised; the arguments are those of `raised_at`."""
    path, line = raised_at(error, files, otherwise)
    return f"{type(error).__name__}: {str(error)[:_TROUBLE_LIMIT]} ({path.name}:{line})"


def raised_at(error: Exception, files: Collection[Path], otherwise: tuple[Path, int]) -> tuple[Path, int]:
    """Return the file and line of a course where an exception was raised.

    Args:
        error: the exception.
        files: the course's files that count; the last line in one of them is where the mistake is.
        otherwise: the file and line to return if the traceback has none of them.
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = [(Path(frame.filename), frame.lineno or 1) for frame in frames if Path(frame.filename) in files]
    return places[-1] if places else otherwise


def _call(log: CallLog, function: Callable[..., None], given: dict[str, Any]) -> None:
    current_log.set(log)
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
        message = "Your code called sys.exit() (exit code {code}), which ends the program. Return the value instead."
        return message.format(code=code)
    if failure.info.type_name == "KeyboardInterrupt":
        return "The check was stopped while your code ran."
    if failure.info.type_name == "NotImplementedError" and not failure.info.message:
        return "Your code raised NotImplementedError: this part is not written yet."
    if failure.info.type_name == "EOFError" and failure.info.message == END_OF_INPUT:
        return "Your code raised EOFError: it asked for input, but nobody can type while it is checked."
    if failure.info.type_name == "SyntaxError":
        return f"SyntaxError: {failure.info.message}"
    return f"Your code raised {failure.info.type_name}: {failure.info.message}"
