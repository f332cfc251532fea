"""Exercises proven by several processes at a time: the same proof in the same order, and a process that ends is told."""

import dataclasses
import re
from pathlib import Path

import pytest

from jaxguide.course.library import load_course
from jaxguide.course.prove import ProverDied, prove
from jaxguide.course.verify import Proof

from .conftest import edit


def _prove(folder: Path, jobs: int) -> tuple[list[str], Proof]:
    course = load_course(folder)
    names, proof = [], Proof()
    for exercise, proof in prove(course, list(course.exercises.values()), jobs=jobs):
        names.append(exercise.name)
    return names, proof


def test_two_processes_prove_what_one_does_in_the_same_order(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "return x * x", "return x + x")
    names, proof = _prove(tiny, jobs=1)
    assert names == ["double", "guess_shape"]
    assert proof.exercises == 2
    assert [p.message for p in proof.problems] == ["the wrong answer `squares` passes all checks (seed 0)"]
    names_of_two, proof_of_two = _prove(tiny, jobs=2)
    assert names_of_two == names
    assert dataclasses.asdict(proof_of_two) == dataclasses.asdict(proof)


def test_a_process_that_ends_is_told_with_the_exercises_it_may_have_been_at(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "x = draw.floats(4)", "import os; os._exit(9)")
    told = "ended before its result: it was killed, or memory ran out. It was at `double` or `guess_shape`."
    with pytest.raises(ProverDied, match=re.escape(told)):
        _prove(tiny, jobs=2)
