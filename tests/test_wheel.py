"""Test the wheel outside a clone: it contains the course, everything works, and the key stays hidden."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST

pytestmark = ON_THE_NEWEST

CLONE = Path(__file__).parents[1]
STEALS = """
from pathlib import Path

import jax
import jaxguide


def two_samples(key, n, m):
    key_folder = Path(jaxguide.__file__).parent / "_course" / "solutions"
    names = {}
    exec((key_folder / "random_numbers.py").read_text(), names)
    return names["two_samples"](key, n, m)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, and return a folder with the unpacked package."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(CLONE)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(out / "site")
    return out / "site"


def _run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path[:] = [p for p in sys.path if p != sys.argv[1]]; del sys.argv[1]; "
    code += "from jaxguide.cli import main; main()"
    # An editable install puts the clone on the path; the unpacked wheel comes first.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), sysconfig.get_paths()["purelib"]])}
    command = [sys.executable, "-c", code, str(CLONE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_the_wheel_holds_the_lessons_but_no_tests_and_tools(installed: Path) -> None:
    course = installed / "jaxguide" / "_course"
    names = {path.relative_to(course).as_posix() for path in course.rglob("*") if path.is_file()}
    assert {"exercises/random_numbers.py", "solutions/random_numbers.py"} <= names
    assert {"notebooks/random_numbers.ipynb", "notebooks/random_numbers.py"} <= names
    extension = installed / "jaxguide" / "cli" / "jupyter" / "labextensions" / "jaxguide"
    assert {path.name for path in extension.rglob("*.*")} == {"package.json", "index_page.js"}
    assert not (installed / "tests").exists()
    assert not (installed / "tools").exists()


def test_the_installed_program_hints_checks_and_keeps_the_key_from_workers(installed: Path, tmp_path: Path) -> None:
    hint = _run(installed, tmp_path, "hint", "two_samples")
    assert hint.stdout.startswith("Hint 1 of 4"), hint.stderr
    (tmp_path / "thief.py").write_text(STEALS)
    graded = _run(installed, tmp_path, "grade", "thief.py", "--only", "two_samples", "--json")
    (submission,) = json.loads(graded.stdout)["submissions"]
    (exercise,) = submission["exercises"]
    assert (exercise["verdict"], exercise["score"]) == ("error", 0), graded.stderr
    assert "PermissionError" in json.dumps(exercise)


@pytest.fixture(scope="module")
def fresh(installed: Path) -> Path:
    """Return the Python of a new environment with the wheel, and with what it depends on as other tests have it."""
    place = installed.parent / "fresh"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    said = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    site = Path(said.stdout.strip())
    (wheel,) = installed.parent.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    # Behind the wheel's own folder; an editable install there is not followed, because its `.pth` files are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return python


def test_what_students_get_of_a_course_needs_the_wheel_alone(fresh: Path, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JAX"))}

    def run(*arguments: object, folder: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        command = [str(fresh), *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env={**kept, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True)

    assert str(fresh.parents[1]) in run("-c", "import jaxguide; print(jaxguide.__file__)").stdout
    course = shutil.copytree(CLONE / "examples" / "private_course", tmp_path / "course")
    printed = run("-m", "jaxguide", "print", "--course", course, "--zip", "rows.zip")
    assert printed.returncode == 0, printed.stderr
    zipfile.ZipFile(tmp_path / "rows.zip").extractall(tmp_path)
    shutil.rmtree(course)
    here = tmp_path / "rows"
    lesson = here / "rows.py"
    right = "return x / jnp.sqrt((x**2).sum(axis=1, keepdims=True))"
    lesson.write_text(lesson.read_text().replace("    ...\n", f"    {right}\n"))
    done = run("rows.py", folder=here)
    assert "Right so far: Rows of unit length" in done.stdout, done.stderr
    checked = run("-m", "jaxguide", "check", "rows.py", folder=here)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert run("-m", "jaxguide", "solution", "unit_rows", folder=here).stdout == "This course keeps its solutions.\n"
