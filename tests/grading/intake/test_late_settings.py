"""Test that environment variables which a submission sets in vain are named."""

from pathlib import Path

import pytest
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.intake.reading import late_settings
from jaxguide.grading.intake.submission import parse_submission


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os\nos.environ['JAX_A'] = '1'\nos.environ['XLA_B'] += '2'", ["JAX_A", "XLA_B"]),
        ("import os as o\ndef f():\n    o.environ.setdefault('JAX_A', '1')", ["JAX_A"]),
        ("os.environ.update({'JAX_A': '1', **others}, JAX_B='2', **more)", ["JAX_B", "JAX_A"]),
        ("os.environ |= {'JAX_A': '1', name: '2'}", ["JAX_A"]),
        ("os.putenv('JAX_B', '2')", ["JAX_B"]),
        ("print(os.environ['JAX_A'], os.environ.get('JAX_B'))", []),
        ("os.environ[name] = '1'\nos.environ.update(others)\nos.putenv()\nos.environ.update([('A',), 3, ()])", []),
    ],
)
def test_variables_are_found_in_the_ways_they_are_set(source: str, names: list[str]) -> None:
    (cell,) = parse_submission(Path("ada.py"), f"# %%\n{source}".encode()).cells
    assert late_settings(cell) == names


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
