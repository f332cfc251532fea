"""Test that an instructor's commands prove, print and grade the example of a private course."""

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST

from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import load_course
from jaxguide.course.judging.draw import Draw
from jaxguide.grading.batch.store import SeedError, seed_of
from jaxguide.grading.reports.results_json import RESULTS_FORMAT

EXAMPLE = Path(__file__).parents[2] / "examples" / "private_course"

RIGHT = """
def unit_rows(x):
    length = jnp.sqrt((x**2).sum(axis=1, keepdims=True))
    return x / jnp.where(length == 0, 1, length)
"""
DIVIDES_BY_ZERO = """
import os

def unit_rows(x):
    print([float(one) for one in x.reshape(-1)])
    try:
        print(open(KEY).read())
    except OSError as refused:
        print("refused")
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)
"""


def jaxguide(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jaxguide", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example course, printed, and a class's submissions."""
    folder = tmp_path_factory.mktemp("private")
    shutil.copytree(EXAMPLE, folder / "course", ignore=shutil.ignore_patterns("__pycache__"))
    done = jaxguide("print", "--course", "course", folder=folder)
    assert done.returncode == 0, done.stderr
    notebook = json.loads((folder / "course" / "notebooks" / "rows.ipynb").read_text())
    (stub,) = (cell for cell in notebook["cells"] if "def unit_rows" in "".join(cell["source"]))
    stub["source"] = RIGHT
    (folder / "submissions" / "Ada Byron").mkdir(parents=True)
    (folder / "submissions" / "Ada Byron" / "rows.ipynb").write_text(json.dumps(notebook))
    key = folder / "course" / "solutions" / "rows.py"
    (folder / "submissions" / "Bob Lee.py").write_text(f"KEY = {str(key)!r}\n{DIVIDES_BY_ZERO}")
    return folder


def test_it_holds_no_more_than_a_course_needs() -> None:
    files = sorted(path.relative_to(EXAMPLE).as_posix() for path in EXAMPLE.rglob("*.*") if path.suffix != ".pyc")
    assert files == ["course.toml", "exercises/rows.py", "roster.csv", "solutions/rows.py"]


@ON_THE_NEWEST
def test_it_is_proven(folder: Path) -> None:
    done = jaxguide("verify", "--course", "course", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all proven" in done.stdout


@pytest.mark.long
def test_what_is_handed_out_holds_nothing_of_the_key(folder: Path) -> None:
    printed = folder / "course" / "notebooks"
    for path in (path for path in printed.rglob("*") if path.is_file()):
        text = path.read_text()
        assert "unit_rows" in text or path.name == "course.toml"
        secrets = ["divides_by_zero", "rows_of_zeros_stay", "0 / 0"]
        for secret in secrets if path.parent != printed else [*secrets, "every_row_has_length_one"]:
            assert secret not in text


@pytest.fixture(scope="module")
def results(folder: Path) -> Path:
    command = ["grade", "submissions", "--course", "course", "--roster", "course/roster.csv", "--seed", "secret"]
    done = jaxguide(*command, "--out", "results", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results"


@ON_THE_NEWEST
def test_the_class_is_graded_by_the_private_key(results: Path) -> None:
    document = json.loads((results / "results.json").read_text())
    assert document["format"] == RESULTS_FORMAT
    marks = {one["student"]: (one["state"], one["score"]) for one in document["students"]}
    assert marks == {"Ada Byron": ("graded", 2), "Bob Lee": ("graded", 0), "Cy Oh": ("absent", None)}
    (bob,) = (one for one in document["submissions"] if one["student"] == "Bob Lee")
    (failed,) = (check for check in bob["exercises"][0]["checks"] if check["verdict"] == "failed")
    assert (failed["name"], failed["misconceptions"]) == ("rows_of_zeros_stay", ["divides_by_zero"])
    assert failed["call"].startswith("unit_rows(float32[3,7] [[")
    assert "refused" in bob["exercises"][0]["printed"]
    assert "@answer" not in bob["exercises"][0]["printed"]


@pytest.mark.long
def test_a_student_reads_what_went_wrong_and_no_hidden_input(folder: Path, results: Path) -> None:
    (page,) = (path for path in (results / "feedback").glob("*.txt") if "Bob" in path.name)
    text = page.read_text()
    assert "A row of zeros stays as it is." in text
    assert "0 / 0 is NaN" in text
    assert "A row of zeros is divided by its length, which is 0." in text
    seed = int((results / "seed.txt").read_text())
    digest = course_digest(load_course(folder / "course"))
    draw = Draw.hidden(seed, digest, "unit_rows", "rows_of_zeros_stay")
    assert "float32[3,7]" not in text
    # Eight characters, as the page prints them; one of the 21 may be the same as a number of a visible input by chance.
    hidden = {str(abs(float(number)))[:8] for number in draw.floats(3, 7).reshape(-1)}
    assert len([number for number in hidden if number in text]) <= 1
    assert str(seed) not in "".join(path.read_text() for path in (results / "feedback").iterdir())


@ON_THE_NEWEST
def test_a_second_run_has_the_same_secret_seed(folder: Path, results: Path) -> None:
    before = (results / "results.json").read_bytes()
    seed = json.loads(before)["seed"]
    assert seed == int((results / "seed.txt").read_text())
    assert seed > 2**40
    assert stat.S_IMODE((results / "seed.txt").stat().st_mode) == 0o600
    command = ["grade", "submissions", "--course", "course", "--roster", "course/roster.csv", "--seed", "secret"]
    assert jaxguide(*command, "--out", "results", folder=folder).returncode == 0
    assert (results / "results.json").read_bytes() == before


@ON_THE_NEWEST
def test_points_given_by_hand_and_the_command_to_grade_again_find_the_course(folder: Path, results: Path) -> None:
    (results / "overrides.csv").write_text("student,exercise,points\nBob Lee,unit_rows,1\n")
    assert "--course course --seed" in (results / "report.html").read_text()
    done = jaxguide("report", "results", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "Bob Lee,graded,1" in (results / "grades.csv").read_text()
    elsewhere = jaxguide("report", folder / "results", folder=folder / "course")
    assert elsewhere.returncode == 2
    assert "The class was graded with the course `course`, which is missing." in " ".join(elsewhere.stderr.split())
    (results / "overrides.csv").unlink()


def test_who_lacks_the_key_cannot_draw_hidden_inputs_from_a_seed_that_is_known(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "course", tmp_path / "guessed")
    key = tmp_path / "guessed" / "solutions" / "rows.py"
    key.write_text(key.read_text().replace("length > 0, length, 1", "length > 0, length, 2"))
    digests = [course_digest(load_course(path)) for path in (folder / "course", tmp_path / "guessed")]
    first, second = (Draw.hidden(0, digest, "unit_rows", "rows_of_zeros_stay").numpy(3, 7) for digest in digests)
    assert (first != second).all()


def test_a_seed_is_a_number_or_secret(tmp_path: Path) -> None:
    assert seed_of("-5", tmp_path) == -5
    assert not (tmp_path / "results").exists()
    first = seed_of("secret", tmp_path / "results")
    assert first == seed_of("secret", tmp_path / "results")
    assert first != seed_of("secret", tmp_path / "others")
    with pytest.raises(SeedError, match="whole number"):
        seed_of("one", tmp_path)
    (tmp_path / "seed.txt").write_text("none")
    with pytest.raises(SeedError, match=r"seed\.txt` does not contain a number"):
        seed_of("secret", tmp_path)
