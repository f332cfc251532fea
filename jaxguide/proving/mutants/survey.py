"""Survey the mutants of a course: judge each, compare those that pass with the key, and count what became of them."""

import collections
import dataclasses
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.proving.mutants.making import Mutant, make_mutants
from jaxguide.proving.mutants.mutant_process import STALLED, MutantProcess, ProcessEnded
from jaxguide.proving.mutants.mutant_records import MutantRecords, deciding_digest
from jaxguide.proving.proof import Problem

REJECTED, EQUIVALENT, SURVIVING, DISPUTED = "rejected", "equivalent", "surviving", "disputed"
UNDECIDED, UNDECLARED, NOT_JUDGED = "undecided", "undeclared", "not judged"
OUTCOMES = (REJECTED, EQUIVALENT, SURVIVING, DISPUTED, UNDECIDED, UNDECLARED, NOT_JUDGED)

_LIMIT_FACTOR, _LEAST_LIMIT_S = 10.0, 2.0
_PREPARE_LIMIT_S = 600.0
_CONFIRMED = 25
"""After so many mutants the key is judged again, to see that none of them changed the process."""


@dataclasses.dataclass(frozen=True)
class MutantOutcome:
    """What became of one mutant.

    Args:
        outcome: one of `OUTCOMES`. `surviving`: it passes, and an input of the domain tells it from the key;
            `disputed`: so does one on which the key's right answers differ from each other, too; `undecided`: it
            passes, and nothing was found; `undeclared`: it passes, and its contract declares no domain.
        check: the check that rejects it, or 'runs', 'time', 'memory'.
        why: the check's message, the author's reason, or why it was not judged.
        difference: what tells it from the key, if anything does.
    """

    mutant: Mutant
    outcome: str
    check: str = ""
    why: str = ""
    difference: dict[str, str] | None = None

    def to_plain(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class ExerciseSurvey:
    """The outcomes for all mutants of one exercise.

    Args:
        undeclared: why its domain is not declared, '' if it is.
        disputes: on what inputs the key's alternatives differ from its answer.
        inputs: the number of inputs that passing mutants are compared on.
        problems: why the key cannot be judged, and marks of the author that are refused or name no mutant.
        judged: how many were judged now; the others were on record.
    """

    exercise: str
    lesson: str
    outcomes: list[MutantOutcome] = dataclasses.field(default_factory=list)
    undeclared: str = ""
    disputes: list[dict[str, str]] = dataclasses.field(default_factory=list)
    inputs: int = 0
    problems: list[Problem] = dataclasses.field(default_factory=list)
    judged: int = 0

    def counts(self) -> dict[str, int]:
        """Return how many mutants had each outcome, and how many were made."""
        counted = collections.Counter(one.outcome for one in self.outcomes)
        return {"made": len(self.outcomes), **{outcome: counted[outcome] for outcome in OUTCOMES}}

    def to_plain(self) -> dict[str, Any]:
        kept = [one.to_plain() for one in self.outcomes if one.outcome not in (REJECTED, EQUIVALENT)]
        return {
            "exercise": self.exercise,
            "lesson": self.lesson,
            "counts": self.counts(),
            "undeclared": self.undeclared,
            "inputs": self.inputs,
            "disputes": self.disputes,
            "problems": [str(problem) for problem in self.problems],
            "passing": kept,
        }


def counts_by_operator(surveys: Sequence[ExerciseSurvey]) -> dict[str, dict[str, int]]:
    """Return how many mutants of each operator had each outcome."""
    found: dict[str, dict[str, int]] = {}
    for survey in surveys:
        for one in survey.outcomes:
            row = found.setdefault(one.mutant.operator, dict.fromkeys(("made", *OUTCOMES), 0))
            row["made"] += 1
            row[one.outcome] += 1
    return dict(sorted(found.items()))


def survey_mutants(
    course: Course,
    exercises: Sequence[Exercise],
    *,
    folder: Path | None = None,
    jobs: int = 1,
    records: MutantRecords | None = None,
    told: Callable[[str, MutantOutcome], None] = lambda _exercise, _outcome: None,
) -> Iterator[ExerciseSurvey]:
    """Judge the mutants of exercises, each in a process that is ended at a limit.

    Args:
        course: the course, with its keys loaded.
        exercises: the exercises of the course to survey; predictions have no mutants.
        folder: the course's folder, from which the processes load the lesson; None for the one with the package.
        jobs: the number of processes.
        records: where outcomes are kept; by default nowhere.
        told: called with each outcome that is found, from any thread.

    Yields:
        The survey of each exercise, in the order in which they end.
    """
    waiting: queue.SimpleQueue[Exercise] = queue.SimpleQueue()
    done: queue.SimpleQueue[ExerciseSurvey | BaseException] = queue.SimpleQueue()
    for exercise in exercises:
        waiting.put(exercise)
    stopped = threading.Event()

    def work() -> None:
        process: MutantProcess | None = None
        topic = ""
        try:
            while not stopped.is_set():
                exercise = waiting.get_nowait()
                if process is None or topic != exercise.lesson:
                    if process is not None:
                        process.close()
                    topic, process = exercise.lesson, MutantProcess(folder, exercise.lesson)
                done.put(_Surveyor(course, exercise, process, records, told, stopped).survey())
        except (queue.Empty, _Stopped):
            pass
        except BaseException as error:  # raised in the caller's thread
            done.put(error)
        finally:
            if process is not None:
                process.close()

    threads = [threading.Thread(target=work, daemon=True) for _job in range(min(jobs, len(exercises)))]
    for thread in threads:
        thread.start()
    try:
        for _exercise in exercises:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


class _Stopped(Exception):
    """The survey was stopped; what was found is on record."""


class _Surveyor:
    def __init__(
        self,
        course: Course,
        exercise: Exercise,
        process: MutantProcess,
        records: MutantRecords | None,
        told: Callable[[str, MutantOutcome], None],
        stopped: threading.Event,
    ):
        assert exercise.key is not None
        self.exercise, self.key, self.process = exercise, exercise.key, process
        self.records, self.told, self.stopped = records, told, stopped
        self.digest = deciding_digest(course, exercise) if records is not None else ""
        self.limit_s = self.compare_limit_s = 0.0
        self.found = ExerciseSurvey(exercise.name, exercise.lesson)

    def survey(self) -> ExerciseSurvey:
        """Judge all mutants that are not on record."""
        mutants = make_mutants(self.exercise)
        if not mutants:
            return self.found
        kept = self.records.read(self.exercise, self.digest) if self.records is not None else {}
        if problem := self._prepare(kept):
            self._problem(problem)
            return self.found
        prepared = kept.pop("prepared")
        outcomes = kept
        try:
            self._judge_all([one for one in mutants if one.id not in outcomes], outcomes, prepared)
        finally:
            self._keep(outcomes, prepared)
        self.found.outcomes = [self._marked(MutantOutcome(one, **outcomes[one.id])) for one in mutants]
        self._find_unused_marks()
        return self.found

    def _judge_all(self, mutants: list[Mutant], outcomes: dict[str, dict[str, Any]], prepared: dict[str, Any]) -> None:
        for part in (mutants[first : first + _CONFIRMED] for first in range(0, len(mutants), _CONFIRMED)):
            for mutant in part:
                if self.stopped.is_set():
                    raise _Stopped
                outcomes[mutant.id] = self._judge(mutant)
                self.found.judged += 1
                self.told(self.exercise.name, MutantOutcome(mutant, **outcomes[mutant.id]))
            if not self._key_passes():
                # One of them changed the process for those after it, so each gets a new one.
                for mutant in part:
                    self.process.end()
                    outcomes[mutant.id] = self._judge(mutant)
                self.process.end()
            self._keep(outcomes, prepared)

    def _key_passes(self) -> bool:
        try:
            request = {"do": "judge", "exercise": self.exercise.name, "source": self.key.answer.source}
            return not self.process.ask(request, _PREPARE_LIMIT_S)["check"]
        except ProcessEnded:
            return False

    def _keep(self, outcomes: dict[str, dict[str, Any]], prepared: dict[str, Any]) -> None:
        if self.records is not None:
            # What could not be judged is tried again next time.
            judged = {name: one for name, one in outcomes.items() if one["outcome"] != NOT_JUDGED}
            self.records.write(self.exercise, self.digest, {**judged, "prepared": prepared})

    def _prepare(self, kept: dict[str, dict[str, Any]]) -> str:
        """Judge the key, which gives the limits, and compute what it gives on its domain; return what is wrong."""
        if "prepared" not in kept:
            request = {"exercise": self.exercise.name, "source": self.key.answer.source}
            name = self.exercise.name
            try:
                judged = self.process.ask({"do": "judge", **request}, _PREPARE_LIMIT_S)
            except ProcessEnded as ended:
                words = _("the process that judges the key's answer to `{name}` ended ({why}), so no mutant was judged")
                return words.format(name=name, why=ended)
            if judged["check"]:
                words = _("the key's answer to `{name}` is rejected ({check}), so no mutant was judged: {why}")
                return words.format(name=name, check=judged["check"], why=judged["why"])
            try:
                found = self.process.ask({"do": "prepare", **request}, _PREPARE_LIMIT_S)
            except ProcessEnded as ended:
                found = {"undeclared": _("the key's answer did not end: {why}").format(why=ended)}
            kept["prepared"] = {**found, "judge_s": judged["cpu_s"], "compare_s": found.get("cpu_s", 0.0)}
        prepared = kept["prepared"]
        self.found.undeclared = prepared.get("undeclared", "")
        if prepared.get("unsure"):
            words = _("the key's answer gives different results in two calls ({what})")
            self.found.undeclared = words.format(what=prepared["unsure"])
        self.found.inputs, self.found.disputes = prepared.get("inputs", 0), prepared.get("disputes", [])
        self.limit_s = max(_LEAST_LIMIT_S, _LIMIT_FACTOR * prepared["judge_s"])
        self.compare_limit_s = max(_LEAST_LIMIT_S, _LIMIT_FACTOR * prepared["compare_s"])
        return ""

    def _judge(self, mutant: Mutant) -> dict[str, Any]:
        request = {"exercise": self.exercise.name, "source": mutant.source}
        try:
            judged = self.process.ask({"do": "judge", **request}, self.limit_s)
        except ProcessEnded as ended:
            why = str(ended)
            return {"outcome": NOT_JUDGED, "why": why} if why == STALLED else {"outcome": REJECTED, "check": why}
        if "not_judged" in judged:
            return {"outcome": NOT_JUDGED, "why": judged["not_judged"]}
        if judged["check"]:
            return {"outcome": REJECTED, "check": judged["check"], "why": judged["why"]}
        if self.found.undeclared:
            return {"outcome": UNDECLARED, "why": self.found.undeclared}
        request |= {"do": "compare", "origin": mutant.origin}
        try:
            found = self.process.ask(request, self.compare_limit_s)["difference"]
        except ProcessEnded as ended:
            if str(ended) == STALLED:
                return {"outcome": NOT_JUDGED, "why": STALLED}
            found = {"observed": str(ended), "kind": "", "call": "", "got": "", "expected": "", "disputed_by": ""}
        if found is None:
            return {"outcome": UNDECIDED}
        return {"outcome": DISPUTED if found["disputed_by"] else SURVIVING, "difference": found}

    def _marked(self, outcome: MutantOutcome) -> MutantOutcome:
        """Apply the author's mark to a mutant, unless an input refutes it."""
        reason = self.key.equivalent.get(outcome.mutant.id)
        if reason is None or outcome.outcome == NOT_JUDGED:
            return outcome
        if outcome.outcome in (UNDECIDED, UNDECLARED, DISPUTED):
            return dataclasses.replace(outcome, outcome=EQUIVALENT, why=reason)
        message = _("the mutant `{id}` is marked as equivalent, but the check `{check}` rejects it")
        words = {"id": outcome.mutant.id, "check": outcome.check}
        if outcome.difference is not None:
            message = _(
                "the mutant `{id}` is marked as equivalent, but {what} differs for {call}: {got}, not {expected}"
            )
            told = outcome.difference
            words |= {"what": told["observed"], **{name: told[name] for name in ("call", "got", "expected")}}
        self._problem(message.format(**words))
        return outcome

    def _find_unused_marks(self) -> None:
        made = {one.mutant.id for one in self.found.outcomes}
        for one in self.key.equivalent:
            if one not in made:
                message = _("`{id}` is marked as an equivalent mutant of `{name}`, but no such mutant is made")
                self._problem(message.format(id=one, name=self.exercise.name))

    def _problem(self, message: str) -> None:
        self.found.problems.append(Problem(self.key.answer.path, self.key.answer.line, message))
