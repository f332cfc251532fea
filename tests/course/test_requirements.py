"""Test that what a course requires is compared with what is installed, wherever the course is used."""

import importlib.metadata
import json
import zipfile
from pathlib import Path

import jax
import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from jaxguide.cli import main
from jaxguide.course.books.library import load_course
from jaxguide.course.requirements import pinned, unmet_requirements
from jaxguide.course.settings import CourseSettings
from jaxguide.grading.batch.grader import course_state_digest
from jaxguide.grading.exports.gradescope import AutograderSettings, autograder_zip
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess

MISSING = "The course needs no-such-package>=2, which is not installed."
INSTALL = 'Install it: pip install "no-such-package>=2"'


def requires(course: Path, *requirements: str) -> Path:
    (course / "course.toml").write_text(f"requirements = {json.dumps(requirements)}\n")
    return course


def test_what_is_installed_in_another_version_is_told_with_both() -> None:
    settings = CourseSettings(requirements=("click>=8", "jax>=99", "numpy[extra]", 'x; python_version < "3"'))
    (unmet,) = unmet_requirements(settings)
    assert unmet.what == f"The course needs jax>=99, but jax {jax.__version__} is installed."
    assert unmet.remedy == 'Install it: pip install "jax>=99"'


@pytest.mark.parametrize("command", ["verify", "print"])
def test_a_command_that_runs_lessons_says_what_is_missing(tiny: Path, command: str) -> None:
    done = CliRunner().invoke(main, [command, "--course", str(requires(tiny, "no-such-package>=2"))])
    assert (done.exit_code, done.stderr) == (3, f"{tiny / 'course.toml'}:1: {MISSING} {INSTALL}\n")


@pytest.mark.long
def test_doctor_says_what_is_missing(tiny: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--json", "--course", str(requires(tiny, "no-such-package>=2"))])
    (trouble,) = (one for one in json.loads(done.stdout)["troubles"] if one["name"] == "requirement_not_met")
    assert (done.exit_code, trouble["what"], trouble["remedy"]) == (1, MISSING, INSTALL)


def test_gradescope_installs_the_versions_that_are_here(tiny: Path, tmp_path: Path) -> None:
    course = load_course(requires(tiny, "click>=8", "jax", 'x; python_version < "3"'))
    (tmp_path / "a.zip").write_bytes(autograder_zip(course, AutograderSettings(seed=1)))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        lines = archive.read("requirements.txt").decode().splitlines()
        assert archive.read("course/course.toml") == (tiny / "course.toml").read_bytes()
    assert f"click=={importlib.metadata.version('click')}" in lines
    assert [line for line in lines if line.startswith(("jax=", "x"))] == [f"jax=={jax.__version__}"]


def test_versions_count_in_the_state_of_a_course(tiny: Path) -> None:
    digests = {course_state_digest(load_course(requires(tiny, *names))) for names in ([], ["click"], ["numpy"])}
    assert len(digests) == 3
    url = "x @ https://example.org/x.whl"
    assert pinned(CourseSettings(requirements=(url, "click[all]>=1"))) == {
        "x": str(Requirement(url)),  # with a space before the @ or not, depending on the release of packaging
        "click": f"click[all]=={importlib.metadata.version('click')}",
    }


def test_a_worker_imports_from_where_the_grader_does(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "only_there.py").write_text("NUMBER = 3\n")
    worker = WorkerProcess(Surroundings(folders=(str(tmp_path / "elsewhere"),)))
    try:
        assert worker.request("setup", source="import only_there\nassert only_there.NUMBER == 3") == {
            "id": 1,
            "failed": None,
        }
    finally:
        worker.kill()
