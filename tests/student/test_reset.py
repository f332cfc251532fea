"""Test that a reset restores the stub, keeps the old answer, and changes nothing else."""

import json
from pathlib import Path

import pytest

from jaxguide.course.books.library import Course
from jaxguide.student.answers_in_files import read_all
from jaxguide.student.reset import give_stub_back, reset_sentence


def reset(path: Path, course: Course, name: str = "double") -> Path:
    exercise = course.exercise(name)
    return give_stub_back(path, exercise, course.book_of(exercise), path.parent)


@pytest.mark.parametrize("name", ["multiply.py", "multiply.ipynb"])
@pytest.mark.parametrize("body", ["return 3 * x", "return 3 *", "y = (", "return 'ä 三'"])
def test_a_cell_is_again_what_it_was(course: Course, workspace: Path, name: str, body: str) -> None:
    path = workspace / name
    new = path.read_text("utf-8")
    path.write_text(new.replace("    ...", f"    {body}", 1), "utf-8")
    backup = reset(path, course)
    now = path.read_text("utf-8")
    assert json.loads(now) == json.loads(new) if name.endswith(".ipynb") else now == new
    assert f"    {body}" in backup.read_text("utf-8")
    assert "# `double` in multiply." in backup.read_text("utf-8")


def test_a_notebook_with_a_suffix_in_capitals_is_found_and_reset(course: Course, workspace: Path) -> None:
    path = (workspace / "multiply.ipynb").rename(workspace / "multiply.IPYNB")
    assert path in [file.path for file in read_all(workspace, course)]
    assert "Reload Notebook" in reset_sentence(path, reset(path, course), workspace)


def test_outputs_of_the_cell_go_and_those_of_others_stay(course: Course, workspace: Path) -> None:
    path = workspace / "multiply.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(execution_count=7, outputs=[{"output_type": "stream", "name": "stdout", "text": ["old\n"]}])
    path.write_text(json.dumps(notebook), "utf-8")
    reset(path, course)
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [("def double(" in "".join(cell["source"])) for cell in cells if not cell["outputs"]] == [True]


def test_in_a_plain_file_only_the_function_is_replaced(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import jax\n\n\ndef double(x):\n    return 1\n\n\ndef triple(x):\n    return 3 * x\n\n\nlast = 1\n"
    )
    backup = reset(path, course)
    stub = course.exercise("double").starter_source
    assert path.read_text() == f"import jax\n\n\n{stub}\n\n\ndef triple(x):\n    return 3 * x\n\n\nlast = 1\n"
    assert "triple" not in backup.read_text()


def test_one_that_is_no_python_is_found_by_its_look(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def double(x)\n    return (\n\n    x)\n\n\ndef triple(x):\n    return 3 * x\n")
    reset(path, course)
    stub = course.exercise("double").starter_source
    assert path.read_text() == f"{stub}\n\n\ndef triple(x):\n    return 3 * x\n"


def test_of_a_function_defined_twice_one_stub_is_left(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("# %%\ndef double(x):\n    return 1\n\n# %%\ny = 1\n\n\ndef double(x):\n    return 2\n")
    backup = reset(path, course)
    assert path.read_text().count("def double(") == 1
    assert "y = 1" in path.read_text()
    assert all(f"return {n}" in backup.read_text() for n in (1, 2))


def test_no_backup_is_ever_overwritten(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    backups = []
    for n in (1, 2):
        path.write_text(f"def double(x):\n    return {n}\n")
        backups.append(reset(path, course))
    assert [backup.name for backup in backups] == ["double-1.txt", "double-2.txt"]
    assert "return 1" in backups[0].read_text()


def test_a_file_without_the_exercise_is_left_as_it_is(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def triple(x):\n    return 1\n")
    with pytest.raises(ValueError, match=r"mine\.py does not define `double`\."):
        reset(path, course)
    assert path.read_text() == "def triple(x):\n    return 1\n"
    assert not (tmp_path / "old_answers").exists()
