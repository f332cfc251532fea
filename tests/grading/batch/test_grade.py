"""Test the marks of honest submissions, whatever the form of their files."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from graded_files import grade_files
from needs import first_of
from small_course import ANSWERS, FACTORS, without
from tiny_course import edit

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.books.printer import notebook_text, script_text
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_search import find_submissions

Notebook = Callable[..., Path]


def one(course: Course, path: Path, **options: object) -> SubmissionResult:
    (result,) = grade_files([path], course, **options)  # type: ignore[arg-type]
    return result


def verdicts(result: SubmissionResult) -> dict[str, str]:
    return {r.name: r.verdict.value for r in result.results}


def test_the_solved_lesson_gets_all_points(course: Course, notebook: Notebook) -> None:
    result = one(course, notebook(*ANSWERS.values()))
    assert set(verdicts(result).values()) == {"passed"}
    assert (result.score, result.points) == (7, 7)
    assert result.repairs == []
    assert {"python", "jax", "jaxlib"} <= set(result.versions)
    assert any(check.hidden for r in result.results for check in r.checks)
    assert result.cpu_s > 0.1
    assert 5 * 2**20 < result.memory_bytes < 2 * 2**30
    assert result.wall_s > 0


def test_a_check_that_raises_gives_no_mark_and_is_told_with_its_line(tiny: Path, tmp_path: Path) -> None:
    edit(tiny, "exercises/tiny.py", "x = draw.floats(n)", "x = draw.floats(-n)")
    (tmp_path / "ada.py").write_text("def double(x):\n    return 2 * x\n")
    said = one(load_course(tiny), tmp_path / "ada.py").not_graded["double"]
    assert re.fullmatch(r"Not graded: a check of the course raised ValueError: .* \(tiny\.py:52\)\.", said), said


def test_the_starter_is_not_attempted(course: Course, tmp_path: Path) -> None:
    (book,) = course.books.values()
    for name, text in (("small_numbers.ipynb", notebook_text(book)), ("small_numbers.py", script_text(book))):
        path = tmp_path / "grace" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        result = one(course, path)
        assert set(verdicts(result).values()) == {"not attempted"}
        assert (result.score, result.student) == (0, "grace")
        assert result.repairs == []


def test_answers_written_into_the_printed_lesson_count(course: Course, tmp_path: Path) -> None:
    (book,) = course.books.values()
    text = script_text(book)
    stub = text.index("    ...", text.index("def triple"))
    path = tmp_path / "ada.py"
    path.write_text(text[:stub] + "    return scale * x * 0.3" + text[stub + 7 :])
    result = one(course, path)
    assert verdicts(result)["triple"] == "passed"
    assert verdicts(result)["double"] == "not attempted"
    assert result.repairs == []


def test_a_wrong_answer_names_its_hidden_check(course: Course, notebook: Notebook) -> None:
    wrong = "def double(x):\n    return 2 * x if x.shape == (3,) else x\n"
    (double, *_others) = one(course, notebook(wrong)).results
    failed = [check for check in double.checks if check.verdict is Verdict.FAILED]
    assert [check.name for check in failed] == ["doubles_any_numbers"]
    assert failed[0].hidden
    assert failed[0].got
    assert failed[0].expected


def test_only_named_exercises_are_graded(course: Course, notebook: Notebook) -> None:
    result = one(course, notebook(*ANSWERS.values()), only={"triple"})
    assert verdicts(result) == {"triple": "passed"}
    assert result.points == 1


def test_many_idioms_count(course: Course, notebook: Notebook) -> None:
    result = one(
        course,
        notebook(
            "import jax, functools\nimport numpy as np\nfrom jaxguide.lesson import check, hint, solution, start\n"
            "import jaxguide\njaxguide.check('double')\nstart('small_numbers')",
            "double = jax.jit(lambda x: x + x)\ncheck(double)",
            "triple = jax.vmap(lambda one: 3 * one)",
            "quadruple = functools.partial(jnp.multiply, 4.0)",
            "class Times:\n    def __call__(self, x):\n        return 5.0 * x\nquintuple = Times()",
            "if True:\n    def slope(f, x):\n        return jax.vjp(f, x)[1](1.0)[0]",
            "pair = lambda x: [x, 2 * x]",
        ),
    )
    assert set(verdicts(result).values()) == {"passed"}
    assert result.repairs == []


def test_last_definition_that_executes_and_is_not_the_starter_counts(course: Course, notebook: Notebook) -> None:
    starter = 'def double(x):\n    """Return something else than the stub says."""\n    # a comment\n    pass\n'
    result = one(
        course,
        notebook(
            "def double(x):\n    return x\n",
            ANSWERS["double"],
            starter,
            "raise ValueError('half way')\ndef double(x):\n    return 7 * x\n",
            "double = double(jnp.ones(3))",
            ANSWERS["triple"] + "\nthis is no Python",
            *without("double", "triple"),
        ),
    )
    assert verdicts(result) == {**dict.fromkeys([*FACTORS, "slope", "pair"], "passed"), "triple": "error"}
    said = "\n".join(result.repairs)
    assert "`double` is defined 2 times (code cell 1, code cell 2); the last counts." in said
    assert "code cell 4: raised ValueError: half way (line 1)." in said
    assert "code cell 5: sets `double` to a value, not a function; the earlier function counts." in said
    assert "code cell 6: not run. Python cannot read it" in said


@pytest.mark.parametrize("name", ["doubled", "Double"])
def test_a_file_whose_only_function_has_almost_the_right_name_is_told_which(
    course: Course, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "answers.py"
    path.write_text(f"def helper(x):\n    return x\n\ndef {name}(x):\n    return 2 * x\n")
    said = one(course, path).unreadable
    assert said == (
        f"The file does not answer any exercise of this course. It defines `{name}`: is that the answer to `double`? "
        "Give it the exercise's name."
    )


def test_a_file_without_answers_is_told_which_cell_python_cannot_read(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "answers.py"
    path.write_text("x = 1\0\n")
    said = one(course, path).unreadable
    assert said is not None
    assert said.endswith("At line 1: It contains characters that are not allowed in Python.")


def test_a_value_in_an_exercises_name_has_no_function_before_it(course: Course, notebook: Notebook) -> None:
    result = one(course, notebook("double = 3", *without("double")))
    assert result.repairs == ["code cell 1: sets `double` to a value, not a function."]


def test_a_definition_that_fails_is_an_error_of_its_exercise(course: Course, notebook: Notebook) -> None:
    result = one(course, notebook("nothing_of_this_name\ndef double(x):\n    return 2 * x", *without("double")))
    assert verdicts(result)["double"] == "error"
    first = result.results[0].first_failure
    assert first is not None
    assert first.error is not None
    assert (first.error.type_name, first.error.line) == ("NameError", 1)
    assert result.score == 6


def test_magics_are_taken_out_and_reported(course: Course, notebook: Notebook) -> None:
    result = one(
        course,
        notebook(
            "%matplotlib inline\n!touch /tmp/must_not_appear\nimport jax\n",
            "%%time\n" + ANSWERS["double"],
            "%%bash\ndef triple(x):\n    return 3 * x",
            "double?\n" + ANSWERS["quadruple"] + "files = !ls\n",
            'def quintuple(x):\n    """Times\n    % of\n    !important"""\n    return 5 * x\n',
            "get_ipython().run_line_magic('matplotlib', 'inline')\ndisplay(jax.numpy.ones(2))\n",
        ),
    )
    expected = {"double": "passed", "triple": "no such function", "quadruple": "passed", "quintuple": "passed"}
    assert verdicts(result) == {**expected, "slope": "not attempted", "pair": "not attempted"}
    magics = ["%matplotlib inline", "!touch /tmp/must_not_appear", "%%time", "%%bash", "double?", "files = !ls"]
    assert [any(f"`{magic}`" in repair for repair in result.repairs) for magic in magics] == [True] * 6
    assert len(result.repairs) == 6
    assert not Path("/tmp/must_not_appear").exists()


def test_a_plain_script_keeps_its_good_parts(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(
        "import jax\n\n" + ANSWERS["double"] + "\n1 / 0\n\ndef triple(x:\n\n    return\n\n" + ANSWERS["quadruple"]
    )
    result = one(course, path)
    expected = {"double": "passed", "triple": "error", "quadruple": "passed"}
    assert {name: verdict for name, verdict in verdicts(result).items() if name in expected} == expected
    said = "\n".join(result.repairs)
    assert "line 6: raised ZeroDivisionError: division by zero (line 6)." in said
    assert "line 8: not run" in said


def test_errors_show_the_line_of_the_students_file(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "lines.py"
    path.write_text("# %% [markdown]\n# Text\n\n# %%\n\ndef double(x):\n    y = x\n    return y.no_such_thing\n")
    failure = one(course, path).results[0].first_failure
    assert failure is not None
    assert failure.error is not None
    assert (failure.error.line, failure.error.source) == (8, "return y.no_such_thing")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cut.ipynb", '{"cells": [{"cell_type": "code", "source": ["def dou', "cut off"),
        ("cut2.ipynb", '{"cells": [', "cut off"),
        ("noise.ipynb", "{cells: []}", "line 1 is not JSON"),
        ("list.ipynb", "[1, 2]", "not a notebook"),
        ("types.ipynb", '{"cells": {"a": 1}}', "not a notebook"),
        ("odd.ipynb", '{"cells": [1, null, {"cell_type": "code", "source": {"a": 1}}, {"cell_type": 3}]}', "no code"),
        ("deep.ipynb", "[" * 100_000, "damaged|cut off"),
        ("empty.ipynb", "", "empty"),
        ("empty.py", " \n", "empty"),
        ("binary.py", b"\x80\x00", "UTF-8"),
        ("half.py", b"\xff\xfe\x00", "UTF-16"),
        ("coding.py", "# coding: klingon\nx = 1\n", "`klingon`"),
        ("bytes.py", "# coding: hex\nx = 1\n", "`hex`"),
        ("other.py", "x = 1\n", "not answer any exercise of this course"),
        ("notes.txt", "hello", "neither a notebook"),
        ("long.py", "def double(x): return " + "(" * 300_000, "more than"),
    ],
)
def test_files_that_cannot_be_graded_get_one_sentence(
    course: Course, tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = one(course, path)
    assert result.unreadable is not None
    assert any(part in result.unreadable for part in says.split("|"))
    assert len(result.unreadable.splitlines()) == 1
    assert not result.is_complete


@pytest.mark.parametrize(
    "source", first_of(["-" * 100_000 + "1", "x = '\0'", "(" * 5000 + ")" * 5000, "a" + ".b" * 50_000, "return 3"], 2)
)
def test_code_that_cannot_be_read_harms_nobody(course: Course, notebook: Notebook, source: str) -> None:
    result = one(course, notebook(source, ANSWERS["double"]), only={"double"})
    assert verdicts(result) == {"double": "passed"}
    assert len(result.repairs) == 1


@pytest.mark.long
def test_code_nested_as_deep_as_python_reads_stops_no_batch(course: Course, tmp_path: Path) -> None:
    # Python parses code nested deeper than `ast.dump` and `ast.unparse` can write.
    for depth in (900, 985, 1000, 2500):
        (tmp_path / f"d{depth}.py").write_text(f"def double(x):\n    return x{' + x' * depth}\n")
    (tmp_path / "good.py").write_text(ANSWERS["double"])
    *deep, good = grade_files([tmp_path], course, only={"double"})
    assert len(deep) == 4
    assert not any(result.unreadable for result in deep)
    assert verdicts(good) == {"double": "passed"}


def test_characters_that_only_look_like_line_ends_cut_no_cell(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "ada.py"
    path.write_text(f"# %%\n# one\x0ctwo\n'a\u2028b'\n\n# %%\n{ANSWERS['double']}", encoding="utf-8")
    result = one(course, path, only={"double"})
    assert verdicts(result) == {"double": "passed"}
    assert result.repairs == []


@pytest.mark.long
def test_thousands_of_magics_do_not_keep_the_grader_busy(course: Course, notebook: Notebook) -> None:
    started = time.process_time()
    result = one(course, notebook("!a\n" * 50_000, ANSWERS["double"]), only={"double"})
    assert verdicts(result) == {"double": "passed"}
    assert time.process_time() - started < 60


def test_folders_are_searched_and_checkpoints_passed_over(course: Course, notebook: Notebook, tmp_path: Path) -> None:
    first = notebook(ANSWERS["double"], name="b/small_numbers.ipynb")
    second = notebook(ANSWERS["double"], name="a/x.ipynb")
    for other in (".ipynb_checkpoints/x-checkpoint.ipynb", ".hidden/x.py", "__pycache__/x.py", "a/notes.md"):
        notebook(ANSWERS["double"], name=other)
    assert find_submissions([tmp_path, first]) == [second, first]
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        find_submissions([tmp_path / "missing"])


def test_suffixes_in_capitals_are_suffixes(course: Course, notebook: Notebook) -> None:
    path = notebook(ANSWERS["double"], name="HW.IPYNB")
    script = path.with_name("bob.Py")
    script.write_text(ANSWERS["double"])
    assert find_submissions([path.parent]) == [path, script]
    for found in ([path], [path.parent]):
        first, *others = grade_files(found, course, only={"double"})
        assert (first.student, verdicts(first)) == ("HW", {"double": "passed"})
    assert [verdicts(other) for other in others] == [{"double": "passed"}]


def test_files_of_one_name_in_several_folders_are_told_apart(course: Course, notebook: Notebook) -> None:
    folder = [notebook(ANSWERS["double"], name=name) for name in ("ada/hw.ipynb", "bob/hw.ipynb", "eve.ipynb")][
        -1
    ].parent
    results = list(grade_files([folder], course, only={"double"}))
    assert [result.student for result in results] == ["ada", "bob", "eve"]


def test_a_link_to_another_place_is_no_submission(course: Course, notebook: Notebook) -> None:
    ada = notebook(ANSWERS["double"], name="ada/hw.ipynb")
    for target, name in ((ada, "hw.ipynb"), (course.folders.solutions / "small_numbers.py", "hw.py")):
        path = ada.parents[1] / "bob" / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(target)
        result = one(course, path, only={"double"})
        assert "a link to another place" in (result.unreadable or "")
    (ada.parent / "latest.ipynb").symlink_to("hw.ipynb")
    assert verdicts(one(course, ada.parent / "latest.ipynb", only={"double"})) == {"double": "passed"}


def test_old_notebooks_are_read(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    cell = {"cell_type": "code", "input": [ANSWERS["double"]]}
    path.write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]}))
    assert verdicts(one(course, path))["double"] == "passed"
