"""Test that an author's mistake is reported in one sentence with file and line, and exit status 3."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner, Result
from tiny_course import beyond_texts, edit

from jaxguide.cli import main
from jaxguide.course.books import examples
from jaxguide.course.books.examples import run_books
from jaxguide.course.books.library import load_course
from jaxguide.course.exercise import AuthorError

BOOK, KEY = "exercises/tiny.py", "solutions/tiny.py"
SECOND = "\n\n@exercise(title='Two', hints=['?', 'https://', '____'])\ndef second(x):\n    '''Two.'''\n    ...\n"
LAST_HINTS = r"""
        "x * ____",
        "def triple(x):\n    return 3 * x\n\nprint(FACTOR, triple(2.0))","""
DOUBLE_STUB = '    """Return twice x: float32[n] -> float32[n]."""\n    ...\n'

MISTAKES = {
    "two decorated functions in one cell": (BOOK, DOUBLE_STUB, DOUBLE_STUB + SECOND, "exactly one function", "second"),
    "a check of an unknown exercise": (BOOK, "@visible(double, idea", '@visible("duble", idea', "`duble`", "@visible"),
    "a key without a book entry": (KEY, "# %% guess_shape", "# %% guess_size", "no such exercise", "# %% guess_size"),
    "an exercise without a key": (
        KEY,
        "# %% guess_shape\n@answer\ndef guess_shape():\n    return (3,)\n",
        "",
        "no cell in the key",
        "@prediction",
    ),
    "a class": (
        BOOK,
        f"def double(x):\n{DOUBLE_STUB}",
        "class Double:\n    pass\n",
        "Instead of a variable or a class, which are not supported, ask",
        "# %% exercise",
    ),
    "free text": (
        BOOK,
        '@prediction(title="Guess"',
        'Which shape?\n\n# %%\n@prediction(title="Guess"',
        "free text is not supported",
        "Which shape?",
    ),
    "an unsupported question": (BOOK, "answer.jit(x)", "answer.vjp(x)", "`answer.vjp` is not supported", "answer.vjp"),
    "a parameter that no check gets": (
        BOOK,
        "def works_under_jit(answer, draw)",
        "def works_under_jit(answr, draw)",
        "takes `answr`; it gets answer, draw. Did you mean `answer`?",
        'stage="jit"',
    ),
    "a reference for a visible check": (
        BOOK,
        "def works_under_jit(answer, draw)",
        "def works_under_jit(answer, draw, reference)",
        "takes `reference`; it gets answer, draw.",
        'stage="jit"',
    ),
    "a computed hint": (
        BOOK,
        '"What is twice x?"',
        '" ".join(["What is", "twice x?"])',
        "write out the arguments of `@exercise`",
        "hints=[",
    ),
    "an unknown argument of an exercise": (
        BOOK,
        "points=2,",
        "point=2,",
        "`@exercise`: got an unexpected keyword argument 'point'",
        "@exercise",
    ),
    "an exercise without a title": (
        BOOK,
        'title="Double it",',
        "",
        "argument: 'title'",  # "keyword-only" since Python 3.12
        "@exercise",
    ),
    "a missing hint": (BOOK, LAST_HINTS, "", "2 hints; it should have three", "@exercise"),
    "no contract": (BOOK, '    """Return twice x: float32[n] -> float32[n]."""\n', "", "is the contract", "@exercise"),
    "a check without an idea": (BOOK, ', idea="Twice is two times."', "", "idea behind `twice_the_input`", "@visible"),
    "a worked sibling that does not run": (BOOK, "print(FACTOR", "print(FACT", "cannot be run: NameError", "@exercise"),
    "a worked sibling of the same name": (
        BOOK,
        "print(FACTOR, triple(2.0))",
        "double = triple\\ndef double(x):\\n    return x",
        "defines `double` itself",
        "@exercise",
    ),
    "a worked sibling that is an answer": (BOOK, "return 3 * x", "return 2 * x", "is an answer to it", "@exercise"),
    "a duplicate check": (
        BOOK,
        "def works_under_jit",
        "def twice_the_input",
        "is defined twice",
        "@visible(double, stage",
    ),
    "a reserved name": (BOOK, "def double(x)", "def check(x)", "reserved", "@exercise"),
    "an unknown kind of cell": (BOOK, "# %% exercise", "# %% exercize", "not a kind of cell", "# %% exercize"),
    "a syntax error": (BOOK, "def square(x):", "def square(x:", "syntax error", "def square(x:"),
    "an unknown stage": (BOOK, 'stage="jit"', 'stage="compile"', "not a stage", "@visible(double, stage"),
    "a check without a fact": (
        BOOK,
        '    """It works under jax.jit."""\n',
        "",
        "no docstring",
        "@visible(double, stage",
    ),
    "a name error in a check cell": (BOOK, "@visible(double, idea", "@visble(double, idea", "NameError", "@visble"),
    "a check that cannot cope": (BOOK, "FACTOR * x)", "FACTOR * x[9, 9])", "IndexError", "@answer"),
    "text before the first cell": (BOOK, "# %% check", "import os\n# %% check", "before the first cell", "import os"),
    "an answer in an untitled cell": (KEY, "# %% guess_shape", "# %%", "without a title", "@answer"),
    "a wrong answer that passes": (
        KEY,
        "return x * x",
        "return 2 * x",
        "passes all checks",
        '@wrong(rejected_by="twice',
    ),
    "a wrong answer with another check": (
        KEY,
        'rejected_by="twice_the_input"',
        'rejected_by="works_under_jit"',
        "not by `works_under_jit`",
        "@wrong",
    ),
    "a key's answer that is wrong": (
        KEY,
        "return 2 * x",
        "return 3 * x",
        "rejected by the check `twice_the_input`",
        "@answer",
    ),
    "an alternative that is wrong": (KEY, "return x + x", "return x - x", "`jitted` is rejected", "@alternative"),
    "another signature": (
        KEY,
        "def double(x):\n    return 2 * x",
        "def double(y):\n    return 2 * y",
        "differs from that of the book's",
        "@answer",
    ),
    "a starter that passes": (
        BOOK,
        DOUBLE_STUB,
        DOUBLE_STUB.replace("...", "return x + x"),
        "starter of `double` passes",
        "@exercise",
    ),
    "a wrong answer that is the starter": (
        BOOK,
        DOUBLE_STUB,
        DOUBLE_STUB.replace("...", "return x * x"),
        "`squares` is the starter",
        "@wrong",
    ),
    "one wrong answer only": (
        KEY,
        '@wrong(rejected_by="works_under_jit", says="NumPy cannot be traced.")',
        "",
        "should have at least 2",
        "@answer",
    ),
    "a hint without a link": (BOOK, "Multiplication: https://docs.jax.dev/", "Multiplication.", "no link", "@exercise"),
    "a hint without a blank": (BOOK, "x * ____", "x * 2", "no blank", "@exercise"),
    "a wrong prediction in the key": (KEY, "return (3,)", "return (4,)", "JAX gives (3,)", "@answer"),
    "an unknown documented example": (BOOK, "points=2,", 'points=2, reproduces=["S9-99"],', "S9-99", "@exercise"),
    "an example no check names": (BOOK, "points=2,", 'points=2, reproduces=["S0-41"],', "S0-41", "@exercise"),
    "an example no check compares": (BOOK, "points=2,", 'points=2, reproduces=["S0-41"],', "on both the", "@exercise"),
    "points below 0": (BOOK, "points=2,", "points=-2,", "must be a number, 0 or more, but are -2", "@exercise"),
    "points in words": (BOOK, "points=2,", 'points="2",', "must be a number, 0 or more, but are '2'", "@exercise"),
    "hints that are no list": (BOOK, "hints=[", "hints='How?', why_so_many=[", "must be lists of texts", "@exercise"),
    "a hint that is not written": (
        BOOK,
        "What is twice x?",
        "TODO?",
        "hint 1 of `double` still says TODO",
        "@exercise",
    ),
    "an unknown argument of a check": (
        KEY,
        "weight=2",
        "wieght=2",
        "no argument `wieght`. Did you mean `weight`?",
        "@hid",
    ),
    "a check without weight": (KEY, "weight=2", "weight=0", "above 0, but is 0", "@hidden"),
    "a misconception that nothing plants": (
        KEY,
        "weight=2",
        'weight=2, misconception="square"',
        "named so. Did you mean `squares`?",
        "@hidden",
    ),
    "a wrong answer with a typo": (
        KEY,
        "return x * x",
        "return y * x",
        "`squares` proves nothing, because it raises NameError: name 'y' is not defined",
        "@wrong",
    ),
    "inputs that change": (
        KEY,
        "x = draw.floats(4)",
        "x = jnp.asarray(np.random.default_rng().normal(size=4))",
        "`matches_the_key` differs between two runs with the same seed",
        "@hidden",
    ),
    "points kept without a reason": (BOOK, "points=2,", "keeps=0.2,", "give it in `why_keeps`", "@exercise"),
    "too many points kept": (BOOK, "points=2,", "keeps=0.4,", "from 0 to 0.3, but is 0.4", "@exercise"),
    "an answer that needs another's": (KEY, "return (3,)", "return double(jnp.zeros(3)).shape", "NameError", "@answer"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_with_file_and_line(tiny: Path, mistake: str) -> None:
    file, old, new, words, at = MISTAKES[mistake]
    path = edit(tiny, file, old, new)
    problems = _verify(tiny)
    found = [p for p in problems if words in p]
    assert found, problems
    where, line = found[0].split(":")[:2]
    lines = Path(where).read_text().splitlines()
    assert Path(where) in {path, tiny / BOOK, tiny / KEY}
    marked = lines[int(line) - 1]
    assert at in marked or mistake in ("two decorated functions in one cell",), (line, marked)
    assert "\n" not in found[0]


def test_two_decorated_functions_name_the_second(tiny: Path) -> None:
    path = edit(tiny, BOOK, DOUBLE_STUB, DOUBLE_STUB + SECOND)
    (problem,) = _verify(tiny)
    line = int(problem.split(":")[1])
    assert path.read_text().splitlines()[line - 1].startswith("@exercise(title='Two'")


def test_a_duplicate_name_across_books_names_both_places(tiny: Path) -> None:
    for folder in ("exercises", "solutions"):
        (tiny / folder / "other.py").write_text((tiny / folder / "tiny.py").read_text())
    (problem,) = _verify(tiny)
    assert "tiny.py" in problem
    assert "other.py" in problem
    assert "unique" in problem


def test_lessons_come_in_the_order_that_the_course_lists_then_by_name(tiny: Path) -> None:
    for name in ("apples", "bread"):
        (tiny / "exercises" / f"{name}.py").write_text(f"# %% [markdown]\n# # {name}\n")
    assert list(load_course(tiny, keys=False).books) == ["apples", "bread", "tiny"]
    (tiny / "course.toml").write_text('lessons = ["tiny", "bread"]\n')
    assert list(load_course(tiny, keys=False).books) == ["tiny", "bread", "apples"]
    (tiny / "course.toml").write_text('lessons = [\n    "tiny",\n    "bred",\n]\n')
    said = r"course\.toml:3: there is no book `bred\.py` in exercises/\. Did you mean `bread`\?"
    with pytest.raises(AuthorError, match=said):
        load_course(tiny, keys=False)


def test_a_function_that_a_check_names_in_quotes_alone_can_be_sent(tiny: Path) -> None:
    edit(tiny, BOOK, "def square(x):", "def cube(x):\n    return x**3\n\n\ndef square(x):")
    assert "cube" not in load_course(tiny).books["tiny"].names
    edit(tiny, BOOK, "    for n in (2, 5):", '    given("cube")\n    for n in (2, 5):')
    assert load_course(tiny).books["tiny"].names["cube"](2) == 8


def test_a_key_without_a_book_says_so(tiny: Path) -> None:
    (tiny / "solutions" / "lost.py").write_text("# %%\n")
    (problem,) = _verify(tiny)
    assert "lost.py" in problem
    assert "no book" in problem


MANY = (
    (BOOK, "points=2,", "points=-2,"),
    (BOOK, 'stage="jit"', 'stage="compile"'),
    (KEY, "weight=2", "weight=0"),
    (KEY, "# %% guess_shape\n@answer\n", "# %% guess_shape\n"),
)


def test_all_mistakes_of_books_are_told_at_once_and_all_of_keys_too(tiny: Path) -> None:
    for folder in ("exercises", "solutions"):
        text = (tiny / folder / "tiny.py").read_text()
        (tiny / folder / "other.py").write_text(text.replace("guess_shape", "guess").replace("double", "twice"))
    edit(tiny, "exercises/other.py", "points=1,", "points=-1,")
    for mistake in MANY:
        edit(tiny, *mistake)
    done = run("grade", tiny / BOOK, "--course", tiny)
    said = ("points of `double`", "points of `guess`", "`compile` is not a stage")
    assert (done.exit_code, len(done.stderr.splitlines())) == (3, 3), done.stderr
    assert all(words in done.stderr for words in said)
    for file, old, new in (*MANY[:2], ("exercises/other.py", "points=1,", "points=-1,")):
        edit(tiny, file, new, old)
    done = run("verify", "--course", tiny, "--json")
    found = [problem["message"] for problem in json.loads(done.stdout)["problems"]]
    assert (done.exit_code, len(found)) == (3, 2)
    assert "above 0, but is 0" in found[0]
    assert "needs exactly one function `guess_shape`" in found[1]
    (tiny / KEY).write_text("# %% double\n@answer\ndef double(x:\n\n# %% guess_shape\ndef (\n")
    assert run("verify", "--course", tiny).stderr.count("syntax error") == 2


def test_cells_of_a_book_that_raise_are_told_at_once_without_what_follows_from_it(tiny: Path) -> None:
    edit(tiny, BOOK, "FACTOR = 2.0", "FACTOR = two")
    edit(tiny, BOOK, "@reveal(guess_shape)", "@reveal(guess_shape, 1)")
    said = run("verify", "--course", tiny).stderr.splitlines()
    assert ["name 'two' is not defined" in said[0], "reveal() takes 1" in said[1], len(said)] == [True, True, 2]
    edit(tiny, BOOK, "FACTOR = two", "FACTOR = 2.0")
    edit(tiny, BOOK, "@reveal(guess_shape, 1)", "@reveal(guess_shape)")
    for stage in ('idea="Twice is two times."', 'stage="jit"'):
        edit(tiny, BOOK, stage, 'stage="compile"')
    said = run("verify", "--course", tiny).stderr.splitlines()
    assert ["`compile` is not a stage" in line for line in said] == [True, True]


def test_the_command_prints_one_sentence_and_ends_with_status_3(tiny: Path) -> None:
    edit(tiny, BOOK, "points=2,", "points=-2,")
    done = subprocess.run(
        [sys.executable, "-m", "jaxguide", "verify", "--course", str(tiny)], capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "tiny.py:" in done.stderr


@pytest.mark.long
def test_json_is_all_that_verify_prints_with_json(tiny: Path) -> None:
    command = [sys.executable, "-m", "jaxguide", "verify", "--no-workers", "--course", str(tiny), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    plain = json.loads(done.stdout)
    assert (done.returncode, plain["problems"], plain["exercises"], done.stderr) == (0, [], 2, "")
    assert "jaxguide print" in plain["advice"][-1]["message"]
    edit(tiny, BOOK, "points=2,", "points=-2,")
    done = subprocess.run(command, capture_output=True, text=True)
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, "are -2" in problem["message"], problem["line"] > 0) == (3, True, True)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("command", ["grade", "check", "verify"])
@pytest.mark.parametrize("added", ["1 / 0", "import sys; sys.exit(0)"])
def test_a_course_that_raises_ends_each_command_with_status_3(tiny: Path, command: str, added: str) -> None:
    edit(tiny, BOOK, "# %% exercise\n", f"# %% exercise\n{added}\n")
    (tiny / "ada.py").write_text("def double(x):\n    return 2 * x\n")
    paths = [tiny / "ada.py"] if command != "verify" else []
    done = run(command, *paths, "--course", tiny)
    line = 1 + (tiny / BOOK).read_text().splitlines().index(added)
    assert done.exit_code == 3
    assert done.stderr.startswith(f"{tiny / BOOK}:{line}: {'ZeroDivisionError' if '/' in added else 'SystemExit'}: ")
    assert not Path("results").exists()


def stopped(course: Path) -> list[str]:
    return run_books(load_course(course))


LATE = "\n# %%\nFACTORS = {}\n\n\ndef look_up(name):\n    return FACTORS[name]\n\n\n# %%\nlook_up('two')\n"


def test_an_example_that_raises_is_told_before_anything_is_graded(tiny: Path) -> None:
    (tiny / "ada.py").write_text("def double(x):\n    return 2 * x\n")
    book = tiny / BOOK
    book.write_text(book.read_text() + LATE)
    line = 1 + book.read_text().splitlines().index("    return FACTORS[name]")
    for _time in range(2):
        done = run("grade", tiny / "ada.py", "--course", tiny, "--out", tiny / "results")
        assert (done.exit_code, done.stderr) == (3, f"{book}:{line}: KeyError: 'two'\n")
    assert not (tiny / "results").exists()


def test_examples_run_with_the_keys_answers_beside_the_files_that_lessons_read_and_change_nothing(tiny: Path) -> None:
    (tiny / "exercises" / "data.txt").write_text("3")
    (tiny / "course.toml").write_text('files = ["data.txt"]')
    book = tiny / BOOK
    book.write_text(
        book.read_text()
        + "\n# %%\nfrom pathlib import Path\n\nprint(double(3.0) + float(Path('data.txt').read_text()))\n"
        + "Path('new.txt').write_text('x')\nPath('data.txt').write_text('x')\n"
        + "jax.config.update('jax_enable_x64', True)\n"
    )
    assert stopped(tiny) == []
    assert sorted(path.name for path in (tiny / "exercises").glob("*.txt")) == ["data.txt"]
    assert (tiny / "exercises" / "data.txt").read_text() == "3"
    assert not jax.config.jax_enable_x64


@pytest.mark.long
@pytest.mark.parametrize("cell", ["# %%\n", "# %% check\n"], ids=["an example", "a check"])
def test_a_file_that_is_not_listed_is_told(tiny: Path, cell: str) -> None:
    (tiny / "exercises" / "data").mkdir()
    (tiny / "exercises" / "data" / "table.txt").write_text("3")
    book = tiny / BOOK
    book.write_text(book.read_text() + f"\n{cell}from pathlib import Path\n\nPath('data/table.txt').read_text()\n")
    said = r"'data/table\.txt'; list it under `files` in course\.toml"
    with pytest.raises(AuthorError, match=said):
        stopped(tiny)
    (tiny / "course.toml").write_text('files = ["data/table.txt"]')
    assert stopped(tiny) == []


@pytest.mark.parametrize(("added", "words"), [("os.kill(os.getpid(), 9)", "Python ended with status -9"), ("", "")])
def test_a_book_that_ends_python_or_never_ends_is_told(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, added: str, words: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tiny / "cache"))
    book = tiny / BOOK
    book.write_text(book.read_text() + "\n# %%\nimport os\n\n" + (added or "while True:\n    pass") + "\n")
    if words:
        with pytest.raises(AuthorError, match=words):
            stopped(tiny)
        return
    monkeypatch.setattr(examples, "LIMIT_S", 0.1)
    assert stopped(tiny) == ["tiny"]
    monkeypatch.setattr(examples, "_ends", None)
    assert stopped(tiny) == ["tiny"], "it ran again"


def test_a_missing_key_is_told_with_its_exercises(tiny: Path) -> None:
    (tiny / KEY).unlink()
    with pytest.raises(AuthorError) as caught:
        load_course(tiny)
    assert str(caught.value) == (
        f"{tiny / KEY}:1: the key of tiny.py is missing; it must have a cell for each of its exercises: "
        "`double`, `guess_shape`"
    )


def test_the_tiny_course_is_proven(tiny: Path) -> None:
    edit(tiny, KEY, '@hidden(idea="Any input."', '@hidden(idea="Any input.", on="four numbers"')
    assert beyond_texts(_verify(tiny)) == []


def test_verify_shows_the_call_what_it_gave_and_what_was_expected(tiny: Path) -> None:
    edit(tiny, KEY, "return x + x", "return x + x + 1")
    said = run("verify", "--no-workers", "--jobs", "1", "--course", tiny).stderr.splitlines()
    place = next(number for number, line in enumerate(said) if "`jitted` is rejected by" in line)
    assert [line.partition(": ")[0] for line in said[place + 1 : place + 4]] == ["    Call", "    Got", "    Expected"]


def _verify(course: Path) -> list[str]:
    from jaxguide.course.books.library import load_course
    from jaxguide.course.exercise import AuthorError
    from jaxguide.proving.proof import Proof
    from jaxguide.proving.prove_in_parallel import prove

    try:
        loaded = load_course(course)
    except AuthorError as error:
        return [str(error)]
    proof = Proof()
    for _exercise, proof in prove(loaded, [*loaded.exercises.values()], seeds=1):  # noqa: B007
        pass
    return [str(problem) for problem in (*proof.problems, *proof.advice)]


@pytest.mark.parametrize("how", ['kind="observed"', "required=False", 'kind="value", stage="shape"'])
def test_an_exercise_that_returns_a_value_needs_a_required_check_that_decides_on_it(tiny: Path, how: str) -> None:
    edit(tiny, KEY, ", misses_the_point=True", "")
    edit(tiny, BOOK, '@visible(double, idea="Twice', f'@visible(double, {how}, idea="Twice')
    assert not [problem for problem in _verify(tiny) if "decides on it" in problem]  # the hidden check decides on it
    edit(tiny, KEY, '@hidden(idea="Any', f'@hidden({how}, idea="Any')
    (problem,) = (problem for problem in _verify(tiny) if "decides on it" in problem)
    assert "no required check decides on it" in problem


@pytest.mark.parametrize(
    ("asks", "kind"),
    [
        ("answer.program(x).primitives", "observed"),
        ("[one.traces for one in answer.observe_calls([(x,)])]", "observed"),
        ("asked(answer, x)", "observed"),
        ("answer.observe(x).value.shape", "value"),
    ],
)
def test_a_check_of_what_code_in_a_worker_can_forge_is_of_no_value(tiny: Path, asks: str, kind: str) -> None:
    book = edit(tiny, BOOK, "        expect_close(answer(x), FACTOR * x)\n", f"        assert {asks}\n")
    book.write_text(book.read_text() + "\n\ndef asked(answer, x):\n    return answer.key_use(x)\n")
    check = load_course(tiny).exercise("double").checks[0]
    assert (check.kind.value, check.required) == (kind, True)


@pytest.mark.parametrize("how", ['kind="value"', 'kind="relation"'])
def test_a_value_or_a_relation_between_values_decides(tiny: Path, how: str) -> None:
    edit(tiny, BOOK, '@visible(double, idea="Twice', '@visible(double, kind="observed", idea="Twice')
    edit(tiny, KEY, '@hidden(idea="Any', f'@hidden({how}, idea="Any')
    assert not [problem for problem in _verify(tiny) if "decides on it" in problem]


@pytest.mark.long
def test_a_lesson_that_is_not_printed_is_told_from_one_that_changed(tiny: Path) -> None:
    verify = ("verify", "--no-workers", "--jobs", "1", "--course", tiny)
    new, strict = run(*verify), run(*verify, "--strict")
    assert (new.exit_code, new.output.count("jaxguide print")) == (0, 1)
    assert "is not printed yet; run `jaxguide print`" in new.output
    assert (strict.exit_code, strict.output.count("jaxguide print")) == (1, 1)
    run("print", "--course", tiny)
    assert "jaxguide print" not in run(*verify).output
    edit(tiny, BOOK, "# %% exercise\n", "# %%\nmore = 1\n\n# %% exercise\n")
    said = run(*verify).output
    assert "differs from what the book prints now" in said
    assert "is not printed yet" not in said


@pytest.mark.long
def test_verify_asks_for_the_kind_of_input_of_hidden_checks(tiny: Path) -> None:
    asks = "say on what kind of input `matches_the_key` can fail"
    run("print", "--course", tiny)
    before = run("verify", "--no-workers", "--jobs", "1", "--course", tiny)
    assert asks in before.output
    assert before.exit_code == 0
    verify = ("verify", "--no-workers", "--jobs", "1", "--course", tiny, "--json")
    (note,) = beyond_texts([one["message"] for one in json.loads(run(*verify).output)["advice"]])
    assert asks in note
    strict = run(*verify, "--strict")
    found = json.loads(strict.output)
    assert (strict.exit_code, beyond_texts([one["message"] for one in found["problems"]])) == (1, [note])
    assert found["advice"] == []
    edit(tiny, KEY, "expect_close(answer(x), reference(x))", 'expect_close(answer(x), reference(x), on="four numbers")')
    assert asks not in run("verify", "--no-workers", "--jobs", "1", "--course", tiny).output
    edit(tiny, KEY, ', on="four numbers")', ")")
    edit(tiny, KEY, '@hidden(idea="Any input."', '@hidden(idea="Any input.", on="any numbers"')
    assert asks not in run("verify", "--no-workers", "--jobs", "1", "--course", tiny).output
