"""Test `jaxguide doctor`: what it reports about a real installation, and that lessons and workers fix what it finds."""

import dataclasses
import importlib.metadata
import json
import os
import re
import subprocess
import sys

import pytest

from jaxguide import compat
from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.workers.worker_process import WorkerProcess
from jaxguide.student.diagnosis import Diagnosis, Trouble, diagnose

FLAG = compat.print_flag(importlib.metadata.version("jaxlib"))
affected = pytest.mark.skipif(FLAG is None, reason="this jaxlib compiles prints")
# A program that fails on the affected versions.
PRINTS_A_MEAN = (
    "import jax, jax.numpy as jnp\n"
    "def f(x):\n    y = jnp.tanh(x)\n    jax.debug.print('mean {}', y.mean())\n    return y\n"
    "jax.block_until_ready(jax.jit(f)(jnp.zeros(4096)))\n"
)


def _python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {n: v for n, v in os.environ.items() if n != "XLA_FLAGS" and not n.startswith("JAX_")} | variables
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def _doctor(before: str = "", **variables: str) -> dict:
    found = "from jaxguide.student.diagnosis import diagnose\nprint(json.dumps(diagnose(measured=True).to_plain()))"
    code = f"import json\n{before}\n{found}"
    done = _python(code, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def _trouble(plain: dict, name: str) -> dict | None:
    return next((trouble for trouble in plain["troubles"] if trouble["name"] == name), None)


@pytest.mark.long
def test_versions_devices_and_settings_are_told() -> None:
    facts = _doctor(JAX_PLATFORMS="cpu")["facts"]
    for package in ("jax", "jaxlib", "numpy", "scipy"):
        assert facts[package] == importlib.metadata.version(package)
    assert facts["devices"] == "1 cpu (cpu)"
    assert facts["PRNG"] == "threefry2x32, threefry_partitionable on"
    assert facts["environment"] == "JAX_PLATFORMS=cpu"


@pytest.mark.long
@affected
def test_a_jaxlib_that_cannot_compile_a_print_is_found_by_compiling_one() -> None:
    trouble = _trouble(_doctor(JAX_PLATFORMS="cpu"), "debug_print_fails_to_compile")
    assert trouble["serious"] is True
    assert f"XLA_FLAGS={FLAG}" in trouble["remedy"]
    assert _python(PRINTS_A_MEAN, JAX_PLATFORMS="cpu").returncode != 0


@affected
@pytest.mark.long
def test_the_remedy_that_it_names_cures() -> None:
    assert _trouble(_doctor(JAX_PLATFORMS="cpu", XLA_FLAGS=FLAG), "debug_print_fails_to_compile") is None
    assert _python(PRINTS_A_MEAN, JAX_PLATFORMS="cpu", XLA_FLAGS=FLAG).returncode == 0


@affected
@pytest.mark.long
def test_a_flag_set_too_late_is_told_from_one_not_set() -> None:
    late = f"import os, jax; jax.devices(); os.environ['XLA_FLAGS'] = {FLAG!r}"
    plain = _doctor(late, JAX_PLATFORMS="cpu")
    assert "JAX had already started" in _trouble(plain, "debug_print_fails_to_compile")["remedy"]
    assert plain["healthy"] is False, "nothing cures this process"


@pytest.mark.long
@affected
def test_a_flag_of_another_value_is_serious_as_lessons_leave_it_alone() -> None:
    assert FLAG is not None
    plain = _doctor(JAX_PLATFORMS="cpu", XLA_FLAGS=FLAG.partition("=")[0] + "=-dot")
    trouble = _trouble(plain, "debug_print_fails_to_compile")
    assert (trouble["cured"], plain["healthy"]) == (False, False)
    assert FLAG in trouble["remedy"]


def test_what_is_cured_is_told_as_cured_and_leaves_the_diagnosis_healthy() -> None:
    trouble = Trouble("debug_print_fails_to_compile", True, "It fails.", "Set it.", cured=True)
    found = Diagnosis({}, [trouble])
    assert "✓ Fixed in lessons and in grading: It fails.\n  Set it." in str(found)
    assert str(found).startswith("✓ jaxguide works here.\n")
    assert found.healthy
    assert not Diagnosis({}, [trouble, dataclasses.replace(trouble, cured=False)]).healthy


def test_a_fact_of_several_lines_is_aligned() -> None:
    lines = str(Diagnosis({"a": "b", "long": "c\nd"}, [])).splitlines()
    assert lines[2:] == ["JAX", "  a     b", "  long  c", "        d"]


def test_what_to_do_comes_first_and_grading_under_a_heading_of_its_own() -> None:
    troubles = [Trouble(name, name == "bad", f"{name}.", "Do it.", about=about) for name, about in ABOUT.items()]
    facts = {"jax": "0.12", "devices": "none", "isolation": "complete", "cache": "here"}
    said = str(Diagnosis(facts, troubles))
    order = ["✗ Problem: bad.", "! Worth knowing: odd.", "\nVersions and devices\n", "\nJAX\n", "callbacks."]
    order += ["\nGrading\n", "walls."]
    assert sorted(order, key=said.index) == order
    assert said.startswith(order[0])


ABOUT = {"bad": "", "odd": "", "callbacks": "JAX", "walls": "Grading"}


def test_without_jupyterlab_the_terminal_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def without(package: str) -> str:
        if package == "jupyterlab":
            raise importlib.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(importlib.metadata, "version", without)
    found = diagnose(measured=False)
    assert found.healthy
    assert " not installed: use `jaxguide watch`, or pip install" in str(found)


def test_importing_the_package_sets_no_flag() -> None:
    code = "import os, jaxguide, jaxguide.debug, jaxguide.keys; print('XLA_FLAGS' in os.environ)"
    assert _python(code).stdout == "False\n"


@pytest.mark.long
def test_a_lesson_is_cured_by_its_first_cell() -> None:
    done = _python(f"from jaxguide.lesson import start; start('random_numbers')\n{PRINTS_A_MEAN}", JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("mean 0.0\n")


def test_a_worker_is_cured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    worker = WorkerProcess()
    source = "def f():\n" + "".join(f"    {line}\n" for line in PRINTS_A_MEAN.splitlines()) + "    return 1\n"
    worker.request("define", cell=1, source=source, exercises=["f"], starters=[])
    try:
        assert worker.request("ask", name="f", request=Request((), "value", (((), {}),)))["value"] == 1
    finally:
        worker.kill()


@pytest.mark.long
def test_a_platform_that_is_not_here_is_trouble_and_no_crash() -> None:
    plain = _doctor(JAX_PLATFORMS="none_such")
    assert plain["facts"]["devices"] == "none"
    assert "none_such" in _trouble(plain, "no_backend")["what"]
    assert plain["healthy"] is False


@pytest.mark.long
def test_the_draws_of_older_jax_are_pointed_out() -> None:
    plain = _doctor(JAX_PLATFORMS="cpu", JAX_THREEFRY_PARTITIONABLE="false", XLA_FLAGS=FLAG or "")
    assert _trouble(plain, "draws_of_older_jax")["serious"] is False
    assert plain["healthy"] is True


@pytest.mark.long
def test_switched_on_checks_are_listed() -> None:
    facts = _doctor("import jax; jax.config.update('jax_debug_nans', True)")["facts"]
    assert facts["switched on"] == "jax_debug_nans"


@pytest.mark.long
def test_the_command_prints_it_and_its_status_says_whether_something_serious_was_found() -> None:
    # As on a fresh installation, without any setting.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS" and not name.startswith("JAX_")}
    env["JAX_PLATFORMS"] = "cpu"
    command = [sys.executable, "-m", "jaxguide", "doctor"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ jaxguide works here.\n")
    assert re.search(r"\nGrading\n  grading +works here\n  isolation +(in)?complete: ", done.stdout)
    assert ("✓ Fixed in lessons and in grading: " in done.stdout) == (FLAG is not None)
    assert "✗" not in done.stdout
    env["JAX_PLATFORMS"] = "none_such"
    done = subprocess.run([*command, "--json"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["healthy"] is False
