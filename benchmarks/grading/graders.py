"""Install and run the three graders: their files, their commands, and where they write marks."""

import importlib.metadata
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from assignment import Kind
from layouts import notebook, source_kind, write_otter_tests
from measure import Used, measured

HERE = Path(__file__).resolve().parent
PACKAGES = {"otter": "otter-grader", "nbgrader": "nbgrader"}
_OTTER_LOOP = """\
import json, sys, otter.api
scores = {}
for path in sys.argv[2:]:
    result = otter.api.grade_submission(path, sys.argv[1], quiet=True)
    scores[path.rsplit('/', 1)[-1].removesuffix('.ipynb')] = result.total
json.dump(scores, open('scores.json', 'w'))
"""


def make_environment(cache: Path, grader: str) -> Path:
    """Return the Python of a virtual environment with a peer and this Python's jax; create it if needed."""
    folder = cache / grader
    python = folder / "bin" / "python"
    if not (folder / ".made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        same = [f"{name}=={importlib.metadata.version(name)}" for name in ("jax", "jaxlib")]
        pip = [python, "-m", "pip", "install", "--quiet", "--compile", PACKAGES[grader], "ipykernel", *same]
        subprocess.run(pip, check=True)
        (folder / ".made").touch()
    return python


class Jaxguide:
    """jaxguide from this repository, in the Python that runs the benchmark."""

    name = "jaxguide"

    def __init__(self, cache: Path):
        self.worker_cpu_s: list[float] = []
        self.worker_bytes: list[int] = []
        self._caches = cache / "jaxguide-caches"
        shutil.rmtree(self._caches, ignore_errors=True)

    def first(self, kind: Kind, folder: Path, limit_s: float) -> tuple[Used, dict[str, float | None]]:
        """Grade one submission as `grade` does, but with an empty cache."""
        shutil.rmtree(self._caches, ignore_errors=True)
        return self.grade([kind], folder, limit_s)

    def grade(self, kinds: Sequence[Kind], folder: Path, limit_s: float) -> tuple[Used, dict[str, float | None]]:
        """Grade submissions in one go, in an empty folder; return what it used and the marks out of 10."""
        (folder / "submissions").mkdir(parents=True)
        for kind in kinds:
            (folder / "submissions" / f"{_stem(kind)}.ipynb").write_text(notebook(kind, "jaxguide"))
        command = [sys.executable, "-m", "jaxguide", "grade", "submissions", "--course", str(HERE / "course")]
        environment = {"PYTHONPATH": str(HERE.parents[1]), "XDG_CACHE_HOME": str(self._caches)}
        used = measured(
            [*command, "--out", "results", "--jobs", "1", "--limits", "cpu=10"], folder, environment, limit_s
        )
        file = folder / "results" / "results.json"
        scores: dict[str, float | None] = {}
        for row in json.loads(file.read_text())["submissions"] if file.exists() else ():
            scores[row["student"]] = row["score"] if row["state"] == "graded" else None
            if row["state"] == "graded":
                self.worker_cpu_s.append(row["cpu_s"])
                self.worker_bytes.append(row["memory_bytes"])
        return used, scores


class Otter:
    """otter-grader: `otter run` for one submission, a loop over its API for several."""

    name = "otter"

    def __init__(self, cache: Path):
        self._python = make_environment(cache, self.name)
        self._zip = cache / "autograder.zip"
        tests = cache / "otter-tests"
        shutil.rmtree(tests, ignore_errors=True)
        write_otter_tests(tests)
        with zipfile.ZipFile(self._zip, "w") as archive:
            archive.writestr("otter_config.json", json.dumps({"lang": "python", "pdf": False, "show_hidden": True}))
            archive.writestr("files/", "")
            for file in sorted(tests.iterdir()):
                archive.write(file, f"tests/{file.name}")

    def grade(self, kinds: Sequence[Kind], folder: Path, limit_s: float) -> tuple[Used, dict[str, float | None]]:
        """Grade submissions in one go, in an empty folder; return what it used and the marks out of 10."""
        (folder / "out").mkdir(parents=True)
        files = [folder / f"{_stem(kind)}.ipynb" for kind in kinds]
        for kind, file in zip(kinds, files, strict=True):
            file.write_text(notebook(kind, self.name))
        if len(kinds) > 1:
            command = [str(self._python), "-c", _OTTER_LOOP, str(self._zip), *map(str, files)]
            used = measured(command, folder, _on_path(self._python), limit_s)
            found = folder / "scores.json"
            return used, json.loads(found.read_text()) if found.exists() else {}
        command = [str(self._python), "-m", "otter", "run", str(files[0]), "-a", str(self._zip), "-o", "out"]
        used = measured(command, folder, _on_path(self._python), limit_s)
        found = folder / "out" / "results.json"
        if not found.exists():
            return used, {}
        plain = json.loads(found.read_text())
        return used, {_stem(kinds[0]): plain.get("score") or sum(one.get("score") or 0 for one in plain["tests"])}


class Nbgrader:
    """nbgrader: `nbgrader autograde` in a course folder."""

    name = "nbgrader"

    def __init__(self, cache: Path):
        self._python = make_environment(cache, self.name)
        self._course = cache / "nbgrader-course"
        shutil.rmtree(self._course, ignore_errors=True)
        source = self._course / "source" / "asg"
        source.mkdir(parents=True)
        (source / "asg.ipynb").write_text(notebook(source_kind(), self.name, is_source=True))
        (self._course / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'course'\n")
        command = [self._python, "-m", "nbgrader", "generate_assignment", "asg"]
        environment = {**os.environ, **_on_path(self._python)}
        subprocess.run(command, cwd=self._course, env=environment, check=True, capture_output=True)

    def grade(self, kinds: Sequence[Kind], folder: Path, limit_s: float) -> tuple[Used, dict[str, float | None]]:
        """Grade submissions in one go, in an empty folder; return what it used and the marks out of 10."""
        shutil.copytree(self._course, folder)
        for kind in kinds:
            submitted = folder / "submitted" / _stem(kind) / "asg"
            submitted.mkdir(parents=True)
            (submitted / "asg.ipynb").write_text(notebook(kind, self.name))
        used = measured(
            [str(self._python), "-m", "nbgrader", "autograde", "asg"], folder, _on_path(self._python), limit_s
        )
        query = """
            select student.id, sum(coalesce(grade.manual_score, grade.auto_score)), count(grade.auto_score)
            from student join submitted_assignment on submitted_assignment.student_id = student.id
            join submitted_notebook on submitted_notebook.assignment_id = submitted_assignment.id
            join grade on grade.notebook_id = submitted_notebook.id group by student.id"""
        with sqlite3.connect(folder / "gradebook.db") as database:
            rows = database.execute(query).fetchall()
        return used, {student: score for student, score, count in rows if count}


def _on_path(python: Path) -> dict[str, str]:
    """Return the environment in which nbgrader finds alembic, and both their kernel."""
    return {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}


def _stem(kind: Kind) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in kind.name)


def mark_of(scores: dict[str, float | None], kind: Kind) -> float | None:
    """Return the marks of one submission, or None if it got none."""
    return scores.get(_stem(kind))


GRADERS = (Jaxguide, Otter, Nbgrader)
