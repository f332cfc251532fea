"""Test that keys are followed into `shard_map` and `pmap`; programs for four devices run in a Python of their own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import pytest
from jax import lax, random

from jaxguide.keys import KeyReuseError, check_keys, no_key_reuse

PROGRAMS = Path(__file__).parent / "device_programs.py"
NAMES = re.findall(r"^@says\(.*\)\ndef (\w+)", PROGRAMS.read_text(), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    command = [sys.executable, str(PROGRAMS)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_program_for_four_devices_is_told_its_problems(found: dict[str, Any], name: str) -> None:
    wanted, told, unseen = found[name]
    assert unseen == []
    assert told == wanted


def _on_one_device(fn: Any) -> Any:
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    spec = jax.sharding.PartitionSpec()
    return jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=spec)


def _twice(key: Any) -> Any:
    return random.normal(key) + random.uniform(key)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_two_draws_inside_are_found_by_every_helper(make: Any, recwarn: pytest.WarningsRecorder) -> None:
    def program(key: Any) -> Any:
        return _on_one_device(_twice)(key)

    (problem,) = check_keys(program, make(0))
    assert problem.kind == "drawn_twice"
    assert problem.first_source == "return random.normal(key) + random.uniform(key)"
    assert [use.sampler for use in check_keys(program, make(0)).uses] == ["normal", "uniform"]
    assert "reused: drawn from twice" in str(check_keys(program, make(0)).tree)
    with pytest.raises(KeyReuseError, match="was drawn from twice"):
        no_key_reuse(jax.jit(program))(make(0))
    assert [str(one.message) for one in recwarn if "not checked" in str(one.message)] == []


def test_one_device_has_nobody_to_share_a_key_with() -> None:
    assert not check_keys(_on_one_device(lambda key: lax.pmean(random.normal(key), "x")), random.key(0))


def test_the_results_of_devices_are_right_if_keys_depend_on_them() -> None:
    def program(key: Any) -> Any:
        number = _on_one_device(lambda key: lax.psum(random.randint(key, (), 5, 6), "x"))(key)
        return random.fold_in(random.key(1), number)

    last = check_keys(program, random.key(0)).uses[-1]
    assert (last.kind, last.data) == ("fold_in", 5)
