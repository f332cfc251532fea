"""Test that the JAX and NumPy names in lessons exist with the lesson's own imports, so that students can type them."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxguide.course.books.library import students_course
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import Verdict
from jaxguide.student.check_file import check_file

_NAME = re.compile(r"(?<![\w./])(?:jax|jnp|np|lax|plt|scipy)(?:\.[A-Za-z_]\w*)+")
# Names that do not exist: lessons say so, or they are in a message from JAX.
_NOT_THERE = {
    "random_depth": {"jax.fori_loop"},
    "random_numbers": {"jnp.random"},
}
# Each lesson is tested in a separate fork: in one process, its imports would also serve the next lesson.
_LOOK = """
import functools, json, os, sys
import jax
for topic, (imports, said) in json.load(sys.stdin).items():
    if os.fork():
        assert os.wait()[1] == 0
        continue
    names, missing = {}, []
    exec(imports, names)
    for name in said:
        first, *rest = name.split(".")
        try:
            functools.reduce(getattr, rest, names[first])
        except (KeyError, AttributeError):
            missing.append(name)
    print(json.dumps([topic, missing]), flush=True)
    os._exit(0)
"""


def _said(topic: str) -> tuple[str, list[str]]:
    """Return a lesson's imports, without those of jaxguide, and the names in its prose, code and check messages."""
    book = students_course().books[topic]
    own = [s.source for s in book.given if s.is_import and "jaxguide" not in s.source]
    names: set[str] = set()
    for cell in book.cells:
        strings = [node.value for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Constant)]
        texts = [cell.prose] if cell.kind == "prose" else [text for text in strings if isinstance(text, str)]
        for text in texts:
            names |= set(_NAME.findall(re.sub(r"https?://\S+", "", text)))
    return "\n".join(own), sorted(names)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each lesson is tested in a fork")
def test_what_a_lesson_names_is_there_with_its_imports() -> None:
    said = {topic: _said(topic) for topic in students_course().books}
    assert "jax.test_util.check_grads" in said["autodiff"][1]
    assert all(len(names) > 10 for _imports, names in said.values())
    done = subprocess.run([sys.executable, "-c", _LOOK], input=json.dumps(said), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    missing = dict(json.loads(line) for line in done.stdout.splitlines())
    assert missing.keys() == said.keys()
    assert {topic: set(names) for topic, names in missing.items() if names} == _NOT_THERE


@pytest.mark.long
def test_check_grads_works_in_a_worker_as_the_lesson_prints_it(tmp_path: Path) -> None:
    answer = """
def derivatives_agree(f, args):
    try:
        jax.test_util.check_grads(f, args, order=2)
    except AssertionError:
        return False
    return True
"""
    (tmp_path / "mine.py").write_text(answer)
    (result,) = check_file(tmp_path / "mine.py", students_course(), Progress(tmp_path), ["derivatives_agree"]).results
    assert (result.verdict, result.first_failure) == (Verdict.PASSED, None)
