"""Prove that an exercise reproduces the documented examples that it lists."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from jaxguide.course import ledger
from jaxguide.course.exercise import Check, Exercise, ExerciseKey, Planted
from jaxguide.course.verdict import CheckResult, ExerciseResult, Kind, Verdict
from jaxguide.proving.proof import Problem, Proof, call_and_values, what_is
from jaxguide.proving.rewording import as_given, reworded_starter

MANY_EXAMPLES = 4

JudgeBy = Callable[[Planted, Exercise], ExerciseResult | None]
"""Judge a planted answer by an exercise's checks; None if that is not possible, which is then a problem."""

RepeatBy = Callable[[], tuple[CheckResult | None, bool]]
"""Run the checks of the key's run again on its replies; return what fails, and whether they asked for others."""


class Tell(Protocol):
    """Add a problem with an exercise, one of its checks or a planted answer."""

    def __call__(
        self, message: str, where: Planted | Check | None = None, details: tuple[str, ...] = (), /
    ) -> None: ...


@dataclasses.dataclass(frozen=True)
class KeyRun:
    """The key's answer as it was judged: by the checks of `exercise`, which compared these parts of examples."""

    exercise: Exercise
    result: ExerciseResult
    compared: set[tuple[str, str]]


def only_checks(checks: Sequence[Check], exercise: Exercise) -> Exercise:
    """Return an exercise with these checks only, which all run, whatever the others give."""
    assert exercise.key is not None
    all_run = [dataclasses.replace(one, stage="value", kind=Kind.OBSERVED, required=False) for one in checks]
    key = dataclasses.replace(exercise.key, hidden=[check for check in all_run if check.hidden])
    return dataclasses.replace(exercise, checks=[check for check in all_run if not check.hidden], key=key)


@dataclasses.dataclass(frozen=True)
class DocumentedProver:
    """Proves the documented examples of one exercise, whose key must be loaded.

    Args:
        exercise: the exercise.
        proof: gets the examples that are reproduced, and has the verdicts that are known.
        key_run: what the key gave.
        judge, repeat, tell: see above.
    """

    exercise: Exercise
    proof: Proof
    key_run: KeyRun
    judge: JudgeBy
    repeat: RepeatBy
    tell: Tell

    def prove(self) -> None:
        """Prove that the checks notice changes in the ledger, and that each example is proven by itself."""
        exercise, entries = self.exercise, ledger.entries()
        named = {example for check in exercise.all_checks() for example in check.reproduces}
        for example in sorted({*exercise.reproduces, *named} - entries.keys()):
            self.tell(f"the ledger has no documented example {example}")
        for example in sorted({*exercise.reproduces} ^ named):
            self.tell(f"{example} must be listed on both the exercise and one of its checks")
        if len(exercise.reproduces) > MANY_EXAMPLES and not exercise.why_so_many:
            message = f"reproduces more than {MANY_EXAMPLES} documented examples; explain it in `why_so_many`"
            self.tell(f"`{exercise.name}` {message}")
        known = [one for one in exercise.reproduces if one in named and one in entries]
        found = {example for example in known if self._is_reproduced(example)}
        if self._have_their_own_proof(known):
            self.proof.reproduced |= found

    def _is_reproduced(self, example: str) -> bool:
        """Return whether the checks that name an example compare each part of its record and notice changes."""
        parts, key = ledger.parts(example), self._key.answer
        if not parts:
            self.tell(f"the ledger's entry {example} has no record to compare with")
            return False
        own = [check for check in self.exercise.all_checks() if example in check.reproduces]
        names = {check.name for check in own}
        wrong = next((one for one in self.key_run.result.checks if one.name in names and not one.passed), None)
        if wrong is not None:
            details = call_and_values(wrong)
            self.tell(f"the key's answer does not give {example} word by word as the ledger has it", key, details)
            return False
        for part in parts:
            if (example, part) not in self.key_run.compared:
                self.tell(f"no check compares the {part} of {example} with the ledger")
                return False
            with ledger.corrupted(example, part):
                failure, differs = self.repeat()
                if differs:  # a check takes inputs from the ledger
                    result = self.judge(key, only_checks(own, self.exercise))
                    failure = result.first_failure if result else None
            if failure is None:
                self.tell(f"if the {part} of {example} changes in the ledger, no check that names it fails")
                return False
        return True

    # Each by itself

    def _have_their_own_proof(self, examples: Sequence[str]) -> bool:
        """Return whether each example has a check of its own, which the starter fails and an answer that lacks it."""
        checks, before = self._own_checks(examples), len(self.proof.problems)
        if checks is None:
            return False
        for starter in (as_given(self.exercise), reworded_starter(self.exercise)):
            for example in sorted(checks.keys() - self._failing(starter, checks)):
                self.tell(f"{what_is(starter, self.exercise)} passes the check of {example}", checks[example])
        lacking = {planted: self._failing(planted, checks) for planted in self._key.wrong if planted.lacks}
        for planted, failing in lacking.items():
            self._prove_lacks(planted, failing, checks)
        for example in sorted(checks.keys() - {planted.lacks for planted in lacking}):
            self.tell(f'no wrong answer lacks just {example}; mark one with `lacks="{example}"`', checks[example])
        for example, (first, why) in self._follows.items():
            if not any(planted.lacks == first and example in failing for planted, failing in lacking.items()):
                self.tell(f"{example} does not follow from {first}: no answer that lacks {first} fails its check")
            words = f"an answer that lacks {first} may fail the check of {example}, too: {why}"
            self.proof.notes.append(Problem(self.exercise.path, self.exercise.line, words))
        return len(self.proof.problems) == before

    def _own_checks(self, examples: Sequence[str]) -> dict[str, Check] | None:
        """Return the check of each example; None if one has none of its own, or another example's record."""
        found: dict[str, Check] = {}
        entries = ledger.entries()
        for example in examples:
            naming = [check for check in self.exercise.all_checks() if example in check.reproduces]
            if [check.reproduces for check in naming] != [(example,)]:
                self.tell(f"{example} needs exactly one check that names it, which names no other example", naming[0])
                continue
            found[example] = naming[0]
            record = entries[example]["record"]
            equal = [one for one, entry in entries.items() if one != example and entry["record"] == record]
            if equal:
                self.tell(f"{example} has the same record in the ledger as {', '.join(equal)}", naming[0])
                del found[example]
        return found if len(found) == len(examples) else None

    def _prove_lacks(self, planted: Planted, failing: Collection[str], checks: Mapping[str, Check]) -> None:
        """Prove that a wrong answer fails the check of the example that it lacks, and else only what follows."""
        what, lacks = f"the wrong answer `{planted.name}` lacks {planted.lacks}", planted.lacks
        if lacks not in checks:
            self.tell(f"{what}, which `{self.exercise.name}` does not reproduce", planted)
        elif lacks not in failing:
            self.tell(f"{what}, but passes its check `{checks[lacks].name}`", planted)
        follows = {example for example, (first, _why) in self._follows.items() if first in failing}
        if too := sorted({*failing} - {lacks} - follows):
            self.tell(f"{what}, but fails the checks of {', '.join(too)}, too", planted)

    def _failing(self, planted: Planted, checks: Mapping[str, Check]) -> set[str]:
        """Return the examples whose check an answer fails, each whatever the other checks give."""
        known = self.proof.verdicts.get((self.exercise.name, planted.name))
        verdicts: dict[str, Verdict] = dict(known.checks) if known else {}
        rest = [c for c in checks.values() if verdicts.get(c.name, Verdict.NOT_CHECKED) is Verdict.NOT_CHECKED]
        result = self.judge(planted, only_checks(rest, self.exercise)) if rest else None
        verdicts |= {check.name: check.verdict for check in result.checks} if result else {}
        return {example for example, check in checks.items() if verdicts.get(check.name) is not Verdict.PASSED}

    @property
    def _follows(self) -> dict[str, tuple[str, str]]:
        return self.exercise.follows or {}

    @property
    def _key(self) -> ExerciseKey:
        assert self.exercise.key is not None
        return self.exercise.key
