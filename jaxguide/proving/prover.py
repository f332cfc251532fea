"""Prove every exercise of a course: right answers pass, wrong ones fail the check that they name and keep no points."""

import ast
import contextlib
import dataclasses
import functools
import inspect
import re
import time
from collections.abc import Callable, Sequence

import numpy as np

from jaxguide import compat
from jaxguide.base.clean import clean
from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.code.sameness import is_starter
from jaxguide.code.slices import returns_value
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.exercise import Check, Exercise, Planted
from jaxguide.course.judging.judge import deciding, guessed_right
from jaxguide.course.judging.run_check import says_its_input
from jaxguide.course.verdict import AnswerGone, CheckResult, ExerciseResult, Verdict
from jaxguide.proving.example_calls import examples, failing, has_example, prints_otherwise
from jaxguide.proving.hint_ladder import ladder_problems
from jaxguide.proving.proof import Kept, Problem, Proof, ProofSettings, call_and_values, what_is
from jaxguide.proving.prove_documented import DocumentedProver
from jaxguide.proving.rewording import reworded_starter

MIN_WRONG = 2

# JAX raises NameError, too, if an axis has no name.
_UNDEFINED = re.compile(r"name '\w+' is not defined")


def prove_exercise(
    book: Book, exercise: Exercise, settings: ProofSettings, stuck: Callable[[Problem], None] | None = None
) -> Proof:
    """Return the proof of one exercise of a book, whose key must be loaded.

    Args:
        book: the book.
        exercise: the exercise.
        settings: how answers are judged.
        stuck: see `TimeLimit`.
    """
    prover = _Prover(book, exercise, settings, stuck)
    began_s = time.process_time()
    # If an answer changed NumPy's print options, checks of the next exercise would read other text.
    with np.printoptions(), compat.float64(book.x64):
        prover.prove()
    prover.proof.cpu_s = time.process_time() - began_s
    return prover.proof


class _Prover(DocumentedProver):
    def prove(self) -> None:
        with self.watch:
            self._count()
            self._prove()
            self._advise()

    def _prove(self) -> None:
        self._prove_signature()
        self._prove_names()
        if self.exercise.is_prediction:
            self._prove_prediction()
            return
        if returns_value(self.key.answer.source, self.exercise.name) and not deciding(self.exercise):
            self._problem(
                f"`{self.exercise.name}` returns a value, but no required check decides on it, and observations in the "
                "process that runs an answer can be forged. Add a check of stage `value` and kind `value`, or of kind "
                "`relation` if several values are right"
            )
        if not self._prove_right(self.key.answer):
            return
        self._prove_repeatable()
        self._prove_examples()
        self._prove_documented_cells()
        for planted in self.key.alternatives:
            self._prove_right(planted)
        self._prove_starter()
        for planted in self.key.wrong:
            self._prove_wrong(planted)
        self.prove_documented()

    def _advise(self) -> None:
        """Note what good teaching needs and grading does not."""
        exercise, key, name = self.exercise, self.key, self.exercise.name
        if not exercise.contract:
            self._advice(f"`{name}` has no docstring; it is the contract that students read")
        for said in ladder_problems(self):
            self._advice(said)
        self._advise_texts()
        self._advise_documented()
        # Shapes and dtypes speak for themselves. Of a hidden check that fails, students see no values: `on` is all.
        without_idea = [c for c in exercise.all_checks() if not c.idea and c.stage not in ("shape", "dtype")]
        if without_idea:
            self._advice(f"`{name}`: say the idea behind {_names(without_idea)} with `idea=`", without_idea[0])
        if without_on := [check for check in key.hidden if not says_its_input(check)]:
            example = 'such as `on="a row with a zero in it"`'
            message = f"`{name}`: say on what kind of input {_names(without_on)} can fail, {example}"
            self._advice(message, without_on[0])
        if exercise.keeps and not exercise.why_keeps:
            self._advice(f"`{name}` has `keeps={exercise.keeps}`, but no reason; give it in `why_keeps`")
        elif exercise.keeps:
            message = f"an answer that misses the point of `{name}` may keep {exercise.keeps:.0%} of the points"
            self.proof.notes.append(Problem(exercise.path, exercise.line, f"{message}: {exercise.why_keeps}"))
        if exercise.is_prediction:
            return
        if len(key.wrong) < MIN_WRONG:
            message = f"`{name}` has {len(key.wrong)} planted wrong answers; it should have at least {MIN_WRONG}"
            self._advice(message, key.answer)
        if not any(planted.misses_the_point for planted in key.wrong):
            message = f"`{name}` has no planted wrong answer that misses the point"
            self._advice(f"{message}; mark at least one with `misses_the_point=True`", key.answer)

    def _advise_texts(self) -> None:
        """Note which texts are missing that students read in a statement, after a pass or after a guess."""
        exercise, answer, name = self.exercise, self.key.answer, self.exercise.name
        wanted = {"why": exercise.why, "shows": exercise.shows}
        if not exercise.is_prediction:
            wanted = {"notice": answer.notice, "another_way": answer.another_way}
            if exercise.contract and not has_example(exercise):
                self._advice(
                    f"the docstring of `{name}` has no example call with its result, such as `>>> {name}(...)`"
                )
        missing = " and ".join(f"`{text}`" for text, said in wanted.items() if not said)
        if missing and exercise.is_prediction:
            self._advice(f"`@reveal` of `{name}` has no {missing}, for students who have guessed")
        elif missing:
            self._advice(f"`@answer` of `{name}` has no {missing}, for students who have passed", answer)

    def _advise_documented(self) -> None:
        """Note the documented examples that no cell shows, or more than one."""
        shown = [example for cell in self.book.documented for example in cell.ids]
        for example in self.exercise.reproduces:
            if shown.count(example) != 1:
                message = f"must be named by one cell `# %% documented {example}`"
                self._advice(f"{example} {message} below `{self.exercise.name}`, but is by {shown.count(example)}")

    def _advice(self, message: str, where: Planted | Check | None = None) -> None:
        at = where or self.exercise
        self.proof.advice.append(Problem(at.path, at.line, message))

    def _count(self) -> None:
        proof, exercise = self.proof, self.exercise
        proof.exercises += 1
        proof.predictions += exercise.is_prediction
        proof.checks += len(exercise.checks)
        proof.hidden_checks += len(self.key.hidden)
        proof.wrong += len(self.key.wrong)
        proof.alternatives += len(self.key.alternatives)

    def _prove_signature(self) -> None:
        body = ast.parse(self.key.answer.source).body
        node = next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == self.exercise.name)
        signature = f"({ast.unparse(node.args)})"
        if signature != self.exercise.signature:
            name, other = self.exercise.name, self.exercise.signature
            message = f"the signature of the key's `{name}{signature}` differs from that of the book's `{name}{other}`"
            self._problem(message, self.key.answer)

    def _prove_names(self) -> None:
        """Prove that checks and wrong answers name each other rightly."""
        planted, checks = [one.name for one in self.key.wrong], {check.name for check in self.exercise.all_checks()}
        for one in self.key.wrong:
            if one.rejected_by not in checks:
                names = f"names the check `{one.rejected_by}`, which `{self.exercise.name}` does not have"
                self._problem(f"the wrong answer `{one.name}` {names}", one)
        for check in self.exercise.all_checks():
            if check.misconception and check.misconception not in planted:
                names = f"names the misconception `{check.misconception}`, but no wrong answer is named so."
                self._problem(f"the check `{check.name}` {names}{did_you_mean(check.misconception, planted)}", check)

    # Right answers

    def _prove_right(self, planted: Planted) -> bool:
        what = what_is(planted, self.exercise)
        if is_starter(planted.source, self.exercise):
            message = "is the starter, which counts as not attempted: the starter must differ from it"
            self._problem(f"{what} {message}", planted)
            return False
        for seed in self._seeds(planted):
            asked = self._drawing() if seed else None
            if asked and not asked.all_checks():
                break
            began_s = time.process_time()
            result = self._result(planted, seed, asked)
            if planted is self.key.answer and seed == 0:
                self.proof.key_cpu_s += time.process_time() - began_s
            if result is None:
                return False
            failure = result.first_failure
            if result.verdict is not Verdict.PASSED or failure:
                name, why = (failure.name, failure.trouble or failure.message) if failure else ("-", result.verdict)
                message = f"{what} is rejected by the check `{name}` (seed {seed}): {why}"
                check = next((one for one in self.exercise.all_checks() if one.name == name), None)
                if planted is self.key.answer and check is not None and check.reproduces:
                    message += f" (it must give {', '.join(check.reproduces)} word by word as the ledger has it)"
                self._problem(message, planted, call_and_values(failure))
                return False
        return True

    def _seeds(self, planted: Planted) -> range:
        return range(self.settings.seeds if planted is self.key.answer else max(1, self.settings.seeds - 1))

    def _drawing(self) -> Exercise:
        """Return the exercise with the checks that draw; the others come out alike with each seed."""
        checks, hidden = ([one for one in some if _draws(one)] for some in (self.exercise.checks, self.key.hidden))
        return dataclasses.replace(self.exercise, checks=checks, key=dataclasses.replace(self.key, hidden=hidden))

    def _prove_repeatable(self) -> None:
        """Run the checks of the key's answer again with the first seed: they must do the same with the same replies."""
        failure = None
        with contextlib.suppress(Exception):  # of a check that copes with some inputs only
            failure, _differs = self._repeat()
        if failure is not None:
            check = next(one for one in self.exercise.all_checks() if one.name == failure.name)
            message = "differs between two runs with the same seed; take inputs from `draw`"
            self._problem(f"the check `{check.name}` {message}", check)

    def _prove_examples(self) -> None:
        """Prove that the examples in the docstring come out with the key's answer."""
        exercise, source = self.exercise, self.key.answer.source
        self.at = self.key.answer
        try:
            shown = examples(exercise)
            self.watch.begin()
            found = self.watch.call(lambda: failing(shown, lambda names: run_answer(self.book, source, also=names)))
        except (AnswerGone, ValueError) as error:
            why = error.note if isinstance(error, AnswerGone) else str(error)
            self._problem(f"the examples of `{exercise.name}` cannot be run: {why}")
            return
        for example, got in found:
            texts = (example.source, example.want, got)
            call, want, gives = (" ".join(clean(text, 300).split()) or "nothing" for text in texts)
            message = f"the example `{call}` shows {want}, but the key's answer gives {gives}"
            self.proof.problems.append(Problem(exercise.path, exercise.contract_line + example.lineno, message))

    def _prove_documented_cells(self) -> None:
        """Prove that the documented examples below the exercise come out as their cells show."""
        for cell in self.book.documented:
            if not set(cell.ids) & set(self.exercise.reproduces):
                continue
            self.watch.begin()
            try:
                got = self.watch.call(functools.partial(prints_otherwise, self.book, cell))
            except AnswerGone as gone:
                got = gone.note
            if got is not None:
                message = f"the documented example {' '.join(cell.ids)} does not print what its cell shows"
                details = f"Got: {got or 'nothing'}", f"Expected: {cell.today or cell.documented}"
                self.proof.problems.append(Problem(self.book.path, cell.line, message, details))

    # Starters and wrong answers

    def _prove_starter(self) -> None:
        """Judge the starter in other words: unchanged, it counts as not attempted."""
        starter = reworded_starter(self.exercise)
        result = self._result(starter, 0)
        if result is None:
            return
        if result.verdict is Verdict.PASSED:
            self._problem(f"the starter of `{self.exercise.name}` passes all checks")
        elif result.score:
            message = f"{what_is(starter, self.exercise)} keeps {_kept_words(result)}"
            self._problem(f"{message}; mark the check that it must not fail `required=True`")

    def _prove_wrong(self, planted: Planted) -> None:
        if planted.rejected_by in {check.name for check in self.exercise.all_checks()}:
            for seed in self._seeds(planted):
                if not self._rejected_as_named(planted, seed):
                    break

    def _rejected_as_named(self, planted: Planted, seed: int) -> bool:
        result = self._result(planted, seed)
        if result is None:
            return False
        if seed == 0 and planted.misses_the_point:
            self._prove_kept(planted, result)
        failure = result.first_failure
        error = failure.error if failure else None
        what, details = f"the wrong answer `{planted.name}`", call_and_values(failure)
        if is_starter(planted.source, self.exercise):
            self._problem(f"{what} is the starter, which counts as not attempted: write another", planted)
        elif failure is None:
            self._problem(f"{what} passes all checks (seed {seed})", planted)
        elif failure.trouble:
            self._problem(f"{what} breaks the check `{failure.name}`: {failure.trouble}", planted, details)
        elif error is not None and error.type_name == "NameError" and _UNDEFINED.match(error.message):
            message = f"{what} proves nothing, because it raises NameError: {error.message}"
            self._problem(message, planted, details)
        elif failure.name != planted.rejected_by:
            message = f"{what} is rejected by `{failure.name}`, not by `{planted.rejected_by}` (seed {seed})"
            self._problem(f"{message}: {failure.message}", planted, details)
        elif failure.misconceptions and planted.name not in failure.misconceptions:
            names = ", ".join(failure.misconceptions)
            message = f"the check `{failure.name}` rejects `{planted.name}` but names the misconception {names}"
            self._problem(message, planted)
        else:
            return True
        return False

    def _prove_kept(self, planted: Planted, result: ExerciseResult) -> None:
        exercise = self.exercise
        self.proof.kept.append(Kept(exercise.name, planted.name, result.score, exercise.points))
        # Scores are rounded to 4 decimals.
        if result.first_failure and result.score > exercise.keeps * exercise.points + 1e-4:
            self._problem(
                f"the wrong answer `{planted.name}` misses the point, but keeps {_kept_words(result)}; mark the check "
                "of the point `required=True`, or declare `keeps` on the exercise, with the reason",
                planted,
            )

    def _prove_prediction(self) -> None:
        result = self._result(self.key.answer, 0)
        if result is not None and (result.verdict is not Verdict.PASSED or not guessed_right(result)):
            self._problem(f"the key predicts {result.note}, but JAX gives {result.reveal}", self.key.answer)


def _draws(check: Check) -> bool:
    return "draw" in inspect.signature(check.function).parameters


def _kept_words(result: ExerciseResult) -> str:
    """Return how many points an answer keeps, and by which checks."""
    passed = _names([check for check in result.checks if check.passed])
    return f"{result.score:g} of {result.points:g} points by {passed}"


def _names(checks: Sequence[Check | CheckResult]) -> str:
    return ", ".join(f"`{check.name}`" for check in checks)
