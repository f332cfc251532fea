"""Prove that an exercise reproduces the documented examples that it lists."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from jaxguide import compat
from jaxguide.course import ledger
from jaxguide.course.books.book import Book
from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.verdict import Kind, Verdict
from jaxguide.proving.planted_judge import PlantedJudge
from jaxguide.proving.proof import Problem, Proof, ProofSettings, call_and_values, what_is
from jaxguide.proving.rewording import as_given, reworded_starter

MANY_EXAMPLES = 4


def prove_documented(book: Book, exercise: Exercise, settings: ProofSettings) -> Proof:
    """Return the proof that an exercise reproduces documented examples, and nothing else of it."""
    prover = DocumentedProver(book, exercise, settings)
    with compat.float64(book.x64):
        documented = only_checks([check for check in exercise.all_checks() if check.reproduces], exercise)
        if prover._result(prover.key.answer, 0, documented):
            prover.prove_documented()
    return prover.proof


def only_checks(checks: Sequence[Check], exercise: Exercise) -> Exercise:
    """Return an exercise with these checks only, which all run, whatever the others give."""
    assert exercise.key is not None
    all_run = [dataclasses.replace(one, stage="value", kind=Kind.OBSERVED, required=False) for one in checks]
    key = dataclasses.replace(exercise.key, hidden=[check for check in all_run if check.hidden])
    return dataclasses.replace(exercise, checks=[check for check in all_run if not check.hidden], key=key)


class DocumentedProver(PlantedJudge):
    """Proves the documented examples of an exercise."""

    def prove_documented(self) -> None:
        """Prove that the checks notice changes in the ledger, and that each example is proven by itself."""
        exercise, entries = self.exercise, ledger.entries()
        named = {example for check in exercise.all_checks() for example in check.reproduces}
        for example in sorted({*exercise.reproduces, *named} - entries.keys()):
            self._problem(f"the ledger has no documented example {example}")
        for example in sorted({*exercise.reproduces} ^ named):
            self._problem(f"{example} must be listed on both the exercise and one of its checks")
        if len(exercise.reproduces) > MANY_EXAMPLES and not exercise.why_so_many:
            message = f"reproduces more than {MANY_EXAMPLES} documented examples; explain it in `why_so_many`"
            self._problem(f"`{exercise.name}` {message}")
        known = [one for one in exercise.reproduces if one in named and one in entries]
        found = {example for example in known if self._is_reproduced(example)}
        if self._have_their_own_proof(known):
            self.proof.reproduced |= found

    def _is_reproduced(self, example: str) -> bool:
        """Return whether the checks that name an example compare each part of its record and notice changes."""
        assert self.key_run is not None
        parts, key = ledger.parts(example), self.key.answer
        if not parts:
            self._problem(f"the ledger's entry {example} has no record to compare with")
            return False
        own = [check for check in self.exercise.all_checks() if example in check.reproduces]
        names = {check.name for check in own}
        wrong = next((one for one in self.key_run.result.checks if one.name in names and not one.passed), None)
        if wrong is not None:
            details = call_and_values(wrong)
            self._problem(f"the key's answer does not give {example} word by word as the ledger has it", key, details)
            return False
        for part in parts:
            if (example, part) not in self.key_run.compared:
                self._problem(f"no check compares the {part} of {example} with the ledger")
                return False
            with ledger.corrupted(example, part):
                failure, differs = self._repeat()
                if differs:  # a check takes inputs from the ledger
                    result = self._result(key, 0, only_checks(own, self.exercise))
                    failure = result.first_failure if result else None
            if failure is None:
                self._problem(f"if the {part} of {example} changes in the ledger, no check that names it fails")
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
                self._problem(f"{what_is(starter, self.exercise)} passes the check of {example}", checks[example])
        lacking = {planted: self._failing(planted, checks) for planted in self.key.wrong if planted.lacks}
        for planted, failing in lacking.items():
            self._prove_lacks(planted, failing, checks)
        for example in sorted(checks.keys() - {planted.lacks for planted in lacking}):
            self._problem(f'no wrong answer lacks just {example}; mark one with `lacks="{example}"`', checks[example])
        for example, (first, why) in self._follows.items():
            if not any(planted.lacks == first and example in failing for planted, failing in lacking.items()):
                self._problem(f"{example} does not follow from {first}: no answer that lacks {first} fails its check")
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
                self._problem(
                    f"{example} needs exactly one check that names it, which names no other example", naming[0]
                )
                continue
            found[example] = naming[0]
            record = entries[example]["record"]
            equal = [one for one, entry in entries.items() if one != example and entry["record"] == record]
            if equal:
                self._problem(f"{example} has the same record in the ledger as {', '.join(equal)}", naming[0])
                del found[example]
        return found if len(found) == len(examples) else None

    def _prove_lacks(self, planted: Planted, failing: Collection[str], checks: Mapping[str, Check]) -> None:
        """Prove that a wrong answer fails the check of the example that it lacks, and else only what follows."""
        what, lacks = f"the wrong answer `{planted.name}` lacks {planted.lacks}", planted.lacks
        if lacks not in checks:
            self._problem(f"{what}, which `{self.exercise.name}` does not reproduce", planted)
        elif lacks not in failing:
            self._problem(f"{what}, but passes its check `{checks[lacks].name}`", planted)
        follows = {example for example, (first, _why) in self._follows.items() if first in failing}
        if too := sorted({*failing} - {lacks} - follows):
            self._problem(f"{what}, but fails the checks of {', '.join(too)}, too", planted)

    def _failing(self, planted: Planted, checks: Mapping[str, Check]) -> set[str]:
        """Return the examples whose check an answer fails, each whatever the other checks give."""
        known = self.proof.verdicts.get((self.exercise.name, planted.name))
        verdicts: dict[str, Verdict] = dict(known.checks) if known else {}
        rest = [c for c in checks.values() if verdicts.get(c.name, Verdict.NOT_CHECKED) is Verdict.NOT_CHECKED]
        result = self._result(planted, 0, only_checks(rest, self.exercise)) if rest else None
        verdicts |= {check.name: check.verdict for check in result.checks} if result else {}
        return {example for example, check in checks.items() if verdicts.get(check.name) is not Verdict.PASSED}

    @property
    def _follows(self) -> dict[str, tuple[str, str]]:
        return self.exercise.follows or {}
