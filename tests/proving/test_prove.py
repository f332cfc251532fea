"""Test proving in several processes: same proofs in the same order, and a report if a process ends."""

import dataclasses
import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from tiny_course import edit

from jaxguide.cli import main
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import load_course
from jaxguide.course.judging import compilation_cache
from jaxguide.proving import prove_in_parallel, prover
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prove_in_parallel import ProverDied, prove


def _prove(folder: Path, jobs: int) -> tuple[list[str], Proof]:
    course = load_course(folder)
    found = list(prove(course, list(course.exercises.values()), jobs=jobs))
    return [exercise.name for exercise, _proof in found], found[-1][1]


@pytest.mark.long
def test_two_processes_prove_what_one_does_in_the_same_order(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "return x * x", "return x + x")
    names, proof = _prove(tiny, jobs=1)
    assert names == ["double", "guess_shape"]
    assert proof.exercises == 2
    assert [p.message for p in proof.problems] == ["the wrong answer `squares` passes all checks (seed 0)"]
    names_of_two, proof_of_two = _prove(tiny, jobs=2)
    assert names_of_two == names
    assert 0 < proof.key_cpu_s < proof.cpu_s
    times = {"cpu_s": 0.0, "key_cpu_s": 0.0}
    assert dataclasses.replace(proof_of_two, **times) == dataclasses.replace(proof, **times)


def test_what_an_answer_sets_in_numpy_is_gone_after_its_exercise(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "return x * x", "np.set_printoptions(precision=3)\n    return x * x")
    before = np.get_printoptions()
    names, proof = _prove(tiny, jobs=1)
    assert names == ["double", "guess_shape"]
    assert proof.problems == []
    assert np.get_printoptions() == before


def test_programs_are_freed_after_an_exercise_if_they_are_many(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation_cache, "_LARGE_BYTES", 0)
    traced = []
    function = jax.jit(lambda x: (traced.append(1), 2 * x)[1])
    function(1.0)
    _prove(tiny, jobs=1)
    function(1.0)
    assert len(traced) == 2


# Each of these is right or wrong by what it has noted since its module ran.
NOTES = """
_calls = []
_traced = []
_jitted = jax.jit(lambda x: (_traced.append(1), 2 * x)[1])


@wrong(rejected_by="twice_the_input", says="It counts the traces of all calls.")
def counts_traces(x):
    y = _jitted(x)
    return y + len(_traced) - 1


@alternative
def right_until_the_fifth_call(x):
    _calls.append(x)
    return 2 * x if len(_calls) < 5 else 3 * x

"""


def test_verdicts_do_not_depend_on_the_order_of_answers_and_seeds(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "\n# %% guess_shape", f"{NOTES}\n# %% guess_shape")
    key = "    _calls.append(x)\n    return 2 * x if len(_calls) < 5 else 3 * x\n"
    edit(tiny, "solutions/tiny.py", "    return 2 * x\n", key)
    course = load_course(tiny)
    exercise = course.exercise("double")
    assert exercise.key is not None
    found = []
    for seeds, turned in ((1, 0), (3, 1), (2, 2), (1, 2)):
        wrong, right = ([*part[turned:], *part[:turned]] for part in (exercise.key.wrong, exercise.key.alternatives))
        key_turned = dataclasses.replace(exercise.key, wrong=wrong, alternatives=right)
        one = dataclasses.replace(exercise, key=key_turned)
        proof = prover.prove_exercise(course.book_of(exercise), one, ProofSettings.of_course(course, seeds))
        assert [str(problem) for problem in proof.problems] == []
        found.append(proof.verdicts)
    assert found == [found[0]] * 4
    assert len(found[0]) == 8


def test_a_course_is_proven_with_the_hidden_inputs_that_graders_use(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[ProofSettings] = []

    def prove_exercise(_book: object, _exercise: object, used: ProofSettings, _stuck: None) -> Proof:
        settings.append(used)
        return Proof()

    monkeypatch.setattr(prove_in_parallel, "prove_exercise", prove_exercise)
    course = load_course(tiny)
    assert len(list(prove(course, list(course.exercises.values())))) == 2
    assert {one.course_digest for one in settings} == {course_digest(course)}


@pytest.mark.long
def test_a_process_that_ends_is_told_with_the_exercises_it_may_have_been_at(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "x = draw.floats(4)", "import os; os._exit(9)")
    told = "was killed or ran out of memory before it had judged `double` or `guess_shape`."
    with pytest.raises(ProverDied, match=re.escape(told)):
        _prove(tiny, jobs=2)


def test_a_mistake_in_a_check_is_told_where_it_stands(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "expect_close(answer(x), reference(x))", "expect_clos(answer(x), reference(x))")
    (problem,) = _prove(tiny, jobs=1)[1].problems
    text = (tiny / "solutions" / "tiny.py").read_text().splitlines()
    assert (problem.path.parent.name, text[problem.line - 1].strip()[:11]) == ("solutions", "expect_clos")
    assert "name 'expect_clos' is not defined" in problem.message


def test_the_line_of_a_failure_is_the_answers_own(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "    return x + x", "    return x.plus(x)")
    (problem,) = _prove(tiny, jobs=1)[1].problems
    assert "`jitted`" in problem.message
    assert "Line: return x.plus(x)" in problem.details


def test_a_lesson_named_is_proven_alone(tiny: Path) -> None:
    for folder in ("exercises", "solutions"):
        text = (tiny / folder / "tiny.py").read_text()
        (tiny / folder / "other.py").write_text(text.replace("guess_shape", "guess").replace("double", "twice"))
    done = CliRunner().invoke(main, ["verify", "other", "--no-workers", "--jobs", "1", "--course", str(tiny), "--json"])
    found = json.loads(done.stdout)
    assert found["exercises"] == 2
    assert found["problems"] == []
    stale = [note for note in found["advice"] if "jaxguide print" in note["message"]]
    assert [Path(note["path"]).stem for note in stale] == ["other"]


def test_a_course_is_told_that_its_translations_are_not_read(tiny: Path) -> None:
    (tiny / "locale").mkdir()
    command = ["verify", "--only", "guess_shape", "--no-workers", "--jobs", "1", "--course", str(tiny)]
    done = CliRunner().invoke(main, command)
    assert f"note: {tiny / 'locale'}:1: translations are not read; delete the folder" in done.stdout
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [(["tinny"], "Did you mean `tiny`?"), (["tiny", "--only", "double"], "Give lessons or `--only`, not both.")],
)
def test_what_is_not_asked_for_rightly_is_said(tiny: Path, asked: list[str], words: str) -> None:
    done = CliRunner().invoke(main, ["verify", *asked, "--course", str(tiny)])
    assert done.exit_code == 2
    assert words in done.stderr
