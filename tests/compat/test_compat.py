"""Test what depends on the JAX version: the print flag, the documented draws, jaxprs and tracebacks."""

import importlib.metadata
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from jaxguide import compat

FLAG = "--xla_cpu_experimental_ynn_fusion_type=-reduce"


@pytest.mark.parametrize("version", ["0.10.2", "0.11.2", "0.12.0", "0.12.0.1"])
def test_the_print_flag_is_given_for_the_versions_with_the_fault(version):
    assert compat.print_flag(version) == FLAG


@pytest.mark.parametrize("version", ["0.10.1", "0.9.2", "0.12.1", "0.13.0"])
def test_no_print_flag_for_other_versions(version):
    assert compat.print_flag(version) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, FLAG),
        ("", FLAG),
        ("--xla_dump_to=/tmp/x", f"--xla_dump_to=/tmp/x {FLAG}"),
        (FLAG, FLAG),
        ("--xla_cpu_experimental_ynn_fusion_type=", "--xla_cpu_experimental_ynn_fusion_type="),
    ],
)
def test_the_print_flag_is_added_once_and_keeps_what_is_there(monkeypatch, before, after):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.10.2")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if before is not None:
        monkeypatch.setenv("XLA_FLAGS", before)
    compat.set_print_flag()
    compat.set_print_flag()
    assert os.environ["XLA_FLAGS"] == after


def test_other_versions_leave_the_flags_alone(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.99.0")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    compat.set_print_flag()
    assert "XLA_FLAGS" not in os.environ


def test_setting_the_flag_starts_no_jax_and_cures_printing():
    code = (
        "import sys; from jaxguide import compat; compat.set_print_flag(); assert 'jax' not in sys.modules\n"
        "import jax, jax.numpy as jnp\n"
        "def f(x):\n    y = jnp.tanh(x)\n    jax.debug.print('mean {}', y.mean())\n    return y\n"
        "jax.block_until_ready(jax.jit(f)(jnp.zeros(4096)))\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mean 0.0" in done.stdout


def test_documented_draws_come_out_and_the_setting_ends():
    today = float(jax.random.normal(jax.random.key(42)))
    with compat.documented_draws_setting():
        assert float(jax.random.normal(jax.random.key(42))) == pytest.approx(-0.18471177)
        inside = jax.jit(jax.random.normal)(jax.random.key(42))
    assert float(inside) == pytest.approx(-0.18471177)
    assert float(jax.random.normal(jax.random.key(42))) == today


def test_jaxpr_parts_of_outer_and_inner_programs():
    table = jnp.arange(3.0)
    closed = jax.make_jaxpr(jax.jit(lambda x: x + table))(table)
    plain, constants = compat.jaxpr_parts(closed)
    assert len(plain.constvars) == len(constants)
    inner, _ = compat.jaxpr_parts(plain.eqns[0].params["jaxpr"])
    assert [eqn.primitive.name for eqn in inner.eqns] == ["add"]


def test_frames_lead_to_the_users_line():
    def f(x):
        return jnp.sin(x)

    (eqn,) = jax.make_jaxpr(f)(1.0).jaxpr.eqns
    lines = {
        (code.co_name, compat.frame_line(code, instruction))
        for code, instruction in compat.traceback_frames(eqn.source_info)
    }
    assert ("f", f.__code__.co_firstlineno + 1) in lines


@pytest.mark.long
def test_programs_of_one_thread_and_its_forks_are_lowered_in_one_context():
    from jax._src.interpreters import mlir

    if not hasattr(mlir, "_thread_local_context"):
        pytest.skip("this JAX keeps no context")
    code = (
        "import os, jax, jax.numpy as jnp\n"
        "from jax._src.interpreters import mlir\n"
        "from jaxguide import compat\n"
        "made, make = [], mlir._create_ir_context\n"
        "mlir._create_ir_context = lambda: made.append(1) or make()\n"
        "KEEP\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for size in range(1, 31):\n"
        "        jax.jit(lambda x: x + 1)(jnp.zeros(size))\n"
        "    print(len(made), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    made = {}
    for keep in ("compat.keep_lowering_context()", "pass"):
        run = [sys.executable, "-W", "ignore", "-c", code.replace("KEEP", keep)]
        made[keep] = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert made["compat.keep_lowering_context()"] == 1
    # If this fails, JAX keeps a context by itself, and the function can go.
    assert made["pass"] > 1
