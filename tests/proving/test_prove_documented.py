"""Test the proof of documented examples: each has a check that nothing fails but what lacks this example."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from documented_course import RECORDS
from tiny_course import edit

from jaxguide.cli import main
from jaxguide.course import ledger
from jaxguide.course.books.library import load_course
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prove_documented import prove_documented
from jaxguide.proving.prover import prove_exercise


def proven(folder: Path, prove: Callable[..., Proof] = prove_documented) -> Proof:
    course = load_course(folder)
    one = course.exercise("look")
    return prove(course.book_of(one), one, ProofSettings(seeds=1))


def told(proof: Proof) -> list[str]:
    return [problem.message for problem in proof.problems]


@pytest.mark.parametrize("prove", [prove_documented, prove_exercise])
def test_each_example_is_proven_singly_and_what_follows_is_noted(documented: Path, prove: Callable[..., Proof]) -> None:
    proof = proven(documented, prove)
    assert told(proof) == []
    assert proof.reproduced == set(RECORDS)
    assert [note.message for note in proof.notes] == [
        "an answer that lacks T0-01 may fail the check of T0-02, too: who prints numbers does so in each call"
    ]


def test_the_verdicts_of_a_proof_are_those_of_all_checks(documented: Path) -> None:
    verdicts = proven(documented, prove_exercise).verdicts
    assert {len(one.checks) for one in verdicts.values()} == {3}
    assert len(verdicts) == 6, "the key, a right answer, three wrong ones and the reworded starter"


def test_verify_counts_them_and_prints_what_follows(documented: Path) -> None:
    command = ["verify", "--only", "look", "--no-workers", "--jobs", "1", "--course", str(documented)]
    done = CliRunner().invoke(main, command)
    assert "documented examples: 2 reproduced, each proven by itself\n" in done.stdout
    assert "an answer that lacks T0-01 may fail the check of T0-02, too: who prints numbers" in done.stdout


BY_HAND = '    print("x = JitTracer(float32[3])")\n    return x + 1\n'
MISTAKES = {
    "an example without a wrong answer": (
        "solutions/tiny.py",
        ', lacks="T0-02"',
        "",
        'no wrong answer lacks just T0-02; mark one with `lacks="T0-02"`',
    ),
    "an example of another exercise": (
        "solutions/tiny.py",
        'lacks="T0-01"',
        'lacks="S0-01"',
        "`not_jitted` lacks S0-01, which `look` does not reproduce",
    ),
    "a starter that works": (
        "exercises/tiny.py",
        "    ...\n",
        BY_HAND,
        "the starter of `look` passes the check of T0-01",
    ),
    "a reworded starter that works": (
        "exercises/tiny.py",
        "    ...\n",
        BY_HAND,
        "the starter of `look`, reworded, passes the check of T0-01",
    ),
    "a check that names two": (
        "exercises/tiny.py",
        'reproduces=["T0-02"])',
        'reproduces=["T0-02", "T0-01"])',
        "T0-01 needs exactly one check that names it, which names no other example",
    ),
    "what does not follow": (
        "exercises/tiny.py",
        '{"T0-02": ("T0-01"',
        '{"T0-01": ("T0-02"',
        "T0-01 does not follow from T0-02: no answer that lacks T0-02 fails its check",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_missing_is_told(documented: Path, mistake: str) -> None:
    file, old, new, words = MISTAKES[mistake]
    edit(documented, file, old, new)
    proof = proven(documented)
    assert [one for one in told(proof) if words in one], told(proof)
    assert proof.reproduced == set()


@pytest.mark.parametrize("prove", [prove_documented, prove_exercise])
def test_only_an_example_that_follows_may_be_lacking_too(documented: Path, prove: Callable[..., Proof]) -> None:
    """The answer that prints y lacks one example: the check of the other runs whatever the first gives."""
    follows = '    follows={"T0-02": ("T0-01", "who prints numbers does so in each call")},\n'
    edit(documented, "exercises/tiny.py", follows, "")
    proof = proven(documented, prove)
    assert told(proof) == ["the wrong answer `not_jitted` lacks T0-01, but fails the checks of T0-02, too"]


@pytest.mark.parametrize("prove", [prove_documented, prove_exercise])
def test_a_wrong_answer_that_passes_the_check_is_told(documented: Path, prove: Callable[..., Proof]) -> None:
    edit(documented, "solutions/tiny.py", 'print("y ="', 'print("x ="')
    words = "the wrong answer `says_y` lacks T0-01, but passes its check `the_first_call_prints_a_tracer`"
    assert told(proven(documented, prove))[-1] == words


def test_two_examples_need_two_records(documented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ledger.entries(), "T9-99", {"record": dict(RECORDS["T0-02"])})
    assert told(proven(documented)) == ["T0-02 has the same record in the ledger as T9-99"]


def test_only_the_key_must_print_todays_text_word_by_word(documented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde, which says that a type is weak, is missing in what is printed."""
    record = {**RECORDS["T0-01"], "today": ["x = JitTracer(~float32[3])"]}
    monkeypatch.setitem(ledger.entries()["T0-01"], "record", record)
    proof = proven(documented)
    assert told(proof) == ["the key's answer does not give T0-01 word by word as the ledger has it"]
    assert "Printed: ['x = JitTracer(float32[3])']" in proof.problems[0].details
    assert proof.reproduced == {"T0-02"}
    (said,) = told(proven(documented, prove_exercise))
    assert said.endswith("(it must give T0-01 word by word as the ledger has it)")
