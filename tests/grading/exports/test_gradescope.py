"""Test that Gradescope gets valid results, shows hidden checks at the right time, and no missing mark becomes 0."""

import dataclasses
import io
import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_class import SECRET, exercise
from needs import ON_THE_NEWEST, needs_program
from small_course import ANSWERS, write_course

import jaxguide
from jaxguide.course.books.library import load_course
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.exports.gradescope import (
    AutograderSettings,
    GradingProgress,
    NoKey,
    autograder_zip,
    gradescope_results,
    visible_part,
)
from jaxguide.grading.workers.shared_programs import SHARED, VALUES

# The format of results.json, from https://gradescope-autograders.readthedocs.io/en/latest/specs/.
_VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": _FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": _FORMAT,
                    "visibility": _VISIBILITY,
                },
            },
        },
    },
}


def _read(plain: dict[str, Any]) -> dict[str, Any]:
    jsonschema.Draft202012Validator(GRADESCOPE).validate(plain)
    return plain


def _results() -> list[ExerciseResult]:
    return [exercise("two_samples", Verdict.PASSED), exercise("dropout_rows", Verdict.FAILED, hidden_fails=True)]


@pytest.mark.parametrize("visibility", ["after_published", "hidden"])
def test_marks_and_hidden_checks_wait_until_they_may_be_seen(visibility: str) -> None:
    plain = _read(gradescope_results(GradingProgress(_results(), done=True), visibility))
    assert plain["score"] == 2.0
    assert plain["stdout_visibility"] == "hidden"
    seen = [test for test in plain["tests"] if test["visibility"] == "visible"]
    later = [test for test in plain["tests"] if test["visibility"] == visibility]
    assert (len(seen), len(later)) == (2, 2)
    assert [(test["score"], test["max_score"]) for test in later] == [(2.0, 2.0), (0.0, 3.0)]
    assert not [test for test in seen if "score" in test]
    assert [test["status"] for test in seen] == ["passed", "passed"]
    assert [test["status"] for test in later] == ["passed", "failed"]
    assert "hidden check passed" not in json.dumps(seen)
    assert "It holds for any input." not in json.dumps(seen)
    assert "Each row needs a key of its own." in " ".join(later[1]["output"].split())
    assert SECRET not in json.dumps(plain)


def test_an_exercise_without_hidden_checks_is_one_test_with_its_score() -> None:
    result = exercise("two_samples", Verdict.PASSED)
    result.checks = [check for check in result.checks if not check.hidden]
    (test,) = _read(gradescope_results(GradingProgress([result], done=True)))["tests"]
    assert (test["score"], test["max_score"], test["visibility"]) == (2.0, 2.0, "visible")


def test_a_missing_mark_is_no_zero_and_there_is_no_total() -> None:
    plain = _read(gradescope_results(GradingProgress(_results(), {"dropout_rows"}, done=True)))
    assert "score" not in plain
    assert "not your fault" in plain["tests"][-1]["output"]
    assert not {"score", "max_score", "status"} & set(plain["tests"][-1])
    stopped = _read(gradescope_results(GradingProgress(_results(), done=True, trouble="the machine is full.")))
    assert "score" not in stopped


def test_while_exercises_follow_there_is_no_total() -> None:
    plain = _read(gradescope_results(GradingProgress(_results()[:1])))
    assert "score" not in plain
    assert "score" not in plain["tests"][-1]
    assert plain["tests"][-1]["name"] == "Grading has not finished"


def test_what_visible_checks_tell_does_not_tell_of_hidden_ones() -> None:
    right = exercise("dropout_rows", Verdict.FAILED, hidden_fails=True)
    assert visible_part(right).verdict is Verdict.PASSED
    right.checks[2].verdict = Verdict.NOT_CHECKED  # as in checks after a hidden failure
    assert visible_part(right).verdict is Verdict.PASSED
    passed = exercise("dropout_rows", Verdict.PASSED)
    shown = [gradescope_results(GradingProgress([one], done=True))["tests"][0] for one in (right, passed)]
    assert shown[0] == shown[1]
    assert visible_part(exercise("dropout_rows", Verdict.ERROR)).verdict is Verdict.ERROR
    assert visible_part(exercise("dropout_rows", Verdict.NOT_ATTEMPTED)).verdict is Verdict.NOT_ATTEMPTED


@pytest.fixture(scope="module")
def autograder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack an autograder as Gradescope does, and install the jaxguide in it, without network.

    What it needs besides comes from this Python, instead of the one that `setup.sh` installs.
    """
    needs_program("bash")
    root = tmp_path_factory.mktemp("gradescope")
    folder = root / "mycourse"
    folder.mkdir()
    write_course(folder)
    settings = AutograderSettings(seed=7, trust_submissions=True, limits=Limits(cpu_s=3.0))
    content = autograder_zip(load_course(folder), settings)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(root / "source")
        for info in archive.infolist():
            (root / "source" / info.filename).chmod(stat.S_IMODE(info.external_attr >> 16))
    (root / "source" / "run_autograder").rename(root / "run_autograder")
    (root / "results").mkdir()
    python = root / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (wheel,) = (root / "source").glob("jaxguide-*.whl")
    options = ["--no-index", "--no-deps", "--disable-pip-version-check", "--target", root / "site"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options, wheel], check=True)
    return root


def _run(autograder: Path, files: dict[str, str]) -> tuple[int, dict[str, Any]]:
    started = _start(autograder, files)
    _out, complaint = started.communicate()
    assert "Traceback" not in complaint, complaint
    return started.returncode, _results_of(autograder)


def _results_of(autograder: Path) -> dict[str, Any]:
    return _read(json.loads((autograder / "results" / "results.json").read_text("utf-8")))


def _start(autograder: Path, files: dict[str, str]) -> "subprocess.Popen[str]":
    submission = autograder / "submission"
    submission.mkdir(exist_ok=True)
    for old in submission.iterdir():
        old.unlink()
    for name, text in files.items():
        (submission / name).write_text(text)
    environment = {**os.environ, "AUTOGRADER": str(autograder), "PYTHONPATH": str(autograder / "site")}
    (autograder / "results" / "results.json").unlink(missing_ok=True)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([autograder / "run_autograder"], env=environment, cwd="/", **pipes)  # type: ignore[call-overload]


def test_the_zip_holds_scripts_that_run_and_the_course_with_its_key(autograder: Path) -> None:
    source = autograder / "source"
    for script in (source / "setup.sh", autograder / "run_autograder"):
        assert os.access(script, os.X_OK)
        subprocess.run(["bash", "-n", script], check=True)
    assert (source / "course" / "solutions" / "small_numbers.py").is_file()
    requirements = (source / "requirements.txt").read_text().split()
    assert requirements[0] == f"./jaxguide-{jaxguide.__version__}-py3-none-any.whl"
    assert (autograder / "site" / "jaxguide" / "grading" / "reports" / "templates" / "page.html").is_file()
    assert not (autograder / "site" / "jaxguide" / "_course").exists()
    command = "import jaxguide, jaxguide.cli; print(jaxguide.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(autograder / "site")}
    done = subprocess.run([sys.executable, "-c", command], cwd="/", env=environment, capture_output=True, text=True)
    assert Path(done.stdout.strip()) == autograder / "site" / "jaxguide" / "__init__.py"
    assert any(one.startswith("jax==") for one in requirements)


@pytest.mark.long
def test_the_autograder_grades_a_submission(autograder: Path) -> None:
    answers = {**ANSWERS, "triple": "def triple(x):\n    return 3 * x if len(x) == 3 else x\n"}
    status, plain = _run(autograder, {"homework.py": "\n\n\n".join(f"# %%\n{text}" for text in answers.values())})
    assert status == 0
    assert plain["score"] == 6.0
    tests = {(test["name"], test["visibility"]): test for test in plain["tests"]}
    assert tests["triple", "visible"]["status"] == "passed"
    assert tests["triple: marks, with hidden checks", "after_published"]["score"] == 0.0
    assert tests["double: marks, with hidden checks", "after_published"]["score"] == 1.0
    assert tests["Slope", "visible"]["score"] == 2.0
    assert "seed" not in json.dumps(plain)


@ON_THE_NEWEST
def test_what_the_course_needs_is_kept_while_the_image_is_built(autograder: Path) -> None:
    setup = (autograder / "source" / "setup.sh").read_text().splitlines()
    (line,) = [line for line in setup if "fill-gradescope" in line]
    environment = {**os.environ, "PYTHONPATH": str(autograder / "site")}
    command = ["bash", "-c", line.removesuffix("|| true")]
    done = subprocess.run(command, cwd=autograder / "source", env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    (kept,) = (autograder / "cache" / "jaxguide" / "programs").iterdir()
    before = {path: path.stat().st_mtime_ns for path in (kept / VALUES, *(kept / SHARED).iterdir())}
    assert len(before) > 1
    # A container finds the cache and adds nothing to it.
    status, plain = _run(autograder, {"homework.py": "\n\n\n".join(f"# %%\n{text}" for text in ANSWERS.values())})
    assert (status, plain["score"]) == (0, 7.0)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert list(kept.parent.iterdir()) == [kept]


@ON_THE_NEWEST
def test_exercises_are_written_down_as_they_are_done(autograder: Path) -> None:
    # Right for the three numbers of the visible check; for the five of the hidden check it never ends.
    endless = "def quintuple(x):\n    while len(x) == 5:\n        pass\n    return 5 * x\n"
    answers = {**ANSWERS, "quintuple": endless}
    seen: dict[int, dict[str, Any]] = {}
    started = _start(autograder, {"homework.py": "\n\n\n".join(f"# %%\n{text}" for text in answers.values())})
    while started.poll() is None:
        if (autograder / "results" / "results.json").is_file():
            plain = _results_of(autograder)
            seen[len(plain["tests"])] = plain
        time.sleep(0.05)
    started.communicate()
    partial = [plain for plain in seen.values() if plain["tests"][-1]["name"] == "Grading has not finished"]
    before_the_end = max(partial, key=lambda plain: len(plain["tests"]))
    assert "score" not in before_the_end
    assert {"double", "triple", "quadruple"} <= {test["name"] for test in before_the_end["tests"]}
    plain = _results_of(autograder)
    assert plain["score"] == 6.0
    marks = next(test for test in plain["tests"] if test["name"].startswith("quintuple: marks"))
    assert (marks["score"], marks["status"]) == (0.0, "failed")
    assert "Out of time" in marks["output"]


@ON_THE_NEWEST
def test_a_submission_without_a_notebook_is_told_so(autograder: Path) -> None:
    _status, plain = _run(autograder, {"essay.txt": "I would rather write."})
    assert plain["score"] == 0.0
    assert "no notebook" in plain["output"]
    _status, plain = _run(autograder, {"cut.ipynb": '{"cells": ['})
    assert "cut.ipynb: The notebook is cut off" in plain["output"]


@ON_THE_NEWEST
def test_one_of_two_files_that_cannot_be_read_is_named_and_there_is_no_total(autograder: Path) -> None:
    answers = "\n\n\n".join(f"# %%\n{text}" for text in ANSWERS.values())
    status, plain = _run(autograder, {"cut.ipynb": '{"cells": [', "homework.py": answers})
    assert (status, "score" in plain) == (1, False)
    said = "There is no total, because not every file could be read. cut.ipynb: The notebook is cut off"
    assert plain["output"].startswith(said)
    assert [test["score"] for test in plain["tests"] if "score" in test] == [1.0, 1.0, 1.0, 1.0, 2.0, 1.0]


@ON_THE_NEWEST
def test_a_file_that_was_read_and_answers_nothing_is_named_and_costs_no_total(autograder: Path) -> None:
    files = {"helpers.py": "def half(x):\n    return x / 2\n", "homework.py": ANSWERS["double"]}
    status, plain = _run(autograder, files)
    assert (status, plain["score"]) == (0, 1.0)
    assert "helpers.py: The file does not answer any exercise of this course." in plain["output"]
    assert "no total" not in plain["output"]
    _status, plain = _run(autograder, {**files, "helpers.py": "def half(x:\n"})
    assert "score" not in plain
    assert "no total" in plain["output"]
    _status, plain = _run(autograder, {"helpers.py": files["helpers.py"]})
    assert plain["output"] == "Nothing was graded. helpers.py: The file does not answer any exercise of this course."
    assert plain["score"] == 0.0


def test_a_stopped_grader_is_told_with_the_files_that_could_not_be_read() -> None:
    why = "cut.ipynb: The notebook is cut off."
    plain = _read(gradescope_results(GradingProgress(_results()[:1], done=True, unreadable=why)))
    assert "score" not in plain
    assert why in plain["output"]
    plain = _read(gradescope_results(GradingProgress(_results()[:1], {"two_samples"}, done=True, unreadable=why)))
    assert "1 exercise could not be graded." in plain["output"]
    assert why in plain["output"]


def test_the_same_course_gives_the_same_zip_and_one_without_a_key_none(tmp_path: Path) -> None:
    write_course(tmp_path)
    course = load_course(tmp_path)
    settings = AutograderSettings(seed=7)
    assert autograder_zip(course, settings) == autograder_zip(course, settings)
    wheel = tmp_path / "jaxguide-9-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    with zipfile.ZipFile(io.BytesIO(autograder_zip(course, settings, wheel))) as archive:
        assert archive.read(wheel.name) == b"a wheel"
        assert archive.read("requirements.txt").startswith(f"./{wheel.name}\n".encode())
    with pytest.raises(NoKey, match="no key"):
        autograder_zip(load_course(tmp_path, keys=False), settings)


def test_every_limit_is_kept_and_read_again() -> None:
    limits = Limits(3.0, 5.0, 100.0, 2**30, 2**20, 2**21, 2**22, 4.0)
    assert not [f.name for f in dataclasses.fields(Limits) if getattr(limits, f.name) == f.default]
    settings = AutograderSettings(7, only=frozenset({"double"}), limits=limits)
    again = AutograderSettings.from_text(settings.to_text())
    assert again == settings
