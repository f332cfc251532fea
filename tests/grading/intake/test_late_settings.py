"""Test that environment variables which a submission sets in vain are named."""

import ast
from pathlib import Path

import pytest
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.intake.late_settings import late_settings, variables_set
from jaxguide.grading.intake.submission import parse_submission


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os\nos.environ['A'] = '1'\nos.environ['B'] += '2'", ["A", "B"]),
        ("import os as o\ndef f():\n    o.environ.setdefault('A', '1')", ["A"]),
        ("from os import environ, environb as b\nenviron['A'] = '1'\nb[b'B'] = b'2'", ["A", "B"]),
        ("os.environ.update({'A': '1', **others}, B='2', **more)", ["A", "B"]),
        ("os.environ.update([('A', '1'), ('B', '2')])\nos.environ.update(dict(C='3'))", ["A", "B", "C"]),
        ("os.environ |= {'A': '1', name: '2'}", ["A"]),
        ("from os import putenv as put\nput('A', '1')\nos.putenv('B', '2')", ["A", "B"]),
        ("variables = os.environ\nvariables['A'] = '1'", ["A"]),
        ("os.environ.__setitem__('A', '1')", ["A"]),
        ("print(os.environ['A'], os.environ.get('B'))\nd = dict(os.environ, C='1')\nd['D'] = '2'", []),
        ("os.environ[name] = '1'\nos.environ.update(others)\nos.putenv()\nos.environ.update([('A',), 3, ()])", ["A"]),
    ],
)
def test_variables_are_found_however_they_are_set(source: str, names: list[str]) -> None:
    assert variables_set(ast.parse(source)) == names


def test_only_variables_that_jax_reads_at_its_start_are_named() -> None:
    source = (
        "import os\nos.environ['HOME'] = '/'\nos.environ.update(JAX_PLATFORMS='cpu', PATH='', JAX_ENABLE_X64='1')\n"
    )
    source += (
        "%env XLA_FLAGS=--xla_dump_to=x\n%set_env JAX_NUM_CPU_DEVICES 8\n%env CUDA_VISIBLE_DEVICES\n%env A=JAX_B=1\n"
    )
    (cell,) = parse_submission(Path("ada.py"), source.encode()).cells
    assert late_settings(cell) == ["JAX_PLATFORMS", "JAX_ENABLE_X64", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES"]


def test_a_submission_is_told_and_has_one_device_and_32_bits(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "ada.py"
    settings = "import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'\n"
    settings += "os.environ.update(JAX_ENABLE_X64='1', JAX_NUM_CPU_DEVICES='4')\n\nimport jax, numpy as np\n"
    answer = "    assert jax.device_count() == 1\n    assert jax.numpy.asarray(np.ones(2)).dtype == 'float32'\n"
    path.write_text(settings + ANSWERS["double"].replace("\n", "\n" + answer, 1))
    result = Grader(course, GradeSettings(only=frozenset({"double"}))).grade(path)
    assert (result.score, result.points) == (1, 1)
    names = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_NUM_CPU_DEVICES")
    assert result.repairs == [
        f"line 1: sets `{name}`, which has no effect here: JAX has already started." for name in names
    ]
