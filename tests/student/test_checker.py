"""Test that `jaxguide watch` gives the same results as `jaxguide check`, even if all programs are cached."""

from pathlib import Path

import pytest
from needs import ON_THE_NEWEST

from jaxguide.course.books.folders import topics
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import Verdict
from jaxguide.student.check_file import Checker, own_programs


def verdicts(checker: Checker, source: str, name: str) -> list[Verdict]:
    return [result.verdict for result in checker.check(Path("mine.py"), source.encode(), [name]).results]


def test_what_is_compiled_is_kept_and_the_oldest_goes_first(
    course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = "import jax\n\n\ndef double(x):\n    return jax.jit(lambda y: y * 2)(x)\n"
    assert verdicts(Checker(course), source, "double") == [Verdict.PASSED]
    kept = sorted(own_programs().iterdir())
    assert kept
    assert verdicts(Checker(course), source, "double") == [Verdict.PASSED]
    assert [path for path in sorted(own_programs().iterdir()) if path.suffix != ".lock"] == kept
    monkeypatch.setattr("jaxguide.student.check_file._PROGRAMS_BYTES", 1)
    assert not any(own_programs().iterdir())


def test_a_check_that_was_stopped_leaves_the_next_one_whole(course: Course) -> None:
    checker = Checker(course, Limits(cpu_s=2))
    loop = "def double(x):\n    while True:\n        pass\n"
    assert verdicts(checker, loop, "double") == [Verdict.OUT_OF_TIME]
    checker.stop()
    assert verdicts(checker, "def double(x):\n    return 2 * x\n", "double") == [Verdict.PASSED]


def test_what_a_killed_check_had_half_written_is_compiled_again(
    course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    checker = Checker(course)
    cells = "import os, pathlib, warnings\nimport jax\n\n\ndef double(x):\n    {}\n"
    cut = "[os.truncate(file, 500) for file in pathlib.Path(jax.config.jax_compilation_cache_dir).glob('*-cache')]"
    killed = cells.format(f"jax.jit(lambda y: y * 2)(x)\n    {cut}\n    os.abort()")
    assert verdicts(checker, killed, "double") == [Verdict.DIED]
    cut_off = [path for path in own_programs().iterdir() if path.name.endswith("-cache")]
    assert {path.stat().st_size for path in cut_off} == {500}
    strict = cells.format("warnings.simplefilter('error')\n    return jax.jit(lambda y: y * 2)(x)")
    assert verdicts(checker, strict, "double") == [Verdict.PASSED]


_HOURS = pytest.mark.hours(reason="CI checks two lessons, and `jaxguide verify` judges the keys of all")
# The lessons with programs that JAX never caches, because they call back into Python.
_IN_CI = {"callbacks", "debugging"}


@ON_THE_NEWEST
@pytest.mark.parametrize("topic", [pytest.param(t, marks=() if t in _IN_CI else _HOURS) for t in topics()])
def test_the_keys_answers_pass_cold_and_with_all_compiled_before(topic: str) -> None:
    course = load_course()
    exercises = [e for e in course.books[topic].exercises if e.key is not None]
    source = "\n\n".join(["# %%\n" + e.key.answer.source for e in exercises if e.key is not None])
    checker = Checker(load_course(keys=False))
    for _time in range(2):
        found = checker.check(Path("mine.py"), source.encode(), [e.name for e in exercises])
        assert {r.name: r.verdict for r in found.results if r.verdict is not Verdict.PASSED} == {}
